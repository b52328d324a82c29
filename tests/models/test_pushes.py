"""Where in a recording a camera was pushed, and from which part a fit can learn."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from ropes.models.pushes import from_one_place

FRAMES, SIDE = 120, 64


def recording(*, texture: float = 140.0) -> NDArray[np.uint8]:
    """Frames of a textured wall with a moving rectangle and noise."""
    rng = np.random.default_rng(0)
    wall = ndimage.gaussian_filter(rng.uniform(-0.5, 0.5, (SIDE, SIDE)), 2)
    frames = 110 + texture * wall / np.ptp(wall) + rng.normal(0, 3, (FRAMES, SIDE, SIDE))
    for frame, (top, left) in zip(frames, rng.integers(0, SIDE - 16, (FRAMES, 2)), strict=True):
        frame[top : top + 16, left : left + 8] = 230
    seen: NDArray[np.uint8] = frames.round().clip(0, 255).astype(np.uint8)
    return seen


@pytest.mark.parametrize(
    ("start", "stop", "kept"),
    [(60, 120, slice(0, 60)), (50, 120, slice(50, 120)), (25, 120, slice(25, 120)), (35, 60, slice(60, 120))],
)
def test_a_push_is_found_to_the_frame(start: int, stop: int, kept: slice) -> None:
    frames = recording()
    frames[start:stop] = np.roll(frames[start:stop], (3, -4), axis=(1, 2))
    assert from_one_place(frames) == (5.0, kept)


def test_a_still_or_creeping_camera_and_a_plain_wall_were_not_pushed() -> None:
    frames = recording()
    assert from_one_place(frames) == (0.0, slice(0, FRAMES))
    assert from_one_place(recording(texture=0)) == (0.0, slice(0, FRAMES))
    creeping = np.stack([np.roll(frame, k // 20, axis=1) for k, frame in enumerate(frames)])
    moved, still = from_one_place(creeping)
    assert moved > 2
    assert still == slice(0, FRAMES)


def test_few_frames_tell_nothing() -> None:
    frames = recording()[:39]
    frames[20:] = np.roll(frames[20:], 6, axis=2)
    assert from_one_place(frames) == (0.0, slice(0, 39))
