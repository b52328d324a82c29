"""Errors of poses in an evaluation: the protocol's draws through kinematics solved by hand."""

from pathlib import Path

import numpy as np
import pytest

from ropes.common.files import read_json, write_json
from ropes.common.seeds import generator
from ropes.data import schema
from ropes.data.layout import open_dataset
from ropes.evaluation import results
from ropes.evaluation.joints import evaluate
from ropes.inference.estimator import Estimator
from ropes.inference.overlay import ESTIMATE
from ropes.metrics.pose import add_auc, calibrated_draws
from ropes.report.html import write_report
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.settings import Camera
from tests import planar, tiny


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny data set, recorded as showing the planar arm."""
    folder = tmp_path_factory.mktemp("planar")
    return place_cameras(planar.name_robot(tiny.write_data(folder / "data"), planar.write_urdf(folder), spin=0.5))


def place_cameras(data: Path) -> Path:
    """Record in a tiny data set where its cameras are, as ropes simulate does."""
    note = read_json(data / schema.PROVENANCE)
    above = Camera(name="above", target=(0.0, 0.0, 0.1), distance=2.0, yaw=0.0, pitch=-89.0, roll=0.0, fov=60.0)
    note["cameras"] = [{**Pinhole.of(above, tiny.SIDE).to_record(), "name": name} for name in tiny.CAMERAS]
    write_json(data / schema.PROVENANCE, note)
    return data


@pytest.fixture(scope="module")
def measured(data: Path, tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("planar") / "e"
    evaluate(tiny_run, data, out, occlusions=(0, 8), seed=3, show=False)
    return out


@pytest.mark.slow
def test_each_split_and_occlusion_has_a_row(measured: Path) -> None:
    rows = results.read(measured / "results.json").pose_rows
    assert [(row.setup, row.method, row.split, row.occlusion, row.seed) for row in rows] == [
        ("tiny", "ropes", "id", occlusion, 0) for occlusion in (0, 8)
    ]
    assert {(row.link, row.frame, row.labels, row.calibration_labels) for row in rows} == {("tool", "foot", 0, 1000)}


def test_pose_errors_match_hand_solved_kinematics(measured: Path, data: Path, tiny_run: Path) -> None:
    dataset = open_dataset(data)
    angles = dataset.states("test-id")
    coordinates = Estimator.load(tiny_run).coordinates(dataset.read_images(dataset.frames("test-id").index))
    figures = []
    for read, rows in calibrated_draws(coordinates, angles, generator(3, "evaluation", "id", 0), 15, 1000, 500):
        true = angles[rows]
        position = 1000 * np.linalg.norm(planar.tip(read) - planar.tip(true), axis=1)
        turned = np.degrees(np.abs((read - true).sum(axis=1)))
        elbow = 1000 * planar.UPPER * 2 * np.abs(np.sin((read - true)[:, 0] / 2))
        add = (elbow + 2 * position) / 5  # the foot and the shoulder stay; wheel and tool share a place
        figures.append([position.mean(), turned.mean(), add.mean(), add_auc(add)])
    (row, _) = results.read(measured / "results.json").pose_rows
    found = row.figures()
    np.testing.assert_allclose([mean for mean, _ in found], np.mean(figures, axis=0))
    np.testing.assert_allclose([std for _, std in found], np.std(figures, axis=0), atol=1e-12)


@pytest.mark.slow
def test_report_shows_arm_overlays(measured: Path, tmp_path: Path) -> None:
    with np.load(measured / "artefacts" / "tiny" / "ropes" / "evaluation.npz") as arrays:
        overlays = arrays["overlay_images"]
    assert overlays.shape == (2, len(tiny.CAMERAS), 256, 256, 3)
    assert (overlays == ESTIMATE).all(axis=-1).any(axis=(2, 3)).all()
    write_report(measured, tmp_path / "report.html")
    assert '<figure class="overlays">' in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_pose_rows_do_not_change_joint_rows(measured: Path, tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    plain = evaluate(tiny_run, tiny_data, tmp_path / "e", occlusions=(0, 8), seed=3, show=False)
    assert plain.rows == results.read(measured / "results.json").rows
    assert plain.pose_rows == ()  # nothing names its robot
    assert "pose_rows" not in read_json(tmp_path / "e" / "results.json")


@pytest.mark.slow
def test_report_shows_pose_errors(measured: Path, tmp_path: Path) -> None:
    write_report(measured, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("tool in foot") == 2
    (row, _) = results.read(measured / "results.json").pose_rows
    assert f"{row.position_mm_mean:.1f} <span" in page
    assert f"{row.add_auc_mean:.3f} <span" in page
    assert 'href="#poses"' in page


@pytest.mark.slow
def test_missing_urdf_gives_a_warning_and_no_pose_rows(
    tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = planar.name_robot(tiny.write_data(tmp_path / "data", anchors=2), tmp_path / "gone.urdf")
    found = evaluate(tiny_run, data, tmp_path / "e", occlusions=(0,), show=False)
    assert found.rows
    assert found.pose_rows == ()
    assert "ropes: warning: errors of poses are left out: no URDF file at" in capsys.readouterr().err
