"""Estimates which coordinates respond to interventions on each joint. Uses no labels."""

import torch
from torch import Tensor

from ropes.methods.contrast import shifts, under_policies

#: Below this share of the joint's own change a response counts as none.
LEFT_ALONE = 0.1
#: Of the regressions: ridge a pose, steps, and standard errors beyond which a weight is no chance.
_RIDGE, _NEWTON_STEPS, _BEYOND_CHANCE = 1e-3, 12, 3.0


def precedes(change: Tensor) -> Tensor:
    """Which joint (row) comes before which (column), if of two joints the one that changes the images less follows.

    Args:
        change: (d,), see `ropes.methods.contrast.image_changes`.
    """
    return change[:, None] > change


def telling(coordinates: Tensor, target: Tensor, change: Tensor) -> Tensor:
    """Which coordinates (columns) may help to tell the policies on which joint (rows), bool (d, d): all but its echoes.

    An echo responds by `LEFT_ALONE` at least, and its own interventions change the images less than those on the joint.
    It is looked for in coordinates that are clear of the joints before them: two that hold some of each other seem to
    answer both ways.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `ropes.methods.contrast.targets`.
        change: (d,), see `ropes.methods.contrast.image_changes`.
    """
    no_later = ~precedes(change)
    return no_later | (_sizes(unmixed(coordinates.double(), target, no_later), target) < LEFT_ALONE)


def unmixed(coordinates: Tensor, target: Tensor, asked: Tensor) -> Tensor:
    """The line through all coordinates that best tells each joint's policies apart, (A, R, d) → (A, R, d).

    Under a policy on joint j its angle has no causes, so nothing but the angle itself tells which policy it was, and
    its descendants, which echo it.  What a coordinate holds of other joints is in the way there, and is taken out:
    logistic regression of the policy on all coordinates but the echoes, and only where it is beyond chance.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `ropes.methods.contrast.targets`.
        asked: (d, d), see `telling`.
    """
    every = _standardised(coordinates)
    poses = under_policies(every, target).unbind(1)
    weights = [_logit(own, j, known) for j, (own, known) in enumerate(zip(poses, asked, strict=True))]
    return (every @ torch.stack(weights, dim=1)).to(coordinates)


def _standardised(coordinates: Tensor) -> Tensor:
    every = coordinates.double()
    return every / _away_from_zero(every.flatten(0, 1).std(0))


def _sizes(coordinates: Tensor, target: Tensor) -> Tensor:
    """`shifts` in shares of what the coordinate's own policies do to it, without their sign, (d, d)."""
    found = shifts(coordinates, target)
    return (found / _away_from_zero(found.diagonal())).abs()


def _logit(poses: Tensor, joint: int, asked: Tensor) -> Tensor:
    """Weights (d,) of the logistic regression that tells poses (A, 2, d) under two policies apart.

    Zero for coordinates that are not asked, and for those of other joints that may be there by chance: one after the
    other the least certain is left out.
    """
    left = torch.nonzero(asked)[:, 0]
    while True:
        weights, covariance = _regress(poses[..., left])
        certain = torch.where(left == joint, torch.inf, weights.abs() / covariance.diagonal().sqrt())
        if certain.min() > _BEYOND_CHANCE:
            return torch.zeros_like(poses[0, 0]).index_put((left,), weights)
        left = left[torch.arange(len(left)) != certain.argmin()]


def _regress(poses: Tensor) -> tuple[Tensor, Tensor]:
    """Logistic regression of the first policy of two, (A, 2, k) → weights and their covariance, by Newton's method."""
    x = (poses - poses.mean((0, 1))).flatten(0, 1)
    first = torch.tensor([1.0, 0.0]).to(x).repeat(len(poses))
    ridge = _RIDGE * len(x) * torch.eye(x.shape[1]).to(x)
    weights = torch.zeros_like(x[0])
    for _ in range(_NEWTON_STEPS):
        share = (x @ weights).sigmoid()
        curvature = (x * (share * (1 - share))[:, None]).T @ x + ridge
        weights = weights - torch.linalg.solve(curvature, x.T @ (share - first) + ridge @ weights)
    return weights, torch.linalg.inv(curvature)


