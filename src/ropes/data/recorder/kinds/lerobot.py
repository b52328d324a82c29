"""Any arm with LeRobot's `Robot` interface: `connect`, `get_observation`, `send_action`, `disconnect`.

LeRobot's goals are reached as fast as the motors can.  This kind therefore sends goals along the way, at most as far
apart as the speed allows, and limits the speed itself.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np

from ropes.common.arrays import Floats
from ropes.data.recorder.interfaces import Clock, Robot
from ropes.data.recorder.kinds.lerobot_classes import LeRobotArm, of_class, of_fields, of_type
from ropes.data.recorder.registry import RobotRequest
from ropes.data.recorder.travel import OFF, beside, progress_at, travel_time
from ropes.data.recordings.lerobot_units import GRIPPER, POSITION, SO_ARMS
from ropes.errors import UserError, suggestion

try:
    import termios
except ModuleNotFoundError:  # Windows
    _LINE_ERRORS: tuple[type[Exception], ...] = ()
else:
    _LINE_ERRORS = (termios.error,)
#: Goals a second.
_RATE = 30.0
#: How often positions are read before the bus counts as lost: single packets of cheap buses get lost.
_READS = 3
#: How far a joint may be behind the goals along the way, radians; farther away, something is in its way.  All joints
#: must be late together: the arm must not leave the straight line.
_BEHIND = 0.3
#: Fields of a configuration that the recorder sets, and why.
_FIXED = {
    "disable_torque_on_disconnect": "it is false, so that the arm does not fall when the recording ends",
    "use_degrees": "unit=degrees or unit=radians sets it",
}
_DEGREES = "degrees"
_CONNECTING = (
    "Many robots of LeRobot, the SO-101 among them, switch their motors off for a moment when they are connected. Do "
    "you hold the arm, near the middle of its ranges?"
)
_UNITS = {_DEGREES: math.pi / 180, "radians": 1.0}


class LeRobotRobot(Robot):
    """Drives an arm of LeRobot.

    Args:
        arm: the arm, not yet connected.
        joints: of the plan, named as in LeRobot without the end ".pos".
        unit: radians in a unit of LeRobot's positions.
        clock: of goals along the way.
        off: how far a joint may leave the straight line of a move, radians.

    Raises:
        UserError: the arm has no such joint, reports its position in another unit, or has another calibration.
    """

    watching = True

    def __init__(
        self, arm: LeRobotArm, joints: tuple[str, ...], unit: float, clock: Clock | None = None, *, off: float = OFF
    ) -> None:
        self.joints, self._arm, self._unit, self._off = joints, arm, unit, off
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
            if not getattr(arm, "is_calibrated", True):
                name = getattr(arm, "id", None)
                raise UserError(
                    f"the motors hold another calibration than id={name}; run lerobot-calibrate with this id"
                )
            self._observed()
        except BaseException:
            arm.disconnect()
            raise
        #: The last goals of the plan's joints, and those of all others: where they stand at the first command.
        self._goals: dict[str, float] = {}
        self._held: dict[str, float] | None = None

    def _observed(self) -> dict[str, float]:
        """Positions of all joints, in LeRobot's unit; a lost packet is asked for again."""
        for left in reversed(range(_READS)):
            try:
                with _serial_line():
                    observation = self._arm.get_observation()
                break
            except OSError:  # LeRobot's buses raise ConnectionError
                if not left:
                    raise
                with _serial_line():
                    self._free_bus()  # otherwise the next try tells that the port is in use, and not what failed
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

    def others(self) -> Mapping[str, float]:
        """Angles of all other joints, except those in percent of an unknown range."""
        found, gripper = dict[str, float](), GRIPPER if getattr(self._arm, "name", None) in SO_ARMS else {}
        for name, value in self._not_commanded().items():
            joint = name.removesuffix(POSITION)
            if joint in gripper:
                found[joint] = gripper[joint].zero + gripper[joint].unit * value
            elif _mode(self._arm, joint) in (None, _DEGREES):
                found[joint] = value * self._unit
        return found

    def _not_commanded(self) -> dict[str, float]:
        return {name: at for name, at in self._observed().items() if name.removesuffix(POSITION) not in self.joints}

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
            self._require_near(start, positions, goal)
            self.clock.sleep(max(0.0, before + 1 / _RATE - self.clock.now()))
            # After a hiccup of the bus or of this machine, the arm must not catch up.
            gone, before = gone + min(self.clock.now() - before, 1 / _RATE), self.clock.now()

    def _require_near(self, start: Floats, end: Floats, goal: Floats) -> None:
        """Check that the arm follows, on the straight line from start to end."""
        here = self.positions()
        behind, off = np.abs(here - goal), np.abs(beside(start, end, here))
        left = off.max() > self._off
        worst = int((off if left else behind).argmax())
        if left or behind.max() > _BEHIND:
            place = f"joint {self.joints[worst]} is at {here[worst]:.3f}, on the way through {goal[worst]:.3f}"
            other = ", or a larger --tolerance" if left else ""
            raise UserError(
                f"the robot does not follow: {place}; free the arm, or give lower speeds in the limits{other}"
            )

    def _send(self, angles: Floats) -> None:
        self._goals = dict(
            zip((joint + POSITION for joint in self.joints), (angles / self._unit).tolist(), strict=True)
        )
        self._held = self._not_commanded() if self._held is None else self._held
        with _serial_line():
            self._arm.send_action({**self._held, **self._goals})

    def stop(self) -> None:
        """Make where the arm is its goal; where it cannot be read, send the last goal again, where the arm stops."""
        with _serial_line():
            self._free_bus()
            try:
                here = self.positions()
            except OSError:
                if self._held is not None:  # otherwise the arm has no goal yet
                    self._arm.send_action({**self._held, **self._goals})
            else:
                self._send(here)

    def _free_bus(self) -> None:
        """End a transaction that Ctrl-C or a fault of the line interrupted: the motors' SDKs refuse every other one."""
        port: Any = getattr(getattr(self._arm, "bus", None), "port_handler", None)
        if getattr(port, "is_using", False):
            port.clearPort()
            port.is_using = False

    def close(self) -> None:
        """Disconnect."""
        self._arm.disconnect()


