import dataclasses
from pathlib import Path

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.simulation.arm import Ranges, arm_setting
from ropes.simulation.framing import drawable_ranges, max_image_distance
from ropes.simulation.settings import Camera, Setting
from ropes.simulation.workers import render_poses

pytestmark = pytest.mark.pybullet

KUKA = "kuka_iiwa/model.urdf"
JOINTS = ("lbr_iiwa_joint_2", "lbr_iiwa_joint_4", "lbr_iiwa_joint_6")
RANGES = ((-1.5, 1.5), (-2.0, 0.0), (0.5, 2.0))


@pytest.fixture(scope="module")
def kuka() -> Setting:
    return arm_setting(KUKA, JOINTS, RANGES)


@pytest.mark.slow
def test_table_7_is_rescaled_to_the_joint_ranges(kuka: Setting) -> None:
    train = kuka.splits["train"]
    assert train.joints == JOINTS
    assert [regime.name for regime in train.regimes][1:3] == ["lbr_iiwa_joint_2/1", "lbr_iiwa_joint_2/2"]
    first = train.observational[JOINTS[0]]
    assert (first.mean, first.variance, first.low, first.high) == (0.0, 0.4, -1.5, 1.5)
    narrow = train.interventions[JOINTS[1]]
    assert [policy.mean for policy in narrow] == pytest.approx([-1.0 + 0.6, -1.0 - 0.6])
    assert narrow[0].variance == pytest.approx(0.4 * (2 / 3) ** 2)
    # Stretching is a change of units: the task is as hard for every joint.
    floors = [train.bayes_floor(joint) for joint in JOINTS]
    assert floors == pytest.approx([floors[0]] * 3)
    assert kuka.splits["test-id"] == train


def test_last_joints_are_shifted_in_the_ood_split(kuka: Setting) -> None:
    shifted = kuka.splits["test-ood"].observational
    assert shifted[JOINTS[0]] == kuka.splits["train"].observational[JOINTS[0]]
    assert shifted[JOINTS[1]].mean == pytest.approx(-1.0 + 0.8 * 2 / 3)
    assert shifted[JOINTS[2]].mean == pytest.approx(1.25 - 0.5)


@pytest.mark.slow
def test_whole_arm_is_visible_in_both_views(kuka: Setting) -> None:
    assert [camera.name for camera in kuka.cameras] == ["cam45", "cam135"]
    ranges = drawable_ranges(kuka.splits.values())
    assert ranges == dict(zip(JOINTS, RANGES, strict=True))
    for camera in kuka.cameras:
        assert 0.9 < max_image_distance(kuka.robot, ranges, camera) < 0.985
    poses = kuka.splits["train"].sample_observational(np.random.default_rng(0), 2)
    images = list(render_poses(dataclasses.replace(kuka, image_size=64), JOINTS, poses, 1))
    assert len(images) == 2
    assert images[0][0] != images[1][0]


def test_setting_round_trips_through_json(kuka: Setting) -> None:
    assert Setting.from_dict(kuka.to_dict()) == kuka


def test_ranges_by_name_and_custom_cameras_are_used(kuka: Setting, side_camera: Camera) -> None:
    by_name = dict(zip(JOINTS, RANGES, strict=True))
    setting = arm_setting(KUKA, JOINTS, by_name, [side_camera], name="mine", image_size=64)
    assert setting.name == "mine"
    assert setting.cameras == (side_camera,)
    assert setting.image_size == 64
    assert setting.splits == kuka.splits


@pytest.mark.parametrize(
    ("distance", "how"), [(1.0, r"in some pose a part is \d\.\d\d times as far .* as its border"), (0.1, "behind it")]
)
def test_camera_that_misses_part_of_the_arm_is_refused(side_camera: Camera, distance: float, how: str) -> None:
    near = dataclasses.replace(side_camera, distance=distance)
    with pytest.raises(
        UserError, match=rf"camera side does not see the whole arm: .*{how}.*larger distance, or leave the cameras out"
    ):
        arm_setting(KUKA, JOINTS, RANGES, [near])


@pytest.mark.slow
def test_unused_joints_stay_within_their_limits(side_camera: Camera) -> None:
    setting = arm_setting("franka_panda/panda.urdf", ["panda_joint1"], [(-1, 1)], [side_camera])
    assert setting.robot.neutral["panda_joint2"] == 0.0
    assert setting.robot.neutral["panda_joint4"] == 0.0
    assert setting.robot.check_limits


@pytest.mark.parametrize(
    ("joints", "ranges", "message"),
    [
        (
            ["lbr_iiwa_joint_8"],
            [(0, 1)],
            r"no movable joint 'lbr_iiwa_joint_8': did you mean lbr_iiwa_joint_\d\?",
        ),
        (
            [JOINTS[0]],
            [(-3, 1)],
            r"range \[-3, 1\] of joint lbr_iiwa_joint_2 is outside its limits \[-2.0944, 2.0944\] in model",
        ),
        ([JOINTS[0]], [(-90, 90)], r"limits \[-2.0944, 2.0944\] in model.urdf; give radians, not degrees"),
        ([JOINTS[0]], [(1, 1)], "is empty"),
        ([JOINTS[0]], [(0, 1), (0, 1)], "1 joints need as many ranges, got 2"),
        ([JOINTS[0]], {JOINTS[1]: (0, 1)}, "only one of them has lbr_iiwa_joint_2, lbr_iiwa_joint_4"),
        ([JOINTS[0], JOINTS[0]], [(0, 1), (0, 1)], "name each joint that varies once"),
        ([], [], "one at least; got none"),
    ],
)
def test_bad_joints_and_ranges_are_refused(joints: list[str], ranges: Ranges, message: str) -> None:
    with pytest.raises(UserError, match=message):
        arm_setting(KUKA, joints, ranges)


def test_missing_urdf_and_duplicate_cameras_are_refused(side_camera: Camera, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no URDF file at .*arm\.urdf"):
        arm_setting(tmp_path / "arm.urdf", ["a"], [(0, 1)])
    with pytest.raises(UserError, match=r"cameras need one name each.*\['side', 'side'\]"):
        arm_setting(KUKA, [JOINTS[0]], [(0, 1)], [side_camera, side_camera])
