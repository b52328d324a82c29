"""Frames of a recording depend on their place in it, not on how they are rendered; the arm hides who is behind it."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from ropes.common import png
from ropes.simulation.camera_model import CameraModel
from ropes.simulation.camera_scene import CameraScene, Recordings
from ropes.simulation.scene import Scene
from ropes.simulation.settings import setting_named
from ropes.simulation.workers import render_poses

SETTING = setting_named("panda-1c-independent")
JOINTS = SETTING.splits["train"].joints
POSES = SETTING.splits["train"].sample_observational(np.random.default_rng(0), 3)
RECORDINGS = (("train", 40), ("test-id", 3))


def states(recording: int, frames: list[int]) -> np.ndarray:
    return np.column_stack([POSES, np.full(3, recording), frames])


@pytest.mark.slow
@pytest.mark.pybullet
def test_recorded_frame_equals_rendering_plus_camera_faults_of_its_index() -> None:
    start = partial(Scene, SETTING.robot, SETTING.cameras, 64, "simplified", JOINTS, "panda-gym")
    with CameraScene(start, Recordings("harsh", RECORDINGS, 5)) as scene:
        found = np.stack(list(scene.render_all(states(0, [7, 0, 39]))))
        other = np.stack(list(scene.render_all(states(1, [0, 1, 2]))))
    model = CameraModel("harsh", (64, 64), 40, seed=5, camera="cam0", recording="train")
    with start() as scene:
        clean = list(scene.render_with_arms(POSES))
    for (images, arms), frame, seen in zip(clean, (7, 0, 39), found, strict=True):
        assert (model(images[0], frame, arms[0]) == seen[0]).all()
    assert (found != other).any((1, 2, 3)).all()


@pytest.mark.slow
@pytest.mark.pybullet
def test_masks_accompany_the_images_of_render_all() -> None:
    with Scene(SETTING.robot, SETTING.cameras, 64, joints=JOINTS) as scene:
        images, arms = zip(*scene.render_with_arms(POSES), strict=True)
        for k, image in enumerate(scene.render_all(POSES)):
            assert (images[k] == image).all()
            assert (images[k][~arms[k]] > 200).mean() > 0.99  # white around the arm


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_the_order_or_the_number_of_workers() -> None:
    many = SETTING.splits["train"].sample_observational(np.random.default_rng(1), 40)
    placed = np.column_stack([many, np.zeros(40), np.arange(40)])
    draw = partial(render_poses, replace(SETTING, image_size=64), JOINTS)
    faults = Recordings("webcam", RECORDINGS, 3)
    one, two = (list(draw(placed, workers, recordings=faults)) for workers in (1, 2))
    assert one == two
    backwards = list(draw(placed[::-1], 1, recordings=faults))
    assert backwards[::-1] == one
    clean = list(draw(many, 1))
    assert all(png.decode(a[0], (64, 64)).shape == (64, 64) for a in one)
    assert all(a != b for a, b in zip(one, clean, strict=True))
