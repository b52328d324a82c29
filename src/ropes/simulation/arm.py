"""A setting for any URDF arm: joints, ranges, cameras.

The distributions are those of Table 7 of the ROPES paper, stretched from intervals of width 3 to each joint's range.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from ropes.causal.scm import CausalModel, TruncatedNormal
from ropes.common.units import GIVE_RADIANS
from ropes.errors import UserError
from ropes.simulation.availability import find_urdf
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.framing import drawable_ranges, max_image_distance, nearest_view
from ropes.simulation.settings import Camera, Robot, Setting
from ropes.simulation.urdf import Urdf, read_urdf

# Table 7, joint 5: an interval of width 3, the observational mean at its middle, the policies 0.9 to either side.
_WIDTH, _VARIANCE, _POLICY_SHIFT = 3.0, 0.4, 0.9
#: Table 8 shifts joint 4 by +0.8 and joint 6 by −1; here the last two joints are shifted.
OOD_SHIFTS = (0.8, -1.0)
_YAWS, _PITCH = (45.0, 135.0), -30.0

Ranges = Mapping[str, tuple[float, float]] | Sequence[tuple[float, float]]


def arm_setting(
    urdf: str | Path,
    joints: Sequence[str],
    ranges: Ranges,
    cameras: Sequence[Camera] | None = None,
    name: str | None = None,
    image_size: int = 128,
    scene: SceneName = "white",
    camera_level: str = "clean",
    colour: bool = False,
    cut_off: bool = False,
) -> Setting:
    """Build a setting with independent joints for the arm of any URDF file.

    All other joints stay at 0, or at the nearest value within their limits.

    Args:
        urdf: a path, absolute or relative to the working folder or to the data folder of pybullet_data.
        joints: URDF names of the joints that vary and are to be estimated.
        ranges: (low, high) in radians for each of these joints, by name or in the same order.
        cameras: cameras that show the whole arm in every pose; None computes two, at yaw 45° and 135°.
        name: name of the setting, without a slash; by default the robot's name in the URDF, or else the file's.
        image_size: side of the images, pixels.
        scene: the background, see `ropes.simulation.backgrounds`.
        camera_level: level of the cameras' faults, see `ropes.simulation.camera_levels.LEVELS`.
        colour: RGB images instead of grey ones.
        cut_off: accept cameras that do not show the whole arm in every pose.

    Returns:
        Splits "train", "test-id" (the same distribution) and "test-ood" (the last joints shifted, as in Table 8).

    Raises:
        UserError: no such URDF, not a URDF, an unknown joint, a range outside the limits or probably in degrees, a
            duplicate name, a name that no folder can have, or a camera that does not show the whole arm.
    """
    arm = read_urdf(find_urdf(urdf))
    name = name or arm.name
    if "/" in name or name in (".", ".."):
        raise UserError(f"the setting would be named {name!r}; folders bear its name: choose one without a slash")
    robot, intervals = arm_robot(urdf, arm), _intervals(arm, joints, ranges)
    model = independent_model(intervals)
    drawable = drawable_ranges([model])
    if cameras is None:
        cameras = [nearest_view(robot, drawable, name=f"cam{yaw:.0f}", yaw=yaw, pitch=_PITCH) for yaw in _YAWS]
    elif not cut_off:
        _require_whole_arm(robot, drawable, cameras)
    return Setting(
        name=name,
        robot=robot,
        cameras=tuple(cameras),
        image_size=image_size,
        scene=scene,
        camera_level=camera_level,
        colour=colour,
        splits={"train": model, "test-id": model, "test-ood": independent_model(intervals, OOD_SHIFTS)},
    )


def cut_off_cameras(setting: Setting) -> list[str]:
    """The cameras of a setting in whose images a part of the arm is missing in some pose."""
    drawable = drawable_ranges(setting.splits.values())
    return [each.name for each in setting.cameras if max_image_distance(setting.robot, drawable, each) > 1]


def arm_robot(urdf: str | Path, arm: Urdf) -> Robot:
    """The robot of a URDF file that is given by a path, see `arm_setting`; its joints rest at 0 or near it."""
    return Robot(
        urdf=str(arm.path) if Path(urdf).is_file() else str(urdf),
        joints=tuple(arm.moving),
        neutral={joint.name: joint.rest for joint in arm.moving.values()},
        check_limits=True,
    )


def arm_model(arm: Urdf, joints: Sequence[str], ranges: Ranges) -> CausalModel:
    """The distributions of `arm_setting` for training.

    Raises:
        UserError: an unknown joint, or a range that is empty, outside the limits, or probably in degrees.
    """
    return independent_model(_intervals(arm, joints, ranges))


def _require_whole_arm(robot: Robot, drawable: Mapping[str, tuple[float, float]], cameras: Sequence[Camera]) -> None:
    """Check that camera names are unique and that every camera shows the whole arm in every pose."""
    names = [camera.name for camera in cameras]
    if not names or len(set(names)) < len(names):
        raise UserError(f"cameras need one name each, and there must be one at least; got {names}")
    for camera in cameras:
        if (place := max_image_distance(robot, drawable, camera)) > 1:
            how = f"{place:.2f} times as far from the image's centre as its border" if place < math.inf else "behind it"
            raise UserError(
                f"camera {camera.name} does not see the whole arm: in some pose a part is {how}; give it a larger "
                "distance, or leave the cameras out to have two views computed"
            )


def _intervals(arm: Urdf, joints: Sequence[str], ranges: Ranges) -> dict[str, tuple[float, float]]:
    """Joint → (low, high) in radians, checked against the joint's limits."""
    if not joints or len(set(joints)) < len(joints):
        raise UserError(f"name each joint that varies once, and one at least; got {', '.join(joints) or 'none'}")
    if not isinstance(ranges, Mapping):
        if len(ranges) != len(joints):
            raise UserError(f"{len(joints)} joints need as many ranges, got {len(ranges)}")
        ranges = dict(zip(joints, ranges, strict=True))
    elif unmatched := sorted(set(ranges) ^ set(joints)):
        raise UserError(f"joints and ranges must name the same joints; only one of them has {', '.join(unmatched)}")
    intervals = {}
    for name in joints:
        joint, (low, high) = arm.free_joint(name), ranges[name]
        if not low < high:
            raise UserError(f"the range [{low}, {high}] of joint {name} is empty; give low:high")
        if low < joint.low or high > joint.high:
            remedy = GIVE_RADIANS if joint.beyond_a_turn(low, high) else "give a range within them"
            raise UserError(
                f"the range [{low}, {high}] of joint {name} is outside its limits "
                f"[{joint.low:.4f}, {joint.high:.4f}] in {arm.path.name}; {remedy}"
            )
        joint.require_radians(low, high)
        intervals[name] = float(low), float(high)
    return intervals


def independent_model(intervals: Mapping[str, tuple[float, float]], last_shifts: tuple[float, ...] = ()) -> CausalModel:
    """Independent joints, whose distributions are those of Table 7 stretched to their ranges.

    Args:
        intervals: joint → (low, high) in radians.
        last_shifts: how far the observational means of the last joints are from the middle, for ranges of width 3.
    """
    shifts = dict(zip(list(intervals)[::-1], last_shifts[::-1], strict=False))
    return CausalModel(
        joints=tuple(intervals),
        observational={joint: _stretched(interval, shifts.get(joint, 0.0)) for joint, interval in intervals.items()},
        interventions={
            joint: (_stretched(interval, _POLICY_SHIFT), _stretched(interval, -_POLICY_SHIFT))
            for joint, interval in intervals.items()
        },
    )


def _stretched(interval: tuple[float, float], shift: float) -> TruncatedNormal:
    """Truncated normal over `interval`, scaled from one of width 3 whose mean is `shift` from the middle."""
    low, high = interval
    scale = (high - low) / _WIDTH
    return TruncatedNormal(mean=(low + high) / 2 + shift * scale, variance=_VARIANCE * scale**2, low=low, high=high)
