"""Overlays: the arm's outline where its parts are, a drawing beside an unknown camera, and the files."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ropes.cli import entry as cli
from ropes.common import png
from ropes.common.files import write_json
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.inference.calibration import Calibration, write_calibration
from ropes.inference.estimator import Estimator
from ropes.inference.overlay import ESTIMATE, TRUTH, Overlay, file_name, known_cameras, origin_of, write_pictures
from ropes.inference.poses import chosen_arm
from ropes.inference.prediction import predict_lines
from ropes.simulation import cameras
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.settings import Camera, setting_named
from tests import planar, tiny
from tests.command_line import refusal
from tests.estimators import run_of

ABOVE = Camera(name="right", target=(0.0, 0.0, 0.1), distance=2.0, yaw=0.0, pitch=-89.0, roll=0.0, fov=60.0)


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    return planar.write_urdf(tmp_path)


def coloured(picture: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    return (picture == colour).all(axis=2)


def test_the_outline_surrounds_the_tool(urdf: Path) -> None:
    overlay = Overlay(chosen_arm(run_of(), urdf), tiny.CAMERAS, {"right": Pinhole.of(ABOVE, 64)}, side=512)
    images = [np.zeros((64, 64), np.uint8), np.zeros((64, 64, 3), np.uint8)]
    angles, truth = np.array([0.5, -1.0]), np.array([1.5, 0.5])
    over, beside = overlay.draw(images, angles, truth)
    assert (over.shape, beside.shape) == ((512, 512, 3), (512, 1024, 3))
    tip = Pinhole.of(ABOVE, 512).project(planar.tip(np.stack([angles, truth])))[0]
    for (x, y), colour in zip(tip, (ESTIMATE, TRUTH), strict=True):
        row, column, drawn = int(y), int(x), coloured(over, colour)
        assert drawn[row - 12 : row + 12, column - 12 : column + 12].any()
        assert not drawn[row, column]  # the outline is around the tool, not on it
    assert not beside[:, :512].any()  # the image stays as it is
    assert (beside[:, 512:] < 255).any()


def test_camera_parameters_come_from_the_file_then_the_setting(tmp_path: Path) -> None:
    run = run_of(setting="panda-2c-independent", cameras=("cam135", "cam45"))
    known, setting = known_cameras(run), setting_named("panda-2c-independent")
    assert set(known) == {"cam45", "cam135"}
    np.testing.assert_allclose(known["cam45"].extrinsics, cameras.extrinsics(setting.cameras[0]))
    write_json(tmp_path / "c.json", {"cameras": [{**Pinhole.of(ABOVE, 9).to_record(), "name": "cam45"}]})
    (own,) = known_cameras(run, file=tmp_path / "c.json").values()
    assert (own.name, own.width) == ("cam45", 9)
    assert known_cameras(run_of()) == {}


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        ({"name": "cam7"}, r"has none of the run's cameras \(cam135, cam45\); it has cam7"),
        ({"width": 12}, "camera cam45 has images of 12×9 pixels, those of the run are 16×16, another aspect ratio"),
    ],
    ids=["name", "aspect ratio"],
)
def test_camera_file_of_other_cameras_is_refused(camera: dict[str, object], message: str, tmp_path: Path) -> None:
    record = {**Pinhole.of(ABOVE, 9).to_record(), "name": "cam45", **camera}
    write_json(tmp_path / "c.json", {"cameras": [record]})
    with pytest.raises(UserError, match=message):
        known_cameras(run_of(cameras=("cam135", "cam45")), file=tmp_path / "c.json")


def test_calibration_without_extrinsics_is_not_damage(tmp_path: Path) -> None:
    record = Pinhole.of(ABOVE, 9).to_record()
    imported = {"name": "right", **{name: value for name, value in record.items() if name != "extrinsics"}}
    assert known_cameras(run_of(), Dataset(tmp_path, {}, {"cameras": [imported]})) == {}
    broken = {"name": "right", **record, "extrinsics": [[1.0]]}
    with pytest.raises(UserError, match="has a damaged camera"):
        known_cameras(run_of(), Dataset(tmp_path, {}, {"cameras": [broken]}))


def test_overlay_file_names_follow_the_images() -> None:
    assert file_name({"split": "test-id", "index": 7}) == "test-id-7.png"
    assert file_name({"left": "a/left/3.png", "right": "b/5.png"}) == "3.png"


def test_overlays_of_other_images_are_not_overwritten(tmp_path: Path) -> None:
    def write(image: str, level: int) -> None:
        names = {"left": str(tmp_path / image)}
        pictures = dict.fromkeys(("left", "right"), np.full((4, 4, 3), level, np.uint8))
        write_pictures(tmp_path / "o", file_name(names), pictures, origin_of(names))

    for level, image in enumerate(("a/3.png", "b/3.png", "c/3.png", "b/3.png", "a/4.png")):
        write(image, level)
    for camera in ("left", "right"):
        found = {path.name: int(np.asarray(Image.open(path)).max()) for path in (tmp_path / "o" / camera).iterdir()}
        assert found == {"3.png": 0, "3-2.png": 3, "3-3.png": 2, "4.png": 4}


def test_a_path_that_holds_no_pictures_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    pictures = {"left": np.zeros((4, 4, 3), np.uint8)}
    with pytest.raises(UserError, match=r"cannot write .*file/left/3\.png: Not a directory; choose another folder"):
        write_pictures(tmp_path / "file", "3.png", pictures, "origin")
    with pytest.raises(UserError, match=r"cannot make the folder .*file: .*file is a file"):
        next(predict_lines(tmp_path / "no run", tmp_path / "no images", overlay=tmp_path / "file"))
    (tmp_path / "o" / "left").mkdir(parents=True)
    (tmp_path / "o" / "left" / "3.png").write_text("no picture")
    write_pictures(tmp_path / "o", "3.png", pictures, "origin")
    assert {path.name for path in (tmp_path / "o" / "left").iterdir()} == {"3.png", "3-2.png"}


@pytest.mark.slow
def test_predict_writes_an_overlay_per_image(
    own_run: Path, urdf: Path, tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ropes.data.layout import export_images

    with pytest.raises(UserError, match="overlays need angles in radians: run `ropes calibrate` first"):
        next(predict_lines(own_run, tiny_data, overlay=tmp_path / "o"))
    write_calibration(own_run, Estimator.load(own_run).run, Calibration(np.array([0.5, -2.0]), np.array([0.1, 0.2]), 9))
    export_images(tiny_data, "test-id", 2, tmp_path / "photos")
    write_json(tmp_path / "c.json", {"cameras": [Pinhole.of(ABOVE, tiny.SIDE).to_record()]})
    words = ["predict", str(own_run), "--images", str(tmp_path / "photos"), "--urdf", str(urdf)]
    words += ["--overlay", str(tmp_path / "o"), "--camera-file", str(tmp_path / "c.json")]
    assert cli.main(words) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    written = {camera: list((tmp_path / "o" / camera).iterdir()) for camera in tiny.CAMERAS}
    shapes = {camera: {png.header(path.read_bytes())[:2] for path in paths} for camera, paths in written.items()}
    assert shapes == {"right": {(384, 384)}, "left": {(384, 768)}}
    assert len(written["left"]) == 2
    assert "is missing" in refusal(capsys, *words[:-1], "gone.json")
