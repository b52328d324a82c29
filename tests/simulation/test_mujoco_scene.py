"""MuJoCo shows the arm where PyBullet shows it, in a room that the seed decides."""

import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from ropes.common import png
from ropes.errors import UserError
from ropes.simulation import off_screen
from ropes.simulation.camera_model import CameraModel
from ropes.simulation.camera_scene import CameraScene, Recordings
from ropes.simulation.mujoco_arm import welded
from ropes.simulation.mujoco_scene import MujocoScene
from ropes.simulation.off_screen import pooled
from ropes.simulation.scene import Scene
from ropes.simulation.settings import Robot, setting_named
from ropes.simulation.surface import Surface
from ropes.simulation.workers import render_poses

SETTING = setting_named("panda-2c-independent")
JOINTS = SETTING.splits["train"].joints
POSES = SETTING.splits["train"].sample_observational(np.random.default_rng(0), 2)


def egl() -> bool:
    try:
        return bool(off_screen.graphics())
    except UserError:
        return False


needs_egl = pytest.mark.skipif(not egl(), reason="EGL is missing: apt install libegl1 libgl1-mesa-dri")


def centre(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean row and column of a mask."""
    return np.array(np.nonzero(mask)).mean(axis=1)


@pytest.mark.pybullet
@pytest.mark.slow
@needs_egl
def test_the_arm_is_where_pybullet_draws_it() -> None:
    with MujocoScene(SETTING.robot, SETTING.cameras, 128, joints=JOINTS) as scene:
        found = [arms for _, arms in scene.render_with_arms(POSES)]
    with Scene(SETTING.robot, SETTING.cameras, 128, joints=JOINTS) as scene:
        expected = [arms for _, arms in scene.render_with_arms(POSES)]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape == (2, 128, 128)
        overlap = (ours & theirs).sum((1, 2)) / (ours | theirs).sum((1, 2))
        assert (overlap > 0.88).all()
        for one, other in zip(ours, theirs, strict=True):
            assert (np.abs(centre(one) - centre(other)) < 0.8).all()


@pytest.mark.slow
@needs_egl
def test_room_depends_only_on_the_seed() -> None:
    drawn = []
    for seed in (1, 1, 2):
        with MujocoScene(SETTING.robot, SETTING.cameras, 64, joints=JOINTS, colour=True, seed=seed) as scene:
            drawn.append(np.stack(list(scene.render_all(POSES))))
    same, again, other = drawn
    assert same.shape == (2, 2, 64, 64, 3)
    assert same.dtype == np.uint8
    assert (same == again).all()
    assert np.abs(same.astype(int) - other).mean() > 5
    assert (np.ptp(same.astype(int), axis=-1) > 8).mean() > 0.2  # colours


@pytest.mark.slow
@needs_egl
def test_grey_image_is_the_luma_of_the_colour_image() -> None:
    drawn = {}
    for colour in (False, True):
        with MujocoScene(SETTING.robot, SETTING.cameras, 64, joints=JOINTS, colour=colour) as scene:
            drawn[colour] = np.stack(list(scene.render_all(POSES)))
    assert drawn[False].shape == (2, 2, 64, 64)
    assert np.abs(drawn[False] - drawn[True] @ [0.299, 0.587, 0.114]).max() <= 1


@pytest.mark.slow
@needs_egl
@pytest.mark.parametrize("size", [65, 66])
def test_every_size_shows_the_same_picture(size: int) -> None:
    drawn = {}
    for side in (size, 2 * size):
        with MujocoScene(SETTING.robot, SETTING.cameras, side, joints=JOINTS) as scene:
            images, arms = next(scene.render_with_arms(POSES))
        drawn[side] = images.astype(float), np.stack([centre(arm) for arm in arms]) + 0.5
    halved = drawn[2 * size][0].reshape(2, size, 2, size, 2).mean((2, 4))
    assert np.abs(drawn[size][0] - halved).mean() < 5
    assert np.abs(drawn[size][1] - drawn[2 * size][1] / 2).max() < 0.45


@pytest.mark.slow
@needs_egl
def test_the_arm_casts_a_shadow() -> None:
    with MujocoScene(SETTING.robot, SETTING.cameras, 128, joints=JOINTS) as scene:
        (first, arm), (second, other) = scene.render_with_arms(POSES)
    near = ndimage.binary_dilation(arm | other, np.ones((1, 5, 5)))  # its smoothed edge changes too
    changed = (np.abs(first.astype(int) - second) > 15) & ~near
    assert changed.sum() > 200


@needs_egl
@pytest.mark.parametrize("shape", ["box", "sphere", "cylinder", "mesh", "texture"])
def test_shapes_and_colours_of_a_urdf_are_drawn(tmp_path: Path, shape: str) -> None:
    triangles = "v 0 0 0\nv .2 0 0\nv 0 .2 0\nv 0 0 .4\nvt .1 .9\nf 1/1 3/1 2/1\nf 1/1 2/1 4/1\nf 2/1 3/1 4/1\n"
    (tmp_path / "part.obj").write_text(f"{triangles}f 3/1 1/1 4/1\n", encoding="utf-8")
    (tmp_path / "textured.obj").write_text(f"mtllib red.mtl\n{triangles}f 3/1 1/1 4/1\n", encoding="utf-8")
    (tmp_path / "red.mtl").write_text("newmtl red\nmap_Kd red.png\n", encoding="utf-8")
    corner = np.full((64, 64, 3), [0, 0, 255], np.uint8)
    corner[:32, :32] = [255, 0, 0]  # the texture's upper left corner, where the coordinates (.1, .9) are
    Image.fromarray(corner).save(tmp_path / "red.png")
    geometry = {
        "box": '<box size=".2 .2 .4"/>',
        "sphere": '<sphere radius=".2"/>',
        "cylinder": '<cylinder radius=".1" length=".4"/>',
        "mesh": '<mesh filename="part.obj"/>',
        "texture": '<mesh filename="textured.obj"/>',
    }[shape]
    material = "" if shape == "texture" else '<material name="red"/>'
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        '<robot name="arm"><material name="red"><color rgba="1 0 0 1"/></material><link name="base"/>'
        f'<link name="tip"><visual><geometry>{geometry}</geometry>{material}</visual></link>'
        '<joint name="j" type="revolute"><parent link="base"/><child link="tip"/><origin xyz="0 0 .5"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1"/></joint></robot>',
        encoding="utf-8",
    )
    robot = Robot(urdf=str(urdf), joints=("j",))
    with MujocoScene(robot, SETTING.cameras[:1], 64, "full", colour=True) as scene:
        ((image,), (arm,)) = next(scene.render_with_arms([[0.5]]))
    assert 20 < arm.sum() < 1500
    red = image[arm].astype(int)
    assert red[:, 0].mean() > 2 * red[:, 1:].mean()


def of_one_mesh(folder: Path, points: list[str], faces: list[str], scale: str = "1 1 1") -> Robot:
    """A robot whose one visible link is a mesh."""
    lines = [*(f"v {point}" for point in points), *(f"f {face}" for face in faces)]
    (folder / "part.obj").write_text("\n".join(lines), encoding="utf-8")
    (folder / "arm.urdf").write_text(
        f'<robot name="arm"><link name="base"/><link name="tip"><visual><geometry><mesh filename="part.obj" '
        f'scale="{scale}"/></geometry></visual></link><joint name="j" type="revolute"><parent link="base"/>'
        '<child link="tip"/><axis xyz="0 1 0"/><limit lower="-1" upper="1"/></joint></robot>',
        encoding="utf-8",
    )
    return Robot(urdf=str(folder / "arm.urdf"), joints=("j",))


@needs_egl
def test_mirrored_mesh_keeps_its_outward_normals(tmp_path: Path) -> None:
    points, faces = ["0 0 0", ".4 0 0", "0 .3 0", "0 0 .6"], ["1 3 2", "1 2 4", "2 3 4", "3 1 4"]
    turned = [" ".join(reversed(face.split())) for face in faces]
    drawn = []
    for given, scale in (((points, faces), "1 -1 1"), (([p.replace(" .3", " -.3") for p in points], turned), "1 1 1")):
        robot = of_one_mesh(tmp_path, *given, scale)
        with MujocoScene(robot, SETTING.cameras[:1], 64, "full") as scene:
            drawn.append(next(scene.render_all([[0.2]])).astype(int))
    assert np.abs(drawn[0] - drawn[1]).mean() < 0.2


@needs_egl
def test_mesh_refused_by_mujoco_raises_a_user_error(tmp_path: Path) -> None:
    robot = of_one_mesh(tmp_path, ["0 0 0", ".4 0 0", "0 .3 0"], ["1 2 3"])
    with pytest.raises(UserError, match=r"MuJoCo cannot draw this scene: .*vertices"):
        MujocoScene(robot, SETTING.cameras[:1], 64, "full")


def test_vertices_merge_when_position_normal_and_colour_agree() -> None:
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=float)
    faces = np.array([[0, 1, 2], [1, 3, 2]])
    uv = np.repeat([[[0.1, 0.9]], [[0.2, 0.8]]], 3, axis=1)
    up = np.tile([0.0, 0.0, 1.0], (2, 3, 1))
    flat = Surface(points=points, faces=faces, normals=up, uv=uv, parts=np.zeros(2, dtype=np.int64))
    one_colour = np.zeros((8, 8, 3), np.uint8)
    for texture, count in ((None, 4), (one_colour, 4), (np.arange(192).reshape(8, 8, 3).astype(np.uint8), 6)):
        vertices, normals, coordinates, triangles = welded(flat, texture)
        assert len(vertices) == len(normals) == count
        np.testing.assert_array_equal(vertices[triangles], points[faces])
        np.testing.assert_array_equal(normals, np.tile([0.0, 0.0, 1.0], (count, 1)))
        assert (coordinates is None) == (texture is None)
    folded = Surface(points=points, faces=faces, normals=up * [[[1]], [[-1]]], uv=None, parts=flat.parts)
    assert len(welded(folded, None)[0]) == 6


@pytest.mark.parametrize(("side", "weight"), [(6, 9), (8, 4)])
def test_pixels_are_averaged_over_area(side: int, weight: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)
    sums, area = pooled(pixels, 4)
    fine = np.kron(pixels, np.ones((12 // side * 2, 12 // side * 2, 1))) if side == 6 else pixels
    step = len(fine) // 4
    expected = fine.reshape(4, step, 4, step, 3).mean((1, 3))
    assert area == weight
    np.testing.assert_allclose(sums / area, expected)


@pytest.mark.slow
@needs_egl
def test_colour_frames_get_camera_faults() -> None:
    start = partial(MujocoScene, SETTING.robot, SETTING.cameras[:1], 64, "simplified", JOINTS, colour=True)
    with CameraScene(start, Recordings("harsh", (("train", 9),), 5)) as scene:
        found = np.stack(list(scene.render_all(np.column_stack([POSES, [0, 0], [3, 8]]))))
    model = CameraModel("harsh", (64, 64, 3), 9, seed=5, camera="cam45", recording="train")
    with start() as scene:
        for (images, arms), frame, seen in zip(scene.render_with_arms(POSES), (3, 8), found, strict=True):
            assert (model(images[0], frame, arms[0]) == seen[0]).all()


@pytest.mark.slow
@needs_egl
def test_the_bytes_do_not_depend_on_the_number_of_workers() -> None:
    many = SETTING.splits["train"].sample_observational(np.random.default_rng(1), 40)
    setting = replace(SETTING, image_size=64, scene="room")
    one, two = (list(render_poses(replace(setting, colour=True), JOINTS, many, n, seed=3)) for n in (1, 2))
    assert one == two
    assert np.asarray(Image.open(io.BytesIO(one[0][0]))).shape == (64, 64, 3)
    assert png.decode(next(render_poses(setting, JOINTS, many, 1))[0], (64, 64)).shape == (64, 64)


@needs_egl
def test_bad_poses_are_refused() -> None:
    with MujocoScene(SETTING.robot, SETTING.cameras, 16, joints=JOINTS) as scene:
        with pytest.raises(UserError, match="no finite angle"):
            scene.render_all(np.full((1, 6), np.nan))
        scene.close()


def refuse(width: int, height: int) -> None:
    """A context that no device gives."""
    raise RuntimeError("no\ndevice 9")


def test_missing_dependency_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    off_screen.graphics.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "mujoco", None)
        with pytest.raises(UserError, match=r"pip install -e '\.\[mujoco\]'"):
            off_screen.graphics()
    monkeypatch.setenv("PYOPENGL_PLATFORM", "glx")
    with pytest.raises(UserError, match="PYOPENGL_PLATFORM is glx"):
        off_screen.graphics()
    monkeypatch.delenv("PYOPENGL_PLATFORM")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "mujoco.egl", SimpleNamespace(GLContext=refuse))
        with pytest.raises(UserError, match=r"cannot draw off-screen: no device 9$"):
            off_screen.graphics()
    for name, package in (("egl", "libegl1 libgl1-mesa-dri"), ("osmesa", "libosmesa6")):
        with monkeypatch.context() as patch:
            patch.setenv("MUJOCO_GL", name)
            patch.setenv("PYOPENGL_PLATFORM", name)
            patch.setitem(sys.modules, f"mujoco.{name}", None)
            with pytest.raises(UserError, match=f"is missing; sudo apt install {package}$"):
                off_screen.graphics()


@pytest.mark.slow
@needs_egl
@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("nonsense", "cannot draw off-screen: .*MUJOCO_GL: nonsense"),
        ("osmesa", "OSMesa is missing; sudo apt install libosmesa6"),
    ],
)
def test_invalid_mujoco_gl_is_reported_in_one_line(name: str, error: str, tmp_path: Path) -> None:
    command = ["simulate", "--renderer", "mujoco", "--setting", "panda-1c-independent"]
    done = subprocess.run(
        [sys.executable, "-m", "ropes", *command, "--anchors", "2", "--test-anchors", "0", "--out", tmp_path / "data"],
        env={key: value for key, value in os.environ.items() if key != "PYOPENGL_PLATFORM"} | {"MUJOCO_GL": name},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:  # OSMesa is installed here
        assert name == "osmesa"
        return
    assert done.returncode == 2
    assert re.search(error, done.stderr)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "data").exists()
