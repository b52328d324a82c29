"""Frames on the way from the observational pose of anchors to their other poses, for method `anchored`."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ropes.common.arrays import Ints
from ropes.data.batches import TrainingImages
from ropes.data.chains import even_shares
from ropes.methods.anchored.chain_objectives import off_line_variance
from ropes.methods.anchored.contrast import head_regimes


def off_way_variance(coordinates: Tensor, regime: Tensor, share: Tensor, trusted: Tensor) -> Tensor:
    """Mean square by which each joint's coordinate is off the line of its moves, as a share of its variance, (d,).

    See `ropes.methods.anchored.chain_objectives.off_line_variance`; the moves lead from the observational poses.

    Args:
        coordinates: of A anchors, (A, R + d, d): R poses in the order of `head_regimes`, then one frame on the way of
            each joint.
        regime: index of the regime of each pose, and of that to which each frame leads, (A, R + d).
        share: share of the move that is done at each frame, (A, d).
        trusted: bool (A, R + d), poses and frames in which nothing but the arm moves; others do not count.
    """
    anchors, joints = share.shape
    poses = coordinates.shape[1] - joints
    after = regime[:, poses:]
    between = torch.arange(poses, poses + joints, device=after.device).expand_as(after)
    places = torch.stack([torch.zeros_like(after), after, between], dim=2)
    rows = torch.arange(anchors, device=after.device)[:, None, None]
    joint = torch.arange(joints, device=after.device).repeat(anchors)
    return off_line_variance(
        coordinates[rows, places].flatten(0, 1), joint, share.reshape(-1, 1), trusted[rows, places].flatten(0, 1)
    )


@dataclass(frozen=True)
class DrawnFrames:
    """One frame on the way of each of d joints, for A anchors.

    Attributes:
        images: uint8 (A, d, P, S, S).
        regime: index of the regime to which each leads, see `head_regimes`, (A, d).
        trusted: bool (A, d).
        share: of the move that is done, (A, d).
    """

    images: Tensor
    regime: Tensor
    trusted: Tensor
    share: Tensor


@dataclass(frozen=True)
class AnchorMoves:
    """The frames on the way of anchors.

    Attributes:
        between: the frames.
        table: their rows, (anchors, interventions, frames), interventions in the order of `head_regimes`.
    """

    between: TrainingImages
    table: Ints

    @classmethod
    def of(cls, between: TrainingImages, poses: TrainingImages, joints: tuple[str, ...]) -> "AnchorMoves":
        """The frames of the anchors of `poses`, which `ropes.data.moves.filmed_frames` has checked."""
        place = np.array([head_regimes(joints).index(regime) for regime in between.regimes])[between.regime]
        rows = np.flatnonzero(np.isin(between.anchor, poses.anchor))
        rows = rows[np.lexsort((rows, place[rows], between.anchor[rows]))]
        return cls(between, rows.reshape(len(np.unique(poses.anchor)), 2 * len(joints), -1))

    def draw(self, anchors: Ints, rng: np.random.Generator) -> DrawnFrames:
        """For each joint a random frame on the way to one of its two policies; all are equally likely.

        Args:
            anchors: rows of the table, (A,).
            rng: of the draw.
        """
        joints, frames = self.table.shape[1] // 2, self.table.shape[2]
        drawn = rng.integers(2 * frames, size=(len(anchors), joints))
        policy, frame = np.divmod(drawn, frames)
        intervention = 2 * np.arange(joints) + policy
        rows = self.table[anchors[:, None], intervention, frame]
        images = torch.from_numpy(self.between.pixels(rows.reshape(-1))).unflatten(0, rows.shape)
        return DrawnFrames(
            images,
            torch.from_numpy(1 + intervention),
            torch.from_numpy(self.between.trusted[rows]),
            torch.from_numpy(even_shares(frames)[frame]).float(),
        )
