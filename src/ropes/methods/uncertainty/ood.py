"""Out-of-distribution score of an image: distance of its features and of its pixels from the training images."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Share of the images of the fit that are called unusual.
FALSE_ALARMS = 0.01
_SHRINKAGE = 0.1
#: No distance is told from none that is smaller than one coarse pixel off by one grey level.
_FINEST = (1 / 255) ** 2


@dataclass(frozen=True)
class Novelty:
    """Two or three distances to the images of the fit, each in units of what one in a hundred usual images exceeds.

    The first is Mahalanobis' of the network's features φ, its covariance shrunk towards a multiple of the identity; the
    second how far coarse pixels p lie beyond the darkest and the brightest l, h that the fit ever saw at their place;
    the third, of networks that tell, how sure they are of something foreign in some part of a view, with probability q:

        (φ − μ)ᵀ C⁻¹ (φ − μ),    Σ max(l − p, p − h, 0)²,    max −log(1 − q)

    An arm may be anywhere, but what does not move (its base, the room) looks the same in every image of one camera: the
    second distance finds a camera that was moved by a pixel, which the network hardly notices.  The third finds specks.
    The greatest counts.

    Attributes:
        centre, root: (f,) and (f, f): μ, and L with L Lᵀ = C⁻¹.
        low, high: (p,): l and h.
        usual: (2,) or (3,), the 99th percentile of each distance over other images of the same kind.
        bound: the 99th percentile of the greatest one, in these units.
    """

    centre: Array
    root: Array
    low: Array
    high: Array
    usual: Array
    bound: float

    def parts(self, features: Array, pixels: Array, foreign: Array | None = None) -> Array:
        """All distances before any scale: features (n, f), coarse pixels (n, p), the third as it is (n,) → (n, 3)."""
        away = (features - self.centre) @ self.root
        beyond = np.maximum(self.low - pixels, pixels - self.high).clip(min=0)
        known = [] if foreign is None else [foreign]
        return np.stack([(away**2).sum(1), (beyond**2).sum(1), *known], axis=1)

    def __call__(self, features: Array, pixels: Array, foreign: Array | None = None) -> Array:
        """Distances (n,), above 1 for images that are unusual."""
        found: Array = (self.parts(features, pixels, foreign) / self.usual).max(1) / self.bound
        return found

    def to_tree(self) -> dict[str, Any]:
        """For a checkpoint, in single precision."""
        return {
            name: torch.from_numpy(value).float() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
        }

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> "Novelty":
        """The reverse of `to_tree`."""
        fields: dict[str, Any] = {
            name: value if isinstance(value, float) else value.double().numpy() for name, value in tree.items()
        }
        return cls(**fields)


def fit_novelty(
    features: Array, pixels: Array, other_features: Array, other_pixels: Array, other_foreign: Array | None = None
) -> Novelty:
    """Distances from some images, and what is usual of them from others.

    Args:
        features: (n, f), of images to measure from.
        pixels: (m, p), of as many images as there are: their range is the better known.
        other_features: (k, f), of images that are as usual, none of them among those.
        other_pixels: (k, p), of the same.
        other_foreign: (k,), of the same, the third distance; None of networks that do not tell.
    """
    centre = features.mean(0)
    covariance = np.atleast_2d(np.cov(features.T))
    level = float(np.trace(covariance)) / len(covariance) or 1.0
    shrunk = (1 - _SHRINKAGE) * covariance + _SHRINKAGE * level * np.eye(len(covariance))
    root = np.linalg.cholesky(np.linalg.inv(shrunk))
    raw = Novelty(centre, root, pixels.min(0), pixels.max(0), np.ones(1), 1.0)
    parts = raw.parts(other_features, other_pixels, other_foreign)
    usual = np.quantile(parts, 1 - FALSE_ALARMS, axis=0).clip(min=_FINEST)
    bound = float(np.quantile((parts / usual).max(1), 1 - FALSE_ALARMS))
    return Novelty(centre, root, raw.low, raw.high, usual, bound or 1.0)
