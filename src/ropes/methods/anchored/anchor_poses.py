"""Training anchors and held-out anchors of method `anchored`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ropes.common.arrays import Ints
from ropes.common.seeds import generator
from ropes.data.batches import TrainingImages
from ropes.data.dataset import Dataset
from ropes.methods.anchored.anchor_moves import AnchorMoves
from ropes.methods.anchored.anchors import by_anchor
from ropes.methods.anchored.contrast import head_regimes, targets
from ropes.methods.anchored.encoder_stage import EncoderStage
from ropes.methods.anchored.stage import AnchoredStage
from ropes.methods.anchored.unmoved import anchor_groups, averaged, moving_joints
from ropes.methods.context import Context
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.training.augmentation import jitter_of
from ropes.methods.training.sampling import EpochShuffle
from ropes.methods.training.steps import BatchAt
from ropes.models.encoder import ContrastNetwork

#: Held-out anchors that a record evaluates, and the memory for their images where windows are cut from larger ones.
_HELD_OUT_ANCHORS, _HELD_OUT_BYTES = 384, 1 << 30


@dataclass(frozen=True)
class AnchoredPoses:
    """Training anchors and held-out anchors.

    Attributes:
        kept: training poses.
        held: held-out poses.
        table: rows of the training poses by anchor and regime, see `by_anchor`.
        held_table: those of the held-out poses.
        moves: frames on the way of the training anchors; None without any.
    """

    kept: TrainingImages
    held: TrainingImages
    table: Ints
    held_table: Ints
    moves: AnchorMoves | None

    @classmethod
    def of(
        cls, dataset: Dataset, images: TrainingImages, between: TrainingImages | None, fraction: float, seed: int
    ) -> "AnchoredPoses":
        """Hold out a share of the anchors.

        Args:
            dataset: of the anchors.
            images: the poses.
            between: frames on the way of their moves; None without any.
            fraction: share of the anchors to hold out.
            seed: of the choice.

        Raises:
            UserError: as `by_anchor`.
        """
        kept, held = images.split_anchors(fraction, seed)
        moves = None if between is None else AnchorMoves.of(between, kept, dataset.joints)
        return cls(kept, held, by_anchor(dataset, kept), by_anchor(dataset, held), moves)

    def smooth(self, stage: EncoderStage, joints: Sequence[str], kept: Tensor, held: Tensor) -> tuple[Tensor, Tensor]:
        """Each coordinate's mean over the poses of an anchor in which its joint does not move.

        Args:
            stage: of this class's `stage`; it tells which joints follow others.
            joints: names of the d joints.
            kept: coordinates of the trusted training poses, (n, d).
            held: those of the trusted held-out poses.
        """
        assert isinstance(stage, AnchoredStage)
        row = np.cumsum(self.kept.trusted) - 1
        complete = self.table[self.kept.trusted[self.table].all(1)]
        moving = moving_joints(self.kept.regimes, joints, stage.following(kept[row[complete]]))
        of_kept, of_held = (
            anchor_groups(part.anchor, moving[part.regime])[part.trusted] for part in (self.kept, self.held)
        )
        return averaged(kept, of_kept), averaged(held, of_held)

    def stage(self, context: Context, recipe: EncoderRecipe, network: ContrastNetwork) -> tuple[AnchoredStage, BatchAt]:
        """The stage that trains `network`, and its batches of whole anchors.

        From the end of the warm-up on, one frame on the way of each joint comes in addition, if there are any.
        """
        run, optimisation, regimes = context.run, recipe.training, self.table.shape[1]
        anchors_of_batch, windows = max(2, optimisation.batch // regimes), self.kept.windows(self.table[:, 0])
        seed = context.seed("encoder", "order")
        order = EpochShuffle(len(self.table), anchors_of_batch, seed, windows)

        def batch_at(step: int) -> tuple[Tensor, ...]:
            anchors = order(step)
            rows = self.table[anchors]
            pixels = torch.from_numpy(self.kept.pixels(rows.reshape(-1))).unflatten(0, rows.shape)
            regime, trusted = torch.arange(regimes).expand(rows.shape), torch.from_numpy(self.kept.trusted[rows])
            share = torch.empty(len(anchors), 0)
            if self.moves is not None and step >= stage.warm_up:
                drawn = self.moves.draw(anchors, generator(seed, "frame", step))
                pixels, share = torch.cat([pixels, drawn.images], dim=1), drawn.share
                regime, trusted = torch.cat([regime, drawn.regime], 1), torch.cat([trusted, drawn.trusted], 1)
            return pixels, regime, trusted, torch.from_numpy(anchors), share

        count = len(self.held_table)
        evaluated = min(count, _HELD_OUT_ANCHORS)
        if recipe.encoder.zoom > 1:  # larger images may not fit the memory
            evaluated = min(evaluated, max(1, _HELD_OUT_BYTES // self.held.pixels(self.held_table[0]).nbytes))
        held = self.held_table[EpochShuffle(count, evaluated, context.seed("held out"))(0)]
        stage = AnchoredStage(
            network,
            recipe,
            steps=optimisation.steps(self.table.size),
            seed=context.seed("encoder"),
            log_prior=torch.full((regimes,), -float(np.log(regimes))),
            target=targets(head_regimes(run.joints), run.joints),
            held_out=torch.from_numpy(self.held.pixels(held.reshape(-1))).unflatten(0, held.shape),
            held_trusted=torch.from_numpy(self.held.trusted[held]),
            jitter=jitter_of(context.registration),
        )
        return stage, batch_at
