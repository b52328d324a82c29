"""Residuals without labels: jackknife residuals of a joint's coordinate within an anchor."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ropes.common.arrays import Floats
from ropes.methods.anchored.contrast import partial_out_ancestors

#: Standard errors added to the estimated error variance: it is too small in 2.5% of the cases.
_STANDARD_ERRORS = 2.0


def jackknife_residuals(coordinates: Tensor, target: Tensor, descendants: Tensor) -> tuple[Floats, Floats]:
    """Leave-one-out residuals within each anchor, and the factor that makes them samples of the whole error.

        e_j(r) = √((K − 1) / K) · (a_j(r) − mean over r' ≠ r of a_j(r'))

    with K poses that share the angle of joint j, and a_j of `partial_out_ancestors`. The mean of K − 1 poses has an
    error as well: where all errors are independent and of equal variance σ², the variance of e_j is σ².

    Similar poses of an anchor have similar errors, and the common part cancels in their differences. Therefore c_j e_j
    is the sample of the error: c_j² is the error's variance (`error_variance`) over the mean square of e_j, two
    standard errors (jackknife over anchors) above its estimate, and at least 1. With few anchors it is rather too large
    than too small.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: joint of each intervention, see `ropes.methods.anchored.contrast.targets`.
        descendants: bool (d, d), whether the joint of the column is a descendant of the joint of the row; its response
            to that joint is no error.

    Returns:
        e, (A, R, d), NaN for poses under an intervention on joint j; and c, (d,).
    """
    invariant, counted = (part.double().numpy() for part in partial_out_ancestors(coordinates, target, descendants))
    shared = counted.sum(0)
    mean = (invariant * counted).sum(1, keepdims=True) / shared
    residuals: Floats = np.where(counted > 0, (invariant - mean) * np.sqrt(shared / (shared - 1)), np.nan)
    differences, squares = _differences(invariant, target.numpy()), np.nanmean(residuals**2, axis=1)
    anchors = len(invariant)
    if anchors < 2:
        ratio = error_variance(differences.mean(0)) / _positive(squares.mean(0))
    else:
        jackknife = [(part.sum(0) - part) / (anchors - 1) for part in (differences, squares)]
        ratios = error_variance(jackknife[0]) / _positive(jackknife[1])
        ratio = ratios.mean(0) + _STANDARD_ERRORS * np.sqrt((anchors - 1) * ratios.var(0))
    return residuals, np.sqrt(np.maximum(1, ratio))


def error_variance(differences: Floats) -> Floats:
    """The variance of each coordinate's error, from differences between poses of an anchor that share its joint.

    If an intervention on joint i keeps a fraction ρ_i of the error, and interventions on i and k keep ρ_i ρ_k, then

        T_i = V (1 − ρ_i),  T_ik = V (1 − ρ_i ρ_k)    hence    V = Σ T_i T_k / Σ (T_i + T_k − T_ik)    over pairs i < k

    where T is half the mean squared difference of poses that differ by joint i, or by joints i and k. This is the
    capture-recapture estimate of Lincoln and Petersen. The part of the error that depends on other joints has a
    variance of at least each T_ik and at most Σ T_i, if joints are independent and both poses of a pair have the same
    distribution (Sobol' 1993); V is clipped to this range. The part that depends on joint j alone is in none of them.

    Deviation: of a pair from an anchor one pose is observational and one under a policy, which draws more widely.  Why:
    anchors have no two observational poses.  Effect: the mean squared difference is somewhat larger than for two
    observational poses, and so is the estimated variance.

    Args:
        differences: (..., 1 + d, 1 + d, d), T between groups of poses, see `_differences`.

    Returns:
        (..., d), in squared units of the coordinates; 0 for a single joint, where it cannot be estimated.
    """
    d = differences.shape[-1]
    variance = np.zeros((*differences.shape[:-3], d))
    for j in range(d):
        others = [i for i in range(d) if i != j]
        single = differences[..., 0, 1:, j][..., others]
        both = differences[..., 1:, 1:, j][..., others, :][..., others]
        if len(others) < 2:
            variance[..., j] = both[..., 0, 0] if others else 0
            continue
        first, second = np.triu_indices(len(others), 1)
        one, other, pair = single[..., first], single[..., second], both[..., first, second]
        overlap, most = (one + other - pair).sum(-1), single.sum(-1)
        recaptured = np.where(overlap > 0, (one * other).sum(-1) / _positive(overlap), most)
        variance[..., j] = np.maximum(np.minimum(recaptured, most), pair.max(-1))
    return variance


def _differences(invariant: Floats, target: NDArray[np.int64]) -> Floats:
    """T, (A, 1 + d, 1 + d, d): half the mean squared difference between two groups of poses of each anchor.

    The groups are the observational pose, then the poses under the policies on each joint; the diagonal compares the
    two policies on a joint.
    """
    d = invariant.shape[-1]
    square = (invariant[:, :, None] - invariant[:, None]) ** 2 / 2
    group = np.zeros((1 + d, invariant.shape[1]))
    group[0, 0] = 1
    group[1 + target, 1 + np.arange(len(target))] = 1
    pairs = np.einsum("gr,arsj,hs->aghj", group, square, group, optimize=True)
    size = group.sum(1)
    number = np.outer(size, size) - np.diag(size)  # a pose is no pair with itself
    return np.asarray(pairs / np.maximum(number, 1)[:, :, None])


def _positive(values: Floats) -> Floats:
    return np.where(values > 0, values, np.inf)


def chain_residuals(coordinates: Floats, joint: NDArray[np.int64], before: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Leave-one-out residuals within the poses of a chain that share a joint's angle, and the factor as above.

        e_j(t) = √(K / (K − 1)) · (ẑ_j(t) − mean of ẑ_j over the K poses)    from one move of joint j to the next

    Between the first and the last of these poses all other joints have moved, so half their mean squared difference is
    the variance of the error that depends on other joints (Sobol' 1993).  As in `jackknife_residuals`, the factor is
    the root of the ratio of that variance to the mean square of e_j, two standard errors above its estimate, and at
    least 1; the jackknife leaves out runs of poses.

    The variance presumes that a joint is independent of the others in the first and the last pose.  It is, because it
    was redrawn in the move before the first one.  The exception is the first run of the last joint, which starts with
    the observational pose: where joints depend on one another, its squared difference is no such sample.

    Args:
        coordinates: ẑ, (n, d), the poses of each chain one after the other.
        joint: index of the joint that moves in each move, (m,).
        before: row of the pose before each move, (m,); that after it is the next.

    Returns:
        e, (n, d), NaN where no other pose shares the angle; and the factor c, (d,).
    """
    n, d = coordinates.shape
    residuals, factor = np.full((n, d), np.nan), np.ones(d)
    starts_chain = np.ones(n, dtype=bool)
    starts_chain[before + 1] = False
    for j in range(d):
        starts = starts_chain.copy()
        starts[before[joint == j] + 1] = True
        run, count = np.cumsum(starts) - 1, np.diff(np.append(np.flatnonzero(starts), n))
        sums = np.bincount(run, coordinates[:, j])
        shared = count[run] > 1
        deviation = coordinates[:, j] - (sums / count)[run]
        residuals[shared, j] = (deviation * np.sqrt(count / np.maximum(count - 1, 1))[run])[shared]
        first = np.flatnonzero(starts)
        whole = (count == d) & (count > 1)  # of a complete turn
        if whole.sum() < 2:
            continue
        difference = (coordinates[first + count - 1, j] - coordinates[first, j])[whole] ** 2 / 2
        square = (np.bincount(run, np.nan_to_num(residuals[:, j]) ** 2) / count)[whole]
        jackknife = (difference.sum() - difference) / _positive(square.sum() - square)
        spread = np.sqrt((len(jackknife) - 1) * jackknife.var())
        factor[j] = np.sqrt(max(1.0, jackknife.mean() + _STANDARD_ERRORS * spread))
    return residuals, factor
