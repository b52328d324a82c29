"""The training stage of method `anchored` on chains of moves."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ropes.methods.anchored.chain_objectives import (
    known_policy_loss,
    move_attention_loss,
    move_changes,
    off_line_variance,
    within_move_variance,
)
from ropes.methods.anchored.invariance_stage import ATTENTION, InvarianceStage
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.training.criteria import known_policy_contrasts
from ropes.models.encoder import ContrastNetwork

#: Passes over the poses after which a network without the invariance loss begins to memorise their policies.
_WARM_UP = 4


@dataclass(frozen=True)
class MoveBatch:
    """Poses of B moves, see `ropes.methods.anchored.chain_objectives`.

    Attributes:
        images: uint8 (B, L, P, S, S): before the move, after it, then frames on the way.
        policy: of the poses before and after, (B, 2, d), 1, 2, or 0 where unknown.
        joint: index of the joint that moves, (B,).
        share: of the move that is done at each frame on the way, (B, L − 2).
        trusted: bool (B, L).
    """

    images: Tensor
    policy: Tensor
    joint: Tensor
    share: Tensor
    trusted: Tensor

    def losses(self, coordinates: Tensor, log_odds: Tensor) -> tuple[Tensor, Tensor]:
        """The policies' loss, and the invariance loss of coordinates (B, L, d): a scalar each.

        L_policies,  mean_j(v_j + u_j)    with v of `within_move_variance`, u of `off_line_variance`
        """
        joint, share, trusted = (each.to(coordinates.device) for each in (self.joint, self.share, self.trusted))
        dwelt = trusted[:, :2]
        policies = known_policy_loss(coordinates[:, :2][dwelt], self.policy.to(joint.device)[dwelt], log_odds)
        invariance = within_move_variance(coordinates, joint, trusted)
        if share.shape[1]:
            invariance = invariance + off_line_variance(coordinates, joint, share, trusted)
        return policies, invariance.mean()


class ChainStage(InvarianceStage):
    """Classification of every joint's policy in every pose, plus invariance within moves.

        L = L_policies + λ ρ² L_invariance + .1 L_attention

    with the losses of `MoveBatch`, λ the recipe's anchor weight and ρ of `penalty_ramp`.

    Args:
        network: to train.
        recipe: its settings.
        poses: number of training poses; the warm-up is at most `_WARM_UP` passes over them.
        held_moves: held-out moves that every record evaluates.
        log_odds: log share of policy 1 minus that of policy 2 of each joint, (d,).
        common: arguments of `EncoderStage`.

    Attributes:
        change: change of the images in the moves of each joint, (d,); the attention is on the least one.
    """

    unused_weights = True  # those of the classifier of regimes

    def __init__(
        self,
        network: ContrastNetwork,
        recipe: EncoderRecipe,
        *,
        poses: int,
        held_moves: MoveBatch,
        log_odds: Tensor,
        **common: Any,
    ) -> None:
        super().__init__(network, recipe, held_out=held_moves.images, **common)
        self.warm_up = min(self.warm_up, round(_WARM_UP * poses / recipe.training.batch))
        self.held_moves, self.log_odds = held_moves, log_odds
        self.change = move_changes(held_moves.images, held_moves.joint, held_moves.trusted, network.head.joints)

    def training_step(self, batch: tuple[Tensor, ...], batch_idx: int) -> Tensor:
        """The fields of a `MoveBatch` → loss."""
        moves = MoveBatch(*batch)
        read, attention = self.spread(self.network.encoder.look, self.augmented(moves.images).flatten(0, 1))
        coordinates = read.float().unflatten(0, moves.images.shape[:2])
        policies, invariance = moves.losses(coordinates, self.log_odds)
        self.note(policies=policies, within=invariance)
        loss = policies + self.anchor_weight * self.penalty_ramp(self.global_step) ** 2 * invariance
        if attention is None:
            return loss
        maps, least = attention.unflatten(0, moves.images.shape[:2]), int(self.change.argmin())
        zoom = self.network.encoder.config.zoom
        attention_term = move_attention_loss(maps, moves.images, moves.joint == least, moves.trusted, zoom)
        self.note(gaze=attention_term)
        return loss + ATTENTION * attention_term

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Held-out loss of policies and invariance, and the contrast of each joint."""
        held = self.held_moves
        coordinates, _ = self.read(held.images.flatten(0, 1))
        coordinates = coordinates.unflatten(0, held.images.shape[:2])
        policies, invariance = (float(each) for each in held.losses(coordinates, self.log_odds))
        loss = policies + self.anchor_weight * invariance
        self.stop_early(loss)
        dwelt = held.trusted[:, :2]
        return {
            "held_out": policies,
            "held_out_within": invariance,
            "held_out_loss": loss,
            **known_policy_contrasts(coordinates[:, :2][dwelt], held.policy[dwelt]),
        }
