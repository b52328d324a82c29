"""Total and direct effects between joints, from coordinates under interventions.

The policy on a joint is an instrument (`total_effects`): it is independent of all other causes of joint j and of the
coordinates' noise.  But a coordinate that mixes several joints responds to interventions on all of them.
`effects_after_unmixing` separates effects from mixtures: an intervention on a joint cuts its causes, but not a mixture.

Let θ = θB + ε be the joints (rows), T = (I − B)⁻¹ their total effects, and x = θA + ν the coordinates, with any mixture
A and with noise ν of any covariance.  Policies on joint i, Δ_i apart, shift x by the row D_i = Δ_i T_i A.  D alone does
not separate an effect (T) from a mixture (A).  But y = x D⁻¹ depends on the exogenous terms, without A and without T:

    y_i = ε_i / Δ_i + noise                    with no policy on joint i
    y_j = (u − Σ_i T_ij ε_i) / Δ_j + noise     under a policy on joint j, which draws u and cuts its causes

so with ω = Cov(ε / Δ), which is diagonal, and M_ij = T_ij Δ_i / Δ_j as in `total_effects`,

    Cov(y_i, y_j | no policy on i or j) − Cov(y_i, y_j | policy on j) = Σ_k ω_ik M_kj.

Noise is in both covariances and cancels, also when it is correlated between coordinates.  ω comes from pairs of
different poses of one anchor, whose exogenous terms are equal; it is free of the noise of single poses.  Squires et
al., Linear Causal Disentanglement via Interventions (ICML 2023), identify a linear mixture from a second set of
covariances in the same way.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ropes.common.arrays import Floats, Ints

#: Above this condition number of the total effects two coordinates count as the same.
_SINGULAR = 1e3
#: Smallest share of the joint's own variance in that of y_i for which small effects of the joint can be excluded.
RELIABLE = 0.1
_RIDGE = 1e-9


def total_effects(coordinates: Floats, target: Ints, policy: Ints, weight: Floats) -> Floats:
    """The effect of the policies on joint i on joint j, as a share of the effect of the policies on joint j.

        D_ij = E[ẑ_j | policy 1 on i] − E[ẑ_j | policy 2 on i],    M_ij = D_ij / D_jj

    Signs, scales and offsets of the coordinates cancel.  In a linear structural model z = z B + ε this is the total
    effect: M = S (I − B)⁻¹ S⁻¹ with S = diag(D_jj), in units in which each joint's policies are 1 apart.

    Args:
        coordinates: (n, d), any unit; noise of mean zero does no harm.
        target: (n,), column of the joint that the pose's policy is on; −1 for observational poses, which are not used.
        policy: (n,), 1 or 2; 0 for observational poses.
        weight: (..., n), positive weight of each pose in its mean; one estimate for each of the leading indices.

    Returns:
        (..., d, d), ones on the diagonal; NaN or infinite in the column of a coordinate that its policies do not move.
    """

    def mean(regime: int) -> Floats:
        rows = _rows_of(target, policy, regime)
        share = np.take(weight, rows, axis=-1)[..., None, :]
        return np.asarray(share @ coordinates[rows] / share.sum(-1, keepdims=True))

    joints = range(coordinates.shape[1])
    shifts = np.concatenate([mean(1 + 2 * i) - mean(2 + 2 * i) for i in joints], axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(shifts / np.diagonal(shifts, axis1=-2, axis2=-1)[..., None, :])


def direct_effects(total: Floats) -> Floats:
    """The part of each total effect that does not pass through another joint: I − M⁻¹.

    From M = (I − B)⁻¹, for a linear structural model (here in the units of `total_effects`).

    Args:
        total: M, (d, d), row i the effects of joint i.

    Returns:
        B, (d, d), row parent, column child, as shares of the effect of the child's own policies.

    Raises:
        ValueError: two coordinates respond alike to every intervention.
    """
    if np.linalg.cond(total) > _SINGULAR:
        raise ValueError("two coordinates respond alike to every intervention, so their joints cannot be separated")
    return np.asarray(np.eye(len(total)) - np.linalg.inv(total))


def normal_scores(coordinates: Floats) -> Floats:
    """Each coordinate's ranks as normal quantiles, (n, d): invariant to monotone maps of a coordinate."""
    return np.asarray(stats.norm.ppf((stats.rankdata(coordinates, axis=0) - 0.5) / len(coordinates)))


