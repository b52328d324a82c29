"""The visible shapes of a URDF as bodies of a MuJoCo model."""

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ropes.common.arrays import Floats
from ropes.errors import UserError
from ropes.simulation.room import TEXTURE, add_material
from ropes.simulation.surface import Surface, read_surface, texture_of
from ropes.simulation.urdf import Urdf, Visual

#: Normals merge where these multiples of them round to the same integers.
_BINS = 2
_LIGHT_GREY = np.array([0.8, 0.8, 0.8, 1.0])
#: Of scenes with highlights, for which pure white leaves no room.
BRIGHTEST = 0.9


def add_arm(mujoco: ModuleType, spec: Any, urdf: Urdf, brightest: float = BRIGHTEST) -> dict[str, str]:
    """Add each visible link as a body that is placed by hand (`mocap`); `brightest` is the level of pure white.

    Returns:
        Link → name of its body.

    Raises:
        UserError: a mesh or its texture cannot be read.
    """
    meshes: dict[tuple[Path, ...], str] = {}
    bodies: dict[str, str] = {}
    for link in urdf.links:
        shapes = [visual for visual in urdf.visuals if visual.link == link]
        if not shapes:
            continue
        bodies[link] = f"link {link}"
        body = spec.worldbody.add_body(name=bodies[link], mocap=True)
        for visual in shapes:
            body.add_geom(**_shape(mujoco, spec, visual, meshes, brightest))
    return bodies


def _shape(mujoco: ModuleType, spec: Any, visual: Visual, meshes: dict[Any, str], brightest: float) -> dict[str, Any]:
    """One shape of a link as the arguments of `add_geom`."""
    colour = _LIGHT_GREY if visual.colour is None else np.clip(visual.colour, 0, 1)
    rgba = [*(brightest * colour[:3]), colour[3]]
    shape: dict[str, Any] = {**placed(mujoco, visual.origin), "rgba": rgba}
    if visual.mesh is None:
        return shape | geometry(mujoco, visual)
    key = (visual.mesh, *visual.scale)
    if key not in meshes:
        meshes[key] = f"{len(meshes)}-{visual.mesh.stem}"
        _add_mesh(mujoco, spec, meshes[key], visual)
    shape |= {"type": mujoco.mjtGeom.mjGEOM_MESH, "meshname": meshes[key]}
    texture = texture_of(visual.mesh)
    if texture is None:
        return shape
    name = f"texture {texture}"
    if name not in [material.name for material in spec.materials]:
        add_material(mujoco, spec, name, _texture(texture))
    # As in PyBullet, a texture replaces the default colour.
    return shape | {"material": name, "rgba": [brightest] * 3 + [1] if visual.colour is None else rgba}


def placed(mujoco: ModuleType, pose: Floats) -> dict[str, Floats]:
    """A pose (4, 4) as arguments of `add_body` and `add_geom`."""
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(pose[:3, :3]).ravel())
    return {"pos": pose[:3, 3], "quat": quaternion}


def geometry(mujoco: ModuleType, shape: Visual) -> dict[str, Any]:
    """Type and size of a primitive as arguments of `add_geom`; empty for a mesh."""
    if shape.mesh is not None:
        return {}
    kinds, half = mujoco.mjtGeom, shape.corners.max(axis=0)
    sizes = {
        "box": (kinds.mjGEOM_BOX, half),
        "sphere": (kinds.mjGEOM_SPHERE, half),
        "cylinder": (kinds.mjGEOM_CYLINDER, [half[0], half[2], 0]),
        "capsule": (kinds.mjGEOM_CAPSULE, [half[0], half[2] - half[0], 0]),
    }
    return dict(zip(("type", "size"), sizes[shape.kind], strict=True))


def _add_mesh(mujoco: ModuleType, spec: Any, name: str, visual: Visual) -> None:
    """Add the mesh of a shape, with its texture coordinates where it has a texture."""
    assert visual.mesh is not None
    surface, texture = read_surface(visual.mesh), texture_of(visual.mesh)
    points, normals, uv, faces = welded(surface, None if texture is None else _texture(texture))
    if np.prod(visual.scale) < 0:  # a mirrored mesh turns its triangles inside out
        faces = faces[:, ::-1]
    # MuJoCo's first row of a texture is the highest.
    coordinates = {} if uv is None else {"usertexcoord": (uv * [1, -1] + [0, 1]).ravel()}
    spec.add_mesh(
        name=name,
        uservert=(points * visual.scale).ravel(),
        usernormal=(normals / visual.scale).ravel(),
        userface=faces.ravel(),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
        **coordinates,
    )


def welded(
    surface: Surface, texture: NDArray[np.uint8] | None
) -> tuple[Floats, Floats, Floats | None, NDArray[np.int64]]:
    """Merge corners at the same place with similar normals and the same colour.

    Drawing full meshes then takes a sixth less time.

    Args:
        surface: the triangles.
        texture: pixels (side, side, 3); None to leave texture coordinates out.

    Returns:
        Vertices (n, 3), unit normals (n, 3), texture coordinates (n, 2) or None, and triangles (m, 3).
    """
    normals = surface.normals.reshape(-1, 3)
    keys = [surface.faces.reshape(-1, 1).astype(np.float64), np.round(normals * _BINS)]
    uv = None
    if texture is not None and surface.uv is not None:
        uv = _palette(surface.uv, texture).reshape(-1, 2)
        keys.append(uv)
    _, first, index = np.unique(np.concatenate(keys, axis=1), axis=0, return_index=True, return_inverse=True)
    index = index.reshape(-1)
    means = np.zeros((len(first), 3))
    np.add.at(means, index, normals)
    length = np.linalg.norm(means, axis=1, keepdims=True)
    means = np.where(length > 0, means / np.maximum(length, 1e-12), [0.0, 0.0, 1.0])
    points = surface.points[surface.faces.reshape(-1)[first]]
    return points, means, None if uv is None else uv[first], index.reshape(-1, 3)


def _palette(uv: Floats, texture: NDArray[np.uint8]) -> Floats:
    """Texture coordinates (m, 3, 2) with one place for each colour, where every triangle has one colour."""
    if (np.ptp(uv, axis=1) > 0).any():
        return uv
    side = len(texture)
    column, row = (uv[:, 0] * [1, -1] % 1 * side).astype(int).clip(0, side - 1).T
    colours = texture[row, column] // 8
    _, first, index = np.unique(colours, axis=0, return_index=True, return_inverse=True)
    return np.repeat(uv[first][index.reshape(-1)][:, :1], 3, axis=1)


def _texture(path: Path) -> NDArray[np.uint8]:
    """The pixels of a texture, (TEXTURE, TEXTURE, 3), averaged over area."""
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("RGB").resize((TEXTURE, TEXTURE), Image.Resampling.BOX))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is not a readable texture ({error}); restore it") from error
