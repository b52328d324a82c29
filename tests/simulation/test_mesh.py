import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.common.files import cache_folder
from ropes.errors import UserError
from ropes.simulation import mesh
from ropes.simulation.availability import locate
from ropes.simulation.mesh import simplified_urdf, simplify
from ropes.simulation.scene import Scene
from ropes.simulation.settings import Camera, Robot, setting_named
from ropes.simulation.surface import flat_normals, read_surface, texture_of, write_obj
from ropes.simulation.urdf import read_urdf
from tests.one_pose import drawn

SQUARE = """mtllib square.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0.25 0.75
vn 0 0 1
usemtl white
f 1/1/1 2/1/1 3/1/1 4/1/1
usemtl dark
f -4//1 -3//1 -2//1
"""


@pytest.fixture
def square(tmp_path: Path) -> Path:
    path = tmp_path / "square.obj"
    path.write_text(SQUARE)
    return path


def test_polygons_negative_indices_and_parts_are_read(square: Path) -> None:
    surface = read_surface(square)
    np.testing.assert_array_equal(surface.faces, [[0, 1, 2], [0, 2, 3], [0, 1, 2]])
    np.testing.assert_array_equal(surface.parts, [1, 1, 2])
    assert surface.normals is not None
    assert surface.uv is not None
    np.testing.assert_array_equal(surface.normals[..., 2], np.ones((3, 3)))
    np.testing.assert_array_equal(surface.uv[0], [[0.25, 0.75]] * 3)
    np.testing.assert_array_equal(surface.uv[2], [[0.5, 0.5]] * 3)


def test_written_surface_is_read_back(square: Path) -> None:
    before = read_surface(square)
    write_obj(square.with_name("copy.obj"), before, None)
    after = read_surface(square.with_name("copy.obj"))
    for name in ("points", "faces", "normals", "uv"):
        np.testing.assert_allclose(getattr(after, name), getattr(before, name), err_msg=name)


def test_first_existing_texture_is_used(square: Path) -> None:
    assert texture_of(square) is None
    square.with_name("square.mtl").write_text("newmtl a\nmap_Kd gone.png\nnewmtl b\n  map_Kd here.png\n")
    assert texture_of(square) is None
    square.with_name("here.png").touch()
    assert texture_of(square) == square.with_name("here.png")


def test_fans_of_needles_are_merged_before_edges_collapse(tmp_path: Path) -> None:
    """CAD programs fill a plane with needles between its edges; edge collapse alone would remove none of them."""
    import trimesh

    ring = trimesh.creation.annulus(0.5, 1.0, 0.2, sections=1000)
    ring.export(tmp_path / "ring.stl")
    surface = read_surface(tmp_path / "ring.stl")
    simple = simplify(surface, 0.05)
    assert len(surface.faces) == 8000
    assert len(simple.faces) <= 1.5 * 0.05 * 8000
    assert trimesh.Trimesh(simple.points, simple.faces).volume == pytest.approx(ring.volume, rel=0.01)
    opened = replace(surface, faces=surface.faces[1:], normals=surface.normals[1:], parts=surface.parts[1:])
    assert len(simplify(opened, 0.05).faces) > 4000  # has no inside, and stays as it is


def _ball(path: Path) -> Path:
    """A fine unit sphere, the lower half of it a part of its own."""
    import trimesh

    sphere = trimesh.creation.icosphere(subdivisions=4)
    lines = [f"v {x} {y} {z}" for x, y, z in sphere.vertices]
    for name, half in (
        ("north", sphere.triangles_center[:, 2] > 0),
        ("south", sphere.triangles_center[:, 2] <= 0),
    ):
        lines += [f"usemtl {name}", *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in sphere.faces[half])]
    path.write_text("\n".join(lines))
    return path


def test_a_simplified_ball_is_still_round_and_keeps_its_parts(tmp_path: Path) -> None:
    surface = read_surface(_ball(tmp_path / "ball.obj"))
    fewer = simplify(surface, 0.1)
    assert len(fewer.faces) == pytest.approx(0.1 * len(surface.faces), rel=0.1)
    np.testing.assert_allclose(np.linalg.norm(fewer.points, axis=1), 1, atol=0.02)
    heights = fewer.points[fewer.faces].mean(axis=1)[:, 2]
    assert (heights[fewer.parts == 1] > -0.03).all()
    assert (heights[fewer.parts == 2] < 0.03).all()
    outward = (fewer.normals[:, 0] * flat_normals(fewer.points, fewer.faces)[:, 0]).sum(axis=1)
    assert (outward > 0.85).all()


