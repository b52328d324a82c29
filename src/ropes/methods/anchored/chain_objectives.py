"""Objectives of method `anchored` on chains of moves.

A move changes the angle of one joint.  Coordinates of B moves are (B, L, d): the pose before the move, the pose after
it, then frames on the way.  `joint` (B,) is the index of the joint that moves, `trusted` bool (B, L) excludes poses in
which something besides the arm moves.
"""

import torch
from torch import Tensor
from torch.nn import functional

from ropes.methods.anchored.contrast import change_distribution, two_class_loss
from ropes.models.zoom import shrink

#: Bytes of images that `move_changes` compares at a time.
_COMPARED = 1 << 26


def known_policy_loss(coordinates: Tensor, policy: Tensor, log_odds: Tensor) -> Tensor:
    """Cross-entropy of policy 1 against policy 2 of every joint, from its own coordinate; summed over joints, in nats.

        L = Σ_i E[softplus(∓(ẑ_i + log π_i1 − log π_i2))]    over poses with joint i under policy 1 (−) or 2 (+)

    In a chain interventions persist, so nearly every pose is under a known policy on every joint.

    Args:
        coordinates: ẑ, (n, d).
        policy: (n, d), 1, 2, or 0 where unknown.
        log_odds: log π_1 − log π_2 of each joint, (d,).
    """
    return two_class_loss(coordinates + log_odds.to(coordinates), policy == 1, policy > 0)


def within_move_variance(coordinates: Tensor, joint: Tensor, trusted: Tensor) -> Tensor:
    """Variance of each coordinate within the moves of other joints, as a share of its variance over all poses, (d,)."""
    counted = trusted[..., None] & (joint[:, None] != torch.arange(coordinates.shape[-1]).to(joint))[:, None]
    number = counted.sum(1, keepdim=True)
    mean = (coordinates * counted).sum(1, keepdim=True) / number.clamp_min(1)
    freedom = (number - 1).clamp_min(0).sum((0, 1)).clamp_min(1)
    within = ((coordinates - mean).square() * counted).sum((0, 1)) / freedom
    return within / _variance(coordinates, trusted)


def off_line_variance(coordinates: Tensor, joint: Tensor, share: Tensor, trusted: Tensor) -> Tensor:
    """Mean square by which the coordinate that moves is off the line of the move, as a share of its variance, (d,).

        L_j = E[(ẑ_j(s) − (1 − s) ẑ_j(before) − s ẑ_j(after))²] / Var ẑ_j    over moves of joint j

    The log density ratio of two policies with equal variance and bounds is affine in the angle.

    Args:
        coordinates: (B, 2 + K, d).
        joint: (B,).
        share: share s of the move that is done at each frame on the way, (B, K).
        trusted: (B, 2 + K).
    """
    before, after, between = coordinates[:, :1], coordinates[:, 1:2], coordinates[:, 2:]
    off = (between - before - share[..., None] * (after - before)).square()
    moves = functional.one_hot(joint, coordinates.shape[-1])[:, None] > 0
    counted = moves & (trusted[:, :2].all(1, keepdim=True) & trusted[:, 2:])[..., None]
    return (off * counted).sum((0, 1)) / counted.sum((0, 1)).clamp_min(1) / _variance(coordinates, trusted)


def move_attention_loss(attention: Tensor, images: Tensor, moves: Tensor, trusted: Tensor, zoom: int = 1) -> Tensor:
    """Cross-entropy of the attention map against where images change in some of the moves, in nats; 0 without any.

    Args:
        attention: logits (B, L, V, s, s).
        images: uint8 (B, L, P, S, S).
        moves: bool (B,), the moves of the joint that changes the images least.
        trusted: (B, L).
        zoom: factor by which the images are shrunk first.
    """
    chosen = moves & trusted[:, :2].all(1)
    first, second = shrink(images[chosen][:, :2], zoom).float().unbind(1)
    cells, channels = attention.shape[-1], images.shape[2] // attention.shape[2]
    expected = change_distribution((second - first).abs()[:, None], cells, channels).to(attention.device)
    log_attention = attention[chosen][:, :2].flatten(3).log_softmax(-1)
    return -(expected * log_attention).sum(-1).sum() / (2 * chosen.sum() * attention.shape[2]).clamp_min(1)


def move_changes(images: Tensor, joint: Tensor, trusted: Tensor, joints: int, most: int = _COMPARED) -> Tensor:
    """Mean change of images in the moves of each joint, (d,), levels a pixel; infinite for a joint without moves.

    Levels are added as whole numbers, so that the result does not depend on the number of images compared at a time.

    Args:
        images: uint8 (B, L, P, S, S).
        joint: (B,).
        trusted: (B, L).
        joints: their number d.
        most: bytes of images that are compared at a time, if one move has no more.
    """
    changes, size = torch.full((joints,), torch.inf), max(1, most // max(1, 2 * images[:1, 0].nbytes))
    for k in range(joints):
        rows = torch.nonzero((joint == k) & trusted[:, :2].all(1)).flatten()
        if len(rows):
            sums = [(images[part, 1].short() - images[part, 0].short()).abs().sum() for part in rows.split(size)]
            changes[k] = float(torch.stack(sums).sum()) / (len(rows) * images[0, 0].numel())
    return changes


def _variance(coordinates: Tensor, trusted: Tensor) -> Tensor:
    """Variance of each coordinate over the trusted poses, (d,)."""
    return coordinates[trusted].var(0).clamp_min(1e-12)
