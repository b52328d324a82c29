"""Finds where in a recording a background changed for good: something was put down, or shade spread."""

from itertools import combinations, pairwise

import numpy as np
from scipy import ndimage

from ropes.common.arrays import Bools, Floats
from ropes.models.frame_changes import CHANGED
from ropes.models.pushes import FEWEST_FRAMES, PARTS, leading

#: Share of the pixels of a background that must change for it to count as another one.
OTHER_BACKGROUND = 0.02
#: A median has changed where it differs by this many standard deviations of the noise, by `CHANGED` levels, and by so
#: many times the distance from it within which three quarters of the frames lie.
_DEVIATIONS, _QUARTILES = 10.0, 2.0
#: That distance of normal noise, in standard deviations.
_QUARTILE = 1.15


class Usual:
    """What some frames of a camera show.

    Args:
        residuals: of registered frames, grey levels, (n, H, W).

    Attributes:
        frames: n.
        median: of each pixel, (H, W).
        distance: from the median within which three quarters of the frames lie, (H, W).
    """

    def __init__(self, residuals: Floats) -> None:
        self.frames, self.median = len(residuals), np.median(residuals, axis=0)
        self.distance = np.quantile(np.abs(residuals - self.median), 0.75, axis=0)


def changed_for_good(before: Usual, after: Usual, noise: float | None = None) -> Bools:
    """Pixels whose medians differ by more than noise and the arm explain, bool (H, W); lone ones are left out.

    The arm hides some pixels in about half of the frames, and whether such a median is the arm's or the background's is
    chance.  These pixels do not count: there frames differ from their own median as much as the medians do.

    Args:
        before: frames of one part of the recording.
        after: frames of another part.
        noise: standard deviation, grey levels; None estimates it.
    """
    distance = np.maximum(before.distance, after.distance)
    sigma = float(np.median(distance)) / _QUARTILE if noise is None else noise
    least = max(_DEVIATIONS * sigma / np.sqrt(min(before.frames, after.frames) / 2), CHANGED)
    changed = np.abs(before.median - after.median) > np.maximum(least, _QUARTILES * distance)
    opened: Bools = ndimage.binary_opening(changed, np.ones((3, 3)))
    return opened


def changes(residuals: Floats) -> list[int]:
    """Where a background changed for good: the first frames of all stretches but the first.

    As in `ropes.models.pushes`, the medians of four parts are compared, and single frames tell when the change came.
    Each stretch is then searched in the same way, so that a slow change becomes several steps.

    Args:
        residuals: of registered frames of one camera, grey levels, (n, H, W), in the order of recording.

    Returns:
        Nothing for fewer than 40 frames.  All stretches have ten frames or more.
    """
    if len(residuals) < PARTS * FEWEST_FRAMES:
        return []
    ends = np.linspace(0, len(residuals), PARTS + 1).astype(int)
    parts = [Usual(residuals[start:stop]) for start, stop in pairwise(ends)]
    masks = {pair: changed_for_good(parts[pair[0]], parts[pair[1]]) for pair in combinations(range(PARTS), 2)}
    first, last = max(masks, key=lambda pair: float(masks[pair].mean()))
    mask = masks[first, last]
    if mask.mean() <= OTHER_BACKGROUND:
        return []
    start = int(ends[first])
    seen = residuals[start : ends[last + 1], mask]
    earlier, later = (np.abs(seen - parts[k].median[mask]) for k in (first, last))
    found = start + leading((earlier < later).mean(1) > 0.5)
    if not FEWEST_FRAMES <= found <= len(residuals) - FEWEST_FRAMES:
        return []
    return [*changes(residuals[:found]), found, *(found + k for k in changes(residuals[found:]))]
