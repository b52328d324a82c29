"""A camera's faults have the strength that their level names, and depend on seed, names and frame alone."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ropes.errors import UserError
from ropes.simulation.camera_levels import LEVELS, CameraLevel
from ropes.simulation.camera_model import CameraModel, creep_of, degrade
from ropes.simulation.occluders import OccluderLevel

RNG = np.random.default_rng(0)
SCENE = np.kron(RNG.integers(20, 200, (8, 10)), np.ones((8, 8))).astype(np.uint8)


def camera(frames: int = 50, *, seed: int = 0, **strengths: Any) -> CameraModel:
    return CameraModel(dataclasses.replace(CameraLevel(), **strengths), SCENE.shape, frames, seed=seed)


def with_occluders(**amounts: Any) -> CameraLevel:
    return CameraLevel(occluders=OccluderLevel(**amounts))


def test_a_clean_camera_changes_nothing() -> None:
    clean = CameraModel("clean", SCENE.shape, 3, seed=0)(SCENE, 2)
    assert (clean == SCENE).all()
    assert clean is not SCENE
    assert (camera(3)(SCENE, 0) == SCENE).all()


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(frame=st.integers(0, 19), seed=st.integers(0, 5), level=st.sampled_from(["webcam", "harsh"]))
def test_frame_depends_only_on_seed_names_and_index(frame: int, seed: int, level: str) -> None:
    images = np.stack([SCENE] * 20)
    every = degrade(images, level, seed=seed, camera="left")
    alone = CameraModel(level, SCENE.shape, 20, seed=seed, camera="left")
    assert (alone(SCENE, frame) == every[frame]).all()
    assert (CameraModel(level, SCENE.shape, 20, seed=seed, camera="right")(SCENE, frame) != every[frame]).any()
    assert (CameraModel(level, SCENE.shape, 20, seed=seed + 1, camera="left")(SCENE, frame) != every[frame]).any()


def test_noise_variance_follows_the_light_level() -> None:
    grey = np.full((200, 200), 128, np.uint8)
    noisy = CameraModel(CameraLevel(shot_noise=5e-4, read_noise=4e-3), grey.shape, 1, seed=0)(grey, 0)
    light = (128 / 255) ** 2.2
    slope = 255 / 2.2 * light ** (1 / 2.2 - 1)  # of levels by light
    assert noisy.std() == pytest.approx(slope * np.sqrt(5e-4 * light + 4e-3**2), rel=0.03)
    assert noisy.mean() == pytest.approx(128, abs=0.2)


@pytest.mark.parametrize(
    ("name", "defocus", "motion", "warped", "blurred"),
    [("webcam", 0.25, 0.94, 0.39, 0.52), ("harsh", 1.02, 1.9, 0.41, 1.2)],
)
def test_blur_has_the_sizes_of_the_page(
    name: str, defocus: float, motion: float, warped: float, blurred: float
) -> None:
    """docs/data.md: in pixels of images of 128 pixels, measured on one bright pixel."""
    level = LEVELS[name]
    mount = {each: getattr(level, each) for each in ("distortion", "vibration", "creep", "turn")}
    assert math.sqrt(variances(1, defocus=level.defocus).mean() / 2) == pytest.approx(defocus, abs=0.01)
    assert np.sqrt(12 * variances(400, motion=level.motion)).mean() == pytest.approx(motion, rel=0.05)
    assert math.sqrt(variances(100, **mount).mean() / 2) == pytest.approx(warped, rel=0.05)
    together = variances(100, **mount, defocus=level.defocus, motion=level.motion)
    assert math.sqrt(together.mean() / 2) == pytest.approx(blurred, rel=0.05)


def variances(frames: int, **strengths: Any) -> NDArray[np.float64]:
    """Variance of the light of one bright pixel about its centre in each frame, the sum along both axes, pixels²."""
    spot = np.zeros((128, 32), np.uint8)
    spot[64, 16] = 255
    seen = degrade(np.stack([spot] * frames), CameraLevel(**strengths)).astype(float) ** 2.2
    shares = seen / seen.sum((1, 2), keepdims=True)
    places = np.indices(spot.shape)
    centres = np.einsum("nyx,ayx->na", shares, places)
    return np.einsum("nyx,ayx->n", shares, places**2) - (centres**2).sum(1)


@pytest.mark.parametrize(("name", "before", "after"), [("webcam", 3.0, 2.0), ("harsh", 6.5, 4.0)])
def test_noise_has_the_sizes_of_the_page(name: str, before: float, after: float) -> None:
    """docs/data.md: standard deviation of a mid-grey image, before and after JPEG."""
    level, grey = LEVELS[name], np.full((10, 128, 128), 128, np.uint8)
    sensor = CameraLevel(shot_noise=level.shot_noise, read_noise=level.read_noise)
    assert degrade(grey, sensor).std() == pytest.approx(before, rel=0.03)
    stored = dataclasses.replace(sensor, jpeg_quality=level.jpeg_quality)
    assert degrade(grey, stored).std() == pytest.approx(after, rel=0.03)


def test_exposure_drifts_slowly_around_its_level() -> None:
    drift = camera(40_000, exposure_drift=0.2, drift_frames=100.0)
    stops = np.log2(drift.gain[:, 1])
    assert stops.std() == pytest.approx(0.2, rel=0.1)
    step = np.diff(stops).std()
    assert step == pytest.approx(0.2 * np.sqrt(2 * (1 - np.exp(-1 / 100))), rel=0.05)


def test_exposure_jump_is_sudden_and_decays() -> None:
    jumping = camera(2_000, exposure_jump=1.0, jumps=1 / 1000, seed=1)
    stops = np.log2(jumping.gain[:, 1])
    assert stops[0] == 0
    begin = int(np.abs(np.diff(stops)).argmax()) + 1
    height = stops[begin] - stops[begin - 1]
    assert abs(height) > 0.1
    assert stops[begin + 20] - stops[begin - 1] == pytest.approx(height * np.exp(-1), abs=0.1 * abs(height))


def test_exposure_jump_in_the_first_frame_has_full_height() -> None:
    stops = [math.log2(camera(1, exposure_jump=1.0, jumps=1.0, seed=seed).gain[0, 1]) for seed in range(300)]
    assert np.std(stops) == pytest.approx(1.0, rel=0.1)


def test_a_camera_without_noise_keeps_every_level() -> None:
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert (CameraModel(CameraLevel(read_noise=1e-12), (16, 16), 1, seed=0)(levels, 0) == levels).all()


def test_faults_continue_after_the_last_frame() -> None:
    level = dataclasses.replace(LEVELS["harsh"], vibration=0.0, jumps=1 / 20)
    first = CameraModel(level, (*SCENE.shape, 3), 400, seed=1, recording="first")
    then = CameraModel(level, (*SCENE.shape, 3), 400, seed=1, recording="then", after=first)
    anew = CameraModel(level, (*SCENE.shape, 3), 400, seed=1, recording="then")
    assert then.shift[0] == pytest.approx(first.shift[-1])
    assert then.angle[0] == pytest.approx(first.angle[-1])
    assert (then.shift[-1] - then.shift[0]) == pytest.approx(anew.shift[-1])
    assert (anew.shift[0] == 0).all()
    assert (first.shift[-1] != 0).all()


def test_exposure_continues_as_one_process() -> None:
    """Over many seeds: the drift's step across the border, and the decay of a jump, are those inside a recording."""
    steps, jumps = [], []
    for seed in range(300):
        before = camera(5, exposure_drift=1.0, drift_frames=100.0, seed=seed)
        after = CameraModel(before.level, before.shape, 5, seed=seed, recording="then", after=before)
        steps.append(math.log2(after.gain[0, 1] / before.gain[-1, 1]))
        before = camera(5, exposure_jump=1.0, jumps=1.0, seed=seed)
        still = dataclasses.replace(before.level, jumps=0.0)
        after = CameraModel(still, before.shape, 2, seed=seed, recording="then", after=before)
        jumps.append(np.log2([before.gain[-1, 1], *after.gain[:, 1]]))
    assert np.std(steps) == pytest.approx(np.sqrt(2 * (1 - np.exp(-1 / 100))), rel=0.15)
    last, *later = np.array(jumps).T
    np.testing.assert_allclose(later, [last * np.exp(-1 / 20), last * np.exp(-1 / 10)], atol=1e-9)


