"""Training poses of method `ldr`: any number under each regime, with or without anchors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.causal.scm import Regime
from ropes.common.seeds import generator
from ropes.data.batches import TrainingImages
from ropes.errors import UserError
from ropes.methods.context import Context
from ropes.methods.contrast import head_regimes, policy_loss, regime_loss, targets
from ropes.methods.criteria import coordinate_contrast
from ropes.methods.encoder_stage import EncoderStage
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.sampling import EpochShuffle
from ropes.methods.training.loop import BatchAt
from ropes.methods.validation_split import held_out_by_kind
from ropes.models.encoder import ContrastNetwork

#: Held-out poses of each regime that a record asks.
_ASKED = 64


class RegimeStage(EncoderStage):
    """Tell the regimes apart; every record asks held-out poses, each under a regime of its own.

    Args:
        network: to train.
        recipe: how.
        held_regime: place of each held-out pose's regime in the order of the head, (n,).
        common: as of `EncoderStage`, with held_out uint8 (n, V, S, S).
    """

    def __init__(self, network: ContrastNetwork, recipe: EncoderRecipe, *, held_regime: Tensor, **common: Any) -> None:
        super().__init__(network, recipe, **common)
        self.held_regime = held_regime

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Held-out cross-entropy of the regimes, and each joint's contrast."""
        coordinates, logits = self.read(self.held_out)
        shares = log_shares(self.held_regime, logits.shape[1])
        told = float(regime_loss(logits, self.held_regime, shares))
        loss = told + float(policy_loss(coordinates, self.held_regime, shares))
        self.keep_best(loss)
        contrasts = policy_contrasts(coordinates, self.held_regime, self.target)
        return {
            "held_out": told,
            "held_out_loss": loss,
            **{f"contrast_{k}": value for k, value in enumerate(contrasts)},
        }


@dataclass(frozen=True)
class RegimePoses:
    """Poses to learn from and poses held out, with the place of each one's regime in the order of the head."""

    kept: TrainingImages
    held: TrainingImages
    joints: tuple[str, ...]

    @classmethod
    def of(cls, images: TrainingImages, joints: Sequence[str], fraction: float, seed: int) -> "RegimePoses":
        """Hold out a share of the anchors, so that every policy has poses on both sides.

        Raises:
            UserError: a policy has no poses on one of them, as where all its poses are of one anchor.
        """
        kept, held = images.split(held_out_by_kind(images.anchor, images.regime, fraction, seed))
        for regime in head_regimes(joints)[1:]:
            number = images.regimes.index(regime)
            if not (kept.regime == number).any() or not (held.regime == number).any():
                raise UserError(_not_shared_out(regime, len(np.unique(images.anchor[images.regime == number]))))
        return cls(kept, held, tuple(joints))

    def stage(self, context: Context, recipe: EncoderRecipe, network: ContrastNetwork) -> tuple[RegimeStage, BatchAt]:
        """What trains `network`, and its batches: poses of all regimes as they come, at random."""
        optimisation, regime = recipe.training, self._places(self.kept)
        order = EpochShuffle(len(self.kept), optimisation.batch, context.seed("encoder", "order"))

        def batch_at(step: int) -> tuple[Tensor, Tensor]:
            drawn = order(step)
            return torch.from_numpy(self.kept.pixels(drawn)), regime[torch.from_numpy(drawn)]

        held_regime, rng = self._places(self.held), generator(context.run.seed, "held-out poses")
        order_of_head = head_regimes(self.joints)
        rows = [np.flatnonzero(held_regime == k) for k in range(len(order_of_head))]
        asked = np.concatenate([rng.permutation(own)[:_ASKED] for own in rows])
        stage = RegimeStage(
            network,
            recipe,
            steps=optimisation.steps(len(self.kept)),
            seed=context.seed("encoder"),
            log_prior=log_shares(regime, len(order_of_head)),
            target=targets(order_of_head, self.joints),
            held_out=torch.from_numpy(self.held.pixels(asked)),
            held_regime=held_regime[asked],
        )
        return stage, batch_at

    def _places(self, images: TrainingImages) -> Tensor:
        """Where each image's regime is in the order of the head, (n,)."""
        order = head_regimes(self.joints)
        place = np.array([order.index(regime) for regime in images.regimes])
        return torch.from_numpy(place[images.regime])


def _not_shared_out(regime: Regime, anchors: int) -> str:
    """Why a policy with so many anchors has none of them held out, or none kept, and how to mend it."""
    if anchors < 2:
        return (
            f"all images under {regime.name} are of one anchor (episode), so that none can be held out; "
            "split the recording into several episodes"
        )
    return (
        f"of the {anchors} anchors (episodes) with images under {regime.name} none could be held out, or none kept: "
        "hardly two anchors show the same regimes; record each regime in several episodes of its own"
    )


def log_shares(regime: Tensor, regimes: int) -> Tensor:
    """Log share of each regime among poses with these regimes, (n,) → (R,); −inf for one that none is under."""
    return (torch.bincount(regime, minlength=regimes) / len(regime)).log()


def policy_contrasts(coordinates: Tensor, regime: Tensor, target: Tensor) -> list[float]:
    """`coordinate_contrast` of every joint's own coordinate, on as many poses under either policy.

    Args:
        coordinates: (n, d).
        regime: place of each pose's regime in the order of the head, (n,).
        target: see `ropes.methods.contrast.targets`.

    Returns:
        d values, nats; comparable with the Bayes floor, which is for equally many.
    """
    found = []
    for i in range(coordinates.shape[1]):
        first, second = (coordinates[regime == 1 + int(place), i] for place in torch.nonzero(target == i))
        few = min(len(first), len(second))
        values = torch.cat([first[:few], second[:few]]).double().numpy()
        found.append(coordinate_contrast(values, np.repeat([1.0, 0.0], few)))
    return found
