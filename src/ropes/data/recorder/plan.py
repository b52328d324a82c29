"""The plan of a recording: which poses, and in which order.

Each anchor is drawn from a seed and its own number, so a plan of more anchors begins with the same ones.  Anchors are
recorded in blocks of ten.  Within a block their order, and within an anchor the order of its poses, make moves short.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ropes.causal.scm import CausalModel, Regime
from ropes.common.arrays import Floats
from ropes.common.seeds import generator
from ropes.data.recorder.limits import Limits
from ropes.data.recorder.travel import shortest_order, travel_time

#: Anchors whose order is free.  A recording that stops early still has anchors of all kinds.
BLOCK = 10


@dataclass(frozen=True)
class Stop:
    """One pose of the plan: number of the anchor, number of its regime, and angles (joints,) in radians."""

    anchor: int
    regime: int
    pose: Floats


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Poses of anchors.

    Attributes:
        joints: order of the angles.
        regimes: order of the poses of an anchor.
        poses: (anchors, regimes, joints) radians.
        speed: largest speed of each joint, (joints,) rad/s.
        redrawn: anchors that were drawn again because the way to their poses is not free.
    """

    joints: tuple[str, ...]
    regimes: tuple[Regime, ...]
    poses: Floats
    speed: Floats
    redrawn: int = 0

    def route(self, anchors: Iterable[int], start: Floats | None = None) -> list[list[Stop]]:
        """The order in which to record anchors, and in each the order of its poses.

        Args:
            anchors: numbers of the anchors to record.
            start: where the arm stands, (joints,); None if unknown.
        """
        route: list[list[Stop]] = []
        for left in blocks_of(anchors):
            while left:
                here = start
                anchor = (
                    left[0]
                    if here is None
                    else min(left, key=lambda k: travel_time(here, self.poses[k], self.speed).min())
                )
                left.remove(anchor)
                order = shortest_order(self.poses[anchor], start, self.speed)
                route.append([Stop(anchor, regime, self.poses[anchor, regime]) for regime in order])
                start = route[-1][-1].pose
        return route

    def travel(self, path: Floats) -> float:
        """Seconds of the moves along a path (poses, joints)."""
        return float(travel_time(path[:-1], path[1:], self.speed).sum())

    def returning(self, anchors: Iterable[int]) -> Floats:
        """The path, (poses, joints), that returns to the observational pose after each intervention."""
        path = []
        for anchor in sorted(anchors):
            rest, *others = self.poses[anchor]
            path.append(rest)
            for k, pose in enumerate(others):
                path += [pose] if k == len(others) - 1 else [pose, rest]
        return np.array(path)


def blocks_of(anchors: Iterable[int]) -> list[list[int]]:
    """Numbers of anchors, block by block."""
    blocks: dict[int, list[int]] = {}
    for anchor in sorted(anchors):
        blocks.setdefault(anchor // BLOCK, []).append(anchor)
    return list(blocks.values())


def draw_plan(model: CausalModel, anchors: int, seed: int, limits: Limits) -> Plan:
    """Draw the poses of all anchors.

    Args:
        model: distributions of the joints, which must be independent.
        anchors: how many.
        seed: equal seeds give equal plans.
        limits: of the arm.
    """
    poses = np.stack([draw_anchor(model, seed, anchor, 0) for anchor in range(anchors)])
    return Plan(joints=model.joints, regimes=model.regimes, poses=poses, speed=limits.speeds(model.joints))


def draw_anchor(model: CausalModel, seed: int, anchor: int, attempt: int) -> Floats:
    """Poses of one anchor, (regimes, joints)."""
    return model.sample(generator(seed, "record", anchor, attempt), 1)[0]
