"""Separates causal effects from mixed coordinates: an intervention on a joint cuts its causes, but not a mixture.

Let θ = θB + ε be the joints (rows), T = (I − B)⁻¹ their total effects, x = θA + ν the coordinates, with any mixture A
and with noise ν of any covariance.  Policies on joint i, Δ_i apart, shift x by the row D_i = Δ_i T_i A.  D alone does
not tell an effect (T) from a mixture (A).  But y = x D⁻¹ reads the exogenous terms, without A and without T:

    y_i = ε_i / Δ_i + noise              wherever no policy is on joint i
    y_j = (u − Σ_i T_ij ε_i) / Δ_j + noise     under a policy on joint j, which draws u and cuts its causes

so with ω = Cov(ε / Δ), which is diagonal, and M_ij = T_ij Δ_i / Δ_j (as in `ropes.causal.graph.effects.total_effects`)

    Cov(y_i, y_j | no policy on i or j) − Cov(y_i, y_j | policy on j) = Σ_k ω_ik M_kj.

The noise cancels: errors of coordinates, however they depend on one another, and nuisances of the camera count on both
sides.  ω comes from pairs of different poses of one anchor, whose exogenous terms are equal; noise of single poses is
not in it.  The idea that a second set of covariances makes a linear mixture identifiable is that of Squires et al.,
Linear Causal Disentanglement via Interventions (ICML 2023).
"""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ropes.causal.graph.effects import Array, Ints

#: Least share of what y_i varies by that has to be the joint's own for its effects to be bounded from above.
RELIABLE = 0.1
_RIDGE = 1e-9


def normal_scores(coordinates: Array) -> Array:
    """Each coordinate's ranks as quantiles of a normal, (n, d): a monotone bend of a coordinate changes nothing."""
    return np.asarray(stats.norm.ppf((stats.rankdata(coordinates, axis=0) - 0.5) / len(coordinates)))


def distances(coordinates: Array, target: Ints, policy: Ints) -> Array:
    """How far apart the policies on each joint are in y_i, in standard deviations under them, (d,).

    It is 1 / sd(y_i): the length of the part of D_i that no other row of D explains, in the metric of the covariance
    under the policies on i.  0 means that no coordinate tells them from policies on other joints; policies d apart
    are told with a cross-entropy of about ln 2 − d²/8 nats.
    """
    d = coordinates.shape[1]
    means, covariances = _moments(coordinates, target, policy, np.zeros(len(target), dtype=int), np.ones((1, 1)))
    shifts = means[0, 1::2] - means[0, 2::2]
    found = np.empty(d)
    for i in range(d):
        within = covariances[0, 1 + 2 * i : 3 + 2 * i].mean(0)
        within = within + _RIDGE * np.diag(np.diag(within) + np.finfo(float).tiny)
        white = np.linalg.solve(np.linalg.cholesky(within), shifts.T).T
        others = np.delete(white, i, axis=0)
        found[i] = np.linalg.norm(white[i] - np.linalg.lstsq(others.T, white[i], rcond=None)[0] @ others)
    return found


