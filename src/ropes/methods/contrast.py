"""The objectives of the methods that learn straight from images: regimes told apart, anchors kept together."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from ropes.scm import Regime

#: Below this share of the joint's own change a response counts as none.
LEFT_ALONE = 0.1


def regime_loss(logits: Tensor, regime: Tensor, log_prior: Tensor) -> Tensor:
    """Cross-entropy of "taken under which regime", in nats: logits (B, R), regime (B,), log share of each regime (R,).

    The logits are log density ratios against the observational regime, so the shares enter as in Bayes' rule.
    """
    return functional.cross_entropy(logits + log_prior, regime)


def policy_loss(coordinates: Tensor, regime: Tensor, log_prior: Tensor) -> Tensor:
    """The sum over joints of the cross-entropy of "which policy on joint i", told by the logit ẑ_i alone, in nats.

    In `regime_loss` a joint's two policies are two regimes of 1 + 2 d, so that a coordinate hardly begins to learn;
    the minimum of both is the same log ratio.

    Args:
        coordinates: (B, d).
        regime: (B,), 0 observational, then both policies of each joint in turn.
        log_prior: (1 + 2 d,), log share of each regime.
    """
    moved = regime > 0
    joint, policy = (regime[moved] - 1) // 2, (regime[moved] - 1) % 2
    prior = log_prior.to(coordinates)
    logit = coordinates[moved].gather(1, joint[:, None]).squeeze(1) + (prior[1::2] - prior[2::2])[joint]
    each = functional.softplus(torch.where(policy == 0, -logit, logit))
    return each.sum() / moved.sum().clamp_min(1) * coordinates.shape[1]


def changes(coordinates: Tensor) -> Tensor:
    """ẑ(r) − ẑ(observational) of every anchor and intervention: (A, R, d) → (A, R − 1, d)."""
    return coordinates[:, 1:] - coordinates[:, :1]


def head_regimes(joints: Sequence[str]) -> list[Regime]:
    """The regimes in the order of the head: observational, then both policies of each joint in turn."""
    return [Regime(), *(Regime(joint, policy) for joint in joints for policy in (1, 2))]


def targets(regimes: Sequence[Regime], joints: Sequence[str]) -> Tensor:
    """Which joint each intervention is on: column of `joints` for every regime but the first, (R − 1,).

    Raises:
        ValueError: the first regime is not the observational one, or another is.
    """
    if regimes[0] != Regime() or any(regime.joint is None for regime in regimes[1:]):
        raise ValueError("the observational regime must come first, and once")
    return torch.tensor([joints.index(regime.joint) for regime in regimes[1:] if regime.joint is not None])


def responses(coordinates: Tensor, target: Tensor) -> Tensor:
    """How far coordinate j follows an intervention on joint i, by least squares over anchors and policies.

        T_ij = E[Δẑ_i Δẑ_j] / E[Δẑ_i²]    over the poses under policies on joint i

    In a linear structural model that is the total effect of joint i on joint j, in units of their coordinates.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `targets`.

    Returns:
        (d, d), ones on the diagonal.
    """
    moved = changes(coordinates)
    rows = []
    for i in range(coordinates.shape[-1]):
        own = moved[:, target == i].flatten(0, 1)
        rows.append(own[:, i] @ own / own[:, i].square().sum().clamp_min(1e-12))
    return torch.stack(rows)


def followers(coordinates: Tensor, target: Tensor, *, doubt: float = 0.0, bound: float = LEFT_ALONE) -> Tensor:
    """`responses`, with zero wherever an intervention left a coordinate alone.

    A response counts as none where it is below `bound` when both coordinates are measured by how far their own
    interventions move them.  While coordinates are in `doubt` the bound is higher, by up to three times, and all
    responses are drawn towards zero by it: what is mixed by mistake then goes on shrinking, what follows indeed is
    held up by its joint's contrast.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `targets`.
        doubt: from 1, nothing is known yet, to 0.
        bound: of a response that counts, in shares.

    Returns:
        (d, d), ones on the diagonal.
    """
    found = responses(coordinates, target)
    moved = changes(coordinates)
    own = torch.stack([moved[:, target == i, i].std() for i in range(len(found))]).clamp_min(1e-12)
    size = (found * own[:, None] / own).abs()
    least = bound * (1 + 2 * doubt)
    kept = torch.where(size < least, 0.0, found)
    if doubt:
        kept = kept * (1 - least / size.clamp_min(least))
    return torch.where(torch.eye(len(found), dtype=torch.bool), found, kept)


def changed_share(images: Tensor, regime: int, cells: int) -> Tensor:
    """Where interventions changed the images: shares of the grey levels' change, in cells of a grid.

    Args:
        images: (A, R, V, S, S), the observational pose of each anchor first.
        regime: the first of a joint's two regimes.
        cells: a side.

    Returns:
        For the observational poses and those under the joint's two policies: (A, 3, V, cells²), each summing to one;
        all zero where nothing changed.
    """
    change = (images[:, [regime, regime + 1]] - images[:, :1]).abs()
    change = torch.cat([change.mean(1, keepdim=True), change], dim=1)
    parts = functional.avg_pool2d(change.flatten(0, 1), change.shape[-1] // cells).flatten(2).unflatten(0, (-1, 3))
    return parts / parts.sum(-1, keepdim=True).clamp_min(1e-9)


def gaze_loss(gaze: Tensor, images: Tensor, joint: int) -> Tensor:
    """Cross-entropy of the map of where to look against where interventions on one joint change the images, in nats.

    Args:
        gaze: logits (A, R, V, s, s).
        images: (A, R, V, S, S), the observational pose of each anchor first.
        joint: whose interventions.
    """
    first = 1 + 2 * joint
    share = changed_share(images, first, gaze.shape[-1])
    said = gaze[:, [0, first, first + 1]].flatten(3).log_softmax(-1)
    return -(share * said).sum(-1).mean()


def least_moving(images: Tensor) -> int:
    """The joint whose interventions change the images least: (A, R, V, S, S) → its number."""
    change = (images[:, 1:] - images[:, :1]).abs().mean((0, 2, 3, 4))
    return int(change.unflatten(0, (-1, 2)).sum(1).argmin())


def anchor_loss(coordinates: Tensor, target: Tensor, effects: Tensor) -> Tensor:
    """What a coordinate varies by within an anchor, over the poses whose intervention is on another joint.

        a_j(r) = ẑ_j(r) − T_ij (ẑ_i(r) − ẑ_i(observational)),   r an intervention on i ≠ j;   a_j(observational) = ẑ_j

    Where T_ij is zero the intervention left joint j alone, and ẑ_j itself must be the same; where it is not, what is
    left after the response must.  The mean over joints of the variance within anchors, in shares of the variance
    of all poses: no coordinate gains by shrinking.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `targets`.
        effects: T, (d, d), see `followers`.
    """
    every, counted = left_alone(coordinates, target, effects)
    number = counted.sum(0)
    mean = (every * counted).sum(1, keepdim=True) / number
    within = ((every - mean).square() * counted).sum((0, 1)) / (len(every) * (number - 1).clamp_min(1))
    whole = coordinates.flatten(0, 1).var(0)
    return (within / whole.clamp_min(1e-12)).mean()


def left_alone(coordinates: Tensor, target: Tensor, effects: Tensor) -> tuple[Tensor, Tensor]:
    """What should be the same over the poses of an anchor: a_j(r) of `anchor_loss`, (A, R, d).

    With it (R, d), 1 where that holds and 0 where the intervention is on joint j itself.
    """
    moved = changes(coordinates)
    on = torch.eye(coordinates.shape[-1], device=coordinates.device)[target]
    cause = (moved * on).sum(-1, keepdim=True)
    adjusted = coordinates[:, 1:] - cause * (effects[target] * (1 - on))
    return torch.cat([coordinates[:, :1], adjusted], dim=1), torch.cat([torch.ones_like(on[:1]), 1 - on])
