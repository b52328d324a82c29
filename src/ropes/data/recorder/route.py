"""Simulates a plan: finds the order in which to record, checks every position on the way, and estimates the time.

A recording that goes on after an interruption has another order than the whole plan, and other moves between its poses.
So a move that is not free never makes a plan impossible while a detour through another pose is free.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ropes.common.arrays import Floats
from ropes.common.progress import progress as show_progress
from ropes.data.recorder.plan import Plan, Stop, blocks_of, middle_of
from ropes.data.recorder.travel import samples
from ropes.errors import UserError
from ropes.simulation.collisions import Collision

#: Draws of an episode before the ranges count as unusable.
DRAWS = 50
#: Positions (n, joints) on the way → the first one that is not free.
Checker = Callable[[Floats], Collision | None]
#: Seconds that a pose takes until the arm stands still and frames are equal, beyond those for which frames are dropped.
_STANDING = 0.3
_NARROWER = "narrower ranges (--ranges, or low and high in the file of limits)"


@dataclass(frozen=True)
class Route:
    """A way that is free.

    Attributes:
        plan: the plan, with episodes that were drawn again.
        stops: of each episode, in the order of the recording.
        positions: how many were checked, without those that the checker adds between them.
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
    plan: Plan, episodes: Iterable[int], check: Checker, *, redraw: bool = False, show: bool = True
) -> Route:
    """Find the order in which to record episodes, and check all poses and all positions on the way.

    Args:
        plan: the plan.
        episodes: numbers of the episodes to record.
        check: finds the first position that is not free.
        redraw: draw an episode again where a pose of it, or the way to one, is not free, instead of refusing the plan.
        show: show progress.

    Raises:
        UserError: a position is not free; names episode and pose.
    """
    wanted, route, attempts = sorted(episodes), list[list[Stop]](), Counter[int]()
    here, positions, noun, middle = None, 0, plan.protocol.noun, middle_of(plan.protocol.model)
    with show_progress(f"simulating the plan, {noun}s", len(wanted), show=show) as update:
        for block in blocks_of(type(plan.protocol), wanted):
            while True:
                checked = _free(plan.route(block, here), check, here, middle)
                if not isinstance(checked, _Fault):
                    break
                episode, what = checked.stop.episode, checked.found.what
                if not redraw:
                    at = "in" if checked.arrived else "on the way to"
                    raise UserError(
                        f"the plan is not free: {what} {at} {_named(plan, checked.stop)} of {noun} {episode}; "
                        f"give {_NARROWER}, or --redraw to draw such {noun}s again"
                    )
                attempts[episode] += 1
                if attempts[episode] == DRAWS:
                    raise UserError(f"{noun} {episode}: {what} in {DRAWS} draws; give {_NARROWER}")
                plan = replace(plan.redraw(episode, attempts[episode]), redrawn=len(attempts))
            part, count = checked
            route, here, positions = [*route, *part], part[-1][-1].pose, positions + count
            update(len(route))
    return Route(plan, route, positions)


def _named(plan: Plan, stop: Stop) -> str:
    """A pose by its regime, with the angle of the joint that moves to it."""
    name, joint = plan.protocol.pose_name(stop.place, stop.regime), plan.protocol.model.regimes[stop.regime].joint
    return name if joint is None else f"{name} ({joint} at {np.degrees(stop.pose[plan.joints.index(joint)]):.1f}°)"


def from_start(
    start: Floats | None, route: Sequence[Sequence[Stop]], middle: Floats, check: Checker
) -> list[list[Stop]]:
    """The route with a free way from where the arm stands to its first pose: straight, or through another pose.

    Args:
        start: where the arm stands, (joints,); None if unknown.
        route: the episodes.
        middle: a pose through which a detour leads first, (joints,).
        check: finds the first position that is not free.

    Raises:
        UserError: no way is free.
    """
    (first, *stops), *episodes = route
    if start is not None and (found := check(samples(np.array([start, first.pose]))[0])) is not None:
        if (via := _detour(start, first.pose, [middle, *(stop.pose for stop in stops)], check)) is None:
            raise UserError(
                f"the way from where the arm stands to the first pose is not free: {found.what}; bring the arm near "
                "the middle of its ranges before the command connects to it"
            )
        first = replace(first, via=(via,))
    return [[first, *stops], *map(list, episodes)]


