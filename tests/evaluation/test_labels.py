"""Rows of few labels or none: on the protocol's poses, from regimes and commanded distributions alone."""

import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ropes.common import files
from ropes.common.arrays import Floats, Images
from ropes.common.seeds import generator
from ropes.data import schema
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.evaluation.joints import evaluate
from ropes.evaluation.labels import FEWER, few_label_rows, label_free_calibration
from ropes.evaluation.rows.joint import Row
from ropes.inference import policy_calibration as commanded
from ropes.inference.calibration import Calibration
from ropes.inference.estimator import Estimator
from ropes.inference.policy_calibration import calibration_from_policies
from ropes.metrics import ProtocolSizes, few_labels, protocol
from ropes.metrics.joints import JOINT_METRICS
from tests import tiny
from tests.estimators import blobs, places
from tests.evaluation.joint_rows import a_row


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    return tiny.write_data(tmp_path_factory.mktemp("labels") / "data", anchors=400)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluations get an estimator that reads the blobs' places, as a well-trained one would."""
    seen = blobs()
    monkeypatch.setattr(Estimator, "load", classmethod(lambda cls, run, precision="auto": seen))


def rows_by_labels(found: tuple[Row, ...]) -> dict[int, list[Row]]:
    return {count: [row for row in found if row.calibration_labels == count] for count in (0, 10, 100, 1000)}


