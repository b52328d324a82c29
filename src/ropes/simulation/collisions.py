"""Finds poses in which an arm touches itself or the table, or leaves its workspace.

Distances are those of the URDF's collision shapes.  Links that a joint connects do not count, nor do links that
touch in the middle of the joints' ranges: collision shapes of neighbours often overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ropes.common.arrays import Floats
from ropes.errors import UserError
from ropes.simulation.availability import locate
from ropes.simulation.context import ClosesAtExit
from ropes.simulation.kinematics import link_poses
from ropes.simulation.physics import link_distances
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
    """The first pose of a path that is not free, and what is wrong with it."""

    pose: int
    what: str


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

    def first(self, poses: Floats) -> Collision | None:
        """The first pose (n, joints), in radians, that is not free; None if all are."""
        outside = self._outside(poses)
        for number, pose in enumerate(poses if outside is None else poses[: outside.pose]):
            if pairs := self._touching(pose):
                one, other = sorted(pairs[0])
                return Collision(number, f"{one} touches {other}")
        return outside

    def _outside(self, poses: Floats) -> Collision | None:
        """The first pose in which the box around a moving link leaves the workspace."""
        low, high = np.array(self._workspace.low), np.array(self._workspace.high)
        for start in range(0, len(poses), _BLOCK):
            block = poses[start : start + _BLOCK]
            places = link_poses(self._urdf, self._joints, block, self._robot.neutral)
            found: list[Collision] = []
            for link, corners in self._boxes.items():
                points = corners @ places[link][:, :3, :3].swapaxes(1, 2) + places[link][:, None, :3, 3]
                lowest, highest = points.min(axis=1), points.max(axis=1)
                if rows := np.flatnonzero(((lowest < low) | (highest > high)).any(axis=1)).tolist():
                    excess = np.concatenate([low - lowest[rows[0]], highest[rows[0]] - high])
                    side = ("below x", "below y", "below z", "above x", "above y", "above z")[int(excess.argmax())]
                    bound = float(np.concatenate([low, high])[int(excess.argmax())])
                    what = f"{link} leaves the workspace by {excess.max():.3f} m ({side} = {bound:g})"
                    found.append(Collision(start + rows[0], what))
            if found:
                return min(found, key=lambda each: each.pose)
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
