"""What is measured of a camera is what its model added, within about a third, with an arm that moves all the time."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage

from ropes.evaluation.inspection.nuisances import Nuisances, complaints, measure
from ropes.simulation.camera_levels import CameraLevel
from ropes.simulation.camera_model import CameraModel, degrade
from ropes.simulation.occluders import OccluderLevel

FRAMES = 150
RNG = np.random.default_rng(0)
ROOM = np.kron(RNG.integers(20, 180, (6, 8)), np.ones((12, 12))).astype(np.uint8)


def scene() -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """A room with a bar that turns about its middle: images, and where the bar is."""
    rows, columns = np.mgrid[: ROOM.shape[0], : ROOM.shape[1]] - np.array(ROOM.shape)[:, None, None] / 2
    arms = []
    for angle in RNG.uniform(0, np.pi, FRAMES):
        along, across = np.cos(angle) * rows + np.sin(angle) * columns, np.cos(angle) * columns - np.sin(angle) * rows
        arms.append((np.abs(along) < 25) & (np.abs(across) < 4))
    arm = np.stack(arms)
    return np.where(arm, np.uint8(230), ROOM), arm


IMAGES, ARMS = scene()


def measured(**strengths: Any) -> tuple[Nuisances, CameraModel]:
    level = dataclasses.replace(CameraLevel(), **strengths)
    model = CameraModel(level, ROOM.shape, FRAMES, seed=3)
    return measure(degrade(IMAGES, level, seed=3, arms=ARMS)), model


@pytest.mark.slow
def test_a_clean_camera_has_no_nuisance() -> None:
    found, _ = measured()
    assert found.light < 0.005
    assert found.noise < 0.5
    assert found.jitter < 0.03
    assert found.creep < 0.03
    assert found.blur < 0.2
    assert found.saturated == 0
    assert found.crowded == 0
    assert found.moved_background < 0.01
    assert complaints(found, "left") == ()


@pytest.mark.slow
def test_light_is_measured_in_stops() -> None:
    found, model = measured(exposure_drift=0.2, drift_frames=20.0)
    assert found.light == pytest.approx(np.log2(model.gain[:, 1]).std(), rel=0.25)
    assert "exposure" in complaints(found, "left")[0]


@pytest.mark.slow
def test_light_drift_on_a_bright_wall_is_not_a_passer_by() -> None:
    bright = np.where(ARMS, np.uint8(120), np.minimum(ROOM, 165) + np.uint8(90))
    level = CameraLevel(exposure_drift=0.2, drift_frames=20.0, read_noise=0.01, vibration=0.004)
    found, model = measure(degrade(bright, level, seed=3, arms=ARMS)), CameraModel(level, ROOM.shape, FRAMES, seed=3)
    assert found.saturated > 0.02
    assert found.light == pytest.approx(np.diff(np.quantile(np.log2(model.gain[:, 1]), [0.16, 0.84]))[0] / 2, rel=0.03)
    assert found.crowded < 0.02


@pytest.mark.slow
def test_noise_is_measured_in_grey_levels() -> None:
    found, _ = measured(read_noise=0.02)
    clean, noisy = ROOM, degrade(np.stack([ROOM] * 20), CameraLevel(read_noise=0.02), seed=9).astype(float)
    assert found.noise == pytest.approx(np.median((noisy - clean).std(0)), rel=0.2)


@pytest.mark.slow
def test_jitter_and_creep_are_measured_in_pixels() -> None:
    found, model = measured(vibration=0.006)
    assert found.jitter == pytest.approx(model.shift.std(), rel=0.2)
    found, model = measured(creep=0.03)
    assert found.creep == pytest.approx(np.linalg.norm(np.median(model.shift[-15:], axis=0)), rel=0.15)
    assert any("moved by" in line for line in complaints(found, "left"))


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [1, 12])
def test_noise_is_neither_rounded_nor_averaged_away(sigma: float) -> None:
    rng = np.random.default_rng(2)
    smooth = ndimage.gaussian_filter(ROOM.astype(float), 2)
    frames = [ndimage.shift(smooth, rng.normal(0, 0.8, 2), order=1, mode="nearest") for _ in range(FRAMES)]
    noisy = np.where(ARMS, 230, frames) + rng.normal(0, sigma, IMAGES.shape)
    found = measure(noisy.round().clip(0, 255).astype(np.uint8))
    assert found.noise == pytest.approx(sigma, rel=0.15)
    assert found.jitter == pytest.approx(0.8, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize(("share", "pixels"), [(0.5, 12), (0.75, 5)])
def test_a_pushed_camera_is_named_and_nothing_else(share: float, pixels: int) -> None:
    frames, first = degrade(IMAGES, CameraLevel(read_noise=0.002), seed=3, arms=ARMS), int(share * FRAMES)
    frames[first:] = np.roll(frames[first:], pixels, axis=2)
    found = measure(frames)
    assert found.creep == pytest.approx(pixels)
    (line,) = complaints(found, "left")
    assert f"the camera moved by {pixels}.0 pixels" in line


@pytest.mark.slow
def test_a_turned_camera_has_moved() -> None:
    frames = degrade(IMAGES, CameraLevel(read_noise=0.002), seed=3, arms=ARMS)
    for k in range(3 * FRAMES // 4, FRAMES):
        frames[k] = ndimage.rotate(frames[k], 1.5, reshape=False, order=1, mode="nearest")
    edge = np.radians(1.5) * max(ROOM.shape) / 2
    assert measure(frames).creep == pytest.approx(edge, rel=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("pixels", [1.0, 2.0])
def test_blur_is_measured_in_pixels(pixels: float) -> None:
    found, _ = measured(defocus=pixels / len(ROOM))
    assert found.blur == pytest.approx(pixels, rel=0.2)


def test_large_images_out_of_focus_raise_a_complaint() -> None:
    blurred = ndimage.gaussian_filter(np.kron(ROOM, np.ones((4, 4))), 8)
    noisy = blurred + np.random.default_rng(1).normal(0, 2, (12, *blurred.shape))
    found = measure(noisy.round().astype(np.uint8))
    assert found.blur == pytest.approx(8, rel=0.2)
    assert any("edges are blurred" in line for line in complaints(found, "left", max(blurred.shape)))


@pytest.mark.slow
@pytest.mark.parametrize("behind", [0.3, 0.8])
def test_passers_by_are_counted(behind: float) -> None:
    level = OccluderLevel(behind=behind, stay=10)
    filmed = degrade(IMAGES, CameraLevel(occluders=level), seed=3, arms=ARMS)
    found, present = measure(filmed), (filmed != IMAGES).any((1, 2)).mean()
    assert found.crowded == pytest.approx(present, abs=0.1)
    assert "keep people out of view" in complaints(found, "left")[0]


@pytest.mark.slow
def test_a_background_that_changes_halfway_is_found() -> None:
    moved = IMAGES.copy()
    moved[FRAMES // 2 :, 4:20, 4:30] = 250
    found = measure(moved)
    assert found.moved_background == pytest.approx(16 * 26 / ROOM.size, rel=0.3)
    assert any("halfway" in line for line in complaints(found, "left"))


@pytest.mark.slow
def test_arm_is_not_a_passer_by_when_regimes_are_recorded_in_blocks() -> None:
    apart = np.concatenate([IMAGES[:75], np.stack([IMAGES[0]] * 75)])
    found = measure(apart, mixed=False)
    assert np.isnan(found.crowded)
    assert np.isnan(found.moved_background)
    assert complaints(found, "left") == ()


def test_background_of_a_few_anchors_is_not_compared() -> None:
    """Half of twenty frames may have the arm at one place."""
    assert np.isnan(measure(degrade(IMAGES[:20], CameraLevel(), seed=3, arms=ARMS[:20])).moved_background)


def test_undetectable_passers_by_raise_a_complaint() -> None:
    found = Nuisances(light=0, noise=0, jitter=0, creep=0, blur=0, saturated=0, crowded=np.nan, moved_background=0)
    assert complaints(found, "left") == (
        "camera left: the changed area varies more than that of an arm, so frames with people cannot be detected: keep "
        "people out of view, and the arm in view",
    )
    assert complaints(dataclasses.replace(found, moved_background=np.nan), "left") == ()


@pytest.mark.slow
def test_saturated_pixels_are_counted() -> None:
    bright = IMAGES.copy()
    bright[:, :36] = 255
    noisy = degrade(bright, CameraLevel(read_noise=0.01))
    assert measure(bright).saturated == pytest.approx(0.5, abs=0.01)
    assert any("more even light, or another exposure" in line for line in complaints(measure(noisy), "left"))


@pytest.mark.slow
def test_background_without_edges_gives_no_shift_estimate() -> None:
    found = measure(np.where(ARMS, np.uint8(90), np.uint8(255)))
    assert np.isnan(found.jitter)
    assert np.isnan(found.creep)
    assert complaints(found, "left") == ()


def test_too_few_frames_are_refused() -> None:
    with pytest.raises(ValueError, match="9 frames"):
        measure(IMAGES[:9])


def test_lengths_are_judged_at_the_network_resolution() -> None:
    found = Nuisances(light=0, noise=0, jitter=1.0, creep=2.0, blur=3.0, saturated=0, crowded=0, moved_background=0)
    assert len(complaints(found, "left", 128)) == 3
    assert complaints(found, "left", 640) == ()
    assert complaints(found, "left", 96) == complaints(found, "left", 128)
