"""Distances of links and motors of an arm by PyBullet."""

from collections.abc import Mapping, Sequence

import numpy as np

from ropes.common.arrays import Floats
from ropes.simulation.bullet import BulletScene
from ropes.simulation.physics import CLEARANCE, EFFORT, RATE, LinkDistances, Motors
from ropes.simulation.urdf import Urdf


class BulletDistances(BulletScene, LinkDistances):
    """Distances by PyBullet; see `ropes.simulation.physics.link_distances` for arguments and errors."""

    def __init__(self, urdf: Urdf, table: float) -> None:
        super().__init__()
        bullet, client = self._bullet, self._client
        self._body, infos = self._load(urdf.path, bullet.URDF_USE_SELF_COLLISION)
        plane = bullet.createCollisionShape(bullet.GEOM_PLANE, physicsClientId=client)
        height = [0.0, 0.0, table]
        self._table = bullet.createMultiBody(0, plane, basePosition=height, physicsClientId=client)
        self._joint = {info[1].decode(): info[0] for info in infos}
        self._link = {urdf.base: -1} | {info[12].decode(): info[0] for info in infos}
        shapes = bullet.getCollisionShapeData
        self.shaped = frozenset(
            name for name, link in self._link.items() if shapes(self._body, link, physicsClientId=client)
        )

    def place(self, values: Mapping[str, float]) -> None:
        """See `LinkDistances`."""
        for name, value in values.items():
            self._bullet.resetJointState(self._body, self._joint[name], float(value), physicsClientId=self._client)

    def are_close(self, one: str, other: str) -> bool:
        """See `LinkDistances`."""
        return self._close(one, self._body, self._link[other])

    def is_close_to_table(self, link: str) -> bool:
        """See `LinkDistances`."""
        return self._close(link, self._table, -1)

    def _close(self, name: str, body: int, other: int) -> bool:
        # Contact points of a simulation step do not do: of small links they end at a few millimetres.
        link = self._link[name]
        found = self._bullet.getClosestPoints(self._body, body, CLEARANCE, link, other, physicsClientId=self._client)
        return bool(found)


class BulletMotors(BulletScene, Motors):
    """PyBullet's position motors; see `ropes.simulation.physics.motors` for arguments and errors."""

    def __init__(self, urdf: Urdf, order: Sequence[str], start: Floats) -> None:
        super().__init__()
        bullet, client = self._bullet, self._client
        self._body, infos = self._load(urdf.path)
        bullet.setGravity(0, 0, -9.81, physicsClientId=client)
        bullet.setTimeStep(1 / RATE, physicsClientId=client)
        for link in range(-1, len(infos)):
            bullet.setCollisionFilterGroupMask(self._body, link, 0, 0, physicsClientId=client)
        by_name = {info[1].decode(): info for info in infos}
        self._index = [by_name[name][0] for name in order]
        self._efforts = [by_name[name][10] or EFFORT for name in order]
        for index, angle in zip(self._index, start.tolist(), strict=True):
            bullet.resetJointState(self._body, index, angle, physicsClientId=client)

    def step(self, goals: Floats) -> Floats:
        """See `Motors`."""
        bullet, client = self._bullet, self._client
        bullet.setJointMotorControlArray(
            self._body,
            self._index,
            bullet.POSITION_CONTROL,
            targetPositions=goals.tolist(),
            forces=self._efforts,
            physicsClientId=client,
        )
        bullet.stepSimulation(physicsClientId=client)
        states = bullet.getJointStates(self._body, self._index, physicsClientId=client)
        return np.array([state[0] for state in states])
