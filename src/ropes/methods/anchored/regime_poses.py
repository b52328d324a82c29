"""Training poses and training stage of method `ldr`: any number of poses under each regime, with or without anchors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.causal.scm import Regime
from ropes.common.seeds import generator
from ropes.data.batches import TrainingImages
from ropes.data.interventions import single_interventions
from ropes.errors import UserError
from ropes.methods.anchored.contrast import head_regimes, regime_loss, targets
from ropes.methods.anchored.encoder_stage import EncoderStage
from ropes.methods.context import Context
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.training.augmentation import jitter_of
from ropes.methods.training.criteria import policy_contrasts
from ropes.methods.training.sampling import EpochShuffle
from ropes.methods.training.steps import BatchAt
from ropes.methods.training.validation_split import stratified_held_out
from ropes.models.encoder import ContrastNetwork

#: Held-out poses of each regime that a record evaluates.
_EVALUATED = 64


class RegimeStage(EncoderStage):
    """Classification of regimes and policies; every record evaluates held-out poses of all regimes.

    Args:
        network: to train.
        recipe: its settings.
        held_regime: index of each held-out pose's regime, see `head_regimes`, (n,).
        common: arguments of `EncoderStage`, with held_out uint8 (n, V, S, S).
    """

    def __init__(self, network: ContrastNetwork, recipe: EncoderRecipe, *, held_regime: Tensor, **common: Any) -> None:
        super().__init__(network, recipe, **common)
        self.held_regime = held_regime

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Held-out cross-entropy of the regimes, and contrast of each joint."""
        coordinates, logits = self.read(self.held_out)
        shares = log_shares(self.held_regime, logits.shape[1])
        cross_entropy = float(regime_loss(logits, self.held_regime, shares))
        loss = cross_entropy + float(self.coordinate_loss(coordinates, self.held_regime, shares))
        self.stop_early(loss)
        return {
            "held_out": cross_entropy,
            "held_out_loss": loss,
            **policy_contrasts(coordinates, self.held_regime, self.target, single=self.single),
        }


@dataclass(frozen=True)
class RegimePoses:
    """Training poses and held-out poses; those that are not trusted stay in both, but do not train."""

    kept: TrainingImages
    held: TrainingImages
    joints: tuple[str, ...]

    @classmethod
    def of(cls, images: TrainingImages, joints: Sequence[str], fraction: float, seed: int) -> "RegimePoses":
        """Hold out a share of the anchors, so that every contrasted regime has poses in both parts.

        Raises:
            UserError: such a regime has no poses in one part, for example because all its poses are of one anchor.
        """
        kept, held = images.split(stratified_held_out(images.anchor, images.regime, fraction, seed))
        for regime in contrasted(images.regimes, joints):
            number = images.regimes.index(regime)
            if any(not (part.trusted_rows().regime == number).any() for part in (kept, held)):
                raise UserError(_split_fault(regime, len(np.unique(images.anchor[images.regime == number]))))
        return cls(kept, held, tuple(joints))

    def stage(self, context: Context, recipe: EncoderRecipe, network: ContrastNetwork) -> tuple[RegimeStage, BatchAt]:
        """The stage that trains `network`, and its batches: random poses of all regimes."""
        kept, held = self.kept.trusted_rows(), self.held.trusted_rows()
        optimisation, regime = recipe.training, self.head_index(kept)
        windows = kept.windows(np.arange(len(kept)))
        order = EpochShuffle(len(kept), optimisation.batch, context.seed("encoder", "order"), windows)

        def batch_at(step: int) -> tuple[Tensor, Tensor, Tensor]:
            rows = order(step)
            return torch.from_numpy(kept.pixels(rows)), regime[torch.from_numpy(rows)], torch.ones(len(rows)) > 0

        held_regime, rng = self.head_index(held), generator(context.run.seed, "held-out poses")
        order_of_head = head_regimes(self.joints)
        by_regime = [np.flatnonzero(held_regime == k) for k in range(len(order_of_head))]
        evaluated = np.concatenate([rng.permutation(rows)[:_EVALUATED] for rows in by_regime])
        stage = RegimeStage(
            network,
            recipe,
            steps=optimisation.steps(len(kept)),
            seed=context.seed("encoder"),
            log_prior=log_shares(regime, len(order_of_head)),
            target=targets(order_of_head, self.joints),
            held_out=torch.from_numpy(held.pixels(evaluated)),
            held_regime=held_regime[evaluated],
            single=single_interventions(kept.regimes),
            jitter=jitter_of(context.registration),
        )
        return stage, batch_at

    def head_index(self, images: TrainingImages) -> Tensor:
        """Index of the regime of each of n images in `head_regimes`, which is the order of the logits, int64 (n,)."""
        order = head_regimes(self.joints)
        return torch.from_numpy(np.array([order.index(regime) for regime in images.regimes])[images.regime])


def contrasted(regimes: Sequence[Regime], joints: Sequence[str]) -> list[Regime]:
    """The regimes of which every joint needs poses: all policies, and no intervention where joints have one policy."""
    if single_interventions(regimes):
        return [Regime(), *(Regime(joint, 1) for joint in joints)]
    return head_regimes(joints)[1:]


def _split_fault(regime: Regime, anchors: int) -> str:
    """The error message for a policy whose anchors cannot be split into training and held-out ones."""
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
    """Log share of each regime among poses with these regimes, (n,) → (R,); −inf for a regime without poses."""
    return (torch.bincount(regime, minlength=regimes) / len(regime)).log()
