"""Objectives of `ldr` and `anchored`: regime classification and within-anchor variance."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from ropes.causal.scm import Regime


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


def shifts(coordinates: Tensor, target: Tensor) -> Tensor:
    """What telling joint i to follow its first policy instead of its second does to every coordinate, on average.

        D_ij = E[ẑ_j(i, policy 1) − ẑ_j(i, policy 2)]    over anchors

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `targets`.
    """
    found = under_policies(coordinates, target).mean(0)
    return found[:, 0] - found[:, 1]


def under_policies(coordinates: Tensor, target: Tensor) -> Tensor:
    """The poses under both policies on each joint: (A, R, d) → (A, d, 2, d), the second axis whose policies.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `targets`.
    """
    return torch.stack([coordinates[:, 1:][:, target == i] for i in range(coordinates.shape[-1])], dim=1)


def changed_share(images: Tensor, regime: int, cells: int) -> Tensor:
    """Where interventions changed the images: shares of the grey levels' change, in cells of a grid.

    Args:
        images: uint8 (A, R, V, S, S), the observational pose of each anchor first.
        regime: the first of a joint's two regimes.
        cells: a side.

    Returns:
        For the observational poses and those under the joint's two policies: (A, 3, V, cells²), each summing to one;
        all zero where nothing changed.
    """
    change = _changed(images[:, [regime, regime + 1]], images[:, :1])
    change = torch.cat([change.mean(1, keepdim=True), change], dim=1)
    parts = functional.avg_pool2d(change.flatten(0, 1), change.shape[-1] // cells).flatten(2).unflatten(0, (-1, 3))
    return parts / parts.sum(-1, keepdim=True).clamp_min(1e-9)


def gaze_loss(gaze: Tensor, images: Tensor, joint: int) -> Tensor:
    """Cross-entropy of the map of where to look against where interventions on one joint change the images, in nats.

    Args:
        gaze: logits (A, R, V, s, s).
        images: uint8 (A, R, V, S, S), the observational pose of each anchor first.
        joint: whose interventions.
    """
    first = 1 + 2 * joint
    share = changed_share(images, first, gaze.shape[-1])
    said = gaze[:, [0, first, first + 1]].flatten(3).log_softmax(-1)
    return -(share * said).sum(-1).mean()


def image_changes(images: Tensor) -> Tensor:
    """How much interventions on each joint change the images: uint8 (A, R, V, S, S) → (d,), grey levels a pixel."""
    change = torch.stack([_changed(under, images[:, 0]).mean() for under in images[:, 1:].unbind(1)])
    return change.unflatten(0, (-1, 2)).mean(1)


def _changed(images: Tensor, usual: Tensor) -> Tensor:
    return (images.float() - usual.float()).abs()


def anchor_loss(coordinates: Tensor, target: Tensor, excused: Tensor) -> Tensor:
    """What each coordinate varies by within an anchor, over the poses whose intervention is on another joint, (d,).

    The variance within anchors of `left_alone`, in shares of its variance over the same poses: no coordinate gains by
    shrinking, nor by responding more to interventions alone.  Poses under a joint's own policies count in neither:
    otherwise a coordinate gained by growing where only those lead, and lying flat everywhere else.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `targets`.
        excused: (d, d), see `left_alone`.
    """
    every, counted = left_alone(coordinates, target, excused)
    number = counted.sum(0)
    mean = (every * counted).sum(1, keepdim=True) / number
    within = ((every - mean).square() * counted).sum((0, 1)) / (len(every) * (number - 1).clamp_min(1))
    from_all = (every - mean.mean(0)).square() * counted
    whole = from_all.sum((0, 1)) / (len(every) * number - 1).clamp_min(1)
    return within / whole.clamp_min(1e-12)


def left_alone(coordinates: Tensor, target: Tensor, excused: Tensor) -> tuple[Tensor, Tensor]:
    """What should be the same over the poses of an anchor, (A, R, d).

        a_j(r) = ẑ_j(r) − x_ij T_ij (ẑ_i(r) − ẑ_i(observational)),   r an intervention on i ≠ j
        a_j(observational) = ẑ_j

    with T_ij the least-squares response over these very poses.  Where joint j follows joint i the whole response is
    excused, x_ij = 1: nothing is asked of it, neither that it be there nor how large.  Where joint j is left alone none
    of it is: ẑ_j itself must be the same.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `targets`.
        excused: x, (d, d), shares in [0, 1]; the diagonal does not count.

    Returns:
        a, and (R, d), 1 where a is to be the same and 0 where the intervention is on joint j itself.
    """
    moved = changes(coordinates)
    on = torch.eye(coordinates.shape[-1]).to(coordinates)[target]
    cause = (moved * on).sum(-1, keepdim=True)
    # Sums of products, not matrix products: autocast would round those to bf16.
    together, alone = (cause * moved).sum(0), cause.square().sum(0)
    joints = range(coordinates.shape[-1])
    response = torch.stack([together[target == i].sum(0) / alone[target == i].sum().clamp_min(1e-12) for i in joints])
    taken = (response * excused.to(coordinates) * (1 - torch.eye(len(excused)).to(coordinates)))[target]
    adjusted = coordinates[:, 1:] - cause * taken
    return torch.cat([coordinates[:, :1], adjusted], dim=1), torch.cat([torch.ones_like(on[:1]), 1 - on])
