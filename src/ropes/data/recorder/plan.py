"""The plan of a recording: the poses of its episodes, and the order in which to record them.

Episodes are recorded in blocks.  Within a block, the next episode is the one whose poses are nearest to the arm.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

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
    """

    episode: int
    place: int
    regime: int
    pose: Floats


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

    def blocks(self, episodes: Iterable[int]) -> list[list[int]]:
        """Numbers of episodes, block by block."""
        blocks: dict[int, list[int]] = {}
        for episode in sorted(episodes):
            blocks.setdefault(episode // self.protocol.block, []).append(episode)
        return list(blocks.values())

    def route(self, episodes: Iterable[int], start: Floats | None = None) -> list[list[Stop]]:
        """The order in which to record episodes, and in each the order of its poses.

        Args:
            episodes: numbers of the episodes to record.
            start: where the arm stands, (joints,); None if unknown.
        """
        route: list[list[Stop]] = []
        for left in self.blocks(episodes):
            while left:
                here = start
                episode = (
                    left[0]
                    if here is None
                    else min(left, key=lambda k: travel_time(here, self.poses[k], self.speed).min())
                )
                left.remove(episode)
                poses, regimes = self.poses[episode], self.regimes[episode].tolist()
                places = self.protocol.order(poses, start, self.speed)
                route.append([Stop(episode, place, regimes[place], poses[place]) for place in places])
                start = route[-1][-1].pose
        return route

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

    Raises:
        UserError: the protocol is not possible with its joints.
    """
    poses, regimes = zip(*(protocol.draw(seed, episode, 0) for episode in range(episodes)), strict=True)
    return Plan(protocol=protocol, seed=seed, poses=np.stack(poses), regimes=np.stack(regimes), speed=speed)
