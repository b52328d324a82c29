"""Finds poses in which an arm touches itself or the table, or leaves its workspace.

PyBullet computes contacts of the URDF's collision shapes.  Links that a joint connects do not count, nor do links that
touch in the middle of the joints' ranges: collision shapes of neighbours often overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ropes.errors import UserError
from ropes.simulation.availability import locate
from ropes.simulation.bullet import BulletScene, quiet
from ropes.simulation.kinematics import link_poses
from ropes.simulation.scene import resolve_urdf
from ropes.simulation.settings import Robot
from ropes.simulation.surface import read_surface
from ropes.simulation.urdf import Urdf, read_urdf

Floats = NDArray[np.float64]
#: Smallest distance that counts as free, metres.
CLEARANCE = 0.01
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
        UserError: a file is missing or not a URDF, or there is no such joint.
    """

    def __init__(self, robot: Robot, joints: Sequence[str], middle: Floats, workspace: Workspace) -> None:
        super().__init__()
        path = locate(robot.urdf)
        self._urdf, self._robot, self._joints = read_urdf(path), robot, tuple(joints)
        for name in self._joints:
            self._urdf.joint(name)
        self._workspace = workspace
        bullet, client = self._bullet, self._client
        with quiet():
            try:
                self._body = bullet.loadURDF(
                    str(path), useFixedBase=True, flags=bullet.URDF_USE_SELF_COLLISION, physicsClientId=client
                )
            except bullet.error as error:
                self.close()
                raise UserError(f"PyBullet cannot load {path}: {error}") from error
        plane = bullet.createCollisionShape(bullet.GEOM_PLANE, physicsClientId=client)
        height = [0.0, 0.0, workspace.table]
        self._table = bullet.createMultiBody(0, plane, basePosition=height, physicsClientId=client)
        infos = [bullet.getJointInfo(self._body, k, physicsClientId=client) for k in range(self._count)]
        self._index = {info[1].decode(): info[0] for info in infos}
        self._names = {-1: self._urdf.base} | {info[0]: info[12].decode() for info in infos}
        self._rigid = self._rigid_groups()
        self._boxes = _boxes(read_urdf(resolve_urdf(robot, "simplified")), self._moving_links())
        for name, value in robot.neutral.items():
            bullet.resetJointState(self._body, self._index[name], value, physicsClientId=client)
        self.ignored = self._leave_out(middle)

    @property
    def _count(self) -> int:
        return int(self._bullet.getNumJoints(self._body, physicsClientId=self._client))

    def first(self, poses: Floats) -> Collision | None:
        """The first pose (n, joints), in radians, that is not free; None if all are."""
        outside = self._outside(poses)
        for number, pose in enumerate(poses if outside is None else poses[: outside.pose]):
            if contact := self._contact(pose):
                return Collision(number, contact)
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

    def _contact(self, pose: Floats) -> str | None:
        """What touches in one pose, in words."""
        for pair in self._touching(pose):
            if pair not in self.ignored:
                one, other = sorted(pair)
                return f"{one} touches {other}"
        return None

    def _touching(self, pose: Floats) -> list[frozenset[str]]:
        """Pairs of names of links, or the table, nearer than `CLEARANCE`."""
        bullet, client = self._bullet, self._client
        for name, angle in zip(self._joints, pose.tolist(), strict=True):
            bullet.resetJointState(self._body, self._index[name], angle, physicsClientId=client)
        bullet.performCollisionDetection(physicsClientId=client)
        pairs = []
        for contact in bullet.getContactPoints(bodyA=self._body, physicsClientId=client):
            if contact[8] < CLEARANCE:
                other = "the table" if contact[2] == self._table else self._names[contact[4]]
                pairs.append(frozenset((self._names[contact[3]], other)))
        return pairs

    def _leave_out(self, middle: Floats) -> frozenset[frozenset[str]]:
        """Turn the contacts of neighbours off; returns those pairs of other links that touch in the middle pose."""
        links = range(-1, self._count)
        moving = self._moving_links()
        for one, other in combinations(links, 2):
            if self._neighbours(one, other):
                self._ignore(self._body, one, other)
        for link in links:
            if self._names[link] not in moving:
                self._ignore(self._table, link, -1)
        ignored = frozenset(pair for pair in self._touching(middle) if "the table" not in pair)
        for one, other in combinations(links, 2):
            if frozenset((self._names[one], self._names[other])) in ignored:
                self._ignore(self._body, one, other)
        return ignored

    def _ignore(self, body: int, one: int, other: int) -> None:
        self._bullet.setCollisionFilterPair(self._body, body, one, other, 0, physicsClientId=self._client)

    def _rigid_groups(self) -> dict[int, int]:
        """Link → the first link of those that fixed joints join it to."""
        groups = {-1: -1}
        for k in range(self._count):
            info = self._bullet.getJointInfo(self._body, k, physicsClientId=self._client)
            groups[k] = groups[info[16]] if info[2] == self._bullet.JOINT_FIXED else k
        return groups

    def _neighbours(self, one: int, other: int) -> bool:
        """Whether two links, the later one last, are rigidly connected, or by one joint."""
        parent = self._bullet.getJointInfo(self._body, other, physicsClientId=self._client)[16]
        return parent == one or self._rigid[one] == self._rigid[other]

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
