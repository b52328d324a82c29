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


def changes(coordinates: Tensor) -> Tensor:
    """ẑ(r) − ẑ(observational) of every anchor and intervention: (A, R, d) → (A, R − 1, d)."""
    return coordinates[:, 1:] - coordinates[:, :1]


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


def followers(coordinates: Tensor, target: Tensor, bound: float = LEFT_ALONE) -> Tensor:
    """`responses`, with zero wherever an intervention left a coordinate alone.

    A response counts as none where it is below `bound` when both coordinates are measured by how far their own
    interventions move them.
    """
    found = responses(coordinates, target)
    moved = changes(coordinates)
    own = torch.stack([moved[:, target == i, i].std() for i in range(len(found))]).clamp_min(1e-12)
    return torch.where((found * own[:, None] / own).abs() < bound, 0.0, found)


def anchor_loss(coordinates: Tensor, target: Tensor, effects: Tensor) -> Tensor:
    """What a coordinate varies by within an anchor, over the poses whose intervention is on another joint.

        a_j(r) = ẑ_j(r) − T_ij (ẑ_i(r) − ẑ_i(observational)),   r an intervention on i ≠ j;   a_j(observational) = ẑ_j

    Where T_ij is zero the intervention left joint j alone, and ẑ_j itself must be the same; where it is not, what is
    left after the response must.  The mean over joints of the variance within anchors, in shares of the variance
    of all poses.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `targets`.
        effects: T, (d, d), see `followers`.
    """
    every, counted = left_alone(coordinates, target, effects)
    number = counted.sum(0)
    mean = (every * counted).sum(1, keepdim=True) / number
    within = ((every - mean).square() * counted).sum((0, 1)) / (len(every) * (number - 1))
    whole = coordinates.detach().flatten(0, 1).var(0)
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
