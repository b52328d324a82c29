"""A heteroscedastic variance model: a standard deviation for each joint and image."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from ropes.common.arrays import Floats
from ropes.models.checkpoints import ArrayTree


@dataclass(frozen=True)
class VarianceModel(ArrayTree):
    """log σ_j² as an affine function of features of the image, clipped to its range over the training samples.

    Attributes:
        centre, scale: (f,), of the features.
        weights: (f, d).
        level: (d,), log variance at the centre.
        lowest, highest: (d,), bounds of the log variance.
    """

    centre: Floats
    scale: Floats
    weights: Floats
    level: Floats
    lowest: Floats
    highest: Floats

    def __call__(self, features: Floats) -> Floats:
        """Features (n, f) → standard deviations (n, d), in the units of the samples."""
        log_variance = self.level + (features - self.centre) / self.scale @ self.weights
        return np.asarray(np.exp(log_variance.clip(self.lowest, self.highest) / 2))


def fit_variance(features: Floats, samples: Floats) -> VarianceModel:
    """Maximum a posteriori log variance η of normal errors, affine in standardised features φ.

        minimise  Σ ½ (η + e² exp(−η)) + ½ f ‖w‖²,    η = w·φ + b,    over n samples with f features

    The second term is a prior: without samples the variance is about 1. It keeps a few hundred weights from fitting the
    noise of few samples. The objective is convex in w and b, so each joint has one solution.

    Args:
        features: (n, f).
        samples: (n, d) errors e; NaN where unknown.
    """
    centre, deviation = features.mean(0), features.std(0)
    # A constant feature gets no influence on other images either.
    scale = np.where(deviation > 1e-6 * deviation.max(initial=0.0), deviation, np.finfo(np.float32).max)
    scaled = (features - centre) / scale
    weights, level = np.empty((features.shape[1], samples.shape[1])), np.empty(samples.shape[1])
    bounds = []
    for j, errors in enumerate(samples.T):
        finite = np.isfinite(errors)
        weights[:, j], level[j] = _fit_joint(scaled[finite], errors[finite])
        bounds.append(np.quantile(scaled[finite] @ weights[:, j] + level[j], [0, 1]))
    lowest, highest = np.stack(bounds, axis=1)
    return VarianceModel(centre, scale, weights, level, lowest, highest)


def _fit_joint(features: Floats, errors: Floats) -> tuple[Floats, float]:
    mean_square = float(np.mean(errors**2)) or 1.0  # without any error there is no unit either
    squared, ridge = errors**2 / mean_square, features.shape[1] / len(errors)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        weights, level = parameters[:-1], parameters[-1]
        log_variance = features @ weights + level
        scaled = squared * np.exp(-log_variance)
        slope = 0.5 * (1 - scaled) / len(squared)
        value = 0.5 * float((log_variance + scaled).mean()) + 0.5 * ridge * float(weights @ weights)
        return value, np.append(features.T @ slope + ridge * weights, slope.sum())

    solution = optimize.minimize(loss, np.zeros(features.shape[1] + 1), jac=True, method="L-BFGS-B").x
    return solution[:-1], float(solution[-1] + np.log(mean_square))
