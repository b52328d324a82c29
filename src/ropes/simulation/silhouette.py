"""Draws an arm in software: its silhouette and a shaded picture, from triangles and a pinhole camera.

A silhouette is the union of the projected triangles.  The shaded picture paints triangles from far to near.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from ropes.common.arrays import Floats
from ropes.simulation.mesh import simplified_urdf
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.surface import read_surface
from ropes.simulation.urdf import Urdf, Visual, read_urdf

#: Radius of the rods that stand for an arm without shapes, as a share of its reach.
_ROD = 0.03
#: Nearest depth that is drawn, metres.
_NEAR = 1e-3
#: Grey levels of triangles parallel to the line of sight and facing the camera.
_DARK, _LIGHT = 70, 225
#: Radius and height above the base of what the overview shows, as shares of the reach.
_SHOWN, _MIDDLE = 0.72, 0.4
_WHITE = 255


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles: points (n, 3) in metres, and faces (m, 3), indices of points."""

    points: Floats
    faces: NDArray[np.int64]


def link_meshes(urdf: Urdf) -> dict[str, Mesh]:
    """The visible triangles of each link, in the link's frame.

    Mesh files are simplified, see `ropes.simulation.mesh`.  An arm without shapes gets a rod between each two joints.

    Raises:
        UserError: a mesh cannot be read, or the mesh cache cannot be written.
    """
    if not urdf.visuals:
        return _rods(urdf)
    if any(visual.mesh for visual in urdf.visuals):
        urdf = read_urdf(simplified_urdf(urdf.path))
    parts: dict[str, list[Mesh]] = {}
    for visual in urdf.visuals:
        parts.setdefault(visual.link, []).append(_shape(visual))
    return {link: _joined(meshes) for link, meshes in parts.items()}


def reach(urdf: Urdf) -> float:
    """An upper bound of the distance of any joint from the base, metres."""
    distances = {urdf.base: 0.0}
    for joint in urdf.joints:
        travel = max(abs(joint.low), abs(joint.high)) if joint.kind == "prismatic" else 0.0
        distances[joint.child] = distances[joint.parent] + float(np.linalg.norm(joint.origin[:3, 3])) + travel
    return max(max(distances.values()), 0.1)


def silhouette(meshes: Mapping[str, Mesh], poses: Mapping[str, Floats], camera: Pinhole) -> NDArray[np.bool_]:
    """Where the arm is in an image, (height, width).

    Args:
        meshes: of `link_meshes`.
        poses: link → pose (4, 4) in the base frame.
        camera: the camera.
    """
    canvas = Image.new("L", (camera.width, camera.height))
    draw = ImageDraw.Draw(canvas)
    for corners, _, _ in _triangles(meshes, poses, camera):
        for corner in corners.tolist():
            draw.polygon(corner, fill=1)
    return np.asarray(canvas) > 0


def shaded(meshes: Mapping[str, Mesh], poses: Mapping[str, Floats], camera: Pinhole) -> NDArray[np.uint8]:
    """A grey picture of the arm on white, lit from the camera, (height, width); arguments as of `silhouette`."""
    canvas = Image.new("L", (camera.width, camera.height), _WHITE)
    draw = ImageDraw.Draw(canvas)
    drawn = list(_triangles(meshes, poses, camera))
    if not drawn:
        return np.asarray(canvas)
    corners, depths, facing = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    levels = np.round(_DARK + (_LIGHT - _DARK) * facing).astype(int)
    order = np.argsort(-depths)
    for corner, level in zip(corners[order].tolist(), levels[order].tolist(), strict=True):
        draw.polygon(corner, fill=level)
    return np.asarray(canvas)


