"""How unlike the images of the fit an image is: in what the network makes of it, and in its pixels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Share of the images of the fit that are called unusual.
FALSE_ALARMS = 0.01
_DIRECTIONS = 100
_SHRINKAGE = 0.1


@dataclass(frozen=True)
class Novelty:
    """Two distances to the images of the fit, each in units of what one in a hundred of those exceeds.

    The first is Mahalanobis' of the network's features φ, its covariance shrunk towards a multiple of the identity;
    the second the squared residual of coarse pixels p outside the directions in which they vary most:

        (φ − μ)ᵀ C⁻¹ (φ − μ),    ‖(1 − V Vᵀ) (p − m)‖²

    The greater of the two counts.

    Attributes:
        centre, root: (f,) and (f, f): μ, and L with L Lᵀ = C⁻¹.
        mean, directions: (p,) and (p, k): m and V.
        usual: (2,), the 99th percentile of each distance over other images of the same kind.
        bound: the 99th percentile of the greater one, in these units.
    """

    centre: Array
    root: Array
    mean: Array
    directions: Array
    usual: Array
    bound: float

    def parts(self, features: Array, pixels: Array) -> Array:
        """Both distances before any scale: features (n, f), coarse pixels (n, p) → (n, 2)."""
        away = (features - self.centre) @ self.root
        moved = pixels - self.mean
        left = moved - moved @ self.directions @ self.directions.T
        return np.stack([(away**2).sum(1), (left**2).sum(1)], axis=1)

    def __call__(self, features: Array, pixels: Array) -> Array:
        """Distances (n,), above 1 for images that are unusual."""
        found: Array = (self.parts(features, pixels) / self.usual).max(1) / self.bound
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


def fit_novelty(features: Array, pixels: Array, other_features: Array, other_pixels: Array) -> Novelty:
    """Distances from one half of the images, and what is usual of them from the other.

    Args:
        features: (n, f), of images to measure from.
        pixels: (n, p), of the same.
        other_features: (m, f), of images that are as usual as those.
        other_pixels: (m, p), of the same.
    """
    centre, mean = features.mean(0), pixels.mean(0)
    covariance = np.atleast_2d(np.cov(features.T))
    level = float(np.trace(covariance)) / len(covariance) or 1.0
    shrunk = (1 - _SHRINKAGE) * covariance + _SHRINKAGE * level * np.eye(len(covariance))
    root = np.linalg.cholesky(np.linalg.inv(shrunk))
    _, _, rows = np.linalg.svd(pixels - mean, full_matrices=False)
    # More directions than half of what the images can tell, and nothing would be left over.
    directions = rows[: min(_DIRECTIONS, len(rows) // 2)].T
    raw = Novelty(centre, root, mean, directions, np.ones(2), 1.0)
    parts = raw.parts(other_features, other_pixels)
    usual = np.quantile(parts, 1 - FALSE_ALARMS, axis=0)
    usual = np.where(usual > 0, usual, 1.0)
    bound = float(np.quantile((parts / usual).max(1), 1 - FALSE_ALARMS))
    return Novelty(centre, root, mean, directions, usual, bound or 1.0)
