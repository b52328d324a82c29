"""Training moves and held-out moves of method `anchored` on chains."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ropes.common.arrays import Images, Ints, Rows
from ropes.common.seeds import generator
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.chains import MOVES, even_shares, known_policies, training_samples
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.methods.anchored.chain_stage import ChainStage, MoveBatch
from ropes.methods.anchored.contrast import head_regimes, targets
from ropes.methods.anchored.encoder_stage import EncoderStage
from ropes.methods.anchored.unmoved import averaged, chain_groups, moving_joints
from ropes.methods.context import Context
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.training.augmentation import jitter_of
from ropes.methods.training.sampling import EpochShuffle
from ropes.methods.training.steps import BatchAt
from ropes.models.encoder import ContrastNetwork

#: Held-out moves that a record evaluates.
_EVALUATED = 1024
#: Moves whose images are read at a time.
_READ = 128


def moves_of(dataset: Dataset, cache: ImageCache) -> TrainingImages:
    """The frames on the way, from a cache of split "moves"; the anchor of a frame is its chain in split "train"."""
    frames, first = dataset.frames(MOVES), {name: span.start for name, span in dataset.splits.items()}
    of_chains = replace(frames, anchor=frames.anchor - first[MOVES] + first["train"])
    return TrainingImages(cache, of_chains, dataset.regimes, complete=False)


def of_same_chains(between: TrainingImages | None, poses: TrainingImages) -> TrainingImages | None:
    """The frames on the way of the chains of some poses."""
    return None if between is None else between.take(np.flatnonzero(np.isin(between.anchor, poses.anchor)))


@dataclass(frozen=True)
class Moves:
    """The moves between poses of chains.

    Attributes:
        poses: the poses, in the order of recording.
        between: frames on the way of these moves, move by move; None without any.
        before: row of the pose before each move, (m,); that after it is the next.
        joint: index of the joint that moves, (m,).
        policy: of each pose on each joint, (n, d), see `known_policies`.
    """

    poses: TrainingImages
    between: TrainingImages | None
    before: Ints
    joint: Ints
    policy: Ints

    @classmethod
    def of(cls, poses: TrainingImages, between: TrainingImages | None, joints: tuple[str, ...]) -> "Moves":
        """The moves of chains, of which `between` holds the frames on the way."""
        before = np.flatnonzero(np.diff(poses.anchor) == 0)
        joint = np.array([-1 if each.joint is None else joints.index(each.joint) for each in poses.regimes])
        policy = known_policies(poses.anchor, poses.regime, poses.regimes, joints)
        return cls(poses, between, before, joint[poses.regime[before + 1]], policy)

    def __len__(self) -> int:
        return len(self.before)

    @property
    def frames(self) -> int:
        """Number of frames on the way of each move."""
        return 0 if self.between is None else len(self.between) // len(self)

    @property
    def log_odds(self) -> Tensor:
        """Log share of policy 1 minus that of policy 2 of each joint, (d,)."""
        first, second = ((self.policy == number).sum(0) for number in (1, 2))
        return torch.from_numpy(np.log(np.maximum(first, 1) / np.maximum(second, 1))).float()

    def batch(self, moves: Ints, frame: Ints) -> MoveBatch:
        """Some of the moves with one of their frames on the way each.

        Args:
            moves: (B,).
            frame: number of the frame of each move, (B,), or (0,) for none.
        """
        rows = self.before[moves, None] + np.arange(2)
        sources, share = [(self.poses, rows)], np.empty((len(moves), 0))
        if self.between is not None and len(frame):
            sources.append((self.between, (moves * self.frames + frame)[:, None]))
            share = even_shares(self.frames)[frame, None]
        images = Rows[np.uint8](len(moves))
        for start in range(0, len(moves), _READ):  # large images are not in memory twice
            parts = [_pixels(source, rows[start : start + _READ]) for source, rows in sources]
            images.put(start, np.concatenate(parts, axis=1))
        trusted = np.concatenate([source.trusted[rows] for source, rows in sources], axis=1)
        return MoveBatch(
            torch.from_numpy(images.all()),
            torch.from_numpy(self.policy[rows]),
            torch.from_numpy(self.joint[moves]),
            torch.from_numpy(share).float(),
            torch.from_numpy(trusted),
        )


def _pixels(images: TrainingImages, rows: Ints) -> Images:
    """Some of the images, uint8 (B, L, P, S, S), of rows (B, L)."""
    pixels = images.pixels(rows.reshape(-1))
    return pixels.reshape(*rows.shape, *pixels.shape[1:])


@dataclass(frozen=True)
class ChainPoses:
    """Training chains and held-out chains."""

    kept_moves: Moves
    held_moves: Moves

    @classmethod
    def of(
        cls, images: TrainingImages, between: TrainingImages | None, joints: tuple[str, ...], fraction: float, seed: int
    ) -> "ChainPoses":
        """Hold out a share of the chains.

        Args:
            images: the poses.
            between: frames on the way of their moves, see `moves_of`; None without any.
            joints: of the run.
            fraction: share of the chains to hold out.
            seed: of the choice.

        Raises:
            UserError: too few chains for both policies on each joint in both parts.
        """
        parts = images.split_anchors(fraction, seed)
        kept, held = (Moves.of(part, of_same_chains(between, part), joints) for part in parts)
        for moves in (kept, held):
            for k, joint in enumerate(joints):
                if missing := {1, 2} - set(moves.policy[:, k].tolist()):
                    chains, out = (len(np.unique(each.anchor)) for each in (images, held.poses))
                    raise UserError(
                        f"of {chains} chains {out} are held out, and of one part no pose has {joint} under policy "
                        f"{min(missing)}; record more chains"
                    )
        return cls(kept, held)

    @property
    def kept(self) -> TrainingImages:
        """Training poses."""
        return self.kept_moves.poses

    @property
    def held(self) -> TrainingImages:
        """Held-out poses."""
        return self.held_moves.poses

    def smooth(self, stage: EncoderStage, joints: Sequence[str], kept: Tensor, held: Tensor) -> tuple[Tensor, Tensor]:
        """Each coordinate's mean over the poses of a chain between two moves of its joint.

        Args:
            stage: not needed; no joint follows another.
            joints: names of the d joints.
            kept: coordinates of the trusted training poses, (n, d).
            held: those of the trusted held-out poses.
        """
        moving = moving_joints(self.kept.regimes, joints)
        of_kept, of_held = (
            chain_groups(part.anchor, moving[part.regime])[part.trusted] for part in (self.kept, self.held)
        )
        return averaged(kept, of_kept), averaged(held, of_held)

    def stage(self, context: Context, recipe: EncoderRecipe, network: ContrastNetwork) -> tuple[ChainStage, BatchAt]:
        """The stage that trains `network`, and its batches: moves, from the end of the warm-up on with a frame each.

        A batch has as many poses as the recipe's; frames on the way come in addition.
        """
        moves, held, seed = self.kept_moves, self.held_moves, context.seed("encoder", "order")
        frames, order = moves.frames, EpochShuffle(len(moves), max(2, recipe.training.batch // 2), seed)
        evaluated = EpochShuffle(len(held), min(len(held), _EVALUATED), context.seed("held out"))(0)
        regimes = head_regimes(context.run.joints)
        stage = ChainStage(
            network,
            recipe,
            steps=recipe.training.steps(training_samples(len(moves), frames)),
            seed=context.seed("encoder"),
            log_prior=torch.zeros(len(regimes)),
            log_odds=moves.log_odds,
            jitter=jitter_of(context.registration),
            target=targets(regimes, context.run.joints),
            poses=len(moves.poses),
            held_moves=held.batch(evaluated, np.arange(len(evaluated)) % frames if frames else evaluated[:0]),
        )

        def batch_at(step: int) -> tuple[Tensor, ...]:
            chosen = order(step)
            with_frames = len(chosen) if frames and step >= stage.warm_up else 0
            drawn = moves.batch(chosen, generator(seed, "frame", step).integers(max(1, frames), size=with_frames))
            return drawn.images, drawn.policy, drawn.joint, drawn.share, drawn.trusted

        return stage, batch_at
