"""Simplifies the meshes of a URDF to 5% of their triangles and caches them on disk.

Small software-rendered images spend nearly all their time on triangles smaller than a pixel. Vertices come from quadric
edge collapse; where it stalls on a closed surface, up to 7.5% of the triangles stay. Normals and colours come from the
original surface, so shading and texture stay the same.
"""

import shutil
import tempfile
import xml.etree.ElementTree as ET
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ropes.common import files
from ropes.common.cached_files import mark_used
from ropes.errors import UserError
from ropes.simulation.surface import Surface, flat_normals, read_surface, texture_of, write_obj
from ropes.simulation.urdf import find_mesh, read_urdf, shapes_of

KEPT_FRACTION = 0.05
_FEWEST_OF_A_FILE, _FEWEST_OF_A_PART = 300, 50
#: Triangles, in units of the target, above which edge collapse has stalled; tolerance of `_without_needles`, in
#: diagonals of the mesh; share of the volume that it may change.
_STALLED, _TOLERANCE, _LOST = 1.5, 1 / 2000, 0.05
#: File of a copy with the SHA-256 of each of its other files.
_CHECKSUMS = "checksums.json"
# Weight of a difference in normals against a distance, in units of the mesh's diagonal.
_NORMAL_WEIGHT = 0.05


def simplified_urdf(urdf: Path, *, fraction: float = KEPT_FRACTION, cache: Path | None = None) -> Path:
    """A copy of `urdf` with about `fraction` of its triangles, made if it is not in the cache.

    Its folder is named by a checksum of all its inputs.  A copy of which a file is missing or damaged is made again.
    Links with visual shapes lose their collision shapes.

    Raises:
        UserError: there is no shape, a mesh is missing or cannot be read, or the cache cannot be written.
    """
    if not read_urdf(urdf).visuals:
        raise UserError(f"{urdf} has no <visual> or <collision>, so nothing of the arm can be drawn")
    folder = (cache or files.cache_folder()) / "meshes" / _key(urdf, fraction)
    mark_used(folder)
    if not _is_whole(folder):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            work = Path(tempfile.mkdtemp(prefix=".making-", dir=folder.parent))
        except OSError as error:
            raise UserError(
                f"cannot write the mesh cache {folder.parent} ({error.strerror}); set XDG_CACHE_HOME, or --mesh full"
            ) from error
        try:
            _make(urdf, work, fraction)
            files.write_json(work / _CHECKSUMS, {path.name: files.sha256(path) for path in sorted(work.iterdir())})
            if not _is_whole(folder):
                shutil.rmtree(folder, ignore_errors=True)
                work.rename(folder)
        except OSError as error:
            # Another process may have made the same copy meanwhile; the contents are equal.
            if not _is_whole(folder):
                raise UserError(f"cannot write the mesh cache {folder} ({error.strerror})") from error
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return folder / "robot.urdf"


def _is_whole(folder: Path) -> bool:
    """Whether a copy has all its files, as they were written."""
    try:
        checksums = files.read_json(folder / _CHECKSUMS)
        return all(files.sha256(folder / name) == checksum for name, checksum in checksums.items())
    except (AttributeError, OSError, UserError):  # no object, a missing file, or no checksums
        return False


def simplify(surface: Surface, fraction: float) -> Surface:
    """Collapse edges until about `fraction` of the triangles remains; small files and parts keep more.

    Parts are simplified separately, so no triangle crosses a border between two colours.
    """
    fraction = max(fraction, _FEWEST_OF_A_FILE / len(surface.faces))
    rows = [np.flatnonzero(surface.parts == part) for part in np.unique(surface.parts)]
    parts = [_simplify_part(surface, row, fraction) for row in rows]
    starts = np.cumsum([0, *(len(part.points) for part in parts)])
    return Surface(
        points=np.concatenate([part.points for part in parts]),
        faces=np.concatenate([part.faces + start for part, start in zip(parts, starts[:-1], strict=True)]),
        normals=np.concatenate([part.normals for part in parts]),
        uv=None if surface.uv is None else np.concatenate([part.uv for part in parts if part.uv is not None]),
        parts=np.concatenate([part.parts for part in parts]),
    )


