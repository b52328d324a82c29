"""The physics of an arm, by PyBullet or, where that is not installed, by MuJoCo: distances of its links, its motors."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from ropes.common.arrays import Floats
from ropes.simulation.backgrounds import RendererName
from ropes.simulation.context import ClosesAtExit
from ropes.simulation.urdf import Urdf

#: Smallest distance that counts as free, metres.
CLEARANCE = 0.01
#: Steps of the motors in a second.
RATE = 240
#: Torque in N m (or N) of motors for which the URDF gives none.
EFFORT = 500.0


class LinkDistances(ClosesAtExit):
    """Tells which links of a posed arm are nearer than `CLEARANCE`, by the convex hulls of their collision shapes.

    Between two meshes PyBullet's distances are 2 mm shorter than MuJoCo's.

    Attributes:
        shaped: the links with a collision shape that can be read.
        unread: links with a shape that cannot be read, as far as the engine tells.
    """

    shaped: frozenset[str]
    unread: frozenset[str] = frozenset()

    @abstractmethod
    def place(self, values: Mapping[str, float]) -> None:
        """Pose the arm: values of all movable joints, radians (metres for a prismatic joint)."""

    @abstractmethod
    def are_close(self, one: str, other: str) -> bool:
        """Whether two links of `shaped` are nearer than the clearance."""

    @abstractmethod
    def is_close_to_table(self, link: str) -> bool:
        """Whether a link of `shaped` is nearer to the table than the clearance."""


class Motors(ClosesAtExit):
    """An arm under gravity whose joints are driven to goals."""

    @abstractmethod
    def step(self, goals: Floats) -> Floats:
        """Drive all movable joints to goals for 1 / `RATE` seconds, and return their positions; radians or metres."""


def engine() -> RendererName:
    """The physics engine of this machine."""
    return "pybullet" if find_spec("pybullet") else "mujoco"


def link_distances(urdf: Urdf, table: float) -> LinkDistances:
    """The distances between links by the engine of this machine.

    Args:
        urdf: the arm.
        table: height of the table, metres in the frame of the arm's base.

    Raises:
        UserError: no engine is installed, or it cannot load the file.
    """
    if engine() == "pybullet":
        from ropes.simulation.bullet_physics import BulletDistances

        return BulletDistances(urdf, table)
    from ropes.simulation.mujoco_physics import MujocoDistances

    return MujocoDistances(urdf, table)


def motors(urdf: Urdf, order: Sequence[str], start: Floats) -> Motors:
    """The motors of an arm by the engine of this machine.

    Args:
        urdf: the arm.
        order: all its movable joints, in the order of goals and positions.
        start: first positions.

    Raises:
        UserError: no engine is installed, or it cannot load the file.
    """
    if engine() == "pybullet":
        from ropes.simulation.bullet_physics import BulletMotors

        return BulletMotors(urdf, order, start)
    from ropes.simulation.mujoco_physics import MujocoMotors

    return MujocoMotors(urdf, order, start)
