"""Joints that mimic others follow them: in poses, in both renderers, under motors and in checks of collisions."""

from pathlib import Path

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.data.recorder.limits import urdf_limits
from ropes.errors import UserError
from ropes.simulation.arm import arm_robot, arm_setting
from ropes.simulation.arm_dynamics import MovingArm
from ropes.simulation.collisions import CollisionChecker, Workspace
from ropes.simulation.joints import Mimic
from ropes.simulation.kinematics import link_poses
from ropes.simulation.mujoco_scene import MujocoScene
from ropes.simulation.scene import Scene
from ropes.simulation.settings import Camera, Robot
from ropes.simulation.urdf import kinematics_of, read_urdf
from tests.one_pose import drawn
from tests.simulation.conftest import GRIPPER_ARM

JOINTS = ("shoulder", "elbow", "slide", "right_finger", "left_finger")
BOX = Workspace((-2.0, -2.0, -1.0), (2.0, 2.0, 2.0), -1.0)


def test_followers_lead_back_to_the_joint_that_moves_on_its_own(gripper_urdf: Path) -> None:
    arm = read_urdf(gripper_urdf)
    assert arm.followers == {"left_finger": Mimic("slide", 2.0, 0.01), "right_finger": Mimic("slide", -2.0, -0.01)}
    assert tuple(arm.moving) == JOINTS


def test_a_joint_stays_within_the_limits_of_its_followers(gripper_urdf: Path) -> None:
    # 2 × slide + .01 is at most .1, the limit of the right finger, and at least 0; both move at most at 1 m/s.
    slide = read_urdf(gripper_urdf).joint("slide")
    assert (slide.low, slide.speed) == (0, 0.5)
    assert slide.high == pytest.approx(0.045)
    with pytest.raises(UserError, match=r"range \[0.0, 0.08\] of joint slide is outside its limits \[0.0000, 0.0450\]"):
        arm_setting(gripper_urdf, ["slide"], [(0.0, 0.08)])


def test_a_follower_moves_its_link(gripper_urdf: Path) -> None:
    arm = read_urdf(gripper_urdf)
    poses = link_poses(arm, ("slide", "left_finger"), np.array([[0.0, 7.0], [0.04, 7.0]]), {"right_finger": 3.0})
    for link, sign in (("left", 1), ("right", -1)):
        in_tip = np.linalg.inv(poses["tip"]) @ poses[link]
        np.testing.assert_allclose(in_tip[:, 1, 3], sign * np.array([0.11, 0.19]), atol=1e-12)


@pytest.mark.pybullet
def test_pybullet_draws_followers_as_they_move(gripper_urdf: Path, side_camera: Camera) -> None:
    # The third joint alone is set; a robot with all joints at the values of the followers is the same picture.
    opened = {"slide": 0.04}
    alone = Robot(urdf=str(gripper_urdf), joints=("shoulder", "elbow", "slide"))
    loose = Path(gripper_urdf).with_name("loose.urdf")
    loose.write_text("\n".join(line for line in _without_mimics().splitlines()))
    set_by_hand = Robot(urdf=str(loose), joints=JOINTS, check_limits=False)
    with Scene(alone, [side_camera]) as one, Scene(set_by_hand, [side_camera]) as other:
        by_hand = {**opened, "left_finger": 0.09, "right_finger": -0.09}
        np.testing.assert_array_equal(drawn(one, opened)[0], drawn(other, by_hand)[0])
        assert (drawn(one, opened)[0] != drawn(other, opened)[0]).any()


def test_mujoco_draws_followers_as_they_move(gripper_urdf: Path, side_camera: Camera) -> None:
    alone = Robot(urdf=str(gripper_urdf), joints=("shoulder", "elbow", "slide"))
    loose = Path(gripper_urdf).with_name("loose.urdf")
    loose.write_text(_without_mimics())
    set_by_hand = Robot(urdf=str(loose), joints=JOINTS, check_limits=False)
    with (
        MujocoScene(alone, [side_camera], joints=("slide",), scene="white") as one,
        MujocoScene(set_by_hand, [side_camera], joints=JOINTS[2:], scene="white") as other,
    ):
        [drawn] = one.render_all([[0.04]])
        as_drawn, closed = other.render_all([[0.04, -0.09, 0.09], [0.04, 0.0, 0.0]])
        np.testing.assert_array_equal(drawn, as_drawn)
        assert (drawn != closed).any()


