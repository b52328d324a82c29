"""Times of moves, and the order of poses that makes them short.

A move is a straight line in joint space.  All joints start and end together, so its time is that of the slowest joint:

    t(a, b) = max_j |a_j − b_j| / v_j + r,

with v_j the largest speed of joint j and r the time to speed up and to slow down.  Poses of an anchor differ from the
observational one in one joint each.  A move from one intervention to another therefore takes as long as the longer of
the two moves to the observational pose, not as long as both.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats

#: Seconds to speed up and to slow down.
RAMP = 0.2
#: Largest step of a joint between two positions at which a move is checked, radians.  Where a link moves far in it,
#: `ropes.simulation.collisions` checks positions between them.
STEP = 0.05
#: Distance of a joint from the straight line of a move that is always allowed, radians (metres); a larger tolerance at
#: the goal allows as much on the way.  What is farther away was not checked for collisions.
OFF = 0.1
_LEAST = 1e-9


def travel_time(start: Floats, goal: Floats, speed: Floats) -> Floats:
    """Seconds of moves between poses (..., joints) in radians, at speeds (joints,) in rad/s."""
    longest = (np.abs(goal - start) / speed).max(axis=-1)
    return np.where(longest > 0, longest + RAMP, 0.0)


def progress_at(seconds: float, total: float) -> float:
    """Share of a move after some seconds: the speed rises and falls linearly within `RAMP`.

    Args:
        seconds: since the start.
        total: `travel_time` of the move.
    """
    if seconds >= total or total <= 0:
        return 1.0
    ramp = min(RAMP, total / 2)
    top = 1 / (total - ramp)  # the share moved in a second at full speed
    seconds = max(0.0, seconds)
    if seconds < ramp:
        return top * seconds**2 / (2 * ramp)
    if seconds > total - ramp:
        return 1 - top * (total - seconds) ** 2 / (2 * ramp)
    return top * (seconds - ramp / 2)


def knots(total: float) -> list[tuple[float, float, float]]:
    """Where the acceleration of `progress_at` changes, the start left out: between them a cubic spline is exact.

    Args:
        total: `travel_time` of the move, above 0.

    Returns:
        Seconds since the start, share of the move, and share of the move a second, of each.
    """
    ramp = min(RAMP, total / 2)
    top = 1 / (total - ramp)
    times = [ramp] if total <= 2 * ramp else [ramp, total - ramp]
    return [*((time, progress_at(time, total), top) for time in times), (total, 1.0, 0.0)]


def samples(path: Floats, step: float = STEP) -> tuple[Floats, NDArray[np.int64]]:
    """Positions along the moves from pose to pose, at most `step` apart in any joint.

    Args:
        path: (poses, joints).
        step: radians.

    Returns:
        Positions (n, joints), from the first pose to the last; and for each the number of the pose that the move leads
        to, (n,).
    """
    positions, numbers = [path[:1]], [np.zeros(1, np.int64)]
    for number, (start, goal) in enumerate(itertools.pairwise(path), 1):
        count = max(1, int(np.ceil(np.abs(goal - start).max() / step)))
        shares = np.arange(1, count + 1)[:, None] / count
        positions.append(start + shares * (goal - start))
        numbers.append(np.full(count, number))
    return np.concatenate(positions), np.concatenate(numbers)


def beside(start: Floats, goal: Floats, here: Floats) -> Floats:
    """From the nearest position of a move to another position, (joints,); an arm that is late is beside nothing.

    Args:
        start: of the move, (joints,) radians.
        goal: of the move, (joints,).
        here: the position, (joints,).
    """
    way = goal - start
    share = float(np.clip((here - start) @ way / max(float(way @ way), _LEAST), 0.0, 1.0))
    return here - (start + share * way)


def shortest_order(poses: Floats, start: Floats | None, speed: Floats) -> list[int]:
    """An order of the poses that makes the moves short: nearest neighbour, then local search (2-opt and Or-opt).

    Args:
        poses: (n, joints) radians.
        start: where the arm stands before, (joints,); None if anywhere.
        speed: (joints,) rad/s.

    Returns:
        Indices of the poses.
    """
    count = len(poses)
    between = travel_time(poses[:, None], poses[None], speed).tolist()
    first = [0.0] * count if start is None else travel_time(start, poses, speed).tolist()
    left = set(range(count))
    order = [min(left, key=lambda k: (first[k], k))]
    left.remove(order[0])
    while left:
        here = between[order[-1]]
        order.append(min(left, key=lambda k: (here[k], k)))
        left.remove(order[-1])
    best = _length(order, first, between)
    improved = True
    while improved:
        improved = False
        for candidate in _neighbours(order):
            length = _length(candidate, first, between)
            if length < best - _LEAST:
                order, best, improved = candidate, length, True
                break
    return order


def _length(order: Sequence[int], first: Sequence[float], between: Sequence[Sequence[float]]) -> float:
    total = first[order[0]]
    for one, other in itertools.pairwise(order):
        total += between[one][other]
    return total


def _neighbours(order: list[int]) -> Iterator[list[int]]:
    """All orders in which one stretch is reversed, or one stretch of up to three poses stands elsewhere."""
    count = len(order)
    for begin in range(count):
        for end in range(begin + 2, count + 1):
            yield order[:begin] + order[begin:end][::-1] + order[end:]
    for size in (1, 2, 3):
        for begin in range(count - size + 1):
            stretch, rest = order[begin : begin + size], order[:begin] + order[begin + size :]
            for place in range(len(rest) + 1):
                if place != begin:
                    yield rest[:place] + stretch + rest[place:]
                    if size > 1:
                        yield rest[:place] + stretch[::-1] + rest[place:]
