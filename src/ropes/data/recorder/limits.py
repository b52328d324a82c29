"""Limits of the arm: ranges and speeds of the joints, and the workspace. No default exists for hardware.

A file, TOML or JSON, or the URDF's own ranges with a speed and a workspace, give them.  A file looks like this:

    [joints.elbow]
    low = -1.2        # radians (metres of a prismatic joint)
    high = 1.2
    speed = 0.5       # rad/s (m/s)

    [workspace]       # metres in the frame of the arm's base
    low = [-0.5, -0.5, 0.02]
    high = [0.6, 0.5, 0.9]
    table = 0.0       # height of the table; the workspace's lowest height if omitted
"""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ropes.common.arrays import Floats
from ropes.common.units import GIVE_RADIANS
from ropes.errors import UserError, suggestion
from ropes.simulation.collisions import Workspace
from ropes.simulation.urdf import Urdf

_SLACK = 1e-6
_KEYS = ("low", "high", "speed")


@dataclass(frozen=True)
class JointLimits:
    """Range of a joint in radians and its largest speed in rad/s (metres and m/s of a prismatic joint)."""

    low: float
    high: float
    speed: float


@dataclass(frozen=True)
class Limits:
    """Limits of each joint that moves, by name, and the workspace."""

    joints: Mapping[str, JointLimits]
    workspace: Workspace

    def speeds(self, joints: Sequence[str]) -> Floats:
        """Largest speeds, (joints,)."""
        return np.array([self.joints[name].speed for name in joints])

    def ranges(self, joints: Sequence[str]) -> tuple[Floats, Floats]:
        """Lowest and highest angles, (joints,) each."""
        low, high = np.array([(self.joints[name].low, self.joints[name].high) for name in joints]).T
        return low, high

    def to_dict(self) -> dict[str, object]:
        """A JSON-able description."""
        box = self.workspace
        return {
            "joints": {name: [each.low, each.high, each.speed] for name, each in self.joints.items()},
            "workspace": {"low": list(box.low), "high": list(box.high), "table": box.table},
        }


def read_limits(path: Path, urdf: Urdf) -> Limits:
    """Read a file of limits and compare it with the arm.

    Raises:
        UserError: the file is missing or damaged, lacks a limit, or contradicts itself or the URDF.
    """
    content = _read(path)
    joints, box = content.get("joints"), content.get("workspace")
    if not isinstance(joints, dict) or not joints:
        raise UserError(f"{path} has no joints; give low, high and speed of each joint that moves ([joints.NAME])")
    if not isinstance(box, dict):
        raise UserError(f"{path} has no workspace; give low and high, x, y and z in metres ([workspace])")
    limits = {name: _joint(path, name, values) for name, values in joints.items()}
    corners = _corner(path, box, "low"), _corner(path, box, "high")
    table = _number(path, "workspace: table", box.get("table", corners[0][2]))
    return checked(Limits(limits, Workspace(*corners, table)), urdf, str(path))


def joints_in(path: Path) -> tuple[str, ...]:
    """Names of the joints in a file of limits, in its order.

    Raises:
        UserError: the file is missing or damaged.
    """
    joints = _read(path).get("joints")
    return tuple(joints) if isinstance(joints, dict) else ()


def urdf_limits(urdf: Urdf, joints: Sequence[str], speed: float, workspace: Workspace) -> Limits:
    """The URDF's ranges, with one speed for all joints.

    Raises:
        UserError: the URDF gives no range of a joint, or the limits contradict each other or the URDF.
    """
    limits = {}
    for name in joints:
        joint = urdf.free_joint(name)
        if not math.isfinite(joint.high - joint.low):
            raise UserError(f"{urdf.path.name} has no limits of joint {name}; give a file of limits by --limits")
        limits[name] = JointLimits(joint.low, joint.high, speed)
    return checked(Limits(limits, workspace), urdf, "--speed and --workspace")


