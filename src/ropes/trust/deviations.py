"""Samples of an estimator's error that need no label: how far a pose's coordinate is from the rest of its anchor."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ropes.methods.contrast import left_alone, under_policies

Array = NDArray[np.float64]


def deviations(coordinates: Tensor, target: Tensor, follows: Tensor) -> Array:
    """Each pose's coordinate against the mean of the others that should share it, in units of one pose's error.

        e_j(r) = c_j √((K − 1) / K) · (a_j(r) − mean over r' ≠ r of a_j(r'))

    with K poses that share joint j, and a_j of `left_alone`.  The mean of K − 1 poses has an error as well: where
    all errors are independent and of equal variance σ², that of e_j is σ² exactly, and c_j is 1.

    But poses of an anchor that look alike are misread alike, and what they share leaves no trace in their differences.
    Least is shared by the two poses under the policies on the joint that makes them differ most,

        c_j² = max over i ≠ j of  E[(a_j(i, policy 1) − a_j(i, policy 2))²] / 2  over the mean square without c_j

    and never below 1.  What even those two share stays unseen.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: which joint each intervention is on, see `ropes.methods.contrast.targets`.
        follows: bool (d, d), see `ropes.methods.followers.followers`.

    Returns:
        (A, R, d); NaN for poses under an intervention on joint j.
    """
    alone, counts = (part.double() for part in left_alone(coordinates, target, follows))
    every, counted = alone.numpy(), counts.numpy()
    shared = counted.sum(0)
    mean = (every * counted).sum(1, keepdims=True) / shared
    found: Array = np.where(counted > 0, (every - mean) * np.sqrt(shared / (shared - 1)), np.nan)
    first, second = under_policies(alone, target).unbind(2)
    apart = ((first - second).square().mean(0) / 2).fill_diagonal_(0).amax(0).numpy()
    usual = np.nanmean(found**2, axis=(0, 1))
    return found * np.sqrt(np.maximum(1, apart / np.where(usual > 0, usual, np.inf)))