def test_small_meshes_are_not_simplified(square: Path) -> None:
    assert len(simplify(read_surface(square), 0.1).faces) == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.obj", "v 0 0 zero\nf 1 1 1\n", "is not a readable mesh"),
        ("a.obj", "v 0 0 0\n", r"is not a readable mesh \(no triangles\)"),
        ("a.obj", "v 0 0 0\nf 1 2 3\n", "is not a readable mesh"),
        ("a.obj", "v 0 0 0\nv 1 0 0\nf 1 2\n", r"is not a readable mesh \(no triangles\)"),
        ("a.stl", "", "is not a readable mesh"),
        ("a.ply", "", "is not a mesh that PyBullet draws"),
    ],
)
def test_an_unreadable_mesh_is_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=message):
        read_surface(tmp_path / name)


@pytest.mark.pybullet
def test_a_collada_mesh_is_read_in_metres(tmp_path: Path) -> None:
    pytest.importorskip("collada")
    import pybullet_data

    surface = read_surface(Path(pybullet_data.getDataPath()) / "racecar" / "meshes" / "left_front_wheel.dae")
    np.testing.assert_allclose(np.ptp(surface.points, axis=0), [0.1, 0.1, 0.045], atol=2e-3)
    np.testing.assert_allclose(np.linalg.norm(surface.normals, axis=2), 1, atol=1e-6)


@pytest.mark.parametrize("content", ["<COLLADA", '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"/>'])
def test_a_damaged_collada_mesh_is_refused(tmp_path: Path, content: str) -> None:
    pytest.importorskip("collada")
    (tmp_path / "a.dae").write_text(content)
    with pytest.raises(UserError, match="is not a readable mesh"):
        read_surface(tmp_path / "a.dae")


def test_a_missing_collada_reader_names_its_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "collada", None)
    (tmp_path / "a.dae").write_text("<COLLADA/>")
    with pytest.raises(UserError, match=r"reading .*a\.dae needs pycollada: pip install pycollada"):
        read_surface(tmp_path / "a.dae")


@pytest.mark.pybullet
@pytest.mark.slow
def test_the_simplified_panda_looks_like_the_full_one() -> None:
    setting = setting_named("panda-2c-independent")
    model = setting.splits["train"]
    poses = model.sample_observational(np.random.default_rng(0), 12)
    size = setting.image_size
    with Scene(setting.robot, setting.cameras, size, "full", model.joints) as scene:
        grey, full = map(np.array, zip(*scene.render_with_arms(poses), strict=True))
    with Scene(setting.robot, setting.cameras, size, "simplified", model.joints) as scene:
        light_grey, light = map(np.array, zip(*scene.render_with_arms(poses), strict=True))
    overlap = (full & light).sum(axis=(2, 3)) / (full | light).sum(axis=(2, 3))
    assert overlap.mean() >= 0.98
    assert overlap.min() >= 0.96
    assert np.abs(grey.astype(int) - light_grey)[full & light].mean() < 8


