"""A class of one's own with three methods: `positions`, `move_to` and `stop`.

    class MyArm:
        joints = ("shoulder", "elbow", "gripper")      # optional; the plan's joints if missing

        def __init__(self, port="/dev/ttyUSB0"): ...   # strings from --robot-options
        def positions(self): ...                       # radians, in the order of joints; None without encoders
        def move_to(self, positions, speed): ...       # radians and rad/s; may return before the arm arrives
        def stop(self): ...
        def close(self): ...                           # optional

Joints that the plan leaves out stay where they are.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Protocol

import numpy as np

from ropes.common.arrays import Floats
from ropes.data.recorder.interfaces import Robot
from ropes.data.recorder.registry import RobotRequest
from ropes.errors import UserError, suggestion

_METHODS = ("positions", "move_to", "stop")
#: Begins the names of modules that are loaded from files.
_PREFIX = "ropes_robot_"


class Arm(Protocol):
    """What a class of one's own has."""

    def positions(self) -> Floats | None:
        """Angles in radians; None without encoders."""

    def move_to(self, positions: Floats, speed: Floats) -> None:
        """Move to angles in radians, at speeds in rad/s."""

    def stop(self) -> None:
        """Stop the arm where it is."""


class PythonRobot(Robot):
    """Drives an object with the three methods.

    Args:
        arm: the object.
        joints: of the plan.

    Attributes:
        joints: as given.
        arm: as given.

    Raises:
        UserError: the object lacks a method or a joint.
    """

    def __init__(self, arm: Arm, joints: tuple[str, ...]) -> None:
        if missing := [name for name in _METHODS if not callable(getattr(arm, name, None))]:
            raise UserError(f"{type(arm).__name__} has no method {missing[0]}; it needs {', '.join(_METHODS)}")
        self.joints, self.arm = joints, arm
        self._all = tuple(getattr(arm, "joints", None) or joints)
        for joint in joints:
            if joint not in self._all:
                hint = suggestion(joint, self._all, f"it has {', '.join(self._all)}")
                raise UserError(f"{type(arm).__name__} has no joint {joint!r}: {hint}")
        self._places = [self._all.index(joint) for joint in joints]
        #: Where all joints stand at the first command.  Those beyond the plan's are held there: a joint that sags would
        #: sink with every command if its goal were where it stands then.
        self._first: Floats | None = None

    def _read(self) -> Floats | None:
        """Angles of all joints of the object; None without encoders."""
        found = self.arm.positions()
        if found is None:
            return None
        values = np.array(found, dtype=np.float64)
        if values.shape != (len(self._all),):
            raise UserError(
                f"{type(self.arm).__name__}.positions gives {values.size} values for the joints "
                f"{', '.join(self._all)}; name all joints of the class in its attribute joints"
            )
        return values

    def positions(self) -> Floats | None:
        """Angles of the plan's joints.

        Raises:
            UserError: the object gives another number of angles than it has joints.
        """
        found = self._read()
        return None if found is None else found[self._places]

    def others(self) -> Mapping[str, float]:
        """Angles of the object's other joints."""
        found = self._read()
        if found is None:
            return {}
        return {name: at for name, at in zip(self._all, found.tolist(), strict=True) if name not in self.joints}

    def move_to(self, positions: Floats, speed: Floats) -> None:
        """Move the plan's joints; the others stay."""
        if len(self._all) == len(self.joints):
            order = np.argsort(self._places)
            self.arm.move_to(positions[order], speed[order])
            return
        self._first = self._read() if self._first is None else self._first
        if self._first is None:
            raise UserError("a robot without encoders must have the joints of the plan alone; leave the others out")
        goal, speeds = self._first.copy(), np.full(len(self._all), float(speed.min()))
        goal[self._places], speeds[self._places] = positions, speed
        self.arm.move_to(goal, speeds)

    def stop(self) -> None:
        """Stop the arm."""
        self.arm.stop()

    def close(self) -> None:
        """Close the object if it can be closed."""
        if callable(close := getattr(self.arm, "close", None)):
            close()


def open_robot(request: RobotRequest) -> PythonRobot:
    """An object of the class in option class=FILE.py:NAME or MODULE:NAME; all other options go to the class.

    Raises:
        UserError: no such class, or it lacks a method.
    """
    options = dict(request.options)
    named = options.pop("class", "")
    where, _, name = named.rpartition(":")
    if not where or not name:
        given = f"class={named} is not of this form" if named else "there is no class"
        raise UserError(f"--robot-options: {given}; give class=FILE.py:NAME or class=MODULE:NAME")
    return PythonRobot(_made(_class(where, name), options), request.joints)


def _class(where: str, name: str) -> Callable[..., Arm]:
    module = _loaded(Path(where)) if where.endswith(".py") else _imported(where)
    found: Callable[..., Arm] | None = getattr(module, name, None)
    if not callable(found):
        classes = [key for key, value in vars(module).items() if isinstance(value, type)]
        raise UserError(f"{where} has no class {name!r}: {suggestion(name, classes, 'check the name')}")
    return found


def _imported(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0] and error.name != name:
            raise
        raise UserError(f"no module {name!r}; install it, or give class=FILE.py:NAME") from error


def _loaded(path: Path) -> ModuleType:
    """The module in a file; modules beside the file can be imported from it, also later."""
    if not path.is_file():
        raise UserError(f"no file {path}; give class=FILE.py:NAME")
    spec = spec_from_file_location(f"{_PREFIX}{path.stem}", path)  # no name of another module
    if spec is None or spec.loader is None:
        raise UserError(f"{path} is no Python file")
    module = sys.modules[spec.name] = module_from_spec(spec)
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.insert(0, folder)
    spec.loader.exec_module(module)
    return module


def _made(kind: Callable[..., Arm], options: Mapping[str, str]) -> Arm:
    try:
        return kind(**options)
    except TypeError as error:
        raise UserError(f"--robot-options: {error}") from error