def cleared_effects(
    coordinates: Array, target: Ints, policy: Ints, anchor: Ints, weight: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """Total effects M without what coordinates hold of one another by mistake; see the head of the module.

    Args:
        coordinates: (n, d), whose policies are told (`distances`).
        target: (n,), column of the joint that the pose's policy is on, −1 for observational poses.
        policy: (n,), 1 or 2, 0 for observational poses.
        anchor: (n,), number of the pose's anchor, from 0.
        weight: (b, anchors), of each anchor in b estimates.

    Returns:
        (b, d, d), row the cause, with ones on the diagonal, NaN where nothing is left to compare with; (d,) whether a
        small effect of the joint may be taken for none, because y_i is known to vary with the joint.  Where no two
        poses share an anchor that is not known, and effects come out too small by the share of noise in y_i.
    """
    d = coordinates.shape[1]
    means, covariances = _moments(coordinates, target, policy, anchor, weight)
    unmixing: Array = np.asarray(np.linalg.inv(means[:, 1::2] - means[:, 2::2]), dtype=np.float64)
    y = np.einsum("bki,brkl,blj->brij", unmixing, covariances, unmixing)
    exogenous = _exogenous(coordinates, target, policy, anchor, weight, unmixing)
    total, reliable = np.tile(np.eye(d), (len(weight), 1, 1)), np.zeros(d, dtype=bool)
    own = [slice(1 + 2 * i, 3 + 2 * i) for i in range(d)]
    for j in range(d):
        cut, others = y[:, own[j]].mean(1), [i for i in range(d) if i != j]
        change = np.stack([_elsewhere(y[:, :, i, j], {i, j}) - cut[:, i, j] for i in others], axis=1)
        block = np.ix_(np.arange(len(weight)), np.array(others, dtype=int), np.array(others, dtype=int))
        inverse = _inverse(cut[block], None if exogenous is None else exogenous[block])
        total[:, others, j] = np.einsum("bik,bk->bi", inverse, change)
    if exogenous is not None:
        spread = np.array([_elsewhere(y[:1, :, i, i], {i})[0] for i in range(d)])
        reliable = np.diag(exogenous[0]) >= RELIABLE * spread
    return total, reliable


def _elsewhere(values: Array, joints: set[int]) -> Array:
    """Mean over the regimes (axis 1) in which no policy is on these joints."""
    kept = [r for r in range(values.shape[1]) if (r + 1) // 2 - 1 not in joints and not np.isnan(values[0, r])]
    return np.asarray(values[:, kept].mean(1)) if kept else np.full(len(values), np.nan)


def _moments(coordinates: Array, target: Ints, policy: Ints, anchor: Ints, weight: Array) -> tuple[Array, Array]:
    """Weighted means (b, regimes, d) and covariances (b, regimes, d, d); observational first, NaN where no pose is."""
    d = coordinates.shape[1]
    means = np.full((len(weight), 2 * d + 1, d), np.nan)
    covariances = np.full((*means.shape, d), np.nan)
    for regime in range(2 * d + 1):
        rows = _under(target, policy, regime)
        if not len(rows):
            continue
        x, share = coordinates[rows], weight[:, anchor[rows]]
        share = share / share.sum(1, keepdims=True)
        means[:, regime] = mean = share @ x
        covariances[:, regime] = (share @ _products(x, x)).reshape(-1, d, d) - mean[:, :, None] * mean[:, None, :]
    return means, covariances


def _under(target: Ints, policy: Ints, regime: int) -> Ints:
    joint, kind = (regime + 1) // 2 - 1, 2 - regime % 2
    return np.flatnonzero(target < 0 if regime == 0 else (target == joint) & (policy == kind))


def _products(first: Array, second: Array) -> Array:
    return np.asarray(np.einsum("ni,nj->nij", first, second).reshape(len(first), first.shape[1] ** 2))


def _exogenous(
    coordinates: Array, target: Ints, policy: Ints, anchor: Ints, weight: Array, unmixing: Array
) -> Array | None:
    """ω, (b, d, d): covariance of y_i and y_k over pairs of different poses of an anchor, neither under its own policy.

    None where no two poses share an anchor.
    """
    d, anchors = coordinates.shape[1], weight.shape[1]
    x = coordinates.copy()
    for regime in range(2 * d + 1):
        rows = _under(target, policy, regime)
        x[rows] -= coordinates[rows].mean(0) if len(rows) else 0.0
    free = [target != i for i in range(d)]
    count = [np.bincount(anchor[rows], minlength=anchors) for rows in free]
    added = [_added(x[rows], anchor[rows], anchors) for rows in free]
    found = np.empty((len(weight), d, d))
    for i in range(d):
        for k in range(i, d):
            both = free[i] & free[k]
            pairs = count[i] * count[k] - np.bincount(anchor[both], minlength=anchors)
            if not pairs.any():
                return None
            same = _added(_products(x[both], x[both]), anchor[both], anchors)
            cross = (weight @ (_products(added[i], added[k]) - same)) / (weight @ pairs)[:, None]
            value = np.einsum("bk,bkl,bl->b", unmixing[:, :, i], cross.reshape(-1, d, d), unmixing[:, :, k])
            found[:, i, k] = found[:, k, i] = value
    return found


def _added(values: Array, anchor: Ints, anchors: int) -> Array:
    """Sums over the rows of each anchor, (anchors, columns)."""
    return np.stack([np.bincount(anchor, column, anchors) for column in values.T], axis=1)


def _inverse(noisy: Array, exact: Array | None) -> Array:
    """Inverse of `exact`, in no direction smaller than `RELIABLE` times `noisy` nor larger than that, (b, k, k)."""
    if exact is None:
        return np.asarray(np.linalg.inv(noisy))
    white = np.linalg.inv(np.linalg.cholesky(noisy))
    values, vectors = np.linalg.eigh(white @ exact @ white.transpose(0, 2, 1))
    root = white.transpose(0, 2, 1) @ vectors
    return np.asarray((root / np.clip(values, RELIABLE, 1)[:, None, :]) @ root.transpose(0, 2, 1))