@pytest.mark.slow
def test_every_label_count_has_a_row_per_joint(
    read: None, data: Path, tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows_by_labels(evaluate(tiny_run, data, tmp_path / "e", occlusions=(0, 8), show=False).rows)
    assert {count: [(row.joint, row.occlusion) for row in rows] for count, rows in found.items()} == {
        **{count: [(joint, occlusion) for occlusion in (0, 8) for joint in tiny.JOINTS] for count in (0, 1000)},
        **{count: [(joint, 0) for joint in tiny.JOINTS] for count in (10, 100)},
    }
    for k in range(2):
        every, none = found[1000][k], found[0][k]
        assert none.mse_mean is not None
        assert every.mse_mean is not None
        assert none.mse_mean < 1.5 * every.mse_mean + 0.01
        assert {found[count][k].mcc_mean for count in (0, 10, 100)} == {every.mcc_mean}
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_label_rows_use_the_draws_of_the_protocol(read: None, data: Path, tiny_run: Path, tmp_path: Path) -> None:
    found = rows_by_labels(evaluate(tiny_run, data, tmp_path / "e", occlusions=(0,), seed=3, show=False).rows)
    dataset, estimator = open_dataset(data), Estimator.load(tiny_run)
    coordinates = estimator.coordinates(dataset.read_images(dataset.frames("test-id").index))
    known = calibration_from_policies(estimator, dataset, seed=3)
    expected = few_labels(
        coordinates,
        dataset.states("test-id"),
        generator(3, "evaluation", "id", 0),
        (10, 100, 1000),
        known=known.angles,
    )
    for count, rows in found.items():
        np.testing.assert_allclose(np.array([row.mse_mean for row in rows], float), expected[count]["mse_mean"])
        np.testing.assert_allclose(np.array([row.mse_std for row in rows], float), expected[count]["mse_std"])


@pytest.mark.slow
def test_the_label_free_calibration_reads_no_angle_and_few_poses(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commanded, "MAX_POSES", 300)
    copy_without_labels(data, tmp_path / "stripped")
    estimator = blobs()
    looked: list[int] = []

    def counted(images: Images) -> Floats:
        looked.append(len(images))
        return places(images)

    monkeypatch.setattr(estimator, "coordinates", counted)
    line = label_free_calibration(estimator, open_dataset(tmp_path / "stripped"), seed=0)
    assert line is not None
    same = label_free_calibration(blobs(), open_dataset(data), seed=0)
    assert same is not None
    np.testing.assert_array_equal(line.slope, same.slope)
    np.testing.assert_array_equal(np.asarray(line.knots), np.asarray(same.knots))
    assert max(looked) == 300
    assert len(looked) == 5  # each regime once


def test_label_free_calibration_needs_distributions_and_training_poses(tmp_path: Path) -> None:
    untold = tiny.write_data(tmp_path / "untold", anchors=4, tests=0, described=False)
    assert label_free_calibration(blobs(), open_dataset(untold), seed=0) is None
    angles = tiny.model().sample_observational(np.random.default_rng(0), 8)[:, None]
    tests = tiny.write_data(tmp_path / "t", images={"test-id": tiny.draw(angles)}, states={"test-id": angles})
    assert label_free_calibration(blobs(), open_dataset(tests), seed=0) is None


def test_stored_label_free_calibration_is_the_one_evaluated(data: Path) -> None:
    estimator, kept = blobs(), Calibration(np.ones(2), np.zeros(2), samples=0)
    estimator.calibration = kept
    assert label_free_calibration(estimator, open_dataset(data), seed=0) is kept
    estimator.calibration = Calibration(np.ones(2), np.zeros(2), samples=50)  # that one took labels
    found = label_free_calibration(estimator, open_dataset(data), seed=0)
    assert found is not None
    assert found.samples == 0
    assert found.knots is not None


def test_too_few_poses_give_a_warning_instead_of_a_calibration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = tiny.write_data(tmp_path / "few", anchors=5, tests=0)
    assert label_free_calibration(blobs(), open_dataset(few), seed=0) is None
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ropes: warning: no figures for calibration without labels: ")
    assert "has 5 training images under elbow/1; commanded distributions need 30 or more" in line


@pytest.mark.slow
def test_distributions_that_contradict_the_images_give_a_warning(
    read: None, data: Path, tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(data, tmp_path / "other")
    note = files.read_json(tmp_path / "other" / schema.PROVENANCE)
    first = note["setting"]["splits"]["train"]["interventions"]["wrist"][0]
    note["setting"]["splits"]["train"]["interventions"]["wrist"][0] = {**first, "mean": 4.0, "low": 3.0, "high": 4.5}
    files.write_json(tmp_path / "other" / schema.PROVENANCE, note)
    rows = evaluate(tiny_run, tmp_path / "other", tmp_path / "e", occlusions=(0,), show=False).rows
    assert {row.calibration_labels for row in rows} == {10, 100, 1000}
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ropes: warning: no figures for calibration without labels: ")
    assert "contradict the images: joint wrist has" in line


def test_the_paper_has_no_figures_for_fewer_labels() -> None:
    row = Row.measured(
        setup="panda-2c-independent", joint="panda_joint1", split="id", occlusion=0, seed=0, mcc=(1, 0), mse=(0, 0)
    )
    angles = np.random.default_rng(0).normal(size=(200, 1))
    sizes = ProtocolSizes(repeats=2, fit=150, test=50)
    made = few_label_rows([row], angles, angles, np.random.default_rng(0), None, FEWER, sizes)
    assert [(each.calibration_labels, each.paper_mcc, each.paper_mse) for each in made] == [
        (10, None, None),
        (100, None, None),
    ]
    assert (row.paper_mcc, row.paper_mse) == (0.874, 0.083)


def test_rows_without_labels_use_the_label_free_calibration() -> None:
    draw = np.random.default_rng(3)
    angles = draw.normal(size=(200, 2))
    coordinates = angles @ [[0.3, 1.0], [1.0, 0.2]] + draw.normal(size=(200, 2))
    free, sizes = Calibration(np.array([0.5, 2.0]), np.array([0.1, -0.3]), samples=0), ProtocolSizes(fit=60, test=40)
    drawn = partial(np.random.default_rng, 5)
    run = partial(protocol, coordinates, angles, fit=60, test=40)
    calibrated, label_free = run(drawn()), run(drawn(), known=free.angles)
    names = [name for metric in JOINT_METRICS for name in metric.fields]
    rows = [a_row(joint=f"j{k}", **{name: getattr(calibrated, name)[k] for name in names}) for k in range(2)]
    made = few_label_rows(rows, coordinates, angles, drawn(), free, (), sizes)
    assert [(row.joint, row.calibration_labels) for row in made] == [("j0", 0), ("j1", 0)]
    for name in names:
        np.testing.assert_array_equal([getattr(row, name) for row in made], getattr(label_free, name))
    assert made[0].mse_mean != rows[0].mse_mean
