"""Backgrounds that change for good halfway: each stretch of a recording has its own."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from ropes.models.coarse_registration import new_registration
from ropes.models.frame_changes import changed_areas, crowded
from ropes.models.lasting_changes import changes
from ropes.models.registration import Registration
from ropes.models.stretches import backgrounds_of, follow

FRAMES, SIDE = 160, 48
#: First frame with the object.
PUT_DOWN = 90


def recording(change: str | None = None, *, views: int = 2, noise: float = 3.0) -> Tensor:
    """Frames of a textured wall with a moving bar, varying light and noise; a change is in the first view."""
    rng = np.random.default_rng(0)
    wall = ndimage.gaussian_filter(rng.uniform(-0.5, 0.5, (views, SIDE, SIDE)), (0, 2, 2))
    scene = np.repeat(110 + 120 * wall[None] / np.ptp(wall), FRAMES, axis=0)
    if change == "object":
        scene[PUT_DOWN:, 0, 24:44, 4:20] = 190
    if change == "shade":
        scene[:, 0, :, : SIDE // 2] *= np.linspace(1, 0.7, FRAMES)[:, None, None]
    for seen in scene:
        for view, (top, left) in enumerate(rng.integers(0, (SIDE - 16, SIDE - 6), (views, 2))):
            seen[view, top : top + 16, left : left + 6] = 230
    gain = np.exp(0.05 * rng.standard_normal((FRAMES, views, 1, 1)))
    seen = gain * scene + noise * rng.standard_normal(scene.shape)
    return torch.from_numpy(seen.round().clip(0, 255).astype(np.uint8))


def followed(images: Tensor, zoom: int = 1) -> tuple[Tensor, list[Registration], Tensor]:
    """Numbers of the backgrounds, registrations of the stretches, and composites."""
    registration = new_registration(images.shape[1], images.shape[-1], zoom=zoom)
    numbers = backgrounds_of(registration, images, registration.adapt(images))
    parts = follow(registration, images, numbers)
    stretch = torch.unique_consecutive(numbers, dim=0, return_inverse=True)[1]
    return numbers, parts, torch.cat([part.composite(images[stretch == k]) for k, part in enumerate(parts)])


def shares(composites: Tensor, registration: Registration) -> NDArray[np.float64]:
    return changed_areas(composites, registration.background, 1)


@pytest.fixture(scope="module")
def unchanged() -> NDArray[np.float64]:
    """Foreground shares of each frame without any change, (n, V)."""
    images = recording()
    registration = Registration(2, SIDE)
    registration.adapt(images)
    return shares(registration.composite(images), registration)


@pytest.mark.slow
def test_recording_without_a_lasting_change_has_one_background() -> None:
    images = recording()
    registration = Registration(2, SIDE)
    parameters = registration.adapt(images)
    assert not backgrounds_of(registration, images, parameters).any()


@pytest.mark.slow
def test_an_object_that_stays_belongs_to_the_background(unchanged: NDArray[np.float64]) -> None:
    images = recording("object")
    single = Registration(2, SIDE)
    single.adapt(images)
    assert crowded(shares(single.composite(images), single))[PUT_DOWN:, 0].mean() > 0.9
    numbers, parts, composites = followed(images)
    assert np.flatnonzero(np.diff(numbers[:, 0])) + 1 == PUT_DOWN
    assert not numbers[:, 1].any()
    found = shares(composites, parts[-1])
    assert np.abs(found - unchanged).mean() < 0.01
    assert np.array_equal(crowded(found), crowded(unchanged))
    assert 255 * parts[-1].noise.median() < 4
    placed = (slice(None), 0, slice(28, 40), slice(8, 16))
    assert (composites[placed] - parts[-1].background.mul(255)[placed[1:]]).abs().median() < 1  # earlier frames too
    assert torch.equal(parts[0].background[1], parts[1].background[1])


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1.0, 3.0])
def test_shade_that_grows_belongs_to_the_background(noise: float, unchanged: NDArray[np.float64]) -> None:
    images = recording("shade", noise=noise)
    numbers, parts, composites = followed(images)
    assert numbers[-1, 0] >= 1
    assert not numbers[:, 1].any()
    found = shares(composites, parts[-1])
    assert np.abs(found - unchanged).mean() < 0.02
    assert np.array_equal(crowded(found), crowded(unchanged))


@pytest.mark.slow
def test_large_frames_follow_as_their_small_copies(unchanged: NDArray[np.float64]) -> None:
    images = recording("object")
    large = images.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
    numbers, parts, composites = followed(large, zoom=2)
    assert np.flatnonzero(np.diff(numbers[:, 0])) + 1 == PUT_DOWN
    found = shares(composites, parts[-1])
    assert np.abs(found - unchanged).mean() < 0.01
    assert np.array_equal(crowded(found), crowded(unchanged))


def test_an_object_that_is_taken_away_again_is_two_changes() -> None:
    residuals = np.random.default_rng(0).normal(0, 3, (FRAMES, SIDE, SIDE))
    residuals[50:100, 4:20, 4:20] += 40
    assert changes(residuals) == [50, 100]


@pytest.mark.parametrize("share", [0.3, 0.4, 0.5, 0.6])
def test_arm_that_hides_pixels_in_half_of_the_frames_is_no_change(share: float) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        residuals = rng.normal(0, 3, (FRAMES, SIDE, SIDE))
        residuals[np.repeat(rng.random(FRAMES // 4) < share, 4), 8:40, 8:40] += 80  # four poses of each anchor
        assert changes(residuals) == []


def test_few_frames_tell_nothing() -> None:
    residuals = np.zeros((39, SIDE, SIDE))
    residuals[20:, :24] = 60
    assert changes(residuals) == []