def policy_distances(coordinates: Floats, target: Ints, policy: Ints) -> Floats:
    """Distance between the policies on each joint in y_i, in standard deviations under them, (d,).

    It is 1 / sd(y_i): the length of the part of D_i that no other row of D explains, in the metric of the covariance
    under the policies on i.  0 means that no coordinate separates them from policies on other joints.  At distance d
    the cross-entropy of classifying the policies is about ln 2 − d²/8 nats.
    """
    d = coordinates.shape[1]
    means, covariances = _moments(coordinates, target, policy, np.zeros(len(target), dtype=int), np.ones((1, 1)))
    shifts = means[0, 1::2] - means[0, 2::2]
    distances = np.empty(d)
    for i in range(d):
        within = covariances[0, 1 + 2 * i : 3 + 2 * i].mean(0)
        within = within + _RIDGE * np.diag(np.diag(within) + np.finfo(float).tiny)
        white = np.linalg.solve(np.linalg.cholesky(within), shifts.T).T
        others = np.delete(white, i, axis=0)
        distances[i] = np.linalg.norm(white[i] - np.linalg.lstsq(others.T, white[i], rcond=None)[0] @ others)
    return distances


def effects_after_unmixing(
    coordinates: Floats, target: Ints, policy: Ints, anchor: Ints, weight: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Total effects M without the contribution of mixed coordinates; see the head of the module.

    Without two poses of one anchor, effects are too small by the share of noise in y_i, and no joint is reliable.

    Args:
        coordinates: (n, d), whose policies are separable (`policy_distances`).
        target: (n,), column of the joint that the pose's policy is on, −1 for observational poses.
        policy: (n,), 1 or 2, 0 for observational poses.
        anchor: (n,), number of the pose's anchor, from 0.
        weight: (b, anchors), weight of each anchor in b estimates.

    Returns:
        (b, d, d), row the cause, with ones on the diagonal, NaN without poses to compare; (d,) whether a small effect
        of the joint can count as none, because y_i varies with the joint.
    """
    d = coordinates.shape[1]
    means, covariances = _moments(coordinates, target, policy, anchor, weight)
    unmixing: Floats = np.asarray(np.linalg.inv(means[:, 1::2] - means[:, 2::2]), dtype=np.float64)
    y = np.einsum("bki,brkl,blj->brij", unmixing, covariances, unmixing)
    exogenous = _exogenous(coordinates, target, policy, anchor, weight, unmixing)
    total, reliable = np.tile(np.eye(d), (len(weight), 1, 1)), np.zeros(d, dtype=bool)
    for j in range(d):
        cut, others = y[:, 1 + 2 * j : 3 + 2 * j].mean(1), [i for i in range(d) if i != j]
        if not others:  # a single joint has no causes
            continue
        change = np.stack([_without_policy(y[:, :, i, j], {i, j}) - cut[:, i, j] for i in others], axis=1)
        block = np.ix_(np.arange(len(weight)), np.array(others, dtype=int), np.array(others, dtype=int))
        inverse = _bounded_inverse(cut[block], None if exogenous is None else exogenous[block])
        total[:, others, j] = np.einsum("bik,bk->bi", inverse, change)
    if exogenous is not None:
        variance = np.array([_without_policy(y[:1, :, i, i], {i})[0] for i in range(d)])
        reliable = np.diag(exogenous[0]) >= RELIABLE * variance
    return total, reliable


def _without_policy(values: Floats, joints: set[int]) -> Floats:
    """Mean over the regimes (axis 1) without a policy on these joints."""
    regimes = [r for r in range(values.shape[1]) if (r + 1) // 2 - 1 not in joints and not np.isnan(values[0, r])]
    return np.asarray(values[:, regimes].mean(1)) if regimes else np.full(len(values), np.nan)


def _moments(coordinates: Floats, target: Ints, policy: Ints, anchor: Ints, weight: Floats) -> tuple[Floats, Floats]:
    """Weighted means (b, regimes, d) and covariances (b, regimes, d, d); observational first, NaN without poses."""
    d = coordinates.shape[1]
    means = np.full((len(weight), 2 * d + 1, d), np.nan)
    covariances = np.full((*means.shape, d), np.nan)
    for regime in range(2 * d + 1):
        rows = _rows_of(target, policy, regime)
        if not len(rows):
            continue
        x, share = coordinates[rows], weight[:, anchor[rows]]
        share = share / share.sum(1, keepdims=True)
        means[:, regime] = mean = share @ x
        covariances[:, regime] = (share @ _products(x, x)).reshape(-1, d, d) - mean[:, :, None] * mean[:, None, :]
    return means, covariances


def _rows_of(target: Ints, policy: Ints, regime: int) -> Ints:
    """The poses of a regime: 0 is observational, 1 + 2j and 2 + 2j are the policies on joint j."""
    joint, kind = (regime + 1) // 2 - 1, 2 - regime % 2
    return np.flatnonzero(target < 0 if regime == 0 else (target == joint) & (policy == kind))


def _products(first: Floats, second: Floats) -> Floats:
    return np.asarray(np.einsum("ni,nj->nij", first, second).reshape(len(first), first.shape[1] ** 2))


def _exogenous(
    coordinates: Floats, target: Ints, policy: Ints, anchor: Ints, weight: Floats, unmixing: Floats
) -> Floats | None:
    """ω, (b, d, d): covariance of y_i and y_k over pairs of different poses of an anchor, neither under its own policy.

    None without two poses of one anchor.
    """
    d, anchors = coordinates.shape[1], weight.shape[1]
    x = coordinates.copy()
    for regime in range(2 * d + 1):
        rows = _rows_of(target, policy, regime)
        x[rows] -= coordinates[rows].mean(0) if len(rows) else 0.0
    free = [target != i for i in range(d)]
    count = [np.bincount(anchor[rows], minlength=anchors) for rows in free]
    sums = [_anchor_sums(x[rows], anchor[rows], anchors) for rows in free]
    omega = np.empty((len(weight), d, d))
    for i in range(d):
        for k in range(i, d):
            both = free[i] & free[k]
            pairs = count[i] * count[k] - np.bincount(anchor[both], minlength=anchors)
            if not pairs.any():
                return None
            same = _anchor_sums(_products(x[both], x[both]), anchor[both], anchors)
            cross = (weight @ (_products(sums[i], sums[k]) - same)) / (weight @ pairs)[:, None]
            value = np.einsum("bk,bkl,bl->b", unmixing[:, :, i], cross.reshape(-1, d, d), unmixing[:, :, k])
            omega[:, i, k] = omega[:, k, i] = value
    return omega


def _anchor_sums(values: Floats, anchor: Ints, anchors: int) -> Floats:
    """Sums over the rows of each anchor, (anchors, columns)."""
    return np.stack([np.bincount(anchor, column, anchors) for column in values.T], axis=1)


def _bounded_inverse(noisy: Floats, exact: Floats | None) -> Floats:
    """Inverse of `exact`, clipped in every direction between `RELIABLE` times `noisy` and `noisy`, (b, k, k)."""
    if exact is None:
        return np.asarray(np.linalg.inv(noisy))
    white = np.linalg.inv(np.linalg.cholesky(noisy))
    values, vectors = np.linalg.eigh(white @ exact @ white.transpose(0, 2, 1))
    root = white.transpose(0, 2, 1) @ vectors
    return np.asarray((root / np.clip(values, RELIABLE, 1)[:, None, :]) @ root.transpose(0, 2, 1))
