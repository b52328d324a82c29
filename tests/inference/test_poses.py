"""Poses of an arm solved by hand, of the Panda, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ropes.data import schema
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.poses import Arm, arm_of, chosen_arm, robot_of
from ropes.methods.run import Run
from ropes.simulation.kinematics import link_poses
from ropes.simulation.settings import SETTINGS, Robot, setting_named
from ropes.simulation.urdf import kinematics_of
from tests import planar, tiny

ANGLES = np.random.default_rng(0).uniform(-2, 2, (5, 2))


@pytest.fixture
def run(tiny_run: Path) -> Run:
    return Run.read(tiny_run)


@pytest.fixture
def panda(run: Run) -> Callable[[str], Arm]:
    """The arm of a run on one of the Panda's settings."""

    def of(setting: str) -> Arm:
        joints = setting_named(setting).splits["train"].joints
        return chosen_arm(replace(run, setting=setting, joints=joints))

    return of


def test_planar_arm_matches_hand_solved_poses(run: Run, tmp_path: Path) -> None:
    arm = chosen_arm(run, planar.write_urdf(tmp_path))
    assert (arm.frame, arm.end_effector) == ("foot", "tool")
    assert arm.keypoints == ("foot", "upper", "lower", "wheel", "tool")
    found = arm.poses(ANGLES)["tool"]
    np.testing.assert_allclose(found[:, :3, 3], planar.tip(ANGLES), atol=1e-12)
    # The joint that is not estimated rests at its lower limit, the value nearest to 0.
    turned = Rotation.from_euler("z", ANGLES.sum(axis=1, keepdims=True) + 0.2).as_matrix()
    np.testing.assert_allclose(found[:, :3, :3], turned, atol=1e-12)


def test_printed_entry_equals_the_pose(run: Run, tmp_path: Path) -> None:
    arm = chosen_arm(run, planar.write_urdf(tmp_path))
    for angles, entry in zip(ANGLES, arm.describe(ANGLES, ("tool", "upper")), strict=True):
        assert entry["frame"] == "foot"
        assert list(entry["poses"]) == ["tool", "upper"]
        tool = entry["poses"]["tool"]
        np.testing.assert_allclose(tool["position_m"], planar.tip(angles[None])[0], atol=1e-6)
        half = (angles.sum() + 0.2) / 2
        expected = np.array([0, 0, np.sin(half), np.cos(half)]) * np.sign(np.cos(half))
        np.testing.assert_allclose(tool["quaternion_xyzw"], expected, atol=1e-6)
        assert entry["poses"]["upper"]["position_m"] == [0.0, 0.0, planar.HEIGHT]


@pytest.mark.parametrize("setting", SETTINGS)
def test_panda_end_effector_and_keypoints_are_found(setting: str, panda: Callable[[str], Arm]) -> None:
    arm = panda(setting)
    assert (arm.frame, arm.end_effector) == ("panda_link0", "panda_hand")
    names = ("link0", "link2", "link3", "link4", "link6", "link7", "hand")
    assert arm.keypoints == tuple(f"panda_{name}" for name in names)


def test_upright_panda_matches_the_datasheet(panda: Callable[[str], Arm]) -> None:
    arm = panda("panda-2c-independent")
    (entry,) = arm.describe(np.zeros((1, 6)), ("panda_link8", "panda_hand"))
    # Franka's parameters: .333 + .316 + .384 − .107 m up, .088 m ahead, the flange upside down.
    assert entry["poses"]["panda_link8"]["position_m"] == pytest.approx([0.088, 0, 0.926], abs=1e-6)
    hand = Rotation.from_quat(entry["poses"]["panda_hand"]["quaternion_xyzw"]).as_matrix()
    np.testing.assert_allclose(hand, np.diag([1, -1, -1]), atol=1e-3)  # wrist at .785, mounted at −π/4


def test_joints_unobservable_by_one_camera_stay_neutral(panda: Callable[[str], Arm]) -> None:
    arm, robot = panda("panda-1c-independent"), setting_named("panda-1c-independent").robot
    assert arm.joints == ("panda_joint2", "panda_joint4", "panda_joint6")
    angles = np.random.default_rng(1).uniform(-1, 1, (3, 3))
    full = np.tile([robot.neutral.get(joint, 0.0) for joint in robot.joints], (3, 1))
    full[:, [1, 3, 5]] = angles
    expected = link_poses(arm.urdf, robot.joints, full, {})
    for link, poses in arm.poses(angles).items():
        np.testing.assert_allclose(poses, expected[link], atol=1e-12)


