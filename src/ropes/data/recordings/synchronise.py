"""Brings cameras and joint positions together by their time stamps, and counts the frames that find no partner."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats, Ints
from ropes.data.recordings.source import Episode, Joints, require_order
from ropes.errors import UserError

#: Largest ratio of two cameras' frame rates that counts as equal.
_EQUAL_RATES = 1.15


@dataclass(frozen=True, kw_only=True)
class Views:
    """What the cameras see at the same time, with the joint positions at that time.

    Attributes:
        times: time stamps of the reference camera in seconds, (n,).
        frames: number of the frame of each camera, (n, cameras).
        positions: joint positions in the unit of the recording, (n, joints); None without them.
        joints: names of the columns of `positions`.
        dropped: reason → number of frames of the reference camera that were left out.
    """

    times: Floats
    frames: Ints
    positions: Floats | None
    joints: tuple[str, ...]
    dropped: Mapping[str, int]


def synchronise(
    episode: Episode, cameras: Sequence[str], tolerance: float, *, state: bool = True, different_rates: bool = False
) -> Views:
    """Find for each frame of the reference camera the nearest frame of all others and the position at that time.

    The camera with the fewest frames is the reference.  A frame belongs to one view at most.

    Args:
        episode: the streams.
        cameras: names, in the order of the columns of `Views.frames`.
        tolerance: largest difference of time stamps in seconds.
        state: use the joint positions.
        different_rates: accept cameras of different frame rates.

    Raises:
        UserError: time stamps run back, a camera has no frames, or frame rates differ.
    """
    for camera in cameras:
        require_order(episode.frames[camera], f"{episode.name}: time stamps of camera {camera}")
    if not different_rates:
        _require_equal_rates(episode, cameras)
    reference = min(cameras, key=lambda camera: len(episode.frames[camera]))
    times, dropped = episode.frames[reference], Counter[str]()
    frames, keep = np.empty((len(times), len(cameras)), np.int64), np.ones(len(times), dtype=bool)
    for k, camera in enumerate(cameras):
        frames[:, k] = nearest(times, episode.frames[camera])
        found = np.abs(episode.frames[camera][frames[:, k]] - times) <= tolerance
        dropped[f"no frame of camera {camera} within {tolerance:g} s"] = int((keep & ~found).sum())
        keep &= found
    for k, camera in enumerate(cameras):
        nearer = keep & ~_nearest_to_each(frames[:, k], np.abs(episode.frames[camera][frames[:, k]] - times), keep)
        dropped[f"its frame of camera {camera} is nearer to another one"] = int(nearer.sum())
        keep &= ~nearer
    if episode.policies is not None:
        require_order(episode.policies.times, f"{episode.name}: time stamps of the policies")
    positions, joints = None, episode.joints if state else None
    if joints is not None:
        require_order(joints.times, f"{episode.name}: time stamps of the joint positions")
        at, found = _rows(joints, times, tolerance)
        dropped[f"no joint position within {tolerance:g} s"] = int((keep & ~found).sum())
        keep &= found
        positions = joints.positions[at][keep]
    return Views(
        times=times[keep],
        frames=frames[keep],
        positions=positions,
        joints=() if joints is None else joints.names,
        dropped={reason: count for reason, count in dropped.items() if count},
    )


def farthest(episode: Episode, cameras: Sequence[str], *, state: bool) -> str:
    """Which stream has time stamps farthest from those of the first camera, in words: at the median of its frames."""
    first, *others = cameras
    times, streams = episode.frames[first], {f"camera {camera}": episode.frames[camera] for camera in others}
    if state and episode.joints is not None:
        streams["the joint positions"] = episode.joints.times
    apart = {name: float(np.median(np.abs(stamps[nearest(times, stamps)] - times))) for name, stamps in streams.items()}
    name = max(apart, key=lambda each: apart[each])
    return f"time stamps of {name} are {apart[name]:.3g} s away from those of camera {first}, at the median"


def nearest(times: Floats, others: Floats) -> Ints:
    """Index of the value of `others` (ascending) nearest to each of `times`, (n,)."""
    after = np.clip(np.searchsorted(others, times), 1, max(1, len(others) - 1))
    before = after - 1
    after = np.minimum(after, len(others) - 1)
    return np.where(np.abs(others[after] - times) < np.abs(others[before] - times), after, before)


def _nearest_to_each(frames: Ints, distances: Floats, candidates: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows that are the nearest to their frame among the candidates with this frame; the first of equally near ones."""
    rows = np.flatnonzero(candidates)
    order = rows[np.lexsort((distances[rows], frames[rows]))]
    nearest_rows = np.zeros(len(frames), dtype=bool)
    nearest_rows[order[np.unique(frames[order], return_index=True)[1]]] = True
    return nearest_rows


def _rows(joints: Joints, times: Floats, tolerance: float) -> tuple[Ints, NDArray[np.bool_]]:
    """Row of the joint positions at each time, and whether there is one."""
    if joints.hold:
        row = np.searchsorted(joints.times, times, side="right") - 1
        return np.maximum(row, 0), row >= 0
    row = nearest(times, joints.times)
    return row, np.abs(joints.times[row] - times) <= tolerance


def _require_equal_rates(episode: Episode, cameras: Sequence[str]) -> None:
    """Check that the median intervals between frames are about the same."""
    rates = {
        camera: 1 / float(np.median(np.diff(stamps)))
        for camera in cameras
        if len(stamps := episode.frames[camera]) > 2 and np.median(np.diff(stamps)) > 0
    }
    if rates and max(rates.values()) > _EQUAL_RATES * min(rates.values()):
        described = ", ".join(f"{camera} {rate:.1f}" for camera, rate in rates.items())
        raise UserError(
            f"{episode.name}: cameras have different frame rates ({described} Hz); "
            "record them at one rate, or take the slowest one's frames with --different-rates"
        )
