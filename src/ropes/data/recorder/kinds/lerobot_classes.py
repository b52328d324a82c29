"""Classes of LeRobot: the part of its robots that is used, and how options name and configure one."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol, get_args, get_type_hints

import yaml

from ropes.errors import UserError, install_command, suggestion


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


def of_fields(configuration: type, options: Mapping[str, str]) -> dict[str, object]:
    """Options as values of the configuration's fields: texts and paths as they stand, all others are read as YAML.

    Raises:
        UserError: a value is no number, where one is expected.
    """
    hints, values = get_type_hints(configuration), dict[str, object]()
    for name, text in options.items():
        kinds = get_args(hints.get(name)) or (hints.get(name, str),)
        if Path in kinds:
            values[name] = Path(text)
            continue
        try:
            values[name] = text if str in kinds else yaml.safe_load(text)
        except yaml.YAMLError:
            values[name] = text
        if str not in kinds and isinstance(values[name], str):
            described = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
            raise UserError(f"--robot-options: {name} is {text!r}, not {described}")
    return values


def of_class(named: str) -> tuple[type, Callable[[object], LeRobotArm]]:
    """The configuration class of the class in MODULE:NAME, and the class itself.

    Raises:
        UserError: there is no such class.
    """
    module, _, name = named.rpartition(":")
    try:
        kind = getattr(import_module(module), name)
        return kind.config_class, kind
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"--robot-options: no robot in {named!r} ({error}); give class=MODULE:NAME") from error


def of_type(kind: str) -> tuple[type, Callable[[object], LeRobotArm]]:
    """The configuration class of a type of LeRobot, and the function that makes its robot.

    Raises:
        UserError: LeRobot or a package of the robot is missing, or there is no such type.
    """
    try:
        robots = import_module("lerobot.robots")
        utils = import_module("lerobot.robots.utils")
    except ModuleNotFoundError as error:
        missing = f"--robot lerobot needs LeRobot ({error.name} is missing): {install_command('lerobot')}"
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
