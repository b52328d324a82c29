"""Samples of an estimator's error that need no label: how far a pose's coordinate is from the rest of its anchor."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ropes.methods.contrast import left_alone

Array = NDArray[np.float64]


def deviations(coordinates: Tensor, target: Tensor, follows: Tensor) -> Array:
    """Each pose's coordinate against the mean of the others that should share it, in units of one pose's error.

        e_j(r) = √((K − 1) / K) · (a_j(r) − mean over r' ≠ r of a_j(r'))

    with K poses that share joint j, and a_j of `left_alone`.  The mean of K − 1 poses has an error as well: where
    all errors are independent and of equal variance σ², that of e_j is σ² exactly.

    An error that all poses of an anchor have in common leaves no trace here.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: which joint each intervention is on, see `ropes.methods.contrast.targets`.
        follows: bool (d, d), see `ropes.methods.followers.followers`.

    Returns:
        (A, R, d); NaN for poses under an intervention on joint j.
    """
    every, counted = (part.double().numpy() for part in left_alone(coordinates, target, follows))
    shared = counted.sum(0)
    mean = (every * counted).sum(1, keepdims=True) / shared
    found: Array = np.where(counted > 0, (every - mean) * np.sqrt(shared / (shared - 1)), np.nan)
    return found