def shares(coordinates: Tensor, target: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
    """What interventions on each joint do to each joint, in shares of what its own policies do, and standard errors.

    As `shifts` of the `unmixed` coordinates, with nothing left out because it may be there by chance: the errors say
    how well policies tell what a coordinate holds of other joints.  They count every pose as one of its own, which
    makes them a little too large, and leave out what echoes and the means over anchors add.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `ropes.methods.contrast.targets`.
        asked: (d, d), see `telling`.

    Returns:
        (d, d) and (d, d), row the cause, column what responds.
    """
    every = _standardised(coordinates)
    found, poses = shifts(every, target), under_policies(every, target)
    columns, errors = [], []
    for j, known in enumerate(asked):
        weights, covariance = _regress(poses[:, j][..., known])
        response = found[:, known] @ weights
        own = _away_from_zero(response[j])
        slope = (found[:, known] - response[:, None] / own * found[j, known]) / own
        columns.append(response / own)
        errors.append(((slope @ covariance) * slope).sum(1).sqrt())
    return torch.stack(columns, dim=1), torch.stack(errors, dim=1)


def followers_and_responses(
    coordinates: Tensor, target: Tensor, change: Tensor, *, bound: float = LEFT_ALONE, doubt: float = 0.0
) -> tuple[Tensor, Tensor]:
    """`followers` and `responses` of the same arguments, for one set of regressions."""
    asked, first = telling(coordinates, target, change), precedes(change)
    clear = unmixed(coordinates, target, asked)
    share = _sizes(clear, target)
    certain = shifts(clear, target).abs() > _BEYOND_CHANCE * _chance(clear, target)
    counts = certain & (share >= bound) & (share * change <= change[:, None])
    counts &= ~(counts.T & first.T)
    if doubt:
        seen, error = shares(coordinates, target, asked)
        least, most = (seen.abs() - doubt * error).clamp_min(0), seen.abs() + doubt * error
        counts |= first & ~counts.T & (most >= bound) & (least * change <= change[:, None])
    return counts.fill_diagonal_(False), share


def followers(
    coordinates: Tensor, target: Tensor, change: Tensor, *, bound: float = LEFT_ALONE, doubt: float = 0.0
) -> Tensor:
    """Which coordinates follow which joint: true in row i, column j where an intervention on joint i moves joint j.

    A coordinate may respond because its joint follows, or because it holds some of another joint by mistake.  Three
    things tell.  In the `unmixed` coordinates only the first remains; it counts from a `bound` on, in shares of what
    the coordinate's own policies do to it, and where it is beyond chance.  Interventions on joint i that carry joint j
    with them by some share change the images by at least that share of what interventions on joint j change.  And of
    two joints only one can follow the other: where both seem to, it is the one that changes the images less.

    With `doubt` a joint that changes the images less also follows one that changes them more unless policies exclude
    it (`shares`): by so many standard errors its share falls short of `bound`, or is more than the images allow.  A
    coordinate loses a response that is denied; one that is excused by mistake costs little.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `ropes.methods.contrast.targets`.
        change: (d,), see `ropes.methods.contrast.image_changes`.
        bound: of a response that counts, in shares.
        doubt: standard errors; 0 for none.

    Returns:
        bool (d, d), false on the diagonal.
    """
    return followers_and_responses(coordinates, target, change, bound=bound, doubt=doubt)[0]


def responses(coordinates: Tensor, target: Tensor, change: Tensor) -> Tensor:
    """Sizes of what interventions on each joint (row) do to each joint (column), in shares of what its own policies do.

    In the `unmixed` coordinates; see `followers` for the arguments.
    """
    return _sizes(unmixed(coordinates, target, telling(coordinates, target, change)), target)


def _chance(coordinates: Tensor, target: Tensor) -> Tensor:
    """Standard errors of `shifts` over anchors, (d, d)."""
    first, second = under_policies(coordinates, target).unbind(2)
    return (first - second).std(0) / len(coordinates) ** 0.5


def _away_from_zero(values: Tensor) -> Tensor:
    return torch.where(values.abs() < 1e-12, 1e-12, values)
