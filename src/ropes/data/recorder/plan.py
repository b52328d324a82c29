"""The plan of a recording: the poses of its episodes, and the order in which to record them.

Episodes are recorded in blocks.  Within a block, the next episode is the one whose poses are nearest to the arm.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ropes.causal.scm import CausalModel
from ropes.common.arrays import Floats, Ints
from ropes.data.recorder.protocols import RecordingProtocol
from ropes.data.recorder.travel import travel_time


@dataclass(frozen=True)
class Stop:
    """One pose of the plan.

    Attributes:
        episode: number of its episode.
        place: of the pose in the episode.
        regime: number of its regime.
        pose: angles (joints,) in radians.
        via: poses on the way to it where the straight way is not free, (n, joints); no frames are taken there.
    """

    episode: int
    place: int
    regime: int
    pose: Floats
    via: tuple[Floats, ...] = ()

    @property
    def way(self) -> tuple[Floats, ...]:
        """The poses on the way, and the pose itself."""
        return (*self.via, self.pose)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Poses of episodes: of anchors, or of chains.

    Attributes:
        protocol: what an episode is.
        seed: draws the episodes.
        poses: (episodes, poses, joints) radians.
        regimes: number of the regime of each pose, (episodes, poses).
        speed: largest speed of each joint, (joints,) rad/s.
        redrawn: episodes that were drawn again because the way to their poses is not free.
    """

    protocol: RecordingProtocol
    seed: int
    poses: Floats
    regimes: Ints
    speed: Floats
    redrawn: int = 0

    @property
    def joints(self) -> tuple[str, ...]:
        """Order of the angles."""
        return self.protocol.model.joints

    def route(self, episodes: Iterable[int], start: Floats | None = None) -> list[list[Stop]]:
        """The order in which to record episodes, and in each the order of its poses.

        Args:
            episodes: numbers of the episodes to record.
            start: where the arm stands, (joints,); None if unknown.
        """
        order = recording_order(type(self.protocol), self.poses, self.speed, episodes, start)
        return [
            [Stop(episode, place, int(self.regimes[episode, place]), self.poses[episode, place]) for place in places]
            for episode, places in order
        ]

    def travel(self, path: Floats) -> float:
        """Seconds of the moves along a path (poses, joints)."""
        return float(travel_time(path[:-1], path[1:], self.speed).sum())

    def redraw(self, episode: int, attempt: int) -> "Plan":
        """The plan with another draw of one episode."""
        poses, regimes = self.poses.copy(), self.regimes.copy()
        poses[episode], regimes[episode] = self.protocol.draw(self.seed, episode, attempt)
        return replace(self, poses=poses, regimes=regimes)


def draw_plan(protocol: RecordingProtocol, episodes: int, seed: int, speed: Floats) -> Plan:
    """Draw the poses of all episodes.

    Args:
        protocol: what an episode is.
        episodes: how many.
        seed: equal seeds give equal plans.
        speed: largest speed of each joint, (joints,) rad/s.
    """
    poses, regimes = zip(*(protocol.draw(seed, episode, 0) for episode in range(episodes)), strict=True)
    return Plan(protocol=protocol, seed=seed, poses=np.stack(poses), regimes=np.stack(regimes), speed=speed)


def middle_of(model: CausalModel) -> Floats:
    """The middle of the observational range of each joint, (joints,) radians."""
    ranges = (model.observational[joint] for joint in model.joints)
    return np.array([(each.low + each.high) / 2 for each in ranges])


def blocks_of(protocol: type[RecordingProtocol], episodes: Iterable[int]) -> list[list[int]]:
    """Numbers of episodes, block by block."""
    blocks: dict[int, list[int]] = {}
    for episode in sorted(episodes):
        blocks.setdefault(episode // protocol.block, []).append(episode)
    return list(blocks.values())


def recording_order(
    protocol: type[RecordingProtocol],
    poses: Floats,
    speed: Floats,
    episodes: Iterable[int],
    start: Floats | None = None,
) -> Iterator[tuple[int, list[int]]]:
    """The order in which to record episodes.

    Args:
        protocol: what an episode is.
        poses: of all episodes, (episodes, poses, joints) radians.
        speed: largest speed of each joint, (joints,) rad/s.
        episodes: numbers of the episodes to record.
        start: where the arm stands, (joints,); None if unknown.

    Yields:
        Number of an episode, and the places of its poses in the order of the recording.
    """
    for left in blocks_of(protocol, episodes):
        while left:
            here = start
            episode = left[0] if here is None else min(left, key=lambda k: travel_time(here, poses[k], speed).min())
            left.remove(episode)
            places = protocol.order(poses[episode], here, speed)
            yield episode, places
            start = poses[episode, places[-1]]
