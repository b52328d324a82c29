"""What tells a good run from a bad one without a label."""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import optimize, special

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


@torch.no_grad()
def held_out_contrasts(ae2: AE2 | DenseAE2, codes: Codes, columns: dict[str, int]) -> dict[str, float]:
    """`coordinate_contrast` of each joint's coordinate (joint → column) on held-out codes."""
    contrasts = {}
    for joint, column in columns.items():
        values, labels = codes.contrast(joint).tensors
        coordinate = ae2.encode(values)[:, column].double().numpy()
        contrasts[joint] = coordinate_contrast(coordinate, labels.double().numpy())
    return contrasts
