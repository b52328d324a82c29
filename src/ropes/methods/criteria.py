"""Label-free criteria of method ropes on held-out anchors."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import optimize, special
from torch import Tensor

from ropes.methods.codes import Codes
from ropes.models.autoencoder import AE2
from ropes.models.dense import DenseAE2


def coordinate_contrast(coordinate: NDArray[np.float64], first_policy: NDArray[np.float64]) -> float:
    """How well one coordinate alone tells the two policies apart: the least cross-entropy of an affine logit, nats.

    The true log ratio depends on its joint alone and, with equal variances and bounds, is affine in it.  No
    coordinate can come below the Bayes floor, and one that also carries other joints, or noise, stays above it.

    Args:
        coordinate: (n,).
        first_policy: (n,), 1 for policy 1 and 0 for policy 2.
    """
    spread = coordinate.std()
    x = (coordinate - coordinate.mean()) / (spread if spread > 0 else 1.0)
    sign = 2 * first_policy - 1

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = sign * (parameters[0] * x + parameters[1])
        slope = -sign * special.expit(-margin) / len(x)
        return float(np.logaddexp(0, -margin).mean()), np.array([slope @ x, slope.sum()])

    return float(optimize.minimize(loss, np.zeros(2), jac=True, method="BFGS").fun)


def held_out_contrasts(ae2: AE2 | DenseAE2, codes: Codes, columns: dict[str, int]) -> dict[str, float]:
    """`held_out_contrast` of each joint's coordinate (joint → column)."""
    return {joint: held_out_contrast(partial(_column, ae2, column), codes, joint) for joint, column in columns.items()}


def _column(ae2: AE2 | DenseAE2, column: int, values: Tensor) -> Tensor:
    return ae2.encode(values)[:, column]


@torch.no_grad()
def held_out_contrast(coordinate: Callable[[Tensor], Tensor], codes: Codes, joint: str) -> float:
    """`coordinate_contrast` on held-out codes of what reads one joint's coordinate off them, (n, ...) → (n,)."""
    values, labels = codes.contrast(joint).tensors
    return coordinate_contrast(coordinate(values).double().numpy(), labels.double().numpy())
