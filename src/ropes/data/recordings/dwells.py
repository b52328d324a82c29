"""When the arm stands still: from joint positions, or from how much successive images differ."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropes.data.recordings.source import Floats
from ropes.errors import UserError

#: A joint stands still below this speed (rad/s), or if it moves less than this between two views (rad).
STILL_SPEED, STILL_STEP = 0.02, 0.002
#: Rounding of time stamps, seconds.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class Dwell:
    """A time without motion: first, middle and last view."""

    first: int
    middle: int
    last: int


def still_by_positions(times: Floats, positions: Floats) -> NDArray[np.bool_]:
    """Whether all joints stand still from each view to the next, (n − 1,).

    Args:
        times: seconds, (n,).
        positions: radians, (n, joints).
    """
    steps = np.abs(np.diff(positions, axis=0)).max(axis=1, initial=0)
    return np.asarray(steps <= np.maximum(STILL_STEP, STILL_SPEED * np.diff(times)))


def find_dwells(times: Floats, still: NDArray[np.bool_], shortest: float) -> tuple[Dwell, ...]:
    """The dwells that last at least `shortest` seconds.

    Args:
        times: seconds, (n,).
        still: whether the arm stands still from each view to the next, (n − 1,).
        shortest: seconds.
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(np.int8)))
    dwells = []
    for first, last in edges.reshape(-1, 2).tolist():
        if times[last] - times[first] >= shortest - _ROUNDING:
            middle = first + int(np.argmin(np.abs(times[first : last + 1] - (times[first] + times[last]) / 2)))
            dwells.append(Dwell(first, middle, last))
    return tuple(dwells)


def longest_stillness(times: Floats, still: NDArray[np.bool_]) -> float:
    """Duration of the longest dwell in seconds; 0 without one."""
    return max((float(times[each.last] - times[each.first]) for each in find_dwells(times, still, 0.0)), default=0.0)


def require_dwells(found: int, longest: float, shortest: float) -> None:
    """Check that there are dwells.

    Raises:
        UserError: there are none; the message says how long the arm stands still at most.
    """
    if not found:
        raise UserError(
            f"the arm never stands still for {shortest:g} s (at most {longest:.2f} s); give a shorter --dwell, or take "
            "--frames stretch (one frame of each stretch of a policy) or --frames every"
        )
