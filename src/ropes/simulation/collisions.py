"""Finds poses in which an arm touches itself or the table, or leaves its workspace.

Distances are those of the URDF's collision shapes.  Links that a joint connects do not count, nor do links that
touch in the middle of the joints' ranges: collision shapes of neighbours often overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.errors import UserError
from ropes.simulation.availability import locate
from ropes.simulation.context import ClosesAtExit
from ropes.simulation.kinematics import link_poses
from ropes.simulation.physics import CLEARANCE, link_distances
from ropes.simulation.scene import resolve_urdf
from ropes.simulation.settings import Robot
from ropes.simulation.surface import read_surface
from ropes.simulation.urdf import Urdf, read_urdf

#: What links touch besides links.
TABLE = "the table"
#: Poses whose links are computed at once.
_BLOCK = 4096


@dataclass(frozen=True)
class Workspace:
    """The box that all moving links stay in, and the height of the table; metres in the frame of the arm's base."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]
    table: float


@dataclass(frozen=True)
class Collision:
    """The first position of a path that is not free.

    Attributes:
        pose: number of the pose, or of the pose that the position leads to.
        what: what is wrong with it.
        between: the position is on the way to the pose, not the pose itself.
    """

    pose: int
    what: str
    between: bool = False


class CollisionChecker(ClosesAtExit):
    """A context manager that checks poses of one arm.

    Args:
        robot: the arm; joints that a pose leaves out are at their neutral values.
        joints: order of the angles in poses.
        middle: a pose in which no link is near another one, radians (joints,).
        workspace: the box and the table.

    Raises:
        UserError: a file is missing or not a URDF, there is no such joint, or no moving link has a collision shape.
    """

    def __init__(self, robot: Robot, joints: Sequence[str], middle: Floats, workspace: Workspace) -> None:
        path = locate(robot.urdf)
        urdf = read_urdf(path)
        self._urdf, self._robot, self._joints = urdf, robot, tuple(joints)
        for name in joints:
            urdf.joint(name)
        self._workspace = workspace
        self._rigid, self._parents = _rigid_groups(urdf), {joint.child: joint.parent for joint in urdf.joints}
        self._distances = link_distances(urdf, workspace.table)
        solid = [link for link in urdf.links if link in self._distances.shaped]
        self._solid = [link for link in solid if link in self._moving_links()]
        self._pairs = [(one, other) for one, other in combinations(solid, 2) if not self._neighbours(one, other)]
        if not self._solid:
            self.close()
            raise UserError(f"{path} has no collision shape of a moving link that can be read; add <collision> to it")
        self._boxes = _boxes(read_urdf(resolve_urdf(robot, "simplified")), self._moving_links())
        self.ignored = self._leave_out(middle)

    def close(self) -> None:
        """Free the engine."""
        self._distances.close()

    @property
    def unchecked(self) -> list[str]:
        """Moving links that are visible and lack a collision shape, or have one that cannot be read."""
        unknown = self._moving_links() - (set(self._solid) - self._distances.unread)
        return [link for link in self._urdf.links if link in unknown & {each.link for each in self._urdf.visuals}]

    def first(self, path: Floats) -> Collision | None:
        """The first position of a path that is not free; None if all are.

        Besides the poses, positions between them are checked: so many that from one to the next no point of a link
        moves farther than twice the clearance.

        Args:
            path: poses (n, joints) in radians; the arm moves on straight lines from one to the next.
        """
        positions, numbers = self._divided(path)
        found = self._outside(positions)
        for number, position in enumerate(positions if found is None else positions[: found[0]]):
            if pairs := self._touching(position):
                one, other = sorted(pairs[0])
                found = number, f"{one} touches {other}"
                break
        if found is None:
            return None
        place = int(numbers[found[0]])
        return Collision(place, found[1], between=found[0] + 1 < len(numbers) and numbers[found[0] + 1] == place)

    def _divided(self, path: Floats) -> tuple[Floats, NDArray[np.int64]]:
        """The positions of a path that are checked, and for each the number of the pose that it leads to."""
        moved = np.zeros(len(path) - 1)
        for start in range(0, len(moved), _BLOCK):
            for points in self._corners(path[start : start + _BLOCK + 1]).values():
                step = np.linalg.norm(np.diff(points, axis=0), axis=2).max(axis=1)
                moved[start : start + _BLOCK] = np.maximum(moved[start : start + _BLOCK], step)
        counts = np.maximum(1, np.ceil(moved / (2 * CLEARANCE)).astype(np.int64))
        numbers = np.repeat(np.arange(1, len(path)), counts)
        shares = np.concatenate([np.arange(1, count + 1) / count for count in counts] or [np.zeros(0)])[:, None]
        positions = path[numbers - 1] + shares * (path[numbers] - path[numbers - 1])
        return np.concatenate([path[:1], positions]), np.concatenate([[0], numbers])

    def _corners(self, poses: Floats) -> dict[str, Floats]:
        """Corners (n, 8, 3) of the boxes around moving links."""
        places = link_poses(self._urdf, self._joints, poses, self._robot.neutral)
        return {
            link: corners @ places[link][:, :3, :3].swapaxes(1, 2) + places[link][:, None, :3, 3]
            for link, corners in self._boxes.items()
        }

    def _outside(self, poses: Floats) -> tuple[int, str] | None:
        """The first pose in which the box around a moving link leaves the workspace, and how."""
        low, high = np.array(self._workspace.low), np.array(self._workspace.high)
        for start in range(0, len(poses), _BLOCK):
            found: list[tuple[int, str]] = []
            for link, points in self._corners(poses[start : start + _BLOCK]).items():
                lowest, highest = points.min(axis=1), points.max(axis=1)
                if rows := np.flatnonzero(((lowest < low) | (highest > high)).any(axis=1)).tolist():
                    excess = np.concatenate([low - lowest[rows[0]], highest[rows[0]] - high])
                    side = ("below x", "below y", "below z", "above x", "above y", "above z")[int(excess.argmax())]
                    bound = float(np.concatenate([low, high])[int(excess.argmax())])
                    what = f"{link} leaves the workspace by {excess.max():.3f} m ({side} = {bound:g})"
                    found.append((start + rows[0], what))
            if found:
                return min(found, key=lambda each: each[0])
        return None

    def _touching(self, pose: Floats) -> list[frozenset[str]]:
        """Pairs of names of links, or the table, nearer than `ropes.simulation.physics.CLEARANCE`."""
        values = self._urdf.positions(self._joints, pose[None], self._robot.neutral)
        self._distances.place({name: value[0] for name, value in values.items()})
        pairs = [frozenset(pair) for pair in self._pairs if self._distances.are_close(*pair)]
        on_table = [link for link in self._solid if self._distances.is_close_to_table(link)]
        return pairs + [frozenset((link, TABLE)) for link in on_table]

    def _leave_out(self, middle: Floats) -> frozenset[frozenset[str]]:
        """Leave out, and return, those pairs of links that touch in the middle pose."""
        ignored = frozenset(pair for pair in self._touching(middle) if TABLE not in pair)
        self._pairs = [pair for pair in self._pairs if frozenset(pair) not in ignored]
        return ignored

    def _neighbours(self, one: str, other: str) -> bool:
        """Whether two links, the later one last, are rigidly connected, or by one joint."""
        return self._parents[other] == one or self._rigid[one] == self._rigid[other]

    def _moving_links(self) -> set[str]:
        """The links that some joint moves."""
        return {link for link, group in self._rigid.items() if group != self._urdf.base}


def _rigid_groups(urdf: Urdf) -> dict[str, str]:
    """Link → the first link of those that fixed joints join it to."""
    groups = {urdf.base: urdf.base}
    for joint in urdf.joints:
        groups[joint.child] = joint.child if joint.moves else groups[joint.parent]
    return groups


def _boxes(drawn: Urdf, links: set[str]) -> dict[str, Floats]:
    """Corners (8, 3) of a box around the visible shapes of each of the links, in the link's frame."""
    found: dict[str, list[Floats]] = {}
    for visual in drawn.visuals:
        if visual.link in links:
            points = visual.corners if visual.mesh is None else read_surface(visual.mesh).points * visual.scale
            found.setdefault(visual.link, []).append(points @ visual.origin[:3, :3].T + visual.origin[:3, 3])
    signs = np.array(list(np.ndindex(2, 2, 2)), dtype=bool)
    boxes = {}
    for link, shapes in found.items():
        points = np.concatenate(shapes)
        boxes[link] = np.where(signs, points.max(axis=0), points.min(axis=0))
    return boxes