def overview(arm_reach: float, side: int) -> Pinhole:
    """A camera that looks at an upright arm of this reach from the front left, in square images of this side."""
    radius, distance = _SHOWN * arm_reach, 2.2 * arm_reach
    yaw, pitch = np.radians(40), np.radians(20)
    forward = -np.array([np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw), np.sin(pitch)])
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    pose = np.eye(4)
    pose[:3, :3] = right, np.cross(forward, right), forward
    pose[:3, 3] = np.array([0.0, 0.0, distance]) - pose[:3, :3] @ np.array([0.0, 0.0, _MIDDLE * arm_reach])
    focal = side / 2 * np.sqrt(distance**2 - radius**2) / radius  # a sphere of this radius touches the border
    intrinsics = np.array([[focal, 0, side / 2], [0, focal, side / 2], [0, 0, 1]])
    return Pinhole(name="overview", intrinsics=intrinsics, extrinsics=pose, height=side, width=side)


def _triangles(
    meshes: Mapping[str, Mesh], poses: Mapping[str, Floats], camera: Pinhole
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Per link: corners (m, 6) for Pillow, mean depths (m,), and how far triangles face the camera (m,) in [0, 1]."""
    for link, mesh in meshes.items():
        pose = poses[link]
        points = mesh.points @ pose[:3, :3].T + pose[:3, 3]
        pixels, depth = camera.project(points)
        faces = mesh.faces[(depth[mesh.faces] > _NEAR).all(axis=1)]
        seen = points @ camera.extrinsics[:3, :3].T + camera.extrinsics[:3, 3]
        a, b, c = (seen[faces[:, k]] for k in range(3))
        normals, middles = np.cross(b - a, c - a), (a + b + c) / 3
        lengths = np.linalg.norm(normals, axis=1) * np.linalg.norm(middles, axis=1)
        facing = np.abs((normals * middles).sum(axis=1)) / np.where(lengths > 0, lengths, 1)
        yield pixels[faces].reshape(-1, 6), depth[faces].mean(axis=1), facing


def _shape(visual: Visual) -> Mesh:
    """The triangles of a visual in its link's frame."""
    if visual.mesh is not None:
        surface = read_surface(visual.mesh)
        points, faces = surface.points * visual.scale, surface.faces
    else:
        points, faces = _primitive(visual)
    return Mesh(points @ visual.origin[:3, :3].T + visual.origin[:3, 3], faces)


def _primitive(visual: Visual) -> tuple[Floats, NDArray[np.int64]]:
    """Box, sphere, cylinder or capsule with the bounding box of the visual."""
    from trimesh import creation

    half = visual.corners.max(axis=0)
    match visual.kind:
        case "box":
            made = creation.box(extents=2 * half)
        case "sphere":
            made = creation.icosphere(subdivisions=2, radius=half[0])
        case "cylinder":
            made = creation.cylinder(radius=half[0], height=2 * half[2], sections=24)
        case _:
            made = creation.capsule(radius=half[0], height=2 * (half[2] - half[0]), count=[16, 16])
            made.apply_translation(-made.bounds.mean(axis=0))
    return np.asarray(made.vertices, dtype=np.float64), np.asarray(made.faces, dtype=np.int64)


def _rods(urdf: Urdf) -> dict[str, Mesh]:
    """A rod from each joint to the next, in the frame of the link between them."""
    from trimesh import creation

    radius = _ROD * reach(urdf)
    parts: dict[str, list[Mesh]] = {}
    for joint in urdf.joints:
        end = joint.origin[:3, 3]
        if np.linalg.norm(end) > 1e-6:
            made = creation.cylinder(radius=radius, segment=[np.zeros(3), end], sections=12)
            rod = Mesh(np.asarray(made.vertices, dtype=np.float64), np.asarray(made.faces, dtype=np.int64))
            parts.setdefault(joint.parent, []).append(rod)
    return {link: _joined(meshes) for link, meshes in parts.items()}


def _joined(meshes: list[Mesh]) -> Mesh:
    starts = np.cumsum([0, *(len(mesh.points) for mesh in meshes)])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts[:-1], strict=True)]
    return Mesh(np.concatenate([mesh.points for mesh in meshes]), np.concatenate(faces))