@contextmanager
def _serial_line() -> Iterator[None]:
    """Errors of a line that was unplugged as OSErrors: pyserial also raises `termios.error`, which is none."""
    try:
        yield
    except _LINE_ERRORS as error:
        raise ConnectionError(f"the serial line is gone ({error.args[-1]})") from error


def _require_angles(arm: object, joints: tuple[str, ...], unit: float) -> None:
    """Check the unit of the arm's motors: LeRobot tells some positions, as those of grippers, in percent of the range.

    Arms without a bus of LeRobot's motors do not say their unit.
    """
    for joint in joints:
        mode = _mode(arm, joint)
        if mode not in (None, _DEGREES):
            raise UserError(f"LeRobot reports the position of joint {joint} as {mode}, not in degrees; leave it out")
        if mode is not None and unit != _UNITS[_DEGREES]:
            raise UserError("--robot-options: this robot reports degrees; leave unit=radians out")


def _mode(arm: object, joint: str) -> str | None:
    """The unit of a joint of LeRobot's motors; None if the arm does not say it."""
    motors = getattr(getattr(arm, "bus", None), "motors", None)
    mode = getattr(motors.get(joint), "norm_mode", None) if isinstance(motors, Mapping) else None
    return None if mode is None else str(getattr(mode, "value", mode))


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
    configuration, make = of_class(named) if named else of_type(kind)
    known = {field.name for field in fields(configuration)}
    for name in _FIXED.keys() & options.keys():
        raise UserError(f"--robot-options: leave {name} out; {_FIXED[name]}")
    fixed = {"disable_torque_on_disconnect": False, "use_degrees": unit == _DEGREES}
    values = of_fields(configuration, options)
    try:
        arm = make(configuration(**values, **{name: value for name, value in fixed.items() if name in known}))
    except TypeError as error:
        raise UserError(f"--robot-options: {error}") from error
    if request.ask is not None:
        request.ask(_CONNECTING)
    return LeRobotRobot(arm, request.joints, _UNITS[unit], off=request.off)
