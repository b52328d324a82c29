"""Distances of links and motors of an arm by MuJoCo."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ropes.common.arrays import Floats
from ropes.errors import UserError
from ropes.simulation.kinematics import link_poses
from ropes.simulation.mujoco_arm import geometry, placed
from ropes.simulation.off_screen import import_mujoco
from ropes.simulation.physics import CLEARANCE, EFFORT, RATE, LinkDistances, Motors
from ropes.simulation.urdf import Urdf
from ropes.simulation.urdf_bodies import Inertia, collision_shapes, convex_hull, efforts, inertias

#: Cut-off of the motors' loop, rad/s: it follows a ramp 2 / 31 s late.
_BANDWIDTH = 2 * math.pi * 5
#: Of links for which the URDF gives no mass; kg m² of a motor's rotor, and added to each link's inertia, which some
#: files give as zero.
_LIGHT = Inertia(mass=0.05, centre=np.zeros(3), tensor=1e-4 * np.eye(3))
_ROTOR, _SMALLEST = 1e-3, 1e-7
#: Least thickness of a mesh, metres.
_THINNEST = 1e-3


class MujocoDistances(LinkDistances):
    """Distances by MuJoCo; see `ropes.simulation.physics.link_distances` for arguments and errors."""

    def __init__(self, urdf: Urdf, table: float) -> None:
        self._mujoco = mujoco = import_mujoco()
        self._urdf = urdf
        spec = mujoco.MjSpec()
        numbers: dict[str, list[int]] = {}
        unread = set[str]()
        for shape in collision_shapes(urdf):
            points = None if shape.mesh is None else convex_hull(shape)
            if shape.mesh is not None and points is None:
                unread.add(shape.link)
                continue
            if shape.link not in numbers:
                numbers[shape.link] = []
                spec.worldbody.add_body(name=f"link {shape.link}", mocap=True)
            count = sum(map(len, numbers.values()))
            kind = geometry(mujoco, shape)
            if points is not None:
                spec.add_mesh(name=str(count), uservert=_solid(points).ravel())
                kind = {"type": mujoco.mjtGeom.mjGEOM_MESH, "meshname": str(count)}
            spec.body(f"link {shape.link}").add_geom(name=f"geom {count}", **placed(mujoco, shape.origin), **kind)
            numbers[shape.link].append(count)
        spec.worldbody.add_geom(name="table", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 1], pos=[0, 0, table])
        self._model = _compiled(spec, urdf)
        self._data = mujoco.MjData(self._model)
        self._geoms = {link: [self._model.geom(f"geom {k}").id for k in own] for link, own in numbers.items()}
        self._plane = self._model.geom("table").id
        self._mocap = {link: int(self._model.body(f"link {link}").mocapid[0]) for link in numbers}
        self.shaped, self.unread = frozenset(numbers), frozenset(unread)

    def place(self, values: Mapping[str, float]) -> None:
        """See `LinkDistances`."""
        angles = np.array([[values[name] for name in self._urdf.moving]])
        poses = link_poses(self._urdf, tuple(self._urdf.moving), angles, {})
        for link, number in self._mocap.items():
            self._data.mocap_pos[number] = poses[link][0, :3, 3]
            self._data.mocap_quat[number] = placed(self._mujoco, poses[link][0])["quat"]
        self._mujoco.mj_kinematics(self._model, self._data)

    def are_close(self, one: str, other: str) -> bool:
        """See `LinkDistances`."""
        return any(self._close(a, b) for a in self._geoms[one] for b in self._geoms[other])

    def is_close_to_table(self, link: str) -> bool:
        """See `LinkDistances`."""
        return any(self._close(geom, self._plane) for geom in self._geoms[link])

    def _close(self, one: int, other: int) -> bool:
        distance = self._mujoco.mj_geomDistance(self._model, self._data, one, other, 2 * CLEARANCE, None)
        return bool(distance < CLEARANCE)

    def close(self) -> None:
        """MuJoCo's memory is freed with this object."""


class MujocoMotors(Motors):
    """Motors with computed torque: each joint follows its goal as a critically damped oscillator.

    τ = M(q) (ω² (goal − q) − 2 ω q̇) + C(q, q̇) + g(q), within the motors' efforts.  Joints do not stop at their limits:
    goals must lie within them.  See
    `ropes.simulation.physics.motors` for arguments and errors.
    """

    def __init__(self, urdf: Urdf, order: Sequence[str], start: Floats) -> None:
        self._mujoco = mujoco = import_mujoco()
        spec = mujoco.MjSpec()
        spec.option.timestep = 1 / RATE
        spec.compiler.balanceinertia = True
        known, bodies = inertias(urdf), {urdf.base: spec.worldbody}
        for joint in urdf.joints:
            own = known.get(joint.child, _LIGHT)
            tensor = own.tensor + _SMALLEST * np.eye(3)
            if np.linalg.eigvalsh(tensor).min() <= 0:  # of no body
                tensor = _LIGHT.tensor
            body = bodies[joint.parent].add_body(
                name=joint.child,
                **placed(mujoco, joint.origin),
                mass=own.mass,
                ipos=own.centre,
                fullinertia=tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
                explicitinertial=True,
            )
            if joint.moves:
                slides = joint.kind == "prismatic"
                kind = mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE
                body.add_joint(name=joint.name, type=kind, axis=joint.axis, armature=_ROTOR)
            bodies[joint.child] = body
        self._model = _compiled(spec, urdf)
        self._data = mujoco.MjData(self._model)
        self._place = np.array([int(self._model.joint(name).qposadr[0]) for name in order])
        torques = efforts(urdf)
        self._efforts = np.array([torques.get(name, EFFORT) for name in order])
        self._data.qpos[self._place] = start
        mujoco.mj_forward(self._model, self._data)

    def step(self, goals: Floats) -> Floats:
        """See `Motors`."""
        mujoco, model, data, place = self._mujoco, self._model, self._data, self._place
        wanted = np.zeros(model.nv)
        wanted[place] = _BANDWIDTH**2 * (goals - data.qpos[place]) - 2 * _BANDWIDTH * data.qvel[place]
        torque = np.empty(model.nv)
        mujoco.mj_mulM(model, data, torque, wanted)
        torque += data.qfrc_bias
        data.qfrc_applied[place] = np.clip(torque[place], -self._efforts, self._efforts)
        mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        return np.array(data.qpos[place])

    def close(self) -> None:
        """MuJoCo's memory is freed with this object."""


def _solid(points: Floats) -> Floats:
    """Corners of a hull with a volume: a flat or thin one is thickened to `_THINNEST` along its thinnest axis."""
    centred = points - points.mean(axis=0)
    axis = np.linalg.svd(centred, full_matrices=True)[2][-1]
    if np.ptp(centred @ axis) >= _THINNEST:
        return points
    return np.concatenate([points + sign * _THINNEST / 2 * axis for sign in (-1, 1)])


def _compiled(spec: Any, urdf: Urdf) -> Any:
    """The model of a specification.

    Raises:
        UserError: MuJoCo refuses a shape or a joint.
    """
    try:
        return spec.compile()
    except ValueError as error:
        raise UserError(f"MuJoCo cannot use {urdf.path}: {' '.join(str(error).split())}") from error
