"""Cameras of a file are rendered as those of a setting, and those of other lenses where they belong."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.cli import entry as cli
from ropes.common.files import read_json
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.simulation import off_screen
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.cameras import extrinsics, eye, intrinsics
from ropes.simulation.framing import max_image_distance
from ropes.simulation.mujoco_scene import MujocoScene
from ropes.simulation.pinhole import Pinhole, read_cameras
from ropes.simulation.scene import ArmScene, Scene
from ropes.simulation.settings import Camera, Robot, Setting, setting_named
from tests.command_line import refusal
from tests.one_pose import drawn

POSE = {"shoulder": 0.4, "elbow": 0.3}


def opened(engine: str, robot: Robot, camera: Camera, size: int, scene: SceneName = "white") -> ArmScene:
    if engine == "pybullet":
        return Scene(robot, [camera], size, scene=scene)
    try:
        off_screen.graphics()
    except UserError:
        pytest.skip("MuJoCo or EGL is missing")
    return MujocoScene(robot, [camera], size, scene=scene)


def image(engine: str, robot: Robot, camera: Camera, size: int, scene: SceneName = "white") -> NDArray[np.int64]:
    with opened(engine, robot, camera, size, scene) as arm:
        return drawn(arm, POSE)[0][0].astype(np.int64)


@pytest.mark.parametrize(
    ("yaw", "pitch", "roll"), [(0, 0, 0), (135, -30, 0), (200, 35, 25), (-100, -90, 10), (30, 20, 90), (30, 20, -90)]
)
def test_camera_is_the_same_after_its_record(yaw: float, pitch: float, roll: float) -> None:
    camera = Camera(
        name="c",
        target=(0.1, -0.2, 0.3),
        distance=1.4,
        yaw=yaw,
        pitch=pitch,
        roll=roll,
        fov=60,
        centre=(0.02, -0.03),
        stretch=1.1,
    )
    found = Pinhole.of(camera, 96).to_camera()
    np.testing.assert_allclose(extrinsics(found), extrinsics(camera), atol=1e-9)
    np.testing.assert_allclose(intrinsics(found, 96), intrinsics(camera, 96), atol=1e-9)
    assert np.linalg.norm(eye(found) - found.target) == pytest.approx(found.distance)
    assert Camera.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_setting_without_other_lenses_is_described_as_ever() -> None:
    content = setting_named("panda-2c-independent").to_dict()
    assert set(content["cameras"][0]) == {"name", "target", "distance", "yaw", "pitch", "roll", "fov"}
    assert Setting.from_dict(content) == setting_named("panda-2c-independent")


def test_images_by_the_file_are_those_of_the_setting(engine: str, small_robot: Robot, side_camera: Camera) -> None:
    found = Pinhole.from_record(Pinhole.of(side_camera, 64).to_record()).to_camera()
    one, other = (image(engine, small_robot, camera, 64, "panda-gym") for camera in (found, side_camera))
    assert np.abs(one - other).max() <= 2


def test_image_beside_the_optical_axis_is_a_part_of_a_larger_one(
    engine: str, small_robot: Robot, side_camera: Camera
) -> None:
    """A quarter of the side, cut out of an image of four times the area: the same focal length, another centre."""
    left, top, side = 20, 12, 32
    whole = Pinhole.of(side_camera, 2 * side)
    k = whole.intrinsics - np.array([[0, 0, left], [0, 0, top], [0, 0, 0]])
    part = Pinhole(name="c", intrinsics=k, extrinsics=whole.extrinsics, height=side, width=side)
    expected = image(engine, small_robot, side_camera, 2 * side)[top : top + side, left : left + side]
    assert np.ptp(expected) > 50
    assert np.abs(image(engine, small_robot, part.to_camera(), side) - expected).max() <= 2


def test_unequal_focal_lengths_stretch_the_image(engine: str, small_robot: Robot, side_camera: Camera) -> None:
    camera = replace(side_camera, stretch=0.5)
    with opened(engine, small_robot, camera, 64) as scene:
        columns = np.nonzero(drawn(scene, POSE)[1][0])[1]
    with opened(engine, small_robot, side_camera, 64) as scene:
        usual = np.nonzero(drawn(scene, POSE)[1][0])[1]
    assert np.ptp(columns) == pytest.approx(np.ptp(usual) / 2, abs=2)


def test_arm_outside_a_shifted_image_is_noticed(small_robot: Robot, side_camera: Camera) -> None:
    ranges = {"shoulder": (-0.1, 0.1)}
    far = max_image_distance(small_robot, ranges, side_camera)
    assert far < 1
    shifted = replace(side_camera, centre=(0.5, 0.0))
    assert max_image_distance(small_robot, ranges, shifted) > 1


def test_cameras_that_cannot_be_rendered_are_refused(side_camera: Camera, tmp_path: Path) -> None:
    record = Pinhole.of(side_camera, 64).to_record()
    skewed, mirrored = np.array(record["intrinsics"]), np.array(record["extrinsics"])
    skewed[0, 1], mirrored[0] = 5.0, -mirrored[0]
    for change, message in (
        (
            {"height": 48},
            r"its images have 64×48 pixels, and squares are rendered; crop the photographs to squares \(ropes import",
        ),
        ({"intrinsics": skewed.tolist()}, r"its intrinsics are not \[\[fx, 0, cx\]"),
        ({"extrinsics": mirrored.tolist()}, "its extrinsics are not a rotation and a shift"),
    ):
        (tmp_path / "c.json").write_text(json.dumps({"cameras": [{**record, **change}]}), encoding="utf-8")
        with pytest.raises(UserError, match=f"camera {side_camera.name}: {message}"):
            read_cameras(tmp_path / "c.json")
    (tmp_path / "c.json").write_text(json.dumps({"cameras": []}), encoding="utf-8")
    with pytest.raises(UserError, match="has no cameras"):
        read_cameras(tmp_path / "c.json")


@pytest.mark.slow
@pytest.mark.pybullet
def test_command_renders_a_data_set_by_the_cameras_of_another(small_urdf: Path, tmp_path: Path) -> None:
    words = f"simulate --urdf {small_urdf} --joints shoulder elbow --ranges -1:1 -1:1 --anchors 1 --test-anchors 1"
    first, second = tmp_path / "first", tmp_path / "second"
    assert cli.main([*words.split(), "--image-size", "32", "--workers", "1", "--out", str(first)]) == 0
    file = first / "meta" / "ropes.json"
    assert cli.main([*words.split(), "--camera-file", str(file), "--workers", "1", "--out", str(second)]) == 0
    one, other = open_dataset(first), open_dataset(second)
    assert other.cameras == one.cameras
    assert np.abs(other.read_images(range(5)).astype(int) - one.read_images(range(5))).max() <= 2
    for mine, theirs in zip(
        *(read_json(each / "meta" / "ropes.json")["cameras"] for each in (first, second)), strict=True
    ):
        np.testing.assert_allclose(theirs["extrinsics"], mine["extrinsics"], atol=1e-9)


def test_command_says_where_the_arm_is_cut_off(
    small_urdf: Path, side_camera: Camera, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    near = Pinhole.of(replace(side_camera, distance=0.4), 32).to_record()
    (tmp_path / "c.json").write_text(json.dumps({"cameras": [near]}), encoding="utf-8")
    words = f"simulate --urdf {small_urdf} --joints elbow --ranges -1:1 --anchors 1 --test-anchors 0 --workers 1 --out"
    assert cli.main([*words.split(), str(tmp_path / "D"), "--camera-file", str(tmp_path / "c.json")]) == 0
    assert f"outside the images of {side_camera.name} in some poses" in capsys.readouterr().err
    (tmp_path / "c.json").write_text(json.dumps({"cameras": [{**near, "height": 16}]}), encoding="utf-8")
    line = refusal(capsys, *words.split(), str(tmp_path / "E"), "--camera-file", str(tmp_path / "c.json"))
    assert "squares are rendered" in line
    assert not (tmp_path / "E").exists()
