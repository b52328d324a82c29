"""When the arm stands still, from how much successive images of each camera differ."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ropes.data.recordings.source import Floats

#: Images at rest differ by at most twice the change of a still arm plus this many grey levels.  Video codecs repeat
#: still images without any change, so the sum cannot be left out.
CHANGE = 1.5
#: Rest and motion are two modes where their mean changes differ by this factor.
_MODES = 4.0
#: Share of the images at rest, at least, without two modes.
_STILL_SHARE = 0.25
#: Grey levels: images at rest that differ by more are rare.
_MUCH = 10.0


class Motion(Protocol):
    """What images of a camera show; `motion` is the change from each image to the next in grey levels."""

    @property
    def motion(self) -> Sequence[float]:
        """See the class."""


def still_by_images(cameras: Iterable[Motion]) -> NDArray[np.bool_]:
    """Whether no camera sees a motion from each image to the next, (n − 1,).

    Single larger changes, as at the key frames of a video, do not count.
    """
    still: NDArray[np.bool_] | None = None
    for camera in cameras:
        motion = np.array(camera.motion)
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


def doubt(name: str, camera: Motion) -> str | None:
    """What a user should check if images differ much even at rest; None otherwise."""
    motion = np.array(camera.motion)
    level = rest_level(motion) if len(motion) else 0.0
    if level <= _MUCH:
        return None
    return (
        f"images of camera {name} differ by {level:.0f} grey levels even where the arm seems to stand still: check the "
        "poses, or record joint positions"
    )
