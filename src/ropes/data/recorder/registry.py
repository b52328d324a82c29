"""The kinds of robots by name.

Other packages add kinds by the entry point `ropes.robots`: a function that takes a `RobotRequest` and returns a
connected `Robot`, see `ropes.data.recorder.interfaces`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from ropes.common.plugins import load_plugins
from ropes.data.recorder.interfaces import Robot
from ropes.data.recorder.limits import Limits
from ropes.data.recorder.stillness import asked
from ropes.data.recorder.travel import OFF
from ropes.errors import UserError, require_name, suggestion
from ropes.simulation.settings import Setting

#: The kind that moves nothing real, and may have defaults.
SIMULATED = "simulated"
#: Kinds of this package; each is a module of `ropes.data.recorder.kinds` with the function `open_robot`.
KINDS = {SIMULATED: "simulation", "python": "python", "lerobot": "lerobot", "ros2": "ros2"}
#: Entry points by which other packages add kinds.
GROUP = "ropes.robots"


@dataclass(frozen=True, kw_only=True)
class RobotRequest:
    """Which robot to open.

    Attributes:
        joints: names of the joints to command, in the order of all angles.
        setting: the arm; for the simulated kind also cameras and scene.
        limits: of the arm.
        options: of the kind, from --robot-options.
        seed: of what a simulated robot draws.
        frames: how many frames a simulated camera gives, about.
        held: numbers of the episodes that the recording holds already; a simulated camera then draws other faults.
        held_share: the share of all episodes that they are.
        off: how far a joint may leave the straight line of a move, radians.
        ask: asks a question before the robot is connected, where connecting may move the arm; raises a `UserError` if
            the answer is no.  None to go on without asking.
    """

    joints: tuple[str, ...]
    setting: Setting
    limits: Limits
    options: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    frames: int = 1
    held: frozenset[int] = frozenset()
    held_share: float = 0.0
    off: float = OFF
    ask: Callable[[str], None] | None = None

    def take(self, *names: str) -> dict[str, str]:
        """The options of these names.

        Raises:
            UserError: there are others.
        """
        for name in self.options:
            if name not in names:
                hint = suggestion(name, names, f"it takes {', '.join(names)}" if names else "it takes none")
                raise UserError(f"--robot-options: this kind has no option {name!r}: {hint}")
        return dict(self.options)


Kind = Callable[[RobotRequest], Robot]


def kind_named(name: str) -> Kind:
    """The kind of robot of that name.

    Raises:
        UserError: there is none, or its package cannot be loaded.
    """
    if name in KINDS:
        found: Kind = import_module(f"ropes.data.recorder.kinds.{KINDS[name]}").open_robot
        return found
    added, broken = load_plugins(GROUP, _fault)
    if name in broken:
        raise UserError(f"robot {name} cannot be loaded ({broken[name]}); update or uninstall its package")
    require_name(name, (*KINDS, *added), "robot")
    return added[name]


def open_robot(name: str, request: RobotRequest) -> Robot:
    """Connect to a robot.

    Raises:
        UserError: no such kind, a wrong option, or the robot does not answer.
    """
    kind = kind_named(name)
    return asked(f"the robot ({name})", lambda: kind(request))


def _fault(name: str, loaded: object) -> str | None:
    """Why an object cannot be a kind; None if it can."""
    if name in KINDS:
        return "the name is taken"
    return None if callable(loaded) else "it is no function of a RobotRequest"
