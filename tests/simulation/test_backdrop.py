"""What stands behind an arm: panda-gym's own pictures, depth, and white as it always was."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.simulation.backdrop import panda_gym
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.bullet import SUPERSAMPLING, downsample, quiet
from ropes.simulation.scene import Scene
from ropes.simulation.settings import Camera, Setting, setting_named
from tests.one_pose import drawn

pytestmark = pytest.mark.pybullet

SETTING = setting_named("panda-2c-independent")
#: As panda-gym's camera sees it, whose base of the arm is at (−0.6, 0, 0).
TARGETS = {camera.name: np.add(camera.target, (-0.6, 0.0, 0.0)) for camera in SETTING.cameras}


def drawn_by_panda_gym(camera: Camera, poses: np.ndarray, side: int) -> list[np.ndarray]:
    """Grey pictures of panda-gym's own `render()`, drawn at twice the side and averaged."""
    with quiet():
        from panda_gym.envs import PandaReachEnv

        environment = PandaReachEnv(
            render_width=2 * side,
            render_height=2 * side,
            render_target_position=TARGETS[camera.name],
            render_distance=camera.distance,
            render_yaw=camera.yaw,
            render_pitch=camera.pitch,
        )
        environment.reset(seed=0)
        environment.sim.physics_client.removeBody(environment.sim._bodies_idx["target"])
        pictures = []
        for pose in poses:
            environment.robot.set_joint_angles(np.append(pose, [0.785, 0.0, 0.0]))
            luma = environment.render() @ np.array([0.299, 0.587, 0.114])
            pictures.append(luma.reshape(side, 2, side, 2).mean(axis=(1, 3)))
        environment.close()
    return pictures


@pytest.mark.slow
@pytest.mark.parametrize("camera", SETTING.cameras, ids=lambda camera: camera.name)
def test_scene_matches_the_picture_of_panda_gym(camera: Camera) -> None:
    model, side = SETTING.splits["train"], 128
    poses = model.sample_observational(np.random.default_rng(0), 3)
    with Scene(SETTING.robot, [camera], side, "full", model.joints, "panda-gym") as scene:
        ours, arms = (np.stack(each)[:, 0] for each in zip(*scene.render_with_arms(poses), strict=True))
    for own, theirs, arm in zip(ours, drawn_by_panda_gym(camera, poses, side), arms, strict=True):
        apart = np.abs(own - theirs)
        inside = arm | np.roll(arm, 1, 0) | np.roll(arm, -1, 0) | np.roll(arm, 1, 1) | np.roll(arm, -1, 1)
        assert (apart[~inside] > 1).mean() < 0.01
        assert 0 < apart[arm].mean() < 8  # the shadows on the arm, which we leave out
        assert apart.mean() < 0.5


@pytest.mark.slow
def test_a_table_hides_what_is_below_it() -> None:
    camera, joints = SETTING.cameras[0], ("panda_joint2",)
    seen: dict[str, list[int]] = {}
    names: tuple[SceneName, ...] = ("white", "panda-gym")
    for name in names:
        with Scene(SETTING.robot, [camera], 64, joints=joints, scene=name) as scene:
            seen[name] = [int(drawn(scene, [angle])[1].sum()) for angle in (0.0, 2.6)]
    assert seen["panda-gym"][0] == seen["white"][0]  # upright, nothing of it is behind the table
    assert seen["panda-gym"][1] < 0.9 * seen["white"][1]  # bent down through it


def test_only_the_window_of_the_arm_changes() -> None:
    with Scene(SETTING.robot, SETTING.cameras, 64, scene="panda-gym") as scene:
        images, arms = drawn(scene, {})
    still = np.stack(
        [downsample(panda_gym(camera, 64 * SUPERSAMPLING).colours, colour=False) for camera in SETTING.cameras]
    )
    assert (images != still).any(axis=(1, 2)).all()
    changed = images != still
    assert changed[arms].mean() > 0.9
    assert changed.mean() < 0.2


def test_setting_stores_its_scene_except_the_default_white() -> None:
    assert "scene" not in SETTING.to_dict()
    of_the_paper = replace(SETTING, scene="panda-gym")
    assert of_the_paper.to_dict()["scene"] == "panda-gym"
    assert Setting.from_dict(of_the_paper.to_dict()) == of_the_paper
    assert Setting.from_dict(SETTING.to_dict()) == SETTING
    beach = json.loads('{"scene": "beach"}')
    with pytest.raises(UserError, match="unknown scene 'beach': choose one of white, panda-gym"):
        Setting.from_dict({**SETTING.to_dict(), **beach})
    with pytest.raises(UserError, match="unknown scene of PyBullet 'beach'"):
        Scene(SETTING.robot, [], **beach)
