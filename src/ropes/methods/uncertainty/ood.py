"""Out-of-distribution score of an image: distance of its features and of its pixels from the training images."""

from dataclasses import dataclass

import numpy as np

from ropes.common.arrays import AnyFloats, Floats
from ropes.models.checkpoints import ArrayTree

#: False-positive rate of the out-of-distribution flag.
FALSE_ALARMS = 0.01
_SHRINKAGE = 0.1
#: Smallest scale of a distance: one downsampled pixel that differs by one grey level.
_FINEST = (1 / 255) ** 2


@dataclass(frozen=True)
class OODScore(ArrayTree):
    """The greatest of two or three distances from the training images, each in units of its 99th percentile.

    The first is the Mahalanobis distance of the network's features φ, with a covariance shrunk towards a multiple of
    the identity. The second is how far downsampled pixels p lie outside the range [l, h] of the training images. The
    third, for networks with a detector, is its greatest evidence of a foreign object, with probability q:

        (φ − μ)ᵀ C⁻¹ (φ − μ),    Σ max(l − p, p − h, 0)²,    max −log(1 − q)

    The arm may be anywhere, but the fixed parts of the scene (its base, the room) look the same in every image of one
    camera. The second distance detects a camera that moved by a pixel, which the network hardly notices. The third
    detects specks.

    Attributes:
        centre, root: (f,) and (f, f): μ, and L with L Lᵀ = C⁻¹.
        low, high: (p,): l and h.
        usual: (2,) or (3,), the 99th percentile of each distance over held-out in-distribution images.
        bound: the 99th percentile of the greatest distance, in these units.
    """

    centre: Floats
    root: Floats
    low: Floats
    high: Floats
    usual: Floats
    bound: float

    def parts(self, features: AnyFloats, pixels: AnyFloats, foreign: Floats | None = None) -> Floats:
        """All distances, not scaled, (n, 2) or (n, 3).

        Args:
            features: (n, f).
            pixels: (n, p), downsampled.
            foreign: (n,), the third distance; None for networks without a detector.
        """
        offset = (features - self.centre) @ self.root
        outside = np.maximum(self.low - pixels, pixels - self.high).clip(min=0)
        third = [] if foreign is None else [foreign]
        return np.stack([(offset**2).sum(1), (outside**2).sum(1), *third], axis=1)

    def __call__(self, features: AnyFloats, pixels: AnyFloats, foreign: Floats | None = None) -> Floats:
        """Score of each image (n,), above 1 for out-of-distribution images; arguments as in `parts`."""
        return np.asarray((self.parts(features, pixels, foreign) / self.usual).max(1) / self.bound)


def fit_ood(
    features: AnyFloats,
    pixels: AnyFloats,
    val_features: AnyFloats,
    val_pixels: AnyFloats,
    val_foreign: Floats | None = None,
) -> OODScore:
    """Fit the distances on some images, and their percentiles on others.

    Args:
        features: (n, f), for the mean and the covariance.
        pixels: (m, p), for the range of grey levels: of many images, or the ends of their range.
        val_features: (k, f), of other in-distribution images, for the percentiles.
        val_pixels: (k, p), of the same images.
        val_foreign: (k,), the third distance of the same images; None for networks without a detector.
    """
    centre = features.mean(0, dtype=np.float64)
    covariance = np.atleast_2d(np.cov(features.T))
    level = float(np.trace(covariance)) / len(covariance) or 1.0
    shrunk = (1 - _SHRINKAGE) * covariance + _SHRINKAGE * level * np.eye(len(covariance))
    root = np.linalg.cholesky(np.linalg.inv(shrunk))
    low, high = (end.astype(np.float64) for end in (pixels.min(0), pixels.max(0)))
    unscaled = OODScore(centre, root, low, high, np.ones(1), 1.0)
    parts = unscaled.parts(val_features, val_pixels, val_foreign)
    usual = np.quantile(parts, 1 - FALSE_ALARMS, axis=0).clip(min=_FINEST)
    bound = float(np.quantile((parts / usual).max(1), 1 - FALSE_ALARMS))
    return OODScore(centre, root, unscaled.low, unscaled.high, usual, bound or 1.0)
