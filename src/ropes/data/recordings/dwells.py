"""When the arm stands still: from joint positions, or from how much successive images differ."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ropes.data.recordings import policies
from ropes.data.recordings.source import Floats, Policies
from ropes.errors import UserError

#: A joint stands still below this speed (rad/s), or if it moves less than this between two views (rad).
STILL_SPEED, STILL_STEP = 0.02, 0.002
#: The arm's motion is unknown between two views further apart than so many of their median intervals, or of
#: those of the joint positions.
_GAP = 5
#: Rounding of time stamps, seconds.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class Dwell:
    """A time without motion: first and last view, and the one in the middle, which is the pose."""

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
            dwells.append(Dwell(first, _middle(times, first, last), last))
    return tuple(dwells)


@dataclass(frozen=True)
class Settled:
    """Dwells with their policies.

    Attributes:
        dwells: one for each dwell; None where it has no pose.
        cut: number of dwells during which the next policy is named.
        left_out: reason → number of poses.
    """

    dwells: tuple[Dwell | None, ...]
    cut: int
    left_out: Mapping[str, int]


def without_gaps(times: Floats, still: NDArray[np.bool_], samples: Floats | None = None) -> NDArray[np.bool_]:
    """`still`, (n − 1,), but false from each view to the next where none is seen in between for long.

    Args:
        times: of the views, seconds, (n,).
        still: whether the arm stands still from each view to the next, (n − 1,).
        samples: times of the joint positions by which `still` is known, seconds; views lie near them.
    """
    steps = np.diff(times)
    if not len(steps):
        return still
    usual = max(float(np.median(np.diff(each))) for each in (times, samples) if each is not None and len(each) > 1)
    return still & (steps <= _GAP * usual + _ROUNDING)


def settle(found: Sequence[Dwell], times: Floats, acting: Policies, shortest: float) -> Settled:
    """Give each dwell the policy under which the arm came to rest, that of its first view.

    Where the next policy is named during the dwell, the pose is in the middle of the part before.  A dwell before the
    first policy of the episode begins where that is named; so does one under no policy if a policy is named soon, as in
    recordings that name policies of rests alone.

    Args:
        found: dwells of an episode.
        times: of the views, seconds, (n,).
        acting: policies of the episode.
        shortest: duration of the shortest part with a pose, seconds.
    """
    dwells, left_out, cut = list[Dwell | None](), Counter[str](), 0
    for dwell in found:
        stamps = times[dwell.first : dwell.last + 1]
        names, rows = policies.at(acting, stamps)
        begin = int(np.argmax(rows >= 0))
        named = next((k for k, name in enumerate(names) if name), begin)
        if stamps[named] - stamps[0] < shortest:
            begin = max(begin, named)
        runs = [k for k in range(begin + 1, len(names)) if names[k] != names[k - 1]]
        end = runs[0] - 1 if runs else len(names) - 1
        if runs and stamps[end] - stamps[begin] < shortest - _ROUNDING:
            left_out[f"the next policy is named less than {shortest:g} s after the arm comes to rest"] += 1
            dwells.append(None)
            continue
        cut += bool(runs and names[begin] and names[runs[0]]) and bool(stamps[-1] - stamps[end] >= shortest - _ROUNDING)
        left_out["a policy under which the arm does not move"] += sum(bool(names[k]) for k in runs[:-1])
        dwells.append(replace(dwell, middle=dwell.first + _middle(stamps, begin, end)))
    return Settled(tuple(dwells), cut, {reason: count for reason, count in left_out.items() if count})


def _middle(times: Floats, first: int, last: int) -> int:
    """The view in the middle of the time from view `first` to view `last`."""
    return first + int(np.argmin(np.abs(times[first : last + 1] - (times[first] + times[last]) / 2)))


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
