"""The protocols of a recording: which poses belong to an episode, and in which order the arm takes them.

An episode is what is written at once: an anchor, or a chain of moves.  It is drawn from a seed and its own number, so a
plan of more episodes begins with the same ones.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ropes.causal.scm import CausalModel
from ropes.common.arrays import Floats, Ints
from ropes.common.seeds import generator
from ropes.data import chains
from ropes.data.recorder.travel import shortest_order


class RecordingProtocol(ABC):
    """What an episode is.

    A pose has a place in its episode, in which it is stored, and a regime: the index in `model.regimes` of the
    intervention that leads to it.

    Args:
        model: distributions of the joints.

    Attributes:
        noun: of an episode; with an s the option that counts them, and the list in `meta/recording.json`.
        block: number of successive episodes whose order is free.
    """

    noun: ClassVar[str]
    block: ClassVar[int]

    def __init__(self, model: CausalModel) -> None:
        self.model = model

    @property
    @abstractmethod
    def length(self) -> int:
        """Number of poses of an episode."""

    @abstractmethod
    def draw(self, seed: int, number: int, attempt: int) -> tuple[Floats, Ints]:
        """Poses of an episode, (poses, joints) radians, and their regimes, (poses,).

        Args:
            seed: equal seeds give equal episodes.
            number: of the episode.
            attempt: 0, or how often the episode was drawn before.
        """

    @staticmethod
    @abstractmethod
    def order(poses: Floats, start: Floats | None, speed: Floats) -> list[int]:
        """The places of an episode's poses, in the order of the recording.

        Args:
            poses: (poses, joints) radians.
            start: where the arm stands before, (joints,); None if unknown.
            speed: largest speed of each joint, (joints,) rad/s.
        """

    @abstractmethod
    def stored(self, regimes: Sequence[int]) -> tuple[int, ...]:
        """The regimes of an episode by place, from those in the order of the recording."""

    @property
    @abstractmethod
    def before(self) -> Ints:
        """For each place the place of the pose that differs from it by one intervention, (poses,)."""

    @abstractmethod
    def pose_name(self, place: int, regime: int) -> str:
        """The name of a pose in messages."""

    @abstractmethod
    def returning(self, poses: Floats) -> Floats | None:
        """The path, (stops, joints), that returns to the observational pose after each intervention.

        Args:
            poses: of episodes, (episodes, poses, joints).

        Returns:
            None if interventions persist.
        """

    @abstractmethod
    def provenance(self, episodes: int) -> dict[str, Any]:
        """The entries of `meta/ropes.json` that describe a number of episodes."""


class AnchorProtocol(RecordingProtocol):
    """Anchors: an observational pose, and one under each policy of each joint.

    The order of an anchor's poses, and of the anchors in a block, makes moves short.
    """

    noun = "anchor"
    #: A recording that stops early still has anchors of all kinds.
    block = 10

    @property
    def length(self) -> int:
        """One pose for each regime."""
        return len(self.model.regimes)

    def draw(self, seed: int, number: int, attempt: int) -> tuple[Floats, Ints]:
        """Poses of an anchor in the order of the regimes."""
        poses = self.model.sample(generator(seed, "record", number, attempt), 1)[0]
        return poses, np.arange(self.length)

    @staticmethod
    def order(poses: Floats, start: Floats | None, speed: Floats) -> list[int]:
        """The order that makes the moves short."""
        return shortest_order(poses, start, speed)

    def stored(self, regimes: Sequence[int]) -> tuple[int, ...]:
        """The regimes in their own order."""
        return tuple(sorted(regimes))

    @property
    def before(self) -> Ints:
        """The observational pose for all."""
        return np.zeros(self.length, np.int64)

    def pose_name(self, place: int, regime: int) -> str:
        """The name of the regime."""
        return self.model.regimes[regime].name

    def returning(self, poses: Floats) -> Floats | None:
        """From each intervention back to the observational pose, except from an anchor's last one."""
        path = []
        for rest, *others in poses:
            for pose in others:
                path += [rest, pose]
        return np.array(path)

    def provenance(self, episodes: int) -> dict[str, Any]:
        """None: a data set has anchors unless it says otherwise."""
        return {}


class ChainProtocol(RecordingProtocol):
    """Chains of moves, see `ropes.data.chains`: each move changes one joint, and earlier interventions persist.

    The order is that of the moves.  Chains follow in the order of the draw: a chain has many moves, and only one more
    leads to the next chain.
    """

    noun = "chain"
    block = 1

    @property
    def length(self) -> int:
        """The first pose, and one after each move."""
        return 1 + chains.TURNS * len(self.model.interventions)

    def draw(self, seed: int, number: int, attempt: int) -> tuple[Floats, Ints]:
        """Poses of a chain in the order of its moves."""
        poses, regimes = self.model.sample_chains(generator(seed, "record", "chains", number, attempt), 1, chains.TURNS)
        return poses[0], regimes[0]

    @staticmethod
    def order(poses: Floats, start: Floats | None, speed: Floats) -> list[int]:
        """The order of the moves."""
        return list(range(len(poses)))

    def stored(self, regimes: Sequence[int]) -> tuple[int, ...]:
        """The regimes in the order of the moves."""
        return tuple(regimes)

    @property
    def before(self) -> Ints:
        """The pose before the move."""
        return np.maximum(np.arange(self.length) - 1, 0)

    def pose_name(self, place: int, regime: int) -> str:
        """Name of the regime and number of the move."""
        return f"{self.model.regimes[regime].name} in move {place}" if place else "the first pose"

    def returning(self, poses: Floats) -> Floats | None:
        """None: the arm does not return within a chain."""
        return None

    def provenance(self, episodes: int) -> dict[str, Any]:
        """The entry `chains`; no frames are taken on the way."""
        return {"chains": chains.description(episodes, frames_per_move=0)}
