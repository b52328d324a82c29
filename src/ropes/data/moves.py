"""Frames on the way: what cameras film while an arm moves from pose to pose, in split "moves".

For chains of moves see `ropes.data.chains`.  An anchor is filmed while the arm moves from its observational pose to
each of its poses under interventions, on a straight way in joint space.  Split "moves" then has an episode for each
anchor, in the same order: for each intervention, in the order of the anchor's poses, equally many frames, evenly spaced
between the two poses, with the task of the intervention.  Where no joint depends on another, one joint moves alone;
otherwise the joints that depend on it move in proportion.
"""

from collections.abc import Sequence

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.arrays import Floats
from ropes.data.chains import MOVES, even_shares, frames_per_move, frames_within, has_chains
from ropes.data.dataset import Dataset
from ropes.data.writer import SplitPlan
from ropes.errors import UserError

#: The entry of `meta/ropes.json` with the number of frames on the way to each intervened pose of an anchor.
FRAMES = "frames_per_move"


def anchor_plans(anchors: int, regimes: Sequence[Regime], frames: int) -> list[SplitPlan]:
    """The plan of the frames on the way of anchors; none without frames."""
    tasks = [number for number, regime in enumerate(regimes) if regime.joint is not None for _ in range(frames)]
    return [SplitPlan(name=MOVES, episodes=anchors, tasks=tuple(tasks))] if frames else []


def anchor_states(poses: Floats, frames: int) -> Floats:
    """Angles of the frames on the way of anchors, (anchors · interventions · frames, joints) radians.

    Args:
        poses: (anchors, regimes, joints) radians, the observational pose first.
        frames: on the way to each other pose.
    """
    rest, others = poses[:, :1, None], poses[:, 1:, None]
    between = rest + even_shares(frames)[:, None] * (others - rest)
    return between.reshape(-1, poses.shape[-1])


def filmed_anchors(dataset: Dataset) -> bool:
    """Whether a data set of anchors has frames on the way."""
    return not has_chains(dataset) and bool((dataset.provenance or {}).get(FRAMES))


def filmed_frames(dataset: Dataset) -> int:
    """Number of frames on the way of each move, of anchors or of chains.

    Raises:
        UserError: split "moves" does not belong to the anchors or chains, or see `frames_per_move`.
    """
    if has_chains(dataset):
        return frames_per_move(dataset)
    if not filmed_anchors(dataset):
        return 0
    train, stated = dataset.frames("train"), (dataset.provenance or {})[FRAMES]
    under = np.array([regime.joint is not None for regime in dataset.regimes])[train.regime]
    found = frames_within(dataset, under) if MOVES in dataset.splits else 0
    if found != stated:
        raise UserError(
            f"{dataset.path}: meta/ropes.json has {stated} frames on the way of each move, and split {MOVES!r} {found}"
        )
    return found


def move_fault(dataset: Dataset) -> str | None:
    """How split "moves" differs from the moves of the anchors or chains; None where it does not."""
    try:
        filmed_frames(dataset)
    except UserError as error:
        return str(error).removeprefix(f"{dataset.path}: ")
    return None
