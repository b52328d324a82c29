"""Says what a plan does and how long it takes."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ropes.data.recorder.plan import Plan, Stop
from ropes.data.recorder.route import Route

#: Seconds that a pose takes until the arm stands still and frames are equal, beyond those for which frames are dropped.
_STANDING = 0.6


def describe(
    found: Route, settle: float, ignored: Iterable[frozenset[str]], done: int, unchecked: Sequence[str] = ()
) -> Iterator[str]:
    """The plan in lines.

    Args:
        found: what is left to record.
        settle: seconds for which frames are dropped in each pose.
        ignored: pairs of links that may touch.
        done: number of anchors that are recorded.
        unchecked: links without a collision shape.
    """
    plan, route = found.plan, found.stops
    anchors, regimes = plan.poses.shape[:2]
    before = f"{done} are recorded, {len(route)} are left; " if done else ""
    redrawn = f"; {plan.redrawn} drawn again" if plan.redrawn else ""
    yield f"plan: {before}{anchors} anchors of {regimes} poses, joints {', '.join(plan.joints)}{redrawn}"
    if not route:
        return
    for k, joint in enumerate(plan.joints):
        angles = plan.poses[..., k]
        yield f"  {joint}: {angles.min():.2f} to {angles.max():.2f} rad, at most {plan.speed[k]:g} rad/s"
    moving, returning = travel_seconds(plan, route)
    standing = sum(map(len, route)) * (settle + _STANDING)
    yield f"robot time: about {duration(moving + standing)}, {duration(moving)} of it moves"
    yield (
        f"order of poses: saves {saved(moving, returning)} of the moves, which take {duration(returning)} if the arm "
        "goes back to the observational pose after each intervention"
    )
    yield f"simulated: {found.positions:,} positions on the way; no contact with arm or table, inside the workspace"
    if unchecked:
        yield f"not checked, as the URDF gives them no collision shape: {', '.join(unchecked)}"
    if pairs := sorted(" and ".join(sorted(pair)) for pair in ignored):
        yield f"not checked, as they touch in the middle of the ranges: {'; '.join(pairs)}"


def travel_seconds(plan: Plan, route: Sequence[Sequence[Stop]]) -> tuple[float, float]:
    """Seconds of the moves of a route, and of the same anchors with returns to the observational pose."""
    path = np.array([stop.pose for stops in route for stop in stops])
    return plan.travel(path), plan.travel(plan.returning(stops[0].anchor for stops in route))


def saved(moving: float, returning: float) -> str:
    """The share of the time of moves that the order saves."""
    return f"{1 - moving / returning:.0%}" if returning > 0 else "0%"


def duration(seconds: float) -> str:
    """A duration in hours or minutes or seconds."""
    if seconds >= 2 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
