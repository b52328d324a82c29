"""Joints of a URDF: their poses, limits and motion, and the joints that mimic others."""

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ropes.common.arrays import Floats
from ropes.common.units import GIVE_RADIANS, TURN, in_both_units, speed_in_both_units
from ropes.errors import UserError, suggestion

_MOVING = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Mimic:
    """A joint follows another: its value is `multiplier` × value of `joint` + `offset`."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint:
    """A joint: its pose on the parent link, and its motion.

    Attributes:
        kind: "revolute", "continuous", "prismatic", "fixed" and so on.
        origin: (4, 4) pose of the joint in the parent link's frame, metres.
        axis: (3,) unit vector in the joint's frame.
        low: lower limit in radians (metres when prismatic), −inf for a continuous joint.
        high: upper limit.
        speed: largest speed in rad/s (m/s when prismatic), inf where the URDF gives none.
        mimic: the joint that this one follows; None for a joint that moves on its own.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Floats
    axis: Floats
    low: float
    high: float
    speed: float = math.inf
    mimic: Mimic | None = None

    @property
    def moves(self) -> bool:
        """Whether the joint has one degree of freedom."""
        return self.kind in _MOVING

    @property
    def turns(self) -> bool:
        """Whether the joint turns, where a prismatic one slides."""
        return self.kind != "prismatic"

    @property
    def rest(self) -> float:
        """The value nearest to 0 within the limits."""
        return float(min(max(0.0, self.low), self.high))

    def position_in_words(self, value: float) -> str:
        """A position in degrees and in radians; in metres where the joint is prismatic."""
        return in_both_units(value) if self.turns else f"{value:.3f} m"

    def speed_in_words(self, value: float) -> str:
        """A speed in degrees and in radians a second; in metres a second where the joint is prismatic."""
        return speed_in_both_units(value) if self.turns else f"{value:.3f} m/s"

    def beyond_a_turn(self, low: float, high: float) -> bool:
        """Whether a range has angles beyond a full turn, so that it is probably in degrees."""
        return self.turns and max(abs(low), abs(high)) > TURN

    def require_radians(self, low: float, high: float) -> None:
        """Check that a range within the limits is plausible in radians.

        Raises:
            UserError: it goes beyond a full turn where the joint has no limits, or beyond two turns.
        """
        most = TURN if math.isinf(self.high) else 2 * TURN
        if self.turns and max(abs(low), abs(high)) > most:
            raise UserError(f"the range [{low:g}, {high:g}] of joint {self.name} is above a full turn; {GIVE_RADIANS}")


def rotation(axis: Floats, angles: Floats) -> Floats:
    """Rodrigues' formula: rotations by `angles` (n,) radians about a unit `axis` (3,), as (n, 3, 3)."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    sines, cosines = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    return np.eye(3) + sines * cross + (1 - cosines) * (cross @ cross)


def numbers(text: str | None, default: tuple[float, ...]) -> Floats:
    """The finite numbers of an attribute, as many as `default`, which they are where it is missing or empty.

    Raises:
        ValueError: there are more or fewer, or a number is none.
    """
    if not text:
        return np.array(default)
    found = np.array([finite(x) for x in text.split()])
    if len(found) != len(default):
        raise ValueError(f"{text!r} has {len(found)} numbers, not {len(default)}")
    return found


def finite(text: str | float) -> float:
    """A number.

    Raises:
        ValueError: it is none, or not finite.
    """
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def origin_of(element: ET.Element) -> Floats:
    """The pose (4, 4) of an element's <origin>: roll, pitch and yaw about fixed axes, then a translation."""
    pose, origin = np.eye(4), element.find("origin")
    if origin is None:
        return pose
    roll, pitch, yaw = (
        rotation(axis, np.array([angle]))[0]
        for axis, angle in zip(np.eye(3), numbers(origin.get("rpy"), (0, 0, 0)), strict=True)
    )
    pose[:3, :3] = yaw @ pitch @ roll
    pose[:3, 3] = numbers(origin.get("xyz"), (0, 0, 0))
    return pose