def test_passers_by_go_on_after_the_last_frame() -> None:
    """One who has come in the first frames leaves in the next ones, and as many pass in these."""
    level = CameraLevel(occluders=OccluderLevel(in_front=0.3, stay=20))
    white = np.full((24, 32), 255, np.uint8)
    nobody = dataclasses.replace(level, occluders=OccluderLevel())
    seen = []
    for seed in range(40):
        first = CameraModel(level, white.shape, 30, seed=seed, recording="first")
        left = CameraModel(nobody, white.shape, 60, seed=seed, recording="then", after=first)
        then = CameraModel(level, white.shape, 30, seed=seed, recording="then", after=first)
        here, still, *late = ((model(white, k) != 255).mean() for model, k in ((first, 29), (left, 0), (left, 59)))
        assert abs(here - still) < 0.25
        assert late == [0]
        seen += [(then(white, k) != 255).any() for k in range(30)]
    assert np.mean(seen) == pytest.approx(0.3, abs=0.1)


def test_lens_and_dust_are_the_same_in_all_recordings() -> None:
    still = CameraLevel(distortion=0.1, occluders=OccluderLevel(dust=3, cables=1, in_front=0.5))
    white = np.stack([np.full(SCENE.shape, 255, np.uint8)] * 60)
    train, test = (degrade(white, still, recording=name, camera="left") for name in ("train", "test"))
    assert (np.median(train, axis=0) == np.median(test, axis=0)).mean() > 0.9
    assert (train != test).any((1, 2)).mean() > 0.2  # others pass
    bent = CameraLevel(distortion=0.1)
    assert (degrade(SCENE[None], bent, recording="train") == degrade(SCENE[None], bent, recording="test")).all()
    assert (degrade(SCENE[None], bent, camera="left") != degrade(SCENE[None], bent, camera="right")).any()


