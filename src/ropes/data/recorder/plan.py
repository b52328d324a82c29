"""The plan of a recording: which poses, in which order, how long it takes, and whether the way is free.

Each anchor is drawn from a seed and its own number, so a plan of more anchors begins with the same ones.  Anchors are
recorded in blocks of ten.  Within a block their order, and within an anchor the order of its poses, make moves short.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropes.causal.scm import CausalModel, Regime
from ropes.common.progress import progress as show_progress
from ropes.common.seeds import generator
from ropes.data.recorder.limits import Limits
from ropes.data.recorder.travel import samples, shortest_order, travel_time
from ropes.errors import UserError
from ropes.simulation.collisions import Collision

Floats = NDArray[np.float64]
#: Anchors whose order is free.  A recording that stops early still has anchors of all kinds.
BLOCK = 10
#: Draws of an anchor before the ranges count as unusable.
_DRAWS = 50
#: Poses (n, joints) → the first one that is not free.
Checker = Callable[[Floats], Collision | None]


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
        blocks: dict[int, list[int]] = {}
        for anchor in sorted(anchors):
            blocks.setdefault(anchor // BLOCK, []).append(anchor)
        route: list[list[Stop]] = []
        for left in blocks.values():
            while left:
                here = start
                anchor = left[0] if here is None else min(left, key=lambda k: self._nearest(here, k))
                left.remove(anchor)
                order = shortest_order(self.poses[anchor], start, self.speed)
                route.append([Stop(anchor, regime, self.poses[anchor, regime]) for regime in order])
                start = route[-1][-1].pose
        return route

    def _nearest(self, here: Floats, anchor: int) -> float:
        return float(travel_time(here, self.poses[anchor], self.speed).min())

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


def draw_plan(
    model: CausalModel, anchors: int, seed: int, limits: Limits, check: Checker | None = None, *, show: bool = True
) -> Plan:
    """Draw the poses of all anchors.

    Args:
        model: distributions of the joints, which must be independent.
        anchors: how many.
        seed: equal seeds give equal plans.
        limits: of the arm.
        check: draw an anchor again where one of its poses, or a move between them, is not free; None draws once.
        show: show progress.

    Raises:
        UserError: no draw of an anchor is free.
    """
    speed, poses, redrawn = limits.speeds(model.joints), [], 0
    with show_progress("drawing, anchors", anchors, show=show and check is not None) as update:
        for anchor in range(anchors):
            drawn = _draw(model, seed, anchor, 0)
            if check is not None:
                attempt = 0
                while (fault := check(_within(drawn, speed))) is not None:
                    attempt += 1
                    if attempt == _DRAWS:
                        raise UserError(f"anchor {anchor}: {fault.what} in {_DRAWS} draws; give narrower --ranges")
                    drawn = _draw(model, seed, anchor, attempt)
                redrawn += attempt > 0
            poses.append(drawn)
            update(anchor + 1)
    return Plan(joints=model.joints, regimes=model.regimes, poses=np.stack(poses), speed=speed, redrawn=redrawn)


def _draw(model: CausalModel, seed: int, anchor: int, attempt: int) -> Floats:
    """Poses of one anchor, (regimes, joints)."""
    return model.sample(generator(seed, "record", anchor, attempt), 1)[0]


def _within(poses: Floats, speed: Floats) -> Floats:
    """Positions along an anchor's own moves."""
    return samples(poses[shortest_order(poses, None, speed)])[0]


def require_free(route: Sequence[Sequence[Stop]], check: Checker, *, start: Floats | None = None, show: bool) -> int:
    """Check that all poses of a route, and all positions on the way, are free.

    Args:
        route: see `Plan.route`.
        check: finds the first position that is not free.
        start: where the arm stands, (joints,), if known.
        show: show progress.

    Returns:
        Number of positions that were checked.

    Raises:
        UserError: a position is not free; names anchor and pose.
    """
    total, here = 0, start
    with show_progress("simulating the plan, anchors", len(route), show=show) as update:
        for done, stops in enumerate(route, 1):
            path = np.array([*([] if here is None else [here]), *(stop.pose for stop in stops)])
            positions, numbers = samples(path)
            if (found := check(positions)) is not None:
                stop = stops[max(0, int(numbers[found.pose]) - (here is not None))]
                raise UserError(_refusal(stop, positions[found.pose], found))
            total, here = total + len(positions), stops[-1].pose
            update(done)
    return total


def _refusal(stop: Stop, position: Floats, found: Collision) -> str:
    at = "in" if np.allclose(position, stop.pose) else "on the way to"
    return (
        f"the plan is not free: {found.what} {at} pose {stop.regime} of anchor {stop.anchor}; give narrower --ranges, "
        "or --redraw to draw such anchors again"
    )
