"""Any arm with LeRobot's `Robot` interface: `connect`, `get_observation`, `send_action`, `disconnect`.

LeRobot's goals are reached as fast as the motors can.  This kind therefore sends goals along the way, at most as far
apart as the speed allows, and limits the speed itself.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any, Protocol, get_args, get_type_hints

import numpy as np
import yaml

from ropes.common.arrays import Floats
from ropes.data.recorder.interfaces import Clock, Robot
from ropes.data.recorder.registry import RobotRequest
from ropes.data.recorder.travel import OFF, beside, progress_at, travel_time
from ropes.data.recordings.lerobot_units import POSITION
from ropes.errors import UserError, suggestion

#: Goals a second.
_RATE = 30.0
#: How often positions are read before the bus counts as lost: single packets of cheap buses get lost.
_READS = 3
#: How far a joint may be behind the goals along the way, radians; farther away, something is in its way.  All joints
#: must be late together: how far the arm may leave the straight line is `OFF`.
_BEHIND = 0.3
#: Fields of a configuration that the recorder sets, and why.
_FIXED = {
    "disable_torque_on_disconnect": "it is false, so that the arm does not fall when the recording ends",
    "use_degrees": "unit=degrees or unit=radians sets it",
}
_DEGREES = "degrees"
_CONNECTING = (
    "Many robots of LeRobot, the SO-101 among them, switch their motors off for a moment when they are connected. Does "
    "the arm rest, or do you hold it?"
)
_UNITS = {_DEGREES: math.pi / 180, "radians": 1.0}


class LeRobotArm(Protocol):
    """The part of `lerobot.robots.Robot` that is used."""

    @property
    def action_features(self) -> Mapping[str, object]:
        """Names of the values of an action."""

    def connect(self, calibrate: bool = True) -> None:
        """Connect."""

    def get_observation(self) -> Mapping[str, object]:
        """Positions by name, and images."""

    def send_action(self, action: dict[str, float]) -> object:
        """Set the goals of the motors."""

    def disconnect(self) -> None:
        """Disconnect."""


class LeRobotRobot(Robot):
    """Drives an arm of LeRobot.

    Args:
        arm: the arm, not yet connected.
        joints: of the plan, named as in LeRobot without the end ".pos".
        unit: radians in a unit of LeRobot's positions.
        clock: of goals along the way.

    Raises:
        UserError: the arm has no such joint, or reports its position in another unit.
    """

    def __init__(self, arm: LeRobotArm, joints: tuple[str, ...], unit: float, clock: Clock | None = None) -> None:
        self.joints, self._arm, self._unit = joints, arm, unit
        self.clock = clock or Clock()
        self._names = [name for name in arm.action_features if name.endswith(POSITION)]
        known = [name.removesuffix(POSITION) for name in self._names]
        for joint in joints:
            if joint not in known:
                raise UserError(f"the robot has no joint {joint!r}: {suggestion(joint, known, ', '.join(known))}")
        _require_angles(arm, joints, unit)
        # With calibrate=True a robot without a calibration would ask for one here.
        arm.connect(calibrate=False)
        try:
            observed = self._observed()
        except BaseException:
            arm.disconnect()
            raise
        self._others = {name: value for name, value in observed.items() if name.removesuffix(POSITION) not in joints}
        self._goals = {name: value for name, value in observed.items() if name not in self._others}

    def _observed(self) -> dict[str, float]:
        """Positions of all joints, in LeRobot's unit; a lost packet is asked for again."""
        for left in reversed(range(_READS)):
            try:
                observation = self._arm.get_observation()
                break
            except OSError:  # LeRobot's buses raise ConnectionError
                if not left:
                    raise
        values = {name: observation.get(name) for name in self._names}
        found: dict[str, float] = {}
        for name, value in values.items():
            if not isinstance(value, int | float | np.floating | np.integer):
                raise UserError(f"the robot's observation has no number {name}")
            found[name] = float(value)
        return found

    def positions(self) -> Floats:
        """Angles of the plan's joints."""
        found = self._observed()
        return np.array([found[joint + POSITION] for joint in self.joints]) * self._unit

    def move_to(self, positions: Floats, speed: Floats) -> None:
        """Send goals along the way until the last one is the goal; all other joints are held.

        Raises:
            UserError: a joint stays behind, or leaves the straight line.
        """
        start, gone, before = self.positions(), 0.0, self.clock.now()
        total = float(travel_time(start, positions, speed))
        while True:
            share = progress_at(gone, total)
            goal = start + share * (positions - start)
            self._send(goal)
            if share >= 1:
                return
            self.clock.sleep(1 / _RATE)
            self._require_near(start, positions, goal)
            # After a hiccup of the bus or of this machine, the arm must not catch up.
            gone, before = gone + min(self.clock.now() - before, 1 / _RATE), self.clock.now()

    def _require_near(self, start: Floats, end: Floats, goal: Floats) -> None:
        """Check that the arm follows, on the straight line from start to end."""
        here = self.positions()
        behind, off = np.abs(here - goal), np.abs(beside(start, end, here))
        worst = int((off if off.max() > OFF else behind).argmax())
        if off.max() > OFF or behind.max() > _BEHIND:
            place = f"joint {self.joints[worst]} is at {here[worst]:.3f}, on the way through {goal[worst]:.3f}"
            raise UserError(f"the robot does not follow: {place}; free the arm, or give lower speeds in the limits")

    def _send(self, angles: Floats) -> None:
        self._goals = dict(
            zip((joint + POSITION for joint in self.joints), (angles / self._unit).tolist(), strict=True)
        )
        self._arm.send_action({**self._others, **self._goals})

    def stop(self) -> None:
        """Make where the arm is its goal; where it cannot be read, send the last goal again, where the arm stops."""
        self._free_bus()
        try:
            here = self.positions()
        except OSError:
            self._arm.send_action({**self._others, **self._goals})
        else:
            self._send(here)

    def _free_bus(self) -> None:
        """End a transaction that Ctrl-C interrupted: the motors' SDKs then refuse every other one."""
        port: Any = getattr(getattr(self._arm, "bus", None), "port_handler", None)
        if getattr(port, "is_using", False):
            port.clearPort()
            port.is_using = False

    def close(self) -> None:
        """Disconnect."""
        self._arm.disconnect()