def _simplify_part(surface: Surface, rows: NDArray[np.int64], fraction: float) -> Surface:
    """Simplify the triangles `rows` of `surface`.

    Normals come from the original corner nearest in position and direction, colours from the original triangle
    nearest to the middle of the new one.
    """
    import fast_simplification

    target = max(int(fraction * len(rows)), _FEWEST_OF_A_PART)
    uv = None if surface.uv is None else surface.uv[rows]
    points, faces = _weld(surface.points[surface.faces[rows]])
    if target >= len(rows):
        return Surface(points=points, faces=faces, normals=surface.normals[rows], uv=uv, parts=surface.parts[rows])
    whole = flat_normals(points, faces)[:, 0].any(axis=1)
    faces = faces[whole]
    collapsed = fast_simplification.simplify(points, faces, target_count=target)
    if len(collapsed[1]) > (more := int(_STALLED * target)):
        collapsed = _without_needles(points, faces)
        if len(collapsed[1]) > more:
            collapsed = fast_simplification.simplify(*collapsed, target_count=more)
    points, faces = np.asarray(collapsed[0], dtype=np.float64), np.asarray(collapsed[1], dtype=np.int64)
    faces = faces[flat_normals(points, faces)[:, 0].any(axis=1)]

    original = surface.points[surface.faces[rows]]
    size = float(np.linalg.norm(np.ptp(original.reshape(-1, 3), axis=0))) * _NORMAL_WEIGHT
    old_directions = size * flat_normals(surface.points, surface.faces[rows])
    directions = size * flat_normals(points, faces)
    corners = cKDTree(np.concatenate([original, old_directions], axis=2).reshape(-1, 6))
    nearest = corners.query(np.concatenate([points[faces], directions], axis=2).reshape(-1, 6))[1]
    if uv is not None:
        middles = cKDTree(np.hstack([original.mean(axis=1), old_directions[:, 0]]))
        triangles = middles.query(np.hstack([points[faces].mean(axis=1), directions[:, 0]]))[1]
        uv = np.repeat(uv[triangles].mean(axis=1, keepdims=True), 3, axis=1)
    return Surface(
        points=points,
        faces=faces,
        normals=surface.normals[rows].reshape(-1, 3)[nearest].reshape(-1, 3, 3),
        uv=uv,
        parts=np.full(len(faces), surface.parts[rows[0]]),
    )


def _without_needles(
    points: NDArray[np.float64], faces: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Merge the fans of needles by which CAD programs fill planes, on which every edge collapse would flip a triangle.

    Surfaces that are not closed stay as they are, and thin ones that would lose volume.
    """
    import manifold3d

    body = manifold3d.Manifold(manifold3d.Mesh(points.astype(np.float32), faces.astype(np.uint32)))
    if body.status() != manifold3d.Error.NoError:
        return points, faces
    simple = body.simplify(_TOLERANCE * float(np.linalg.norm(np.ptp(points, axis=0))))
    if abs(simple.volume() - body.volume()) > _LOST * body.volume():
        return points, faces
    merged = simple.to_mesh()
    return merged.vert_properties[:, :3].astype(np.float64), merged.tri_verts.astype(np.int64)


def _weld(triangles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Merge vertices at the same position; collapsing edges would tear holes along seams of repeated vertices."""
    points, index = np.unique(triangles.reshape(-1, 3).round(7), axis=0, return_inverse=True)
    return points, index.reshape(-1, 3)


def _key(urdf: Path, fraction: float) -> str:
    """A checksum of all inputs of the copy, including this code."""
    import fast_simplification

    digest = sha256(f"{fraction} {fast_simplification.__version__} {version('manifold3d')}".encode())
    for module in ("mesh.py", "surface.py"):
        digest.update(Path(__file__).with_name(module).read_bytes())
    digest.update(arm_digest(urdf).encode())
    return digest.hexdigest()[:32]


def arm_digest(urdf: Path) -> str:
    """SHA-256 of a URDF, its meshes and their textures.

    Raises:
        UserError: a file is missing or not a URDF.
    """
    digest = sha256(urdf.read_bytes())
    for mesh in sorted({visual.mesh for visual in read_urdf(urdf).visuals if visual.mesh}):
        digest.update(mesh.read_bytes())
        if texture := texture_of(mesh):
            digest.update(texture.read_bytes())
    return digest.hexdigest()


def _make(urdf: Path, folder: Path, fraction: float) -> None:
    """Write robot.urdf, its simplified meshes and its textures into `folder`."""
    tree = ET.parse(urdf)
    copies: dict[Path, str] = {}
    unnamed = 0
    for link in tree.getroot().findall("link"):
        if link.find("visual") is not None:
            for collision in link.findall("collision"):
                link.remove(collision)
        for _, shape in shapes_of(link):
            for material in shape.findall("material"):
                if not material.get("name"):  # PyBullet gives all materials of one name one colour
                    material.set("name", f"unnamed {unnamed}")
                    unnamed += 1
            for element in shape.iter("mesh"):
                mesh = find_mesh(urdf, element.attrib["filename"])
                if mesh not in copies:
                    number, image = f"{len(copies):02d}", None
                    copies[mesh] = f"{number}-{mesh.stem}.obj"
                    if texture := texture_of(mesh):
                        image = f"{number}-{texture.name}"
                        shutil.copyfile(texture, folder / image)
                    write_obj(folder / copies[mesh], simplify(read_surface(mesh), fraction), image)
                element.set("filename", copies[mesh])
    tree.write(folder / "robot.urdf", encoding="utf-8", xml_declaration=True)
