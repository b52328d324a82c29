"""Collision shapes, masses and motors of a URDF, for engines without a URDF reader of their own."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np

from ropes.common.arrays import Floats
from ropes.errors import UserError
from ropes.simulation.joints import origin_of
from ropes.simulation.kinematics import hull
from ropes.simulation.surface import read_surface
from ropes.simulation.urdf import Urdf, Visual, incomplete, read_shape


@dataclass(frozen=True, kw_only=True, eq=False)
class Inertia:
    """Mass of a link, kg; its centre (3,), metres, and inertia about it (3, 3), kg m², in the link's frame."""

    mass: float
    centre: Floats
    tensor: Floats


def collision_shapes(urdf: Urdf) -> list[Visual]:
    """The collision shapes of all links; as in PyBullet, those whose mesh is missing are left out.

    Raises:
        UserError: a shape is incomplete.
    """
    shapes = []
    for link in ET.parse(urdf.path).getroot().findall("link"):
        for element in link.findall("collision"):
            try:
                shapes.append(read_shape(urdf.path, link.attrib["name"], element, {}))
            except UserError:  # no such mesh
                continue
            except (KeyError, ValueError) as error:
                raise incomplete(urdf.path, error) from error
    return shapes


def convex_hull(shape: Visual) -> Floats | None:
    """Corners (n, 3) of the convex hull of a mesh, in the shape's frame; None where the mesh cannot be read."""
    assert shape.mesh is not None
    try:
        return hull(read_surface(shape.mesh).points * shape.scale)
    except UserError:
        return None


def inertias(urdf: Urdf) -> dict[str, Inertia]:
    """Link → its inertia, of the links for which the URDF gives a positive mass.

    Raises:
        UserError: an entry is not a number.
    """
    found = {}
    for link in ET.parse(urdf.path).getroot().findall("link"):
        inertial = link.find("inertial")
        mass, tensor = (None, None) if inertial is None else (inertial.find("mass"), inertial.find("inertia"))
        if inertial is None or mass is None or _number(urdf, mass, "value") <= 0:
            continue
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        entries = {name: 0.0 if tensor is None else _number(urdf, tensor, name) for name in names}
        xx, xy, xz, yy, yz, zz = entries.values()
        pose = origin_of(inertial)
        turned = pose[:3, :3] @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ pose[:3, :3].T
        found[link.attrib["name"]] = Inertia(mass=_number(urdf, mass, "value"), centre=pose[:3, 3], tensor=turned)
    return found


def efforts(urdf: Urdf) -> dict[str, float]:
    """Joint → the largest torque of its motor in N m (force in N), where the URDF gives one above zero.

    Raises:
        UserError: an entry is not a number.
    """
    found = {}
    for joint in ET.parse(urdf.path).getroot().findall("joint"):
        limit = joint.find("limit")
        if limit is not None and (effort := _number(urdf, limit, "effort")) > 0:
            found[joint.attrib["name"]] = effort
    return found


def _number(urdf: Urdf, element: ET.Element, name: str) -> float:
    """A number of an element; 0 where it is missing."""
    try:
        return float(element.get(name, 0))
    except ValueError as error:
        raise UserError(f"{urdf.path} is not a complete URDF file: {name} of <{element.tag}>: {error}") from error
