"""Chains of moves: data sets whose consecutive poses differ in the angle of one joint.

An episode of split "train" is a chain.  The task of a pose is the intervention that leads to it; the interventions
before it persist.  Split "moves" has an episode for each chain, in the same order: the frames on the way from each pose
to the next, evenly spaced in the angle of the joint that moves, with the task of the move.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ropes.causal.scm import CausalModel, Regime
from ropes.common.arrays import Bools, Floats, Ints
from ropes.common.seeds import generator
from ropes.data.dataset import Dataset
from ropes.data.writer import SplitPlan
from ropes.errors import UserError

#: The split of the frames on the way.
MOVES = "moves"
#: Moves of each joint in a chain.
TURNS = 5
#: Frames on the way of each move of a chain, unless another number is asked for.
ON_THE_WAY = 2


@dataclass(frozen=True, kw_only=True)
class Chains:
    """Chains to record.

    Attributes:
        poses: angles, (chains, 1 + moves, joints) radians.
        regimes: index of the intervention that leads to each pose, (chains, 1 + moves); 0 for the first.
        frames_per_move: number of frames on the way of each move.
    """

    poses: Floats
    regimes: Ints
    frames_per_move: int

    @classmethod
    def draw(cls, model: CausalModel, chains: int, frames_per_move: int, seed: int) -> "Chains":
        """Draw chains of `TURNS` moves of each joint, see `CausalModel.sample_chains`."""
        poses, regimes = model.sample_chains(generator(seed, "chains"), chains, TURNS)
        return cls(poses=poses, regimes=regimes, frames_per_move=frames_per_move)

    @property
    def record(self) -> dict[str, int]:
        """The description for `meta/ropes.json`."""
        return description(len(self.poses), self.frames_per_move)

    @property
    def plans(self) -> list[SplitPlan]:
        """The plans of both splits, chain by chain."""
        poses = [SplitPlan(name="train", episodes=1, tasks=tuple(chain)) for chain in self.regimes.tolist()]
        on_the_way = np.repeat(self.regimes[:, 1:], self.frames_per_move, axis=1).tolist()
        moves = [SplitPlan(name=MOVES, episodes=1, tasks=tuple(chain)) for chain in on_the_way]
        return [*poses, *(moves if self.frames_per_move else [])]

    @property
    def states(self) -> dict[str, Floats]:
        """Split → angles of its frames, (frames, joints) radians."""
        joints, shares = self.poses.shape[-1], even_shares(self.frames_per_move)[:, None]
        before, after = self.poses[:, :-1, None], self.poses[:, 1:, None]
        on_the_way = before + shares * (after - before)
        states = {"train": self.poses, MOVES: on_the_way}
        return {name: angles.reshape(-1, joints) for name, angles in states.items() if angles.size}


def training_samples(moves: int, frames: int) -> int:
    """Poses that count as training samples: both ends of each move, again with each of the frames on its way."""
    return 2 * moves * max(1, frames)


def description(chains: int, frames_per_move: int) -> dict[str, int]:
    """The entry `chains` of `meta/ropes.json`."""
    return {"chains": chains, "turns": TURNS, "frames_per_move": frames_per_move}


def even_shares(frames: int) -> Floats:
    """Share of a move that is done at each of a number of evenly spaced frames, (frames,)."""
    return np.arange(1, frames + 1) / (frames + 1)


def has_chains(dataset: Dataset) -> bool:
    """Whether the training episodes of a data set are chains."""
    return isinstance((dataset.provenance or {}).get("chains"), Mapping)


def known_policies(anchor: Ints, regime: Ints, regimes: Sequence[Regime], joints: Sequence[str]) -> Ints:
    """The policy under which each joint was drawn last in its chain, (n, joints): 1, 2, or 0 where unknown.

    Args:
        anchor: chain of each pose, (n,); poses of a chain are consecutive, in the order of recording.
        regime: index of the intervention that leads to each pose, (n,).
        regimes: the intervention of each index.
        joints: names of the columns of the result.
    """
    policies = np.zeros((len(anchor), len(joints)), dtype=np.int64)
    starts = np.flatnonzero(np.diff(anchor, prepend=anchor[:1] - 1))
    position = np.arange(len(anchor)) - np.repeat(starts, np.diff(np.append(starts, len(anchor))))
    for k, joint in enumerate(joints):
        policy = np.array([each.policy if each.joint == joint else 0 for each in regimes])[regime]
        last = np.maximum.accumulate(np.where(policy > 0, np.arange(len(anchor)), -1))
        in_chain = last >= np.arange(len(anchor)) - position
        policies[:, k] = np.where(in_chain, policy[last], 0)
    return policies


def frames_per_move(dataset: Dataset) -> int:
    """Number of frames on the way of each move of a data set of chains.

    Raises:
        UserError: a chain does not start with an observational pose, or does not consist of moves after it, or split
            "moves" does not belong to the chains.
    """
    train = dataset.frames("train")
    moved = np.diff(train.anchor, prepend=train.anchor[:1] - 1) == 0
    rest = np.array([regime.joint is None for regime in dataset.regimes])[train.regime]
    if (rest == moved).any() or not moved.any():
        raise UserError(
            f"{dataset.path}: a chain must start with an observational pose, and each later pose must be one after a "
            "move of one joint"
        )
    return frames_within(dataset, moved) if MOVES in dataset.splits else 0


def frames_within(dataset: Dataset, moved: Bools) -> int:
    """Number of frames that split "moves" has on the way to each training pose after a move.

    Args:
        dataset: with that split.
        moved: which training poses are after a move, (n,).

    Raises:
        UserError: the split has other frames than those of the moves, in their order.
    """
    train, moves = dataset.frames("train"), dataset.frames(MOVES)
    chain = moves.anchor - dataset.splits[MOVES].start + dataset.splits["train"].start
    frames, left = divmod(len(moves), max(1, int(moved.sum())))
    of_moves = ((train.regime, moves.regime), (train.anchor, chain))
    if left or any(not np.array_equal(found, np.repeat(expected[moved], frames)) for expected, found in of_moves):
        raise UserError(f"{dataset.path}: split {MOVES!r} is not that of the moves between the poses of split 'train'")
    return frames
