"""Residuals without labels: the distance of a pose's coordinate from the rest of its anchor."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ropes.methods.contrast import left_alone

Array = NDArray[np.float64]
#: Standard errors that are added to the variance of the error, so that it is seldom too small: 2.5%, one-sided.
_ABOVE = 2.0


def deviations(coordinates: Tensor, target: Tensor, follows: Tensor) -> tuple[Array, Array]:
    """Each pose's coordinate against the mean of the others that should share it, in units of one pose's error.

        e_j(r) = √((K − 1) / K) · (a_j(r) − mean over r' ≠ r of a_j(r'))

    with K poses that share joint j, and a_j of `left_alone`.  The mean of K − 1 poses has an error as well: where
    all errors are independent and of equal variance σ², that of e_j is σ² exactly.

    But poses of an anchor that look alike are misread alike, and what they share leaves no trace in their differences.
    So c_j e_j is the sample of the error: c_j² is the error's variance (`error_variance`) over the mean square of e_j,
    two standard errors (jackknife over anchors) above the estimate, and never below 1.  Few anchors make it large
    rather than small.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: which joint each intervention is on, see `ropes.methods.contrast.targets`.
        follows: bool (d, d), whose joint (column) follows which (row): such a response is no error.

    Returns:
        e, (A, R, d), NaN for poses under an intervention on joint j; and c, (d,).
    """
    alone, counts = (part.double() for part in left_alone(coordinates, target, follows))
    every, counted = alone.numpy(), counts.numpy()
    shared = counted.sum(0)
    mean = (every * counted).sum(1, keepdims=True) / shared
    found: Array = np.where(counted > 0, (every - mean) * np.sqrt(shared / (shared - 1)), np.nan)
    apart, usual = _apart(every, target.numpy()), np.nanmean(found**2, axis=1)
    if len(every) < 2:
        ratio = error_variance(apart.mean(0)) / _above_zero(usual.mean(0))
    else:
        without = [(part.sum(0) - part) / (len(part) - 1) for part in (apart, usual)]  # each anchor in turn
        ratios = error_variance(without[0]) / _above_zero(without[1])
        ratio = ratios.mean(0) + _ABOVE * np.sqrt((len(every) - 1) * ratios.var(0))
    return found, np.sqrt(np.maximum(1, ratio))


def error_variance(apart: Array) -> Array:
    """The variance of each coordinate's error, from how far apart poses of an anchor are that share its joint.

    If moving joint i leaves a share ρ_i of the error as it was, and moving i and k a share ρ_i ρ_k, then

        T_i = V (1 − ρ_i),  T_ik = V (1 − ρ_i ρ_k)    hence    V = Σ T_i T_k / Σ (T_i + T_k − T_ik)    over pairs i < k

    where T is half the mean square of what poses differ by that joint i, or joints i and k, set apart.  So the size of
    a population is estimated from two samples and what is in both (Lincoln and Petersen).  What of the error depends on
    other joints has a variance of at least each T_ik and at most Σ T_i, if joints are independent and both poses of a
    pair are drawn alike (Sobol' 1993); V is kept within.  What depends on joint j alone is in none of them.

    Deviation: of a pair from an anchor one pose is observational and one under a policy, which draws more widely.  Why:
    anchors have no two observational poses.  Effect: T is somewhat larger than for two observational poses, and so is
    V.

    Args:
        apart: (..., 1 + d, 1 + d, d), T between the observational pose and those under a policy on each joint, see
            `_apart`.

    Returns:
        (..., d), in squared units of the coordinates; 0 for a single joint, of which nothing is known.
    """
    d = apart.shape[-1]
    found = np.zeros((*apart.shape[:-3], d))
    for j in range(d):
        others = [i for i in range(d) if i != j]
        single = apart[..., 0, 1:, j][..., others]
        both = apart[..., 1:, 1:, j][..., others, :][..., others]
        if len(others) < 2:
            found[..., j] = both[..., 0, 0] if others else 0
            continue
        first, second = np.triu_indices(len(others), 1)
        one, other, pair = single[..., first], single[..., second], both[..., first, second]
        overlap = (one + other - pair).sum(-1)
        most = single.sum(-1)
        recaptured = np.where(overlap > 0, (one * other).sum(-1) / _above_zero(overlap), most)
        found[..., j] = np.maximum(np.minimum(recaptured, most), pair.max(-1))
    return found


def _apart(alone: Array, target: NDArray[np.int64]) -> Array:
    """T, (A, 1 + d, 1 + d, d): half the mean square of what poses differ by, the observational one and those under a
    policy on each joint; on the diagonal between the two policies on the joint.
    """
    d = alone.shape[-1]
    square = (alone[:, :, None] - alone[:, None]) ** 2 / 2
    group = np.zeros((1 + d, alone.shape[1]))
    group[0, 0] = 1
    group[1 + target, 1 + np.arange(len(target))] = 1
    pairs = np.einsum("gr,arsj,hs->aghj", group, square, group, optimize=True)
    size = group.sum(1)
    number = np.outer(size, size) - np.diag(size)  # a pose is no pair with itself, where the difference is 0
    return np.asarray(pairs / np.maximum(number, 1)[:, :, None])


def _above_zero(values: Array) -> Array:
    return np.where(values > 0, values, np.inf)