def read_joint(element: ET.Element) -> Joint:
    """The joint that a <joint> describes.

    Raises:
        KeyError: a name, the type or a link is missing.
        ValueError: a number is none.
    """
    axis_element, limit = element.find("axis"), element.find("limit")
    axis = numbers(None if axis_element is None else axis_element.get("xyz"), (1, 0, 0))
    kind = element.attrib["type"]
    bounds = None if kind == "continuous" else limit
    ends = {end.tag: end.attrib["link"] for end in element if end.tag in ("parent", "child")}
    return Joint(
        name=element.attrib["name"],
        kind=kind,
        parent=ends["parent"],
        child=ends["child"],
        origin=origin_of(element),
        axis=axis / (np.linalg.norm(axis) or 1.0),
        low=-math.inf if bounds is None else finite(bounds.get("lower", 0)),
        high=math.inf if bounds is None else finite(bounds.get("upper", 0)),
        speed=(0.0 if limit is None else finite(limit.get("velocity", 0))) or math.inf,
        mimic=_mimic(element.find("mimic")),
    )


def _mimic(element: ET.Element | None) -> Mimic | None:
    if element is None:
        return None
    multiplier, offset = finite(element.get("multiplier", 1)), finite(element.get("offset", 0))
    return Mimic(element.attrib["joint"], multiplier, offset)


def follow(path: Path, joints: Sequence[Joint]) -> tuple[Joint, ...]:
    """The joints, each follower with the joint that moves it and that moves on its own.

    A joint that others follow is limited so that each of them stays within its own limits and speed.

    Args:
        path: of the URDF, for messages.
        joints: all joints.

    Raises:
        UserError: a joint mimics one that is not there, or itself, or the limits exclude each other.
    """
    moving = {joint.name: joint for joint in joints if joint.moves}
    resolved = {joint.name: replace(joint, mimic=_leader(path, joint, moving)) for joint in joints}
    for follower in resolved.copy().values():
        if follower.mimic is not None:
            leader = resolved[follower.mimic.joint]
            resolved[leader.name] = _limited(path, leader, follower, follower.mimic)
    return tuple(resolved.values())


def _leader(path: Path, joint: Joint, moving: Mapping[str, Joint]) -> Mimic | None:
    """The joint that a joint follows and that moves on its own; None for a joint that follows none."""
    multiplier, offset, seen = 1.0, 0.0, [joint.name]
    while joint.moves and joint.mimic is not None:
        name = joint.mimic.joint
        if name in seen:
            between = " and ".join(seen[seen.index(name) + 1 :])
            raise UserError(f"{path}: joint {name} mimics itself{between and f', by way of {between}'}")
        if name not in moving:
            hint = suggestion(name, moving, f"its movable joints are {', '.join(moving)}")
            raise UserError(
                f"{path}: joint {joint.name} mimics {name!r}, which is no movable joint of the file: {hint}"
            )
        multiplier, offset = multiplier * joint.mimic.multiplier, offset + multiplier * joint.mimic.offset
        seen.append(name)
        joint = moving[name]
    return Mimic(seen[-1], multiplier, offset) if len(seen) > 1 else None


def _limited(path: Path, leader: Joint, follower: Joint, mimic: Mimic) -> Joint:
    """The leader, within the limits and the speed of its follower."""
    if mimic.multiplier == 0:
        return leader
    ends = sorted((end - mimic.offset) / mimic.multiplier for end in (follower.low, follower.high))
    low, high = max(leader.low, ends[0]), min(leader.high, ends[1])
    if low > high:
        raise UserError(f"{path}: joint {follower.name} mimics {leader.name}, but their limits exclude each other")
    return replace(leader, low=low, high=high, speed=min(leader.speed, follower.speed / abs(mimic.multiplier)))
