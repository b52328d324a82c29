"""Total effects between joints, estimated with the policy on a joint as the instrument.

Which policy drew joint i is independent of every other cause of joint j, and of the coordinates' noise.  So whatever
of ẑ_j differs on average between the two policies on joint i has come from joint i, however noisy both coordinates are.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Above this condition number of the total effects two coordinates are one and the same.
_SINGULAR = 1e3


def total_effects(coordinates: Array, target: Ints, policy: Ints, weight: Array) -> Array:
    """What the policies on joint i do to joint j, as a share of what the policies on joint j do to it.

        D_ij = E[ẑ_j | policy 1 on i] − E[ẑ_j | policy 2 on i],    M_ij = D_ij / D_jj

    Neither sign nor scale nor offset of a coordinate enters.  In a linear structural model z = z B + ε it is the
    total effect: M = S (I − B)⁻¹ S⁻¹ with S = diag(D_jj), in units in which each joint's policies are 1 apart.

    Args:
        coordinates: (n, d), any unit; noise of mean zero does no harm.
        target: (n,), column of the joint that the pose's policy is on; −1 for observational poses, which do not count.
        policy: (n,), 1 or 2; 0 for observational poses.
        weight: (n,), of each pose in its mean, positive.

    Returns:
        (d, d), ones on the diagonal; NaN or infinite in the column of a coordinate that its policies do not move.
    """
    shifts = np.stack(
        [
            _mean(coordinates, weight, (target == i) & (policy == 1))
            - _mean(coordinates, weight, (target == i) & (policy == 2))
            for i in range(coordinates.shape[1])
        ]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(shifts / np.diag(shifts))


def _mean(coordinates: Array, weight: Array, chosen: NDArray[np.bool_]) -> Array:
    return np.asarray(weight[chosen] @ coordinates[chosen] / weight[chosen].sum())


def direct_effects(total: Array) -> Array:
    """The part of each total effect that takes no way through another joint: I − M⁻¹.

    From M = (I − B)⁻¹, for a linear structural model (here in the units of `total_effects`).

    Args:
        total: M, (d, d), row i the effects of joint i.

    Returns:
        B, (d, d), row parent, column child, in shares of what the child's own policies do to it.

    Raises:
        ValueError: two coordinates answer alike to every intervention.
    """
    if np.linalg.cond(total) > _SINGULAR:
        raise ValueError("two coordinates answer alike to every intervention, so they cannot be told apart")
    return np.asarray(np.eye(len(total)) - np.linalg.inv(total))