def _without_mimics() -> str:
    lines = [line.partition("<mimic")[0] + ("</joint>" if "<mimic" in line else "") for line in GRIPPER_ARM.split("\n")]
    return "\n".join(lines)


@pytest.mark.usefixtures("engine")
def test_motors_and_the_box_of_the_workspace_move_followers(gripper_urdf: Path) -> None:
    gripper_urdf.write_text(GRIPPER_ARM.replace('effort="1"', 'effort="1000"'))
    arm = read_urdf(gripper_urdf)
    robot = arm_robot(gripper_urdf, arm)
    with MovingArm(robot, ("slide",), np.array([0.02])) as moving:
        assert moving.pose(0.0)[robot.joints.index("left_finger")] == pytest.approx(0.05)
        moving.follow(lambda now: np.array([0.04]))
        moving.advance(1.0)
        pose = dict(zip(robot.joints, moving.pose(0.0), strict=True))
        assert pose["left_finger"] == pytest.approx(0.09, abs=0.01)
        assert pose["right_finger"] == pytest.approx(-0.09, abs=0.01)
    # A finger that opens leaves a box that ends beside the closed gripper.
    widest = link_poses(arm, ("slide",), np.array([[0.0]]), {})["left"][0, 1, 3] + 0.02
    box = Workspace(BOX.low, (2.0, widest, 2.0), -1.0)
    with CollisionChecker(robot, ("slide",), np.array([0.0]), box) as checker:
        assert checker.first(np.array([[0.0]])) is None
        assert "left leaves the workspace" in str(checker.first(np.array([[0.045]])))


@pytest.mark.usefixtures("engine")
def test_the_check_of_collisions_moves_followers(gripper_urdf: Path) -> None:
    sideways, down = (
        '<axis xyz="0 1 0"/><limit lower="0" upper=".11"',
        '<axis xyz="0 0 -1"/><limit lower="0" upper=".11"',
    )
    gripper_urdf.write_text(GRIPPER_ARM.replace(sideways, down))
    arm = read_urdf(gripper_urdf)
    height = link_poses(arm, ("slide",), np.array([[0.0]]), {})["left"][0, 2, 3]
    table = Workspace(BOX.low, BOX.high, float(height) - 0.1)
    with CollisionChecker(arm_robot(gripper_urdf, arm), ("slide",), np.array([0.0]), table) as checker:
        assert checker.first(np.array([[0.0]])) is None
        assert "left touches the table" in str(checker.first(np.array([[0.045]])))


def test_kinematics_keep_what_mimics(gripper_urdf: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.urdf"
    bare.write_text(kinematics_of(gripper_urdf))
    assert read_urdf(bare).followers == read_urdf(gripper_urdf).followers


def test_a_follower_is_not_chosen(gripper_urdf: Path) -> None:
    message = "joint left_finger of gripper.urdf mimics slide; choose slide"
    with pytest.raises(UserError, match=message):
        arm_setting(gripper_urdf, ["left_finger"], [(0.0, 0.05)])
    with pytest.raises(UserError, match=message):
        urdf_limits(read_urdf(gripper_urdf), ["left_finger"], 0.1, BOX)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('joint="slide"', 'joint="slid"', "joint left_finger mimics 'slid', which is no movable joint.*mean slide?"),
        ('joint="slide"', 'joint="right_finger"', "joint right_finger mimics itself, by way of left_finger"),
        ('joint="slide"', 'joint="left_finger"', "joint left_finger mimics itself$"),
        ('multiplier="2" offset=".01"', 'offset="5"', "mimics slide, but their limits exclude each other"),
        ('multiplier="2"', 'multiplier="two"', "is not a complete URDF file"),
    ],
)
def test_a_wrong_mimic_is_one_line(
    tmp_path: Path, before: str, after: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(GRIPPER_ARM.replace(before, after))
    with pytest.raises(UserError, match=message):
        read_urdf(path)
    words = f"simulate --urdf {path} --joints shoulder --ranges -1:1 --anchors 1 --out {tmp_path / 'out'}"
    assert cli.main(words.split()) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
