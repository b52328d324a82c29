"""Cameras are found to a pixel from images of an arm at known angles, and refused where the angles are wrong."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ropes.cli import entry as cli
from ropes.common.arrays import Floats
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.data.views import Views
from ropes.errors import UserError
from ropes.inference.hand_eye import find, fitting
from ropes.inference.hand_eye.candidate import Candidate
from ropes.inference.hand_eye.find import DOUBTFUL, LEAST, find_cameras, first_guess
from ropes.inference.hand_eye.fitting import LEVELS
from ropes.inference.hand_eye.poses import read_posed_images
from ropes.report.hand_eye import camera_sentence
from ropes.simulation.pinhole import Pinhole, read_pinholes
from tests import box_arm, planar, tiny
from tests.command_line import refusal
from tests.estimators import run_of


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    return box_arm.write_urdf(tmp_path)


@pytest.mark.slow
def test_command_finds_cameras_with_known_intrinsics(
    tmp_path: Path, urdf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = box_arm.write_data(tmp_path / "data", urdf)
    words = ["cameras", str(data), "--urdf", str(urdf), "--out", str(tmp_path / "c.json")]
    assert cli.main([*words, "--preview", str(tmp_path / "c.png")]) == 0
    found = read_pinholes(tmp_path / "c.json")
    assert set(found) == set(box_arm.CAMERAS)
    for name, true in box_arm.CAMERAS.items():
        errors = box_arm.link_errors(urdf, found[name], true)
        assert errors.mean() < 1.0
        assert errors.max() < 3.0
    assert "IoU 0." in capsys.readouterr().out
    for record in json.loads((tmp_path / "c.json").read_text())["cameras"]:
        assert record["fit"]["held_out_iou"] > DOUBTFUL > record["fit"]["chance_iou"]
        assert record["fit"]["halves_px"] < 2
        assert not record["fit"]["focal_fitted"]
    with Image.open(tmp_path / "c.png") as picture:
        assert picture.size == (6 * 256, 2 * 256)


@pytest.mark.slow
def test_focal_length_is_found_from_recorded_frames_and_estimated_angles(tmp_path: Path, urdf: Path) -> None:
    cameras = {"front": box_arm.CAMERAS["front"].resized(96, 128)}
    wide = cameras["front"]
    k = wide.intrinsics.copy()
    k[1] = [0, k[0, 0], 48]
    cameras = {"front": replace(wide, intrinsics=k)}
    dataset = open_dataset(box_arm.write_data(tmp_path / "data", urdf, cameras, recorded=True, intrinsics=False))
    posed = read_posed_images(dataset, urdf=urdf)
    errors = np.radians(3.0) * np.random.default_rng(0).normal(size=posed.angles.shape)  # as an estimator makes
    posed = replace(posed, angles=posed.angles + errors)
    (found,) = find_cameras(dataset, posed, show=False)
    assert found.quality.focal_fitted
    assert found.quality.fault is None
    assert found.camera.intrinsics[0, 0] == pytest.approx(k[0, 0], rel=0.15)
    errors = box_arm.link_errors(urdf, found.camera, cameras["front"])
    assert errors.mean() < 2.0


@pytest.mark.slow
def test_angles_of_other_frames_are_refused(
    tmp_path: Path, urdf: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = box_arm.write_data(tmp_path / "data", urdf)
    for module in (find, fitting):  # small images show as well that nothing fits
        monkeypatch.setattr(module, "LEVELS", LEVELS[:2])
    factors = Dataset.factors
    monkeypatch.setattr(Dataset, "factors", lambda *given: np.random.default_rng(0).permutation(factors(*given)))
    words = ["cameras", str(data), "--urdf", str(urdf), "--cameras", "front"]
    files = ["--out", str(tmp_path / "c.json"), "--preview", str(tmp_path / "c.png")]
    assert cli.main([*words, *files]) == 2
    said = capsys.readouterr().err
    assert "ropes: camera front does not fit (IoU 0." in said
    assert f"see {tmp_path / 'c.png'}; {tmp_path / 'c.json'} was not written" in said
    assert (tmp_path / "c.png").is_file()
    assert not (tmp_path / "c.json").exists()


def quality(**changes: Any) -> find.Quality:
    usual = find.Quality(
        held_out_iou=0.8, chance_iou=0.1, halves_px=0.8, rival=False, focal_fitted=False, poses=30, held_out=10
    )
    return replace(usual, **changes)


def test_quality_has_faults_and_warnings() -> None:
    assert (quality().fault, quality().warning) == (None, None)
    assert f"below {LEAST}" in str(quality(held_out_iou=0.39).fault)
    assert "0.70 with the angles of others" in str(quality(chance_iou=0.7).fault)
    assert "is low" in str(quality(held_out_iou=0.5).warning)
    assert "another place" in str(quality(rival=True).warning)


def test_the_distance_of_the_halves_is_stored_and_printed_as_it_is() -> None:
    camera = Pinhole(name="front", intrinsics=np.diag([90.0, 90.0, 1.0]), extrinsics=np.eye(4), height=96, width=128)
    found = find.FoundCamera(camera=camera, quality=quality())
    assert found.to_record()["fit"]["halves_px"] == 0.8
    assert camera_sentence(found).endswith("fits to halves of 30 poses differ by 0.8 px at the links")


def described(folder: Path, camera: dict[str, object]) -> Dataset:
    path = tiny.write_data(folder, tests=0)
    note = json.loads((path / schema.PROVENANCE).read_text())
    note["cameras"] = [{"name": "right", **camera}, {"name": "left"}]
    (path / schema.PROVENANCE).write_text(json.dumps(note))
    return open_dataset(path)


def test_principal_point_is_the_middle_of_the_image_before_its_crop(tmp_path: Path) -> None:
    view = {"rotate": 0, "crop": [10, 0, 40, 40], "size": None, "grey": True}
    dataset = described(tmp_path / "data", {"view": view, "source_size": [40, 60]})
    guess, known = first_guess(dataset, "right", (40, 40))
    assert not known
    np.testing.assert_allclose(guess.principal * 40, [20, 20])
    assert guess.focal[0] == guess.focal[1]
    other, _ = first_guess(dataset, "left", (16, 16))
    np.testing.assert_allclose(other.principal, [0.5, 0.5])


def test_stored_intrinsics_are_used(tmp_path: Path) -> None:
    matrix = [[20.0, 0.0, 7.0], [0.0, 22.0, 9.0], [0.0, 0.0, 1.0]]
    guess, known = first_guess(
        described(tmp_path / "data", {"intrinsics": matrix, "width": 16, "height": 16}), "right", (16, 16)
    )
    assert known
    np.testing.assert_allclose(guess.pinhole("right", 16, 16).intrinsics, np.array(matrix))


def test_fits_that_turn_the_arm_nearly_as_a_better_one_are_left_out() -> None:
    camera = Candidate(
        rotation=np.eye(3),
        middle=np.zeros(3),
        at=np.zeros(2),
        depth=1.0,
        focal=np.ones(2),
        principal=np.full(2, 0.5),
        size=(1.0, 1.0),
    )
    turns = {0.5: 0.0, 0.9: 0.16, 0.8: 0.29, 0.7: 0.33, 0.6: -np.pi}  # score: angle about the line of sight, radians
    found = [(score, camera.moved([0, 0, turn, 0, 0, 0])) for score, turn in turns.items()]
    assert [score for score, _ in fitting.distinct(found)] == [0.9, 0.7, 0.6, 0.5]


def test_damaged_intrinsics_are_refused(tmp_path: Path) -> None:
    dataset = described(tmp_path / "data", {"intrinsics": [[1]], "width": 16, "height": 16})
    with pytest.raises(UserError, match="has a damaged camera"):
        first_guess(dataset, "right", (16, 16))


def test_angles_of_a_run_take_the_place_of_logged_ones(tmp_path: Path) -> None:
    dataset = open_dataset(tiny.write_data(tmp_path / "data", tests=0))
    logged = read_posed_images(dataset, urdf=planar.write_urdf(tmp_path))

    def read(images: Views) -> Floats:
        assert len(images) == len(logged.at)
        return logged.angles + 0.25

    estimator: Any = SimpleNamespace(run=run_of(), angles=read)
    posed = read_posed_images(dataset, urdf=tmp_path / "planar.urdf", estimator=estimator, cameras=("left",))
    assert (posed.arm.joints, posed.cameras) == (tiny.JOINTS, ("left",))
    np.testing.assert_allclose(posed.angles, logged.angles + 0.25)
    np.testing.assert_array_equal(posed.images[0], logged.images[logged.cameras.index("left")])
    assert set(posed.held_out) | set(posed.fitted) == set(range(len(posed.at)))
    assert not set(posed.held_out) & set(posed.fitted)


def test_bad_input_is_refused_in_one_line(tmp_path: Path, urdf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, bare = tiny.write_data(tmp_path / "data", tests=0), tmp_path / "bare"
    copy_without_labels(data, bare)
    out = ["--out", str(tmp_path / "c.json"), "--urdf", str(urdf)]
    assert "has no joint angles; give a calibrated run with --run RUN" in refusal(capsys, "cameras", str(bare), *out)
    assert "has no camera top (it has right, left)" in refusal(capsys, "cameras", str(data), *out, "--cameras", "top")
    assert "does not say which arm it shows: give its --urdf FILE" in refusal(
        capsys, "cameras", str(data), "--out", str(tmp_path / "c.json")
    )
    other = tmp_path / "other.urdf"
    other.write_text(box_arm.URDF.replace('"elbow"', '"bend"'), encoding="utf-8")
    assert "none of the logged angles (elbow, wrist) is a joint of other.urdf (pan, lift, bend)" in refusal(
        capsys, "cameras", str(data), "--urdf", str(other), *out[:2]
    )
    few = tiny.write_data(tmp_path / "few", tests=0, anchors=3)
    assert "has 15 images of each camera; finding a camera takes 20" in refusal(capsys, "cameras", str(few), *out)
    assert not (tmp_path / "c.json").exists()
