import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.bullet import downsample
from ropes.simulation.scene import Scene, resolve_urdf
from ropes.simulation.settings import Camera, Robot, setting_named
from tests.one_pose import drawn

pytestmark = pytest.mark.pybullet


def test_grey_levels_are_rounded_bt601_luma() -> None:
    colours = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], dtype=np.uint8)
    np.testing.assert_array_equal(downsample(colours, 1, colour=False), [[76, 150], [29, 255]])
    # (76.245 + 149.685 + 29.07 + 255) / 4 = 127.5, rounded up.
    np.testing.assert_array_equal(downsample(colours, 2, colour=False), [[128]])


def test_images_are_uint8_with_a_white_background(small_robot: Robot, side_camera: Camera) -> None:
    with Scene(small_robot, [side_camera, side_camera], 32) as scene:
        images, arm = drawn(scene, {"shoulder": 0.4})
    assert images.shape == (2, 32, 32)
    assert images.dtype == np.uint8
    np.testing.assert_array_equal(images[0], images[1])
    assert (images[0][0] == 255).all()
    assert (images[0][arm[0]] < 250).all()


@pytest.mark.parametrize("scene", ["white", "panda-gym"])
def test_grey_image_is_the_luma_of_the_colour_image(small_robot: Robot, side_camera: Camera, scene: SceneName) -> None:
    with Scene(small_robot, [side_camera], 64, scene=scene, colour=True) as arm:
        (colours,) = arm.render_all([[0.0, 0.5, 0.0]])
        images, arms = drawn(arm, {"elbow": 0.5})
    with Scene(small_robot, [side_camera], 64, scene=scene) as arm:
        expected, _ = drawn(arm, {"elbow": 0.5})
    assert colours.shape == (1, 64, 64, 3)
    assert np.abs(expected - colours @ [0.299, 0.587, 0.114]).max() <= 1
    assert (images == colours).all()
    assert np.ptp(colours[arms].astype(int), axis=-1).max() > 50  # the base is red


def test_pybullet_refuses_the_room_scene(small_robot: Robot, side_camera: Camera) -> None:
    with pytest.raises(UserError, match="room"):
        Scene(small_robot, [side_camera], 64, scene="room")


def test_joints_that_the_robot_leaves_out_are_at_their_neutral_values(small_robot: Robot, side_camera: Camera) -> None:
    fewer = replace(small_robot, joints=("shoulder",), neutral={"elbow": 0.3, "slide": 0.05})
    with Scene(fewer, [side_camera], 32) as scene:
        (one,) = scene.render_all([[0.7]])
    with Scene(small_robot, [side_camera], 32) as scene:
        (every,) = scene.render_all([[0.7, 0.3, 0.05]])
    np.testing.assert_array_equal(one, every)


def test_joints_that_a_pose_leaves_out_are_at_their_neutral_values(small_robot: Robot, side_camera: Camera) -> None:
    with Scene(small_robot, [side_camera], 32, joints=("slide", "shoulder")) as scene:
        two, other = scene.render_all([[0.05, 0.7], [0.05, -0.7]])
    with Scene(small_robot, [side_camera], 32) as scene:
        (every,) = scene.render_all([[0.7, 0.3, 0.05]])
    np.testing.assert_array_equal(two, every)
    assert (two != other).any()


@pytest.mark.slow
def test_joint_4_of_the_paper_panda_may_exceed_its_limits() -> None:
    setting = setting_named("panda-1c-independent")
    with Scene(setting.robot, setting.cameras, 32) as scene:
        assert scene.urdf.joint("panda_joint4").high == 0
        assert (drawn(scene, {"panda_joint4": 1.5})[0] != drawn(scene, {"panda_joint4": 0.0})[0]).any()


@pytest.mark.slow
def test_rendering_only_a_window_changes_no_pixel() -> None:
    setting = setting_named("panda-2c-independent")
    model = setting.splits["train"]
    poses = model.sample_observational(np.random.default_rng(0), 8)
    with Scene(setting.robot, setting.cameras, joints=model.joints) as scene:
        windows = np.array(list(scene.render_all(poses)))
        np.testing.assert_array_equal(drawn(scene, poses[3])[0], windows[3])
    simplified = replace(setting.robot, urdf=str(resolve_urdf(setting.robot, "simplified")))
    with Scene(simplified, setting.cameras, mesh="full", joints=model.joints) as scene:  # which draws whole images
        whole = np.array(list(scene.render_all(poses)))
    # Single precision decides a pixel in a million otherwise.
    assert (windows != whole).sum() <= 5


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        (
            {"shoulder": 1.6},
            r"pose 0 sets joint shoulder to 1.6000, outside its limits \[-1.5000, 1.5000\] in small",
        ),
        ({"elbow": float("nan")}, "pose 0 has no finite angle for joint elbow"),
        ([0.1, 0.2], r"angles of shape \(1, 2\) do not fit the 3 joints shoulder, elbow, slide"),
    ],
)
def test_invalid_pose_is_refused(small_robot: Robot, pose: Mapping[str, float] | list[float], message: str) -> None:
    with Scene(small_robot, [], 32) as scene, pytest.raises(UserError, match=message):
        drawn(scene, pose)


def test_an_unknown_joint_is_refused(small_robot: Robot) -> None:
    with pytest.raises(UserError, match="no movable joint 'shoulders': did you mean shoulder"):
        Scene(small_robot, [], 32, joints=("shoulders",))


def test_a_joint_that_the_robot_does_not_set_is_refused(small_urdf: Path) -> None:
    robot = Robot(urdf=str(small_urdf), joints=("elbow",))
    message = "joint shoulder is not among those that the robot sets: elbow"
    with Scene(robot, [], 32, joints=("shoulder",)) as scene, pytest.raises(UserError, match=message):
        scene.render_all([[0.0]])


def test_an_unknown_mesh_or_robot_is_refused(small_robot: Robot, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="mesh 'coarse' is neither simplified nor full"):
        Scene(small_robot, [], mesh="coarse")  # type: ignore[arg-type] # no such name
    with pytest.raises(UserError, match="no URDF file at"):
        Scene(Robot(urdf=str(tmp_path / "no.urdf"), joints=()), [])


@pytest.mark.slow
def test_pybullet_prints_nothing(small_urdf: Path) -> None:
    program = (
        "from ropes.simulation.settings import Robot\nfrom ropes.simulation.scene import Scene\n"
        f"with Scene(Robot(urdf={str(small_urdf)!r}, joints=('elbow',)), []) as scene: print('mine')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("mine\n", "")
