"""Label-free criteria on held-out poses: how well a coordinate discriminates the two policies on its joint."""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import optimize, special
from torch import Tensor


def coordinate_contrast(coordinate: NDArray[np.float64], first_policy: NDArray[np.float64]) -> float:
    """Least cross-entropy of the two policies on a joint from one coordinate, in nats.

        min_{a, b} E[−log σ(±(a ẑ + b))]    + under policy 1, − under policy 2

    The true log density ratio depends on its joint alone and, with equal variances and bounds, is affine in it.  No
    coordinate goes below the Bayes floor; one that also contains other joints, or noise, stays above it.

    Args:
        coordinate: ẑ, (n,).
        first_policy: (n,), 1 for policy 1 and 0 for policy 2.
    """
    deviation = coordinate.std()
    x = (coordinate - coordinate.mean()) / (deviation if deviation > 0 else 1.0)
    sign = 2 * first_policy - 1

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = sign * (parameters[0] * x + parameters[1])
        slope = -sign * special.expit(-margin) / len(x)
        return float(np.logaddexp(0, -margin).mean()), np.array([slope @ x, slope.sum()])

    return float(optimize.minimize(loss, np.zeros(2), jac=True, method="BFGS").fun)


def policy_contrasts(coordinates: Tensor, regime: Tensor, target: Tensor, *, single: bool = False) -> dict[str, float]:
    """`coordinate_contrast` of each joint's coordinate, on as many poses under either policy.

    Args:
        coordinates: (n, d).
        regime: index of each pose's regime, see `ropes.methods.anchored.contrast.head_regimes`, (n,).
        target: see `ropes.methods.anchored.contrast.targets`.
        single: whether joints have one policy each, which is contrasted with no intervention.

    Returns:
        "contrast_k" → nats, k from 0 to d − 1; comparable with the Bayes floor, which is for equally many.
    """
    contrasts = {}
    for i in range(coordinates.shape[1]):
        one, other = (1 + int(place) for place in torch.nonzero(target == i))
        first, second = (coordinates[regime == number, i] for number in (one, 0 if single else other))
        contrasts[f"contrast_{i}"] = balanced_contrast(first, second)
    return contrasts


def known_policy_contrasts(coordinates: Tensor, policy: Tensor) -> dict[str, float]:
    """As `policy_contrasts`, where the policies on all joints are known, (n, d): 1, 2, or 0 where unknown."""
    return {
        f"contrast_{k}": balanced_contrast(*(coordinates[policy[:, k] == number, k] for number in (1, 2)))
        for k in range(coordinates.shape[1])
    }


def balanced_contrast(first: Tensor, second: Tensor) -> float:
    """`coordinate_contrast` of a coordinate under two regimes, (n,) and (m,), on as many poses under either."""
    count = min(len(first), len(second))
    values = torch.cat([first[:count], second[:count]]).double().numpy()
    return coordinate_contrast(values, np.repeat([1.0, 0.0], count))