def _require_angles(arm: object, joints: tuple[str, ...], unit: float) -> None:
    """Check the unit of the arm's motors: LeRobot tells some positions, as those of grippers, in percent of the range.

    Arms without a bus of LeRobot's motors do not say their unit.
    """
    motors = getattr(getattr(arm, "bus", None), "motors", None)
    if not isinstance(motors, Mapping):
        return
    for joint in joints:
        mode = getattr(motors.get(joint), "norm_mode", None)
        told = str(getattr(mode, "value", mode))
        if mode is not None and told != _DEGREES:
            raise UserError(f"LeRobot reports the position of joint {joint} as {told}, not in degrees; leave it out")
        if mode is not None and unit != _UNITS[_DEGREES]:
            raise UserError("--robot-options: this robot reports degrees; leave unit=radians out")


def open_robot(request: RobotRequest) -> LeRobotRobot:
    """Connect to a robot of LeRobot.

    Options: type=NAME of a robot of LeRobot, or class=MODULE:NAME of any class with its interface; unit=degrees (the
    default) or radians; all others are fields of the robot's configuration, as port=/dev/ttyACM0 and id=NAME.

    Raises:
        UserError: LeRobot is missing, an option is wrong, or the robot has no such joint.
    """
    options = dict(request.options)
    unit, kind, named = options.pop("unit", _DEGREES), options.pop("type", ""), options.pop("class", "")
    if unit not in _UNITS:
        raise UserError(f"--robot-options: unit is {unit!r}, not degrees or radians")
    if bool(kind) == bool(named):
        raise UserError("--robot-options: give type=NAME, as type=so101_follower, or class=MODULE:NAME")
    configuration, make = _of_class(named) if named else _of_type(kind)
    known = {field.name for field in fields(configuration)}
    for name in _FIXED.keys() & options.keys():
        raise UserError(f"--robot-options: leave {name} out; {_FIXED[name]}")
    fixed = {"disable_torque_on_disconnect": False, "use_degrees": unit == _DEGREES}
    values = _of_fields(configuration, options)
    try:
        arm = make(configuration(**values, **{name: value for name, value in fixed.items() if name in known}))
    except TypeError as error:
        raise UserError(f"--robot-options: {error}") from error
    if request.ask is not None:
        request.ask(_CONNECTING)
    return LeRobotRobot(arm, request.joints, _UNITS[unit])


def _of_fields(configuration: type, options: Mapping[str, str]) -> dict[str, object]:
    """Options as values of the configuration's fields: texts stay texts, all others are read as YAML.

    Raises:
        UserError: a value is no number, where one is expected.
    """
    hints, values = get_type_hints(configuration), dict[str, object]()
    for name, text in options.items():
        kinds = get_args(hints.get(name)) or (hints.get(name, str),)
        try:
            values[name] = text if str in kinds else yaml.safe_load(text)
        except yaml.YAMLError:
            values[name] = text
        if str not in kinds and isinstance(values[name], str):
            described = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
            raise UserError(f"--robot-options: {name} is {text!r}, not {described}")
    return values


def _of_class(named: str) -> tuple[type, Callable[[object], LeRobotArm]]:
    """The configuration class of the class in MODULE:NAME, and the class itself."""
    module, _, name = named.rpartition(":")
    try:
        kind = getattr(import_module(module), name)
        return kind.config_class, kind
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"--robot-options: no robot in {named!r} ({error}); give class=MODULE:NAME") from error


def _of_type(kind: str) -> tuple[type, Callable[[object], LeRobotArm]]:
    """The configuration class of a type of LeRobot, and the function that makes its robot."""
    try:
        robots = import_module("lerobot.robots")
        utils = import_module("lerobot.robots.utils")
    except ModuleNotFoundError as error:
        missing = f"--robot lerobot needs LeRobot ({error.name} is missing): pip install 'ropes[lerobot]'"
        raise UserError(f"{missing}, in Python 3.12 or later") from error
    _import_configuration(kind)
    known = robots.RobotConfig.get_known_choices()
    if kind not in known:
        raise UserError(f"LeRobot has no robot {kind!r}: {suggestion(kind, known, ', '.join(known))}")
    return known[kind], utils.make_robot_from_config


def _import_configuration(kind: str) -> None:
    """Import the module that registers a type; its package has the type's name, or that of its family."""
    family = "so_follower" if kind in ("so100_follower", "so101_follower") else kind
    for package in (kind, family):
        try:
            import_module(f"lerobot.robots.{package}")
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("lerobot.robots."):
                raise UserError(
                    f"LeRobot's {kind} needs {error.name}, which is not installed; see LeRobot's page of this robot"
                ) from error
