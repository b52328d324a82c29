"""Reads and writes triangle meshes for PyBullet's renderer: one colour and at most one texture per file."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.errors import UserError


@dataclass(frozen=True, kw_only=True, eq=False)
class Surface:
    """Triangles with a normal, and optionally a texture coordinate, at each corner.

    Attributes:
        points: (n, 3) vertices.
        faces: (m, 3) indices of vertices.
        normals: (m, 3, 3) unit normals at the corners of each triangle.
        uv: (m, 3, 2) texture coordinates at the corners, or None.
        parts: (m,) number of each triangle's part, a run of one material in the file.
    """

    points: Floats
    faces: NDArray[np.int64]
    normals: Floats
    uv: Floats | None
    parts: NDArray[np.int64]


def read_surface(path: Path) -> Surface:
    """Read an .obj, .stl or .dae file.

    Raises:
        UserError: another kind of file, a damaged file, or a missing reader.
    """
    try:
        match path.suffix.lower():
            case ".obj":
                return _read_obj(path)
            case ".stl" | ".dae":
                return _read_with_trimesh(path)
    except ImportError as error:
        raise UserError(f"reading {path} needs pycollada: pip install pycollada, or use --mesh full") from error
    except _damages() as error:
        raise UserError(f"{path} is not a readable mesh ({error}); restore it") from error
    raise UserError(f"{path} is not a mesh that PyBullet draws: use .obj, .stl or .dae")


def _damages() -> tuple[type[Exception], ...]:
    """The errors of damaged files, with those of pycollada where a file needed it."""
    errors = (ValueError, IndexError, KeyError, TypeError, AttributeError)
    collada = sys.modules.get("collada")
    return errors if collada is None else (*errors, collada.DaeError)


def texture_of(path: Path) -> Path | None:
    """The texture that PyBullet applies to an .obj file: the first existing one of its material file."""
    if path.suffix.lower() != ".obj":
        return None
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for library in (line.split(maxsplit=1)[1].strip() for line in lines if line.startswith("mtllib ")):
        if not (path.parent / library).is_file():
            continue
        for line in (path.parent / library).read_text(encoding="utf-8", errors="replace").splitlines():
            if line.strip().startswith("map_Kd "):
                texture = path.parent / line.strip().split(maxsplit=1)[1]
                if texture.is_file():
                    return texture
    return None


def write_obj(path: Path, surface: Surface, texture: str | None) -> None:
    """Write `surface` as .obj; with `texture`, a file in the same folder, also write a material file."""
    lines = []
    if texture:
        path.with_suffix(".mtl").write_text(f"newmtl surface\nKd 1 1 1\nmap_Kd {texture}\n", encoding="utf-8")
        lines += [f"mtllib {path.stem}.mtl"]
    lines += [f"v {x:.7f} {y:.7f} {z:.7f}" for x, y, z in surface.points]
    lines += [f"vn {x:.4f} {y:.4f} {z:.4f}" for x, y, z in surface.normals.reshape(-1, 3)]
    if surface.uv is not None:
        lines += [f"vt {u:.6f} {v:.6f}" for u, v in surface.uv.reshape(-1, 2)]
    if texture:
        lines += ["usemtl surface"]
    for k, face in enumerate(surface.faces):
        corners = range(3 * k + 1, 3 * k + 4)
        uv = [str(c) if surface.uv is not None else "" for c in corners]
        lines += ["f " + " ".join(f"{v + 1}/{t}/{c}" for v, t, c in zip(face, uv, corners, strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def flat_normals(points: Floats, faces: NDArray[np.int64]) -> Floats:
    """The normal of each triangle, repeated for its three corners, (m, 3, 3); zero for a triangle without area."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    unit = np.divide(normals, length, out=np.zeros_like(normals), where=length > 0)
    return np.repeat(unit[:, None], 3, axis=1)


def _read_obj(path: Path) -> Surface:
    lines: dict[str, list[str]] = {"v": [], "vt": [], "vn": [], "f": []}
    parts: list[int] = []
    part = 0
    defined = dict[int, list[int]]()  # face with negative indices → numbers of v, vt and vn before it
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            word, _, rest = line.partition(" ")
            if word == "usemtl":
                part += 1
            elif word in lines:
                if word == "f":
                    parts.append(part)
                    if "-" in rest:
                        defined[len(lines["f"])] = [len(lines[kind]) for kind in ("v", "vt", "vn")]
                lines[word].append(rest)
    if not parts:
        raise ValueError("no triangles")
    polygons = [line.split() for line in lines["f"]]
    sizes = np.array([len(polygon) for polygon in polygons])
    before = np.zeros((len(polygons), 3), dtype=np.int64)
    for face, counts in defined.items():
        before[face] = counts
    index = _corners([corner for polygon in polygons for corner in polygon])
    index = np.where(index < 0, index + np.repeat(before, sizes, axis=0), index - 1)
    spans = zip((np.cumsum(sizes) - sizes).tolist(), sizes.tolist(), strict=True)
    fans = [(start, start + k, start + k + 1) for start, size in spans for k in range(1, size - 1)]
    if not fans:
        raise ValueError("no triangles")
    triangles = index[np.array(fans, dtype=np.int64)]
    faces, uvs, normals = np.moveaxis(triangles, -1, 0)
    points, directions = _numbers(lines["v"], 3), _numbers(lines["vn"], 3)
    return Surface(
        points=points,
        faces=faces,
        normals=directions[normals] if (normals >= 0).all() else flat_normals(points, faces),
        uv=_texture_coordinates(_numbers(lines["vt"], 2), uvs),
        parts=np.repeat(parts, np.maximum(sizes - 2, 0)),
    )


def _numbers(lines: list[str], count: int) -> Floats:
    """The first numbers of each line, (lines, count)."""
    return np.loadtxt(lines, usecols=range(count), ndmin=2) if lines else np.empty((0, count))


def _corners(texts: list[str]) -> NDArray[np.int64]:
    """Indices (vertex, texture, normal) of each "v/vt/vn", as in the file, from 1; 0 if omitted."""
    if any(text.count("/") != 2 for text in texts):
        texts = ["/".join([*text.split("/"), "", ""][:3]) for text in texts]
    numbers = [int(part) if part else 0 for part in "/".join(texts).split("/")]
    return np.array(numbers, dtype=np.int64).reshape(-1, 3)


def _texture_coordinates(values: Floats, index: NDArray[np.int64]) -> Floats | None:
    """Texture coordinates at each corner; as in PyBullet, the middle where the file has none."""
    if not len(values):
        return None
    return np.where((index >= 0)[..., None], values[np.maximum(index, 0)], 0.5)


def _read_with_trimesh(path: Path) -> Surface:
    import trimesh

    loaded: Any = trimesh.load(path, process=False)
    if isinstance(loaded, trimesh.Scene):
        if not loaded.geometry:
            raise ValueError("no triangles")
        loaded = loaded.to_geometry()
        if path.suffix.lower() == ".dae":
            loaded.apply_scale(_collada_unit(path))
    points, faces = np.asarray(loaded.vertices, dtype=np.float64), np.asarray(loaded.faces, dtype=np.int64)
    normals = flat_normals(points, faces)
    if path.suffix.lower() == ".dae":
        normals = np.asarray(loaded.vertex_normals)[faces]
    return Surface(points=points, faces=faces, normals=normals, uv=None, parts=np.zeros(len(faces), dtype=np.int64))


def _collada_unit(path: Path) -> float:
    """Metres per unit of a .dae file, which trimesh does not apply."""
    import collada

    return float(collada.Collada(str(path)).assetInfo.unitmeter or 1.0)