def parse_workspace(text: str) -> Workspace:
    """A workspace from X/Y/Z:X/Y/Z, its lowest and highest corner in metres; the table is at the lowest height.

    Raises:
        UserError: not two corners.
    """
    corners: list[list[float]] = []
    with suppress(ValueError):
        corners = [[float(part) for part in corner.split("/")] for corner in text.split(":")]
    if [len(corner) for corner in corners] != [3, 3] or not np.isfinite(corners).all():
        raise UserError(f"--workspace: {text!r} is not X/Y/Z:X/Y/Z, lowest and highest corner in metres")
    (x, y, z), (right, back, top) = corners
    return Workspace((x, y, z), (right, back, top), z)


def checked(limits: Limits, urdf: Urdf, source: str) -> Limits:
    """The limits, if they agree with one another and with the URDF.

    Args:
        limits: the limits.
        urdf: the arm.
        source: where they come from, for the message.

    Raises:
        UserError: they contradict each other, or a range is probably in degrees.
    """
    for name, given in limits.joints.items():
        joint = urdf.free_joint(name)
        if not given.low < given.high:
            raise UserError(f"{source}: joint {name}: low is {given.low:g}, which is not below high, {given.high:g}")
        if not given.speed > 0:
            raise UserError(f"{source}: joint {name}: speed is {given.speed:g}; it must be above 0")
        if given.low < joint.low - _SLACK or given.high > joint.high + _SLACK:
            hint = f"; {GIVE_RADIANS}" if joint.beyond_a_turn(given.low, given.high) else ""
            raise UserError(
                f"{source}: joint {name} may move from {given.low:g} to {given.high:g}, but {urdf.path.name} allows "
                f"{joint.low:.4f} to {joint.high:.4f}{hint}"
            )
        try:
            joint.require_radians(given.low, given.high)
        except UserError as error:
            raise UserError(f"{source}: {error}") from error
        if given.speed > joint.speed + _SLACK:
            fast, allowed = joint.speed_in_words(given.speed), joint.speed_in_words(joint.speed)
            raise UserError(f"{source}: joint {name} may move at {fast}, but {urdf.path.name} allows {allowed}")
    box = limits.workspace
    for axis, low, high in zip("xyz", box.low, box.high, strict=True):
        if not low < high:
            raise UserError(f"{source}: the workspace's lowest {axis} is {low:g}, which is not below {high:g}")
    if not box.table < box.high[2]:
        raise UserError(f"{source}: the table, at {box.table:g} m, is above the workspace, up to {box.high[2]:g} m")
    return limits


def require_ranges(limits: Limits, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Check that the angles of a plan are within the limits.

    Raises:
        UserError: a joint has no limits, or a range leaves them.
    """
    for name, (low, high) in ranges.items():
        if name not in limits.joints:
            hint = suggestion(name, limits.joints, f"they have {', '.join(limits.joints)}")
            raise UserError(f"the limits have no joint {name!r}: {hint}")
        given = limits.joints[name]
        if low < given.low - _SLACK or high > given.high + _SLACK:
            raise UserError(
                f"the range [{low:g}, {high:g}] of joint {name} is outside its limits [{given.low:g}, {given.high:g}]; "
                "give a range within them"
            )


def _read(path: Path) -> Mapping[str, object]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read the limits {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is no text; give a file of limits, TOML or JSON") from error
    try:
        content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise UserError(f"{path} is not valid {kind} ({error})") from error
    if not isinstance(content, dict):
        raise UserError(f"{path} is not an object with joints and workspace")
    return content


def _joint(path: Path, name: str, values: object) -> JointLimits:
    if not isinstance(values, dict):
        raise UserError(f"{path}: joint {name} is not a table with low, high and speed")
    for key in _KEYS:
        if key not in values:
            raise UserError(f"{path}: joint {name} has no {key}; all of {', '.join(_KEYS)} are needed")
    return JointLimits(*(_number(path, f"joint {name}: {key}", values[key]) for key in _KEYS))


def _corner(path: Path, box: Mapping[str, object], key: str) -> tuple[float, float, float]:
    values = box.get(key)
    if not isinstance(values, list) or len(values) != 3:
        raise UserError(f"{path}: workspace: {key} is not a list of x, y and z in metres")
    x, y, z = (_number(path, f"workspace: {key}", value) for value in values)
    return x, y, z


def _number(path: Path, where: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"{path}: {where} is {value!r}, which is no finite number")
    return float(value)
