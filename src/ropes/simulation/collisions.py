"""Finds poses in which an arm touches itself or the table, or leaves its workspace.

PyBullet computes distances of the URDF's collision shapes.  Links that a joint connects do not count, nor do links that
touch in the middle of the joints' ranges: collision shapes of neighbours often overlap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ropes.common.arrays import Floats
from ropes.errors import UserError
from ropes.simulation.availability import locate
from ropes.simulation.bullet import BulletScene
from ropes.simulation.kinematics import link_poses
from ropes.simulation.scene import resolve_urdf
from ropes.simulation.settings import Robot
from ropes.simulation.surface import read_surface
from ropes.simulation.urdf import Urdf, read_urdf

#: Smallest distance that counts as free, metres.
CLEARANCE = 0.01
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


class CollisionChecker(BulletScene):
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
        super().__init__()
        path = locate(robot.urdf)
        self._urdf, self._robot, self._joints = read_urdf(path), robot, tuple(joints)
        for name in self._joints:
            self._urdf.joint(name)
        self._workspace = workspace
        bullet, client = self._bullet, self._client
        self._body, self._infos = self._load(path, bullet.URDF_USE_SELF_COLLISION)
        plane = bullet.createCollisionShape(bullet.GEOM_PLANE, physicsClientId=client)
        height = [0.0, 0.0, workspace.table]
        self._table = bullet.createMultiBody(0, plane, basePosition=height, physicsClientId=client)
        self._index = {info[1].decode(): info[0] for info in self._infos}
        self._names = {-1: self._urdf.base} | {info[0]: info[12].decode() for info in self._infos}
        self._rigid = self._rigid_groups()
        solid = [link for link in self._names if bullet.getCollisionShapeData(self._body, link, physicsClientId=client)]
        self._solid = [link for link in solid if self._names[link] in self._moving_links()]
        self._pairs = [(one, other) for one, other in combinations(solid, 2) if not self._neighbours(one, other)]
        if not self._solid:
            self.close()
            raise UserError(f"{path} has no collision shape of a moving link that can be read; add <collision> to it")
        self._boxes = _boxes(read_urdf(resolve_urdf(robot, "simplified")), self._moving_links())
        self._set(robot.neutral)
        self.ignored = self._leave_out(middle)

    @property
    def unchecked(self) -> list[str]:
        """Moving links that are visible and have no collision shape: they touch nothing here."""
        unknown = self._moving_links() - {self._names[link] for link in self._solid}
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
        """Pairs of names of links, or the table, nearer than `CLEARANCE`."""
        names = self._names
        values = self._urdf.positions(self._joints, pose[None], self._robot.neutral)
        self._set({name: values[name][0] for name in (*self._joints, *self._urdf.followers)})
        near = [(one, other) for one, other in self._pairs if self._are_close(one, self._body, other)]
        on_table = [link for link in self._solid if self._are_close(link, self._table, -1)]
        pairs = [frozenset((names[one], names[other])) for one, other in near]
        return pairs + [frozenset((names[link], TABLE)) for link in on_table]

    def _set(self, values: Mapping[str, float]) -> None:
        """Set some joints, by name."""
        for name, value in values.items():
            self._bullet.resetJointState(self._body, self._index[name], float(value), physicsClientId=self._client)

    def _are_close(self, link: int, body: int, other: int) -> bool:
        # Contact points of a simulation step do not do: of small links they end at a few millimetres.
        found = self._bullet.getClosestPoints(self._body, body, CLEARANCE, link, other, physicsClientId=self._client)
        return bool(found)

    def _leave_out(self, middle: Floats) -> frozenset[frozenset[str]]:
        """Leave out, and return, those pairs of links that touch in the middle pose."""
        ignored = frozenset(pair for pair in self._touching(middle) if TABLE not in pair)
        names = self._names
        self._pairs = [pair for pair in self._pairs if frozenset(names[link] for link in pair) not in ignored]
        return ignored

    def _rigid_groups(self) -> dict[int, int]:
        """Link → the first link of those that fixed joints join it to."""
        groups = {-1: -1}
        for k, info in enumerate(self._infos):
            groups[k] = groups[info[16]] if info[2] == self._bullet.JOINT_FIXED else k
        return groups

    def _neighbours(self, one: int, other: int) -> bool:
        """Whether two links, the later one last, are rigidly connected, or by one joint."""
        return self._infos[other][16] == one or self._rigid[one] == self._rigid[other]

    def _moving_links(self) -> set[str]:
        """The links that some joint moves."""
        return {self._names[k] for k, group in self._rigid.items() if group >= 0}


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