def _free(
    route: Sequence[Sequence[Stop]], check: Checker, start: Floats | None, middle: Floats
) -> tuple[list[list[Stop]], int] | _Fault:
    """The route, with detours where a move is not free, and the number of positions that were checked; or a fault.

    Args:
        route: episodes in the order of the recording.
        check: finds the first position that is not free.
        start: where the arm stands before; None if unknown.
        middle: a pose through which detours lead first, (joints,).
    """
    found, total, here = list[list[Stop]](), 0, start
    for stops in route:
        free = _free_episode(stops, check, here, middle)
        if isinstance(free, _Fault):
            return free
        total, here = total + free[1], stops[-1].pose
        found.append(free[0])
    return found, total


def _free_episode(
    stops: Sequence[Stop], check: Checker, start: Floats | None, middle: Floats
) -> tuple[list[Stop], int] | _Fault:
    """See `_free`; of one episode."""
    found = list(stops)
    while True:
        path = [*([] if start is None else [start]), *(pose for stop in found for pose in stop.way)]
        positions, numbers = samples(np.array(path))
        if (fault := check(positions)) is None:
            return found, len(positions)
        ends = np.cumsum([len(stop.way) for stop in found]) - (start is None)
        at = int(np.searchsorted(ends, numbers[fault.pose]))
        stop, before = found[at], found[at - 1].pose if at else start
        arrived = not fault.between and bool(np.allclose(positions[fault.pose], stop.pose))
        candidates = [] if arrived or stop.via else [middle, *(each.pose for each in stops)]
        if before is None or (via := _detour(before, stop.pose, candidates, check)) is None:
            return _Fault(stop, fault, arrived)
        found[at] = replace(stop, via=(via,))


def _detour(start: Floats, goal: Floats, candidates: Sequence[Floats], check: Checker) -> Floats | None:
    """The first of the candidates through which the way is free; None if it is through none."""
    ways = ((pose, check(samples(np.array([start, pose, goal]))[0])) for pose in candidates)
    return next((pose for pose, fault in ways if fault is None), None)


def describe(
    found: Route, settle: float, ignored: Iterable[frozenset[str]], done: int, unchecked: Sequence[str] = ()
) -> Iterator[str]:
    """The plan in lines.

    Args:
        found: what is left to record.
        settle: seconds for which frames are dropped in each pose.
        ignored: pairs of links that may touch.
        done: number of episodes that are recorded.
        unchecked: links without a collision shape.
    """
    plan, route = found.plan, found.stops
    episodes, poses = plan.poses.shape[:2]
    before = f"{done} are recorded, {len(route)} are left; " if done else ""
    redrawn = f"; {plan.redrawn} drawn again" if plan.redrawn else ""
    yield f"plan: {before}{episodes} {plan.protocol.noun}s of {poses} poses, joints {', '.join(plan.joints)}{redrawn}"
    if not route:
        return
    for k, joint in enumerate(plan.joints):
        angles, speed = np.degrees(plan.poses[..., k]), np.degrees(plan.speed[k])
        yield f"  {joint}: {angles.min():.1f}° to {angles.max():.1f}°, at most {speed:.1f}°/s"
    moving, returning = travel_seconds(plan, route)
    standing = sum(map(len, route)) * (settle + _STANDING)
    yield f"robot time: about {duration(moving + standing)}, {duration(moving)} of it moves"
    if returning is not None:
        yield (
            f"order of poses: moves take {duration(moving)} in this order, {duration(returning)} if the arm goes back "
            "to the observational pose after each intervention"
        )
    if detours := sum(bool(stop.via) for stops in route for stop in stops):
        yield f"{detours} moves go by another pose, because the straight way is not free"
    checked = f"{found.positions:,} positions or more on the way"
    yield f"simulated: {checked}; no contact with arm or table, inside the workspace"
    if unchecked:
        yield f"not checked, as the URDF gives them no collision shape: {', '.join(unchecked)}"
    if pairs := sorted(" and ".join(sorted(pair)) for pair in ignored):
        yield f"not checked, as they touch in the middle of the ranges: {'; '.join(pairs)}"


def travel_seconds(plan: Plan, route: Sequence[Sequence[Stop]]) -> tuple[float, float | None]:
    """Seconds of the moves of a route, and of the same episodes with returns to the observational pose.

    The second is None if interventions persist.
    """
    path = np.array([pose for stops in route for stop in stops for pose in stop.way])
    back = plan.protocol.returning(plan.poses[sorted(stops[0].episode for stops in route)])
    return plan.travel(path), None if back is None else plan.travel(back)


def duration(seconds: float) -> str:
    """A duration in hours or minutes or seconds."""
    if seconds >= 2 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
