"""Finds where in a recording a camera was pushed, by phase correlation of background images."""

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.common.arrays import Bools, Floats, Images, Ints
from ropes.models.alignment import NEAR, other_place

#: Parts of a recording whose backgrounds are compared, and the fewest frames of a part.
PARTS, FEWEST_FRAMES = 4, 10


def from_one_place(frames: Images) -> tuple[float, slice]:
    """How far a camera moved at once, and the longest part of the recording from one place.

    The medians of four parts of the recording show the background of each.  Where one lies at another place, the shifts
    of single frames confirm it (a background without texture has no place), and tell when the camera moved.

    Args:
        frames: grey, uint8 (n, H, W), in the order of recording.

    Returns:
        Pixels, 0 if it did not move or if there are fewer than 40 frames; and frames `start` to `stop` − 1, all of them
        where it moved slowly or not at all.
    """
    everything = slice(0, len(frames))
    if len(frames) < PARTS * FEWEST_FRAMES:
        return 0.0, everything
    ends = np.linspace(0, len(frames), PARTS + 1).astype(int)
    medians = _centred(np.stack([np.median(frames[start:stop], axis=0) for start, stop in pairwise(ends)]))
    places = _elsewhere(*other_place(medians, medians[0]))
    if not places.any():
        return 0.0, everything
    elsewhere, shift = other_place(_centred(frames), medians[0])
    seen = _elsewhere(elsewhere, shift)
    if _near(seen, np.repeat(places, np.diff(ends), axis=0)).mean() <= 0.5:
        return 0.0, everything
    changes = [0, *(k for k in range(1, PARTS) if not _near(places[k], places[k - 1])), PARTS]
    parts = [_frames(_near(seen, places[first]), ends, first, last) for first, last in pairwise(changes)]
    longest = max(parts, key=lambda part: part.stop - part.start)
    at_once = all(_jumps(shift.numpy(), frame) for frame in (longest.start, longest.stop))
    return float(np.linalg.norm(places, axis=1).max()), longest if at_once else everything


def _frames(there: Bools, ends: Ints, first: int, last: int) -> slice:
    """The frames of parts.

    Args:
        there: whether each frame is at the place of these parts, (n,).
        ends: first frame of each part, and the number of frames, (PARTS + 1,).
        first: the first of the parts.
        last: the part after them.
    """
    start, stop = 0, len(there)
    if first > 0:
        start = int(ends[first + 1]) - leading(there[ends[first - 1] : ends[first + 1]][::-1])
    if last < PARTS:
        stop = int(ends[last - 1]) + leading(there[ends[last - 1] : ends[last + 1]])
    return slice(start, stop)


def _centred(images: NDArray[np.uint8] | NDArray[np.float64]) -> Tensor:
    """Images (n, H, W) without their means."""
    levels = torch.from_numpy(images).double()
    return levels - levels.mean((1, 2), keepdim=True)


def _elsewhere(elsewhere: Tensor, shift: Tensor) -> Ints:
    """Shifts (n, 2), 0 for images that are at no other place."""
    found: Ints = np.where(elsewhere.numpy()[:, None], shift.numpy(), 0)
    return found


def _near(places: Ints | Floats, place: Ints | Floats) -> Bools:
    """Whether places (..., 2) are the same as other ones."""
    near: Bools = np.abs(places - place).max(-1) <= NEAR
    return near


def leading(there: Bools) -> int:
    """The count of leading frames that agrees best with which frames are so, bool (n,)."""
    return int(np.concatenate([[0], np.cumsum(np.where(there, 1, -1))]).argmax())


def _jumps(shift: Ints, frame: int) -> bool:
    """Whether the shifts (n, 2) jump at a frame, or it is an end of the recording."""
    before, after = shift[max(0, frame - FEWEST_FRAMES) : frame], shift[frame : frame + FEWEST_FRAMES]
    return not (len(before) and len(after)) or not _near(np.median(before, axis=0), np.median(after, axis=0))
