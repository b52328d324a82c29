"""Units of LeRobot's SO-100 and SO-101: degrees or −100 to 100 of a joint's range, and 0 to 100 of the gripper's.

`lerobot-calibrate` stores the lowest and the highest position of each motor, in steps of its encoder; the middle
between them is zero.  With `use_degrees`, the default since 2026, LeRobot gives degrees from the middle.  Without it,
it gives percent of the way from the middle to an end.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ropes.common.files import read_json
from ropes.data.recordings.source import Scale
from ropes.errors import UserError

#: What LeRobot calls these arms in `meta/info.json`.
SO_ARMS = ("so100", "so101", "so100_follower", "so101_follower", "so_follower")
#: End of LeRobot's names of joint positions.
POSITION = ".pos"
_GRIPPER = "gripper"
#: Steps of a whole turn of the motors (STS3215), as LeRobot counts them.
_STEPS = 4095
#: The gripper from 0 (closed) to 100 (open): −10° to 100° of the SO-101's URDF.
GRIPPER = {_GRIPPER: Scale(math.radians(-10.0), math.radians(1.1))}


def scales_of(robot: str | None, calibration: Path | None) -> dict[str, Scale]:
    """The units of joints of a LeRobot recording that are not those of the recording.

    Args:
        robot: type of the robot in `meta/info.json`.
        calibration: file of `lerobot-calibrate`; with it the positions of its joints are from −100 to 100.

    Raises:
        UserError: the file is missing or damaged, or a motor runs backwards.
    """
    scales = dict(GRIPPER) if robot in SO_ARMS or calibration is not None else {}
    if calibration is None:
        return scales
    content = read_json(calibration)
    try:
        joints = {name: _joint(calibration, name, motor) for name, motor in content.items() if name != _GRIPPER}
    except (AttributeError, KeyError, TypeError) as error:
        raise UserError(f"{calibration} is no file of lerobot-calibrate ({error!r})") from error
    return scales | joints


def _joint(path: Path, name: str, motor: Mapping[str, Any]) -> Scale:
    steps = motor["range_max"] - motor["range_min"]
    if motor["drive_mode"]:
        raise UserError(f"{path}: motor {name} runs backwards (drive_mode); record with use_degrees")
    if not 0 < steps <= _STEPS:
        raise UserError(f"{path}: the range of motor {name} is {steps} steps of {_STEPS}; calibrate again with LeRobot")
    return Scale(0.0, math.pi * steps / _STEPS / 100)
