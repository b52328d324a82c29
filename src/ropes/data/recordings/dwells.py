"""When the arm stands still: from joint positions, or from how much successive images differ."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.data.recordings import policies
from ropes.data.recordings.source import Policies

#: A joint stands still below this speed (rad/s), over this time (s): encoders jitter by more within a single frame.
STILL_SPEED, STILL_TIME = 0.02, 0.2
#: The arm's motion is unknown between two views further apart than so many of their median intervals, or of
#: those of the joint positions.
_GAP = 5
#: Rounding of time stamps, seconds.
_ROUNDING = 1e-5
#: Images at rest differ by at most twice the change of a still arm plus this many grey levels.  Video codecs repeat
#: still images without any change, so the sum cannot be left out.
CHANGE = 1.5
#: Rest and motion are two modes where their mean changes differ by this factor.
_MODES = 4.0
#: Share of the images at rest, at least, without two modes.
_STILL_SHARE = 0.25
#: Grey levels: images at rest that differ by more are rare.
_MUCH = 10.0


@dataclass(frozen=True)
class Dwell:
    """A time without motion: first and last view, and the one in the middle, which is the pose."""

    first: int
    middle: int
    last: int


def still_by_positions(times: Floats, positions: Floats) -> NDArray[np.bool_]:
    """Whether all joints stand still from each view to the next, (n − 1,).

    They do if none is faster than `STILL_SPEED` over the `STILL_TIME` before the second view, or after the first one.

    Args:
        times: seconds, (n,).
        positions: radians, (n, joints).
    """
    after = _range_after(times, positions)
    before = _range_after(-times[::-1], positions[::-1])[::-1]
    return np.asarray(np.minimum(before, after) <= STILL_SPEED * np.maximum(STILL_TIME, np.diff(times)))


def _range_after(times: Floats, positions: Floats) -> Floats:
    """How far any joint moves within `STILL_TIME` from each view but the last, radians, (n − 1,).

    The next view always counts, however late it comes.
    """
    low, high = positions[:-1].copy(), positions[:-1].copy()
    for ahead in range(1, len(times)):
        near = (times[ahead:] - times[:-ahead] <= STILL_TIME + _ROUNDING) | (ahead == 1)
        if not near.any():
            break
        rows = np.flatnonzero(near)
        low[rows] = np.minimum(low[rows], positions[rows + ahead])
        high[rows] = np.maximum(high[rows], positions[rows + ahead])
    return np.asarray((high - low).max(axis=1, initial=0))


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


def still_by_images(cameras: Iterable[Sequence[float]]) -> NDArray[np.bool_]:
    """Whether no camera sees a motion from each image to the next, (n − 1,).

    Single larger changes, as at the key frames of a video, do not count.

    Args:
        cameras: of each camera the change from each image to the next, grey levels.
    """
    still: NDArray[np.bool_] | None = None
    for changes in cameras:
        motion = np.array(changes)
        if len(motion) > 2:
            padded = np.concatenate([motion[:1], motion, motion[-1:]])
            motion = np.median(np.stack([padded[:-2], padded[1:-1], padded[2:]]), axis=0)
        below = motion <= 2 * rest_level(motion) + CHANGE if len(motion) else np.empty(0, bool)
        still = below if still is None else still & below
    assert still is not None
    return still


def rest_level(motion: Floats) -> float:
    """Change from image to image while the arm stands still, grey levels.

    The lower quartile, which is right if the arm rests for a quarter of the time; or the median of the lower mode where
    changes have two modes, rest and motion, and it is less.
    """
    quartile = float(np.quantile(motion, _STILL_SHARE))
    logarithm = np.sort(np.log(motion + CHANGE))
    count = np.arange(1, len(logarithm))
    sums = np.cumsum(logarithm)
    below, above = sums[:-1] / count, (sums[-1] - sums[:-1]) / (len(logarithm) - count)
    if len(count):
        split = int(np.argmax(count * (len(logarithm) - count) * (above - below) ** 2))  # Otsu, 1979
        if above[split] - below[split] > np.log(_MODES):
            return min(quartile, float(np.exp(np.median(logarithm[: split + 1]))) - CHANGE)
    return quartile


def doubt(name: str, motion: Sequence[float]) -> str | None:
    """What a user should check if images differ much even at rest; None otherwise."""
    level = rest_level(np.array(motion)) if len(motion) else 0.0
    if level <= _MUCH:
        return None
    return (
        f"images of camera {name} differ by {level:.0f} grey levels even where the arm seems to stand still: check the "
        "poses, or record joint positions"
    )