def test_lens_does_not_mirror_the_edges_of_wide_images() -> None:
    """Seed 0 draws k1 = -.19, which would mirror the outer quarter of an image of 16:9."""
    level = CameraLevel(distortion=LEVELS["harsh"].distortion)
    for axis in (0, 1):
        ramp = np.indices((72, 128))[axis].astype(np.uint8)
        assert (np.diff(degrade(ramp[None], level)[0].astype(int), axis=axis) >= 0).all()


def test_only_colour_images_have_a_white_balance() -> None:
    rgb = np.repeat(SCENE[..., None], 3, axis=-1)
    tinted = CameraModel(CameraLevel(white_balance=0.2), rgb.shape, 10, seed=0)(rgb, 5).astype(int)
    assert np.abs(tinted[..., 0] - tinted[..., 2]).mean() > 1
    assert (tinted[..., 1] == rgb[..., 1]).all()
    assert (camera(10, white_balance=0.2)(SCENE, 5) == SCENE).all()


def test_creep_and_vibration_scale_with_the_image_height() -> None:
    shaken = camera(5_000, vibration=0.01)
    assert shaken.shift.std(0) == pytest.approx([0.01 * len(SCENE)] * 2, rel=0.05)
    crept = [camera(100, creep=0.05, seed=seed).shift for seed in range(200)]
    assert all((shift[0] == 0).all() for shift in crept)
    assert np.std([shift[-1] for shift in crept]) == pytest.approx(0.05 * len(SCENE), rel=0.15)


def test_a_shift_moves_the_image() -> None:
    moved = camera(2, creep=0.1, seed=4)
    rows, columns = moved.shift[1]
    row, column = 30, 40
    spot = np.zeros_like(SCENE)
    spot[row - 2 : row + 3, column - 2 : column + 3] = 255
    seen = moved(spot, 1).astype(float) ** 2.2
    centre = (np.indices(seen.shape) * seen).sum((1, 2)) / seen.sum()
    assert centre == pytest.approx([row - rows, column - columns], abs=0.05)


def test_passer_by_behind_the_arm_never_covers_it() -> None:
    white = np.full((24, 24), 255, np.uint8)
    arm = np.zeros(white.shape, bool)
    arm[8:16, 8:16] = True
    level = CameraLevel(occluders=OccluderLevel(behind=0.25, stay=10))
    filmed = degrade(np.stack([white] * 5_000), level, arms=np.stack([arm] * 5_000), seed=2)
    assert (filmed[:, arm] == 255).all()
    assert (filmed != 255).any((1, 2)).mean() == pytest.approx(0.25, abs=0.05)
    assert (degrade(np.stack([white] * 50), level, seed=2) == 255).all()


