"""Simulates a plan: finds the order in which to record, and checks every position on the way."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ropes.causal.scm import CausalModel
from ropes.common.progress import progress as show_progress
from ropes.data.recorder.plan import Plan, Stop, blocks_of, draw_anchor
from ropes.data.recorder.travel import samples
from ropes.errors import UserError
from ropes.simulation.collisions import Collision

Floats = NDArray[np.float64]
#: Draws of an anchor before the ranges count as unusable.
DRAWS = 50
#: Poses (n, joints) → the first one that is not free.
Checker = Callable[[Floats], Collision | None]


@dataclass(frozen=True)
class Redraw:
    """How to draw anchors again that are not free: the distributions, and the seed of the plan."""

    model: CausalModel
    seed: int


@dataclass(frozen=True)
class Route:
    """A way that is free.

    Attributes:
        plan: the plan, with anchors that were drawn again.
        stops: of each anchor, in the order of the recording.
        positions: how many were checked.
    """

    plan: Plan
    stops: list[list[Stop]]
    positions: int


@dataclass(frozen=True)
class _Fault:
    """The first position that is not free: on the way to which pose, and whether it is the pose itself."""

    stop: Stop
    found: Collision
    arrived: bool


def free_route(
    plan: Plan, anchors: Iterable[int], check: Checker, *, redraw: Redraw | None = None, show: bool = True
) -> Route:
    """Find the order in which to record anchors, and check all poses and all positions on the way.

    Args:
        plan: the plan.
        anchors: numbers of the anchors to record.
        check: finds the first position that is not free.
        redraw: how to draw an anchor again where a pose of it, or the way to one, is not free; None refuses the plan.
        show: show progress.

    Raises:
        UserError: a position is not free; names anchor and pose.
    """
    wanted, route, attempts = sorted(anchors), list[list[Stop]](), Counter[int]()
    here, positions = None, 0
    with show_progress("simulating the plan, anchors", len(wanted), show=show) as update:
        for block in blocks_of(wanted):
            while True:
                part = plan.route(block, here)
                checked = _check(part, check, here)
                if not isinstance(checked, _Fault):
                    break
                anchor, what = checked.stop.anchor, checked.found.what
                if redraw is None:
                    raise UserError(_refusal(checked))
                attempts[anchor] += 1
                if attempts[anchor] == DRAWS:
                    raise UserError(f"anchor {anchor}: {what} in {DRAWS} draws; give narrower --ranges")
                poses = plan.poses.copy()
                poses[anchor] = draw_anchor(redraw.model, redraw.seed, anchor, attempts[anchor])
                plan = replace(plan, poses=poses, redrawn=len(attempts))
            route, here, positions = [*route, *part], part[-1][-1].pose, positions + checked
            update(len(route))
    return Route(plan, route, positions)


def require_free_start(start: Floats, first: Stop, check: Checker) -> None:
    """Check the move from where the arm stands to the first pose.

    Raises:
        UserError: the way is not free.
    """
    if (found := check(samples(np.array([start, first.pose]))[0])) is not None:
        raise UserError(
            f"the way from where the arm stands to the first pose is not free: {found.what}; move the arm by hand to "
            "the middle of its ranges"
        )


def _check(route: Sequence[Sequence[Stop]], check: Checker, start: Floats | None) -> int | _Fault:
    """Number of positions that were checked, or the first fault."""
    total, here = 0, start
    for stops in route:
        path = np.array([*([] if here is None else [here]), *(stop.pose for stop in stops)])
        positions, numbers = samples(path)
        if (found := check(positions)) is not None:
            stop = stops[max(0, int(numbers[found.pose]) - (here is not None))]
            return _Fault(stop, found, bool(np.allclose(positions[found.pose], stop.pose)))
        total, here = total + len(positions), stops[-1].pose
    return total


def _refusal(fault: _Fault) -> str:
    at = "in" if fault.arrived else "on the way to"
    return (
        f"the plan is not free: {fault.found.what} {at} pose {fault.stop.regime} of anchor {fault.stop.anchor}; give "
        "narrower --ranges, or --redraw to draw such anchors again"
    )
