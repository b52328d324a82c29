"""A variance model: a standard deviation for each joint and image."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import optimize

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """log σ_j² as an affine function of features of the image, within the range that the samples had.

    Attributes:
        centre, scale: (f,), of the features.
        weights: (f, d).
        level: (d,), log variance at the centre.
        lowest, highest: (d,), log variance, beyond which nothing is extrapolated.
    """

    centre: Array
    scale: Array
    weights: Array
    level: Array
    lowest: Array
    highest: Array

    def __call__(self, features: Array) -> Array:
        """Features (n, f) → standard deviations (n, d), in the units of the samples."""
        log_variance = self.level + (features - self.centre) / self.scale @ self.weights
        found: Array = np.exp(log_variance.clip(self.lowest, self.highest) / 2)
        return found

    def to_tree(self) -> dict[str, torch.Tensor]:
        """For a checkpoint, in single precision."""
        return {name: torch.from_numpy(value).float() for name, value in vars(self).items()}

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> "Spread":
        """The reverse of `to_tree`."""
        return cls(**{name: tensor.double().numpy() for name, tensor in tree.items()})


def fit_spread(features: Array, samples: Array) -> Spread:
    """The likeliest log variance of a normal error that is affine in standardised features φ.

        minimise  Σ ½ (η + e² exp(−η)) + ½ f ‖w‖²,    η = w·φ + b,    over n samples with f features

    The second term says of η, before any sample, that it has a variance of about 1: a few hundred weights do not fit
    the noise of few samples.  The sum is convex in w and b, so that there is one answer, for each joint.

    Args:
        features: (n, f).
        samples: (n, d) errors e; NaN where there is none.
    """
    centre, spread = features.mean(0), features.std(0)
    # A feature that never varies says nothing, whatever it is like in other images.
    scale = np.where(spread > 1e-6 * spread.max(initial=0.0), spread, np.finfo(np.float32).max)
    scaled = (features - centre) / scale
    weights, level = np.empty((features.shape[1], samples.shape[1])), np.empty(samples.shape[1])
    bounds = []
    for j, errors in enumerate(samples.T):
        known = np.isfinite(errors)
        weights[:, j], level[j] = _one_joint(scaled[known], errors[known])
        bounds.append(np.quantile(scaled[known] @ weights[:, j] + level[j], [0, 1]))
    lowest, highest = np.stack(bounds, axis=1)
    return Spread(centre, scale, weights, level, lowest, highest)


def _one_joint(features: Array, errors: Array) -> tuple[Array, float]:
    usual = float(np.mean(errors**2)) or 1.0  # an estimator without any error has no units either
    squared, ridge = errors**2 / usual, features.shape[1] / len(errors)

    def loss(parameters: Array) -> tuple[float, Array]:
        weights, level = parameters[:-1], parameters[-1]
        log_variance = features @ weights + level
        surprise = squared * np.exp(-log_variance)
        slope = 0.5 * (1 - surprise) / len(squared)
        value = 0.5 * float((log_variance + surprise).mean()) + 0.5 * ridge * float(weights @ weights)
        return value, np.append(features.T @ slope + ridge * weights, slope.sum())

    found = optimize.minimize(loss, np.zeros(features.shape[1] + 1), jac=True, method="L-BFGS-B").x
    return found[:-1], float(found[-1] + np.log(usual))
