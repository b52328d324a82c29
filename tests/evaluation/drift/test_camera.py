"""Moves of a camera and changes of its light, on drawn frames."""

import numpy as np
import torch
from torch import Tensor

from ropes.evaluation.drift.camera import camera_drift, moved_stretches
from ropes.models.registration import Registration
from tests.models.camera_frames import FRAMES, frames

MOVED = 35


def shaken() -> Tensor:
    """Frames of one camera that shakes a little, uint8 (n, 1, S, S)."""
    return frames(shake=0.1, noise=1.0, seed=3).images[:, :1]


def test_a_camera_that_moves_is_found_within_ten_frames() -> None:
    still = shaken()
    registration = Registration.of_camera(still)
    assert not camera_drift("left", still, registration).moved
    moved = still.clone()
    moved[MOVED:] = torch.roll(still[MOVED:], 2, dims=3)
    (stretch,) = camera_drift("left", moved, registration).stretches
    assert abs(stretch.first - MOVED) <= 1
    assert stretch.last == FRAMES - 1
    assert abs(stretch.pixels - 2) < 0.5
    found = camera_drift("left", moved[: MOVED + 10], registration, scale=5.0)
    assert found.moved
    assert abs(found.stretches[0].pixels - 10) < 2.5  # pixels of the camera's images


def test_a_move_beyond_the_linear_fit_is_measured() -> None:
    still = shaken()
    moved = still.clone()
    moved[MOVED:] = torch.roll(still[MOVED:], (-9, 14), dims=(2, 3))
    (stretch,) = camera_drift("left", moved, Registration.of_camera(still)).stretches
    assert abs(stretch.pixels - np.hypot(9, 14)) < 1


def test_a_change_of_light_is_no_move() -> None:
    still = shaken()
    darker = still.clone()
    darker[MOVED:] = (0.8 * still[MOVED:].float()).round().to(torch.uint8)
    found = camera_drift("left", darker, Registration.of_camera(still))
    assert not found.moved
    assert abs(np.median(found.light[MOVED:]) - 2.2 * np.log2(0.8)) < 0.2


def test_the_light_is_that_of_the_median_frame() -> None:
    still = shaken()
    darker = (0.8 * still.float()).round().to(torch.uint8)
    darker[10:16] = (1.1 * still[10:16].float()).clip(0, 255).round().to(torch.uint8)  # not of the whole recording
    found = camera_drift("left", darker, Registration.of_camera(still))
    assert abs(found.light_change - 2.2 * np.log2(0.8)) < 0.2


def test_covered_frames_are_no_move() -> None:
    still, rng = shaken(), np.random.default_rng(2)
    covered = still.clone()
    covered[20:34] = torch.from_numpy(rng.integers(0, 255, covered[20:34].shape, dtype=np.uint8))  # noise
    covered[50:] = 3  # dark
    found = camera_drift("left", covered, Registration.of_camera(still))
    assert not found.moved
    assert found.known
    assert np.flatnonzero(np.isnan(found.shift)).tolist() == [*range(20, 34), *range(50, FRAMES)]
    assert found.unseen == 14 + FRAMES - 50
    assert abs(found.light_change) < 0.1
    covered[34:50] = torch.roll(still[34:50], 3, dims=3)
    (stretch,) = camera_drift("left", covered, Registration.of_camera(still)).stretches
    assert (stretch.first, stretch.last) == (34, 49)


def test_nobody_can_tell_before_a_plain_wall() -> None:
    plain = torch.full((40, 1, 64, 64), 128, dtype=torch.uint8)
    found = camera_drift("left", plain, Registration.of_camera(plain))
    assert not found.known
    assert not found.moved
    assert np.isnan(found.light_change)


def test_a_knock_that_goes_back_is_one_stretch() -> None:
    rng = np.random.default_rng(0)
    moves = 0.1 * rng.normal(size=(100, 3))
    moves[40:60, 0] += 5
    distance, (stretch,), bound = moved_stretches(moves, 1.0, np.ones(100, bool))
    assert (stretch.first, stretch.last) == (40, 59)
    assert abs(stretch.pixels - 5) < 0.3
    assert distance.shape == (100,)
    assert bound == 1.0


def test_a_shaking_camera_needs_a_larger_move() -> None:
    moves = 2.0 * np.random.default_rng(1).normal(size=(200, 3))
    _, stretches, bound = moved_stretches(moves, 1.0, np.ones(200, bool))
    assert bound > 3
    assert stretches == ()