@pytest.mark.pybullet
@pytest.mark.slow
def test_rewritten_full_mesh_renders_identically(
    small_robot: Robot, side_camera: Camera, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Reading, writing and rewriting lose nothing: with every triangle kept, each pixel is the same."""
    link6 = locate("franka_panda/panda.urdf").parent / "meshes" / "visual" / "link6.obj"
    urdf = tmp_path / "link.urdf"
    urdf.write_text(
        f"<robot name='one'><link name='base'><visual><geometry><mesh filename='{link6}'/></geometry>"
        "</visual></link></robot>"
    )
    robot = Robot(urdf=str(urdf), joints=())
    near = replace(side_camera, target=(0.0, 0.0, 0.0), distance=0.4)
    monkeypatch.setattr("ropes.simulation.scene.simplified_urdf", lambda path, **_: simplified_urdf(path, fraction=1.0))
    with Scene(robot, [near]) as light, Scene(robot, [near], mesh="full") as full:
        assert len(np.unique(drawn(full, {})[0])) > 20
        np.testing.assert_array_equal(drawn(light, {})[0], drawn(full, {})[0])
    monkeypatch.undo()
    with Scene(small_robot, [side_camera]) as light, Scene(small_robot, [side_camera], mesh="full") as full:
        np.testing.assert_array_equal(drawn(light, {})[0], drawn(full, {})[0])


def test_textures_of_one_name_stay_apart(tmp_path: Path) -> None:
    shapes = ""
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "part.obj").write_text(SQUARE)
        (folder / "square.mtl").write_text("newmtl white\nmap_Kd texture.png\n")
        (folder / "texture.png").write_text(name)
        shapes += f"<visual><geometry><mesh filename='{folder / 'part.obj'}'/></geometry></visual>"
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(f"<robot name='one'><link name='base'>{shapes}</link></robot>")
    copy = read_urdf(simplified_urdf(urdf, cache=tmp_path / "cache"))
    textures = [texture_of(visual.mesh) for visual in copy.visuals if visual.mesh]
    assert [texture.read_text() for texture in textures if texture] == ["a", "b"]


@pytest.mark.pybullet
def test_colours_of_materials_without_a_name_stay_apart(tmp_path: Path, side_camera: Camera) -> None:
    shape = (
        "<visual><geometry><box size='.2 .2 .2'/></geometry><material name=''><color rgba='{}'/></material></visual>"
    )
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        f"<robot name='one'><link name='base'>{shape.format('1 0 0 1')}</link>"
        f"<link name='tip'>{shape.format('0 0 1 1')}</link><joint name='j' type='fixed'><parent link='base'/>"
        "<child link='tip'/><origin xyz='0 0 .5'/></joint></robot>"
    )
    with Scene(Robot(urdf=str(urdf), joints=()), [side_camera], colour=True) as scene:
        (image,), (arm,) = drawn(scene, {})
    middle = int(np.argwhere(arm)[:, 0].mean())
    above, below = (image[rows][arm[rows]].mean(axis=0) for rows in (slice(0, middle), slice(middle, None)))
    assert above[2] > 2 * above[0]
    assert below[0] > 2 * below[2]


def test_a_copy_that_is_asked_for_counts_as_used(square: Path, tmp_path: Path) -> None:
    urdf = tmp_path / "arm.urdf"
    mesh = f"<visual><geometry><mesh filename='{square}'/></geometry></visual>"
    urdf.write_text(f"<robot name='one'><link name='base'>{mesh}</link></robot>")
    copy = simplified_urdf(urdf, cache=tmp_path / "cache").parent
    os.utime(copy, (1.0, 1.0))
    assert simplified_urdf(urdf, cache=tmp_path / "cache").parent == copy
    assert time.time() - copy.stat().st_mtime < 3600


def test_a_urdf_without_shapes_is_refused(tmp_path: Path) -> None:
    urdf = tmp_path / "arm.urdf"
    urdf.write_text("<robot name='one'><link name='base'/></robot>")
    with pytest.raises(
        UserError, match=r"arm\.urdf has no <visual> or <collision>, so nothing of the arm can be drawn"
    ):
        simplified_urdf(urdf, cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.pybullet
@pytest.mark.slow
def test_simplified_copy_is_cached_and_made_again_when_missing_or_damaged(tmp_path: Path) -> None:
    urdf = locate("kuka_iiwa/model.urdf")
    first = simplified_urdf(urdf, cache=tmp_path)
    before = {path.name: path.read_bytes() for path in first.parent.iterdir()}
    stamp = first.stat().st_mtime_ns
    assert simplified_urdf(urdf, cache=tmp_path) == first
    assert first.stat().st_mtime_ns == stamp
    first.unlink()
    (first.parent / "left-over").touch()
    assert simplified_urdf(urdf, cache=tmp_path) == first
    assert {path.name: path.read_bytes() for path in first.parent.iterdir()} == before
    shape = next(first.parent.glob("*.obj"))
    shape.write_bytes(shape.read_bytes().replace(b"1", b"2", 1))
    assert simplified_urdf(urdf, cache=tmp_path) == first
    assert {path.name: path.read_bytes() for path in first.parent.iterdir()} == before
    assert [path.name for path in first.parent.parent.iterdir()] == [first.parent.name]


@pytest.mark.pybullet
def test_interrupted_simplification_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(mesh, "write_obj", interrupt)
    with pytest.raises(KeyboardInterrupt):
        simplified_urdf(locate("kuka_iiwa/model.urdf"), cache=tmp_path)
    assert list((tmp_path / "meshes").iterdir()) == []


@pytest.mark.pybullet
def test_unwritable_mesh_cache_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache_folder() == tmp_path / "file" / "ropes"
    with pytest.raises(UserError, match=r"cannot write the mesh cache .*set XDG_CACHE_HOME, or --mesh full"):
        simplified_urdf(locate("kuka_iiwa/model.urdf"))
