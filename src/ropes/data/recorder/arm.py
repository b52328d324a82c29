"""The arm to record: its setting and its limits, from options."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ropes.data.recorder.limits import Limits, parse_workspace, read_limits, require_ranges, urdf_limits
from ropes.errors import UserError
from ropes.simulation.arm import arm_model, arm_robot, arm_setting
from ropes.simulation.availability import find_urdf
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.collisions import Workspace
from ropes.simulation.framing import drawable_ranges
from ropes.simulation.settings import Camera, Robot, Setting
from ropes.simulation.urdf import Urdf, read_urdf

#: Largest speed of a simulated arm, rad/s; depth of its workspace below the table, metres.
_SPEED, _BELOW = 1.0, 0.1
_PANDA = "franka_panda/panda.urdf"
_PANDA_JOINTS = tuple(f"panda_joint{k}" for k in range(1, 7))
#: Ranges within which the Panda touches neither itself nor the table.  Those of the paper's setting are wider: joint 4
#: leaves the arm's limits in half of them, and within the limits nearly every other anchor collides.
_PANDA_RANGES = ((-1.2, 1.2), (-0.8, 0.4), (-1.2, 1.2), (-2.2, -0.9), (-1.2, 1.2), (0.8, 2.5))
#: The nearest cameras that show the whole arm in each pose of these ranges, see `framing.nearest_view`.
_PANDA_CAMERAS: tuple[Camera, ...] = (
    Camera(name="cam45", target=(0.01, 0.009, 0.506), distance=1.695, yaw=45.0, pitch=-30.0, roll=0.0, fov=60.0),
    Camera(name="cam135", target=(0.01, -0.009, 0.506), distance=1.695, yaw=135.0, pitch=-30.0, roll=0.0, fov=60.0),
)


@dataclass(frozen=True, kw_only=True)
class ArmOptions:
    """Which arm to record.

    Attributes:
        urdf: its URDF file; None for the simulated Panda.
        joints: names of the joints that move; empty for those of the limits' file.
        ranges: (low, high) in radians of each; empty for those of the limits' file.
        limits: file of limits.
        speed: largest speed of all joints, with the URDF's ranges.
        workspace: X/Y/Z:X/Y/Z, with the URDF's ranges.
        simulated: the arm is simulated, and limits have defaults.
        cameras: of a simulated arm; empty for two that show the whole arm.
        image_size: of a simulated arm, pixels.
        scene: of a simulated arm.
        camera_level: of a simulated arm.
        colour: of a simulated arm.
    """

    urdf: str | None
    joints: tuple[str, ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()
    limits: Path | None = None
    speed: float | None = None
    workspace: str | None = None
    simulated: bool = False
    cameras: tuple[Camera, ...] = ()
    image_size: int = 128
    scene: SceneName = "white"
    camera_level: str = "clean"
    colour: bool = False


def arm_to_record(options: ArmOptions) -> tuple[Setting, Limits]:
    """The setting and the limits of an arm.

    Raises:
        UserError: limits are missing or contradictory, or the URDF, a joint or a range is wrong.
    """
    if options.urdf is None and not options.simulated:
        raise UserError("give --urdf FILE: the plan is checked for collisions before the arm moves")
    urdf = read_urdf(find_urdf(options.urdf or _PANDA))
    from_file = _file_limits(options, urdf)
    joints, ranges = _joints_and_ranges(options, from_file)
    limits = from_file or _given_limits(options, urdf, joints)
    model = arm_model(urdf, joints, ranges)
    require_ranges(limits, drawable_ranges([model]))
    limits = replace(limits, joints={joint: limits.joints[joint] for joint in joints})
    setting = Setting(name=urdf.name, robot=_at_rest(options, urdf), cameras=(), splits={"train": model})
    if not options.simulated:
        return setting, limits
    if options.urdf is None and ranges == _PANDA_RANGES and not options.cameras:
        cameras = _PANDA_CAMERAS
    else:
        cameras = arm_setting(options.urdf or _PANDA, joints, ranges, cameras=options.cameras or None).cameras
    drawn = replace(setting, cameras=cameras, image_size=options.image_size, scene=options.scene)
    return replace(drawn, camera_level=options.camera_level, colour=options.colour), limits


def _at_rest(options: ArmOptions, urdf: Urdf) -> Robot:
    """The robot; joints that do not move rest at 0, and the fingers of the simulated Panda are open."""
    robot = arm_robot(options.urdf or _PANDA, urdf)
    if options.urdf is not None:
        return robot
    fingers = {"panda_joint7": 0.785, "panda_finger_joint1": 0.02, "panda_finger_joint2": 0.02}
    return replace(robot, neutral={**robot.neutral, **fingers})


def _file_limits(options: ArmOptions, urdf: Urdf) -> Limits | None:
    if options.limits is None:
        return None
    if options.speed is not None or options.workspace is not None:
        raise UserError(f"{options.limits} has speeds and the workspace; leave --speed and --workspace out")
    return read_limits(options.limits, urdf)


def _joints_and_ranges(
    options: ArmOptions, limits: Limits | None
) -> tuple[Sequence[str], tuple[tuple[float, float], ...]]:
    if options.urdf is None and not options.joints:
        return _PANDA_JOINTS, _PANDA_RANGES
    joints = options.joints or tuple(limits.joints if limits else ())
    if options.ranges:
        return joints, options.ranges
    if limits is None or not joints:
        raise UserError("give --joints and --ranges, or a file of limits by --limits")
    require_ranges(limits, {joint: (0.0, 0.0) for joint in joints if joint not in limits.joints})
    return joints, tuple((limits.joints[joint].low, limits.joints[joint].high) for joint in joints)


def _given_limits(options: ArmOptions, urdf: Urdf, joints: Sequence[str]) -> Limits:
    """Limits of --speed and --workspace; only a simulated arm has defaults."""
    speed, workspace = options.speed, options.workspace
    if not options.simulated and (speed is None or workspace is None):
        raise UserError("this robot needs limits: give --limits FILE, or --speed RAD/S and --workspace X/Y/Z:X/Y/Z")
    box = _reach(urdf) if workspace is None else parse_workspace(workspace)
    return urdf_limits(urdf, joints, _SPEED if speed is None else speed, box)


def _reach(urdf: Urdf) -> Workspace:
    """A box around all that the arm can reach; the table is at the height of the base."""
    reach = 0.0
    for joint in urdf.joints:
        stroke = max(abs(joint.low), abs(joint.high)) if joint.kind == "prismatic" else 0.0
        reach += float(np.linalg.norm(joint.origin[:3, 3])) + stroke
    reach += 0.3
    return Workspace((-reach, -reach, -_BELOW), (reach, reach, reach), 0.0)