def test_creep_is_that_of_the_whole_model_and_its_parts_lie_on_the_same_line() -> None:
    level = dataclasses.replace(LEVELS["webcam"], vibration=0.0)
    model = CameraModel(level, SCENE.shape, 40, seed=3, camera="left", recording="then")
    whole = creep_of(level, 40, seed=3, camera="left", recording="then")
    path = np.column_stack([model.shift / SCENE.shape[0], model.angle])
    np.testing.assert_array_equal(SCENE.shape[0] * whole.at_frames()[:, :2], model.shift)
    np.testing.assert_array_equal(whole.at_frames()[:, 2], model.angle)
    assert np.abs(path[-1]).min() > 0
    np.testing.assert_allclose(whole.part(10, 30).at_frames(), path[10:], atol=1e-15)


@pytest.mark.slow
def test_passer_by_in_front_covers_the_arm() -> None:
    level = CameraLevel(occluders=OccluderLevel(in_front=0.5, stay=10))
    arm = np.zeros((24, 32), bool)
    arm[8:16, 8:16] = True
    white = np.stack([np.full(arm.shape, 255, np.uint8)] * 5_000)
    filmed = degrade(white, level, seed=0, arms=np.stack([arm] * 5_000))
    assert (filmed[:, arm] != 255).any(1).mean() > 0.2
    assert (filmed != 255).any((1, 2)).mean() == pytest.approx(0.5, abs=0.05)


def test_dust_and_cables_do_not_move() -> None:
    white = np.full((64, 80), 255, np.uint8)
    filmed = degrade(np.stack([white] * 5), CameraLevel(occluders=OccluderLevel(dust=3, cables=1)), seed=0)
    assert (filmed == filmed[0]).all()
    assert 0.005 < (filmed[0] < 250).mean() < 0.2


def test_damage_increases_with_the_level() -> None:
    images = np.stack([SCENE] * 40)
    damage = [np.abs(degrade(images, level).astype(int) - images).mean() for level in LEVELS]
    assert damage[0] == 0
    assert 1 < damage[1] < 0.7 * damage[2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CameraModel("webcan", SCENE.shape, 1, seed=0), "webcam"),
        (lambda: CameraModel("webcam", (3, 4, 4), 1, seed=0), "neither grey"),
        (lambda: CameraModel("webcam", SCENE.shape, 0, seed=0), "at least 1"),
        (lambda: camera(3)(SCENE[:-1], 0), "this camera takes"),
        (lambda: camera(3)(SCENE.astype(np.uint16), 0), "uint16"),
        (lambda: camera(3)(SCENE, 3), "frame 3"),
        (lambda: degrade(SCENE), "give"),
        (lambda: degrade(np.stack([SCENE] * 3, axis=-1)), "look like one RGB image"),
        (lambda: degrade([[1, 2]]), "give"),  # type: ignore[arg-type]
        (lambda: degrade(SCENE[None], None), "unknown camera level None"),  # type: ignore[arg-type]
        (lambda: degrade(np.zeros((2, 0, 5), np.uint8)), "neither grey"),
        (lambda: degrade(SCENE[None], arms=[True]), "give bool"),  # type: ignore[arg-type]
        (lambda: CameraLevel(read_noise=-1), "read_noise of a camera's level is -1"),
        (lambda: CameraLevel(defocus=float("nan")), "defocus of a camera's level is nan"),
        (lambda: CameraLevel(jumps=1.5), "jumps of a camera's level is 1.5; it is a share"),
        (lambda: CameraLevel(drift_frames=0), "drift_frames of a camera's level must be above 0"),
        (lambda: CameraLevel(jpeg_quality=200), "jpeg_quality of a camera's level is 200"),
        (lambda: CameraLevel(jpeg_quality=80.5), r"jpeg_quality .* is 80.5; it must be a whole number, 1 to 95"),  # type: ignore[arg-type]
        (lambda: with_occluders(behind=1), "behind of a camera's level is 1; it is a share, below 1"),
        (lambda: with_occluders(in_front=1.0), "in_front of a camera's level is 1.0; it is a share, below 1"),
        (lambda: with_occluders(stay=0.5), "stay of a camera's level is 0.5; it must be at least 1 frame"),
        (lambda: with_occluders(dust=1.5), "dust of a camera's level is 1.5; it must be a whole number"),
        (lambda: with_occluders(cables=1.5), "cables of a camera's level is 1.5; it must be a whole number"),
        (lambda: degrade(SCENE[None], arms=np.ones((2, *SCENE.shape), bool)), "give bool"),
    ],
)
def test_bad_input_is_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(UserError, match=message):
        call()