def test_a_fork_below_the_joints_does_not_end_the_arm(run: Run, tmp_path: Path) -> None:
    forked = planar.URDF.replace(
        "</robot>",
        '<link name="lamp"/><link name="finger"/><link name="thumb"/>'
        '<joint name="a" type="fixed"><parent link="foot"/><child link="lamp"/></joint>'
        '<joint name="b" type="fixed"><parent link="wheel"/><child link="finger"/></joint></robot>',
    ).replace('<link name="thumb"/>', "")
    arm = chosen_arm(run, planar.write_urdf(tmp_path, forked))
    assert arm.end_effector == "wheel"


def test_links_are_selected_by_name(run: Run, tmp_path: Path) -> None:
    arm = chosen_arm(run, planar.write_urdf(tmp_path))
    assert arm.links(()) == ("tool",)
    assert arm.links(("upper", "tool", "upper")) == ("upper", "tool")
    assert arm.links(("all",)) == ("foot", "upper", "lower", "wheel", "tool")
    with pytest.raises(UserError, match=r"planar.urdf has no link 'uper': did you mean upper\?"):
        arm.links(("uper",))
    with pytest.raises(UserError, match="has no link 'x': its links are foot, upper, lower, wheel, tool"):
        arm.links(("tool", "x"))


def test_robot_is_taken_from_the_run_or_the_data_set(run: Run, tmp_path: Path) -> None:
    robot = Robot(urdf=str(planar.write_urdf(tmp_path)), joints=planar.JOINTS, neutral={"spin": 0.5})
    recorded = {"setting": {"robot": {"urdf": robot.urdf, "joints": list(robot.joints), "neutral": {"spin": 0.5}}}}
    assert robot_of(run) is None
    assert robot_of(run, {"setting": {"name": "tiny"}}) is None
    assert robot_of(run, recorded) == robot
    panda = replace(run, setting="panda-2c-causal")
    assert robot_of(panda) == setting_named("panda-2c-causal").robot
    assert robot_of(panda, recorded) == robot
    assert arm_of(run, robot).neutral == {"spin": 0.5}


def test_arm_is_taken_from_the_data_set(run: Run, tmp_path: Path) -> None:
    urdf = planar.write_urdf(tmp_path)
    data = planar.name_robot(tiny.write_data(tmp_path / "data", anchors=1, tests=0), urdf, spin=0.5)
    arm = chosen_arm(run, dataset=open_dataset(data))
    assert (len(arm.urdf.visuals), arm.neutral) == (5, {"spin": 0.5})
    (data / schema.ROBOT).write_text(kinematics_of(urdf), encoding="utf-8")
    urdf.rename(tmp_path / "moved.urdf")  # as on another machine: the data set's copy has no shapes
    arm = chosen_arm(run, dataset=open_dataset(data))
    assert (len(arm.urdf.visuals), arm.neutral) == (0, {"spin": 0.5})
    assert len(chosen_arm(run, tmp_path / "moved.urdf", open_dataset(data)).urdf.visuals) == 5
    (data / schema.ROBOT).unlink()
    with pytest.raises(UserError, match=r"no URDF file at .*planar\.urdf"):
        chosen_arm(run, dataset=open_dataset(data))


def test_data_of_another_arm_are_refused_with_their_name_and_the_file(run: Run, tmp_path: Path) -> None:
    urdf = planar.write_urdf(tmp_path)
    data = planar.name_robot(tiny.write_data(tmp_path / "data", anchors=1, tests=0), urdf)
    panda = replace(run, setting="panda-2c-causal", joints=setting_named("panda-2c-causal").robot.joints)
    line = rf"{data} shows another arm than the run has: {urdf} has no movable joint 'panda_joint1' \(it has .*spin"
    with pytest.raises(UserError, match=line):
        chosen_arm(panda, dataset=open_dataset(data))
    (data / schema.ROBOT).write_text(kinematics_of(urdf), encoding="utf-8")
    urdf.unlink()
    with pytest.raises(
        UserError, match=rf"{data} shows another arm than the run has: {data / schema.ROBOT} has no mov"
    ):
        chosen_arm(panda, dataset=open_dataset(data))


def test_unavailable_arm_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no robot is known for setting 'tiny': give its --urdf FILE"):
        chosen_arm(run)
    with pytest.raises(UserError, match=r"no URDF file at nowhere\.urdf, nor among the robots of ropes"):
        chosen_arm(run, "nowhere.urdf")
    with pytest.raises(UserError, match=r"planar\.urdf has no movable joint 'knee'"):
        chosen_arm(replace(run, joints=("elbow", "knee")), planar.write_urdf(tmp_path))
    with pytest.raises(UserError, match=r"panda\.urdf has no movable joint 'elbow'"):
        chosen_arm(replace(run, setting="panda-2c-causal", joints=tiny.JOINTS))
