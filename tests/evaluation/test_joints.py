import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from ropes.cli import entry as cli
from ropes.common.files import read_json
from ropes.common.seeds import generator
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.errors import UserError
from ropes.evaluation import record, results
from ropes.evaluation.joints import evaluate
from ropes.inference.estimator import Estimator
from ropes.methods.run import Run
from ropes.metrics import protocol
from ropes.report.artefacts import load
from tests import tiny
from tests.kills import interrupt


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, tiny_run: Path, tiny_data: Path) -> Path:
    """An evaluation of the tiny run, without and with squares."""
    out = tmp_path_factory.mktemp("measured") / "e"
    evaluate(tiny_run, tiny_data, out, occlusions=(0, 8), seed=3, show=False)
    return out


def test_results_use_schema_1_with_a_row_per_condition_and_joint(measured: Path) -> None:
    found = results.read(measured / "results.json")
    assert json.loads((measured / "results.json").read_text())["schema"] == 1
    assert (found.name, found.preset) == ("evaluation", "paper")
    rows = [row for row in found.rows if row.calibration_labels == 1000]
    assert [(row.split, row.occlusion, row.joint) for row in rows] == [
        ("id", occlusion, joint) for occlusion in (0, 8) for joint in tiny.JOINTS
    ]
    assert {(row.setup, row.method, row.labels, row.calibration_labels, row.seed) for row in rows} == {
        ("tiny", "ropes", 0, 1000, 0)
    }


def test_figures_follow_the_evaluation_protocol(measured: Path, tiny_run: Path, tiny_data: Path) -> None:
    dataset = open_dataset(tiny_data)
    coordinates = Estimator.load(tiny_run).coordinates(dataset.read_images(dataset.frames("test-id").index))
    expected = protocol(coordinates, dataset.states("test-id"), generator(3, "evaluation", "id", 0), 15, 1000, 500)
    every = results.read(measured / "results.json").rows
    rows = [row for row in every if row.occlusion == 0 and row.calibration_labels == 1000]
    np.testing.assert_allclose(np.array([row.mcc_mean for row in rows], float), expected.mcc_mean)
    np.testing.assert_allclose(np.array([row.mse_std for row in rows], float), expected.mse_std)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_figures(measured: Path, tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    first = results.read(measured / "results.json").rows
    again = evaluate(tiny_run, tiny_data, tmp_path / "a", occlusions=(0, 8), seed=3, show=False)
    other = evaluate(tiny_run, tiny_data, tmp_path / "b", occlusions=(0,), seed=4, show=False)
    assert again.rows == first
    assert other.rows[0].mse_mean != first[0].mse_mean


def test_report_artefacts_are_stored_with_the_evaluation(measured: Path, tiny_run: Path) -> None:
    folder = measured / "artefacts" / "tiny" / "ropes"
    assert (folder / "training.json").read_bytes() == (tiny_run / "training.json").read_bytes()
    (artefacts,) = load(measured)
    found = artefacts.evaluation
    assert (artefacts.setup, artefacts.method) == ("tiny", "ropes")
    assert found is not None
    assert (found.joints, found.cameras) == (tiny.JOINTS, tiny.CAMERAS)
    assert found.scatter is not None
    assert found.scatter["scatter_estimate"].shape == (2, 500)
    assert found.reconstructions is not None
    assert {array.shape for array in found.reconstructions.values()} == {(4, 2, 16, 16)}
    assert found.occluded is not None
    covered = found.occluded["occluded_original"] != found.reconstructions["original"]
    assert covered.any(axis=(2, 3)).all()
    assert found.interventions is not None
    assert list(found.interventions["intervention_names"]) == [regime.name for regime in tiny.model().regimes]
    assert found.interventions["intervention_images"].shape == (5, 4, 2, 16, 16)


def refused(run: Path, data: Path, out: Path, line: str, **options: Any) -> None:
    """The evaluation is refused with this line, and leaves nothing."""
    with pytest.raises(UserError, match=line):
        evaluate(run, data, out, show=False, **options)
    assert not out.exists()


def test_too_few_test_poses_are_refused(tiny_run: Path, tmp_path: Path) -> None:
    few = tiny.write_data(tmp_path / "few", anchors=2, tests=tiny.TESTED - 1)
    line = r"split test-id has 1499 poses; the evaluation needs at least 1500 \(1000 to calibrate, 500 to test\)"
    refused(tiny_run, few, tmp_path / "e", line)
    none = tiny.write_data(tmp_path / "none", anchors=2, tests=0)
    refused(tiny_run, none, tmp_path / "e", "has no split test-id or test-ood; simulate it with --test-anchors")


def test_collapsed_coordinate_is_measured_as_the_mean_angle(tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    weights = next((run / "ae2").glob("*/weights.safetensors"))
    tensors = load_file(weights)
    biases = [name for name in tensors if name.startswith("encoder.") and name.endswith(".bias")]
    last = max(biases, key=lambda name: int(name.split(".")[1]))
    for name in (last, last.replace("bias", "weight")):
        tensors[name][0] = 0
    save_file(tensors, weights)
    (run / "trust.safetensors").unlink(missing_ok=True)
    found = evaluate(run, tiny_data, tmp_path / "e", occlusions=(0,), show=False)
    lines = [row for row in found.rows if row.joint == tiny.JOINTS[0] and row.calibration_labels == 1_000]
    angles = open_dataset(tiny_data).states("test-id")[:, 0]
    assert {row.mcc_mean for row in lines} == {0.0}
    assert next(row.mse_mean for row in lines if row.split == "id") == pytest.approx(angles.var(), rel=0.1)


def test_data_without_angles_are_refused(tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    copy_without_labels(tiny_data, tmp_path / "stripped")
    refused(tiny_run, tmp_path / "stripped", tmp_path / "e", "has no joint angles")


def test_nonfinite_angles_are_refused(tiny_run: Path, tmp_path: Path) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=2)
    tiny.forget_angle(data, "test-id")
    refused(tiny_run, data, tmp_path / "e", r"\.parquet, row \d+: a joint angle is not a finite number")


@pytest.mark.slow
def test_other_cameras_sizes_and_joints_are_refused(tiny_run: Path, tmp_path: Path) -> None:
    other = tiny.write_data(tmp_path / "other", anchors=2, cameras=("right", "top"))
    refused(tiny_run, other, tmp_path / "e", r"has no camera left \(it has right, top\)")
    angles = tiny.model().sample_observational(np.random.default_rng(0), tiny.TESTED)[:, None]
    images, states = {"test-id": tiny.draw(angles, side=32)}, {"test-id": angles}
    large = tiny.write_data(tmp_path / "large", images=images, states=states)
    refused(tiny_run, large, tmp_path / "e", "has 32x32 grey images; the run reads 16x16")
    renamed = tiny.write_data(tmp_path / "renamed", anchors=2, joints=("elbow", "knee"))
    refused(tiny_run, renamed, tmp_path / "e", "observation.state has no joint wrist")


def test_occluding_square_of_invalid_size_is_refused(tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    line = "an occluding square of 17 pixels does not fit into 16×16 images"
    refused(tiny_run, tiny_data, tmp_path / "e", line, occlusions=(0, 17))
    refused(tiny_run, tiny_data, tmp_path / "e", "an occluding square of -1 pixels", occlusions=(8, -1))


@pytest.mark.parametrize("occlusions", [(), (0, 0)])
def test_occlusions_are_checked_before_the_images_are_read(
    occlusions: tuple[int, ...], tiny_run: Path, tiny_data: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="give one or more, all different"):
        evaluate(tiny_run, tiny_data, tmp_path / "e", occlusions=occlusions)
    assert not (tmp_path / "e").exists()


def test_folder_with_other_content_is_not_modified(tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match="holds something else"):
        evaluate(tiny_run, tiny_data, tmp_path, occlusions=(0,), show=False)
    assert list(tiny.tree(tmp_path)) == ["thesis.tex"]
    (tmp_path / "results.json").write_text("{}")  # of an experiment, or of other software
    with pytest.raises(UserError, match="holds something else"):
        evaluate(tiny_run, tiny_data, tmp_path, occlusions=(0,), show=False)
    assert (tmp_path / "results.json").read_text() == "{}"


@pytest.mark.slow
def test_evaluation_of_another_run_is_not_modified(
    measured: Path, tiny_data: Path, tmp_path: Path, refit: Callable[..., Run]
) -> None:
    refit(tmp_path / "run", seed=1)
    before = tiny.tree(measured)
    with pytest.raises(UserError, match="holds the evaluation of another run or data set; choose another --out"):
        evaluate(tmp_path / "run", tiny_data, measured, occlusions=(0,), show=False)
    assert tiny.tree(measured) == before


@pytest.mark.slow
def test_data_set_with_only_test_poses_is_evaluated(tiny_run: Path, tmp_path: Path) -> None:
    angles = tiny.model().sample_observational(np.random.default_rng(0), tiny.TESTED)[:, None]
    data = tiny.write_data(tmp_path / "data", images={"test-id": tiny.draw(angles)}, states={"test-id": angles})
    found = evaluate(tiny_run, data, tmp_path / "e", occlusions=(8, 0), show=False)
    assert [row.occlusion for row in found.rows if row.calibration_labels == 1000] == [0, 0, 8, 8]
    assert {row.calibration_labels for row in found.rows} == {10, 100, 1000}  # without a training split no 0
    (artefacts,) = load(tmp_path / "e")
    assert artefacts.evaluation is not None
    assert artefacts.evaluation.interventions is None


@pytest.mark.slow
def test_interrupted_evaluation_is_repeated(
    tiny_run: Path, tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(record, "write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            evaluate(tiny_run, tiny_data, tmp_path / "e", occlusions=(0,), show=False)
    assert not (tmp_path / "e" / "results.json").exists()
    for _ in range(2):
        evaluate(tiny_run, tiny_data, tmp_path / "e", occlusions=(0,), show=False)
    assert read_json(tmp_path / "e" / "results.json")["rows"]


@pytest.mark.slow
def test_each_test_split_is_calibrated_on_its_own_poses(tiny_run: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    near = tiny.model().sample_observational(rng, tiny.TESTED)[:, None]
    far = np.clip(near + 0.5, -1.5, 1.5)
    angles = {"test-id": near, "test-ood": far}
    images = {split: tiny.draw(poses) for split, poses in angles.items()}
    data = tiny.write_data(tmp_path / "data", images=images, states=angles)
    found = evaluate(tiny_run, data, tmp_path / "e", occlusions=(0,), show=False)
    rows_of = [row for row in found.rows if row.calibration_labels == 1000]
    assert [(row.split, row.joint) for row in rows_of] == [(s, j) for s in ("id", "ood") for j in tiny.JOINTS]
    estimator = Estimator.load(tiny_run)
    for split, name in (("id", "test-id"), ("ood", "test-ood")):
        seen = estimator.coordinates(images[name][:, 0])
        expected = protocol(seen, angles[name][:, 0], generator(0, "evaluation", split, 0), 15, 1000, 500)
        rows = [row for row in rows_of if row.split == split]
        assert [row.mse_mean for row in rows] == pytest.approx(expected.mse_mean.tolist())
    usual = estimator.coordinates(images["test-id"][:, 0]), near[:, 0], generator(0, "evaluation", "id", 0)
    moved = estimator.coordinates(images["test-ood"][:, 0]), far[:, 0], generator(0, "evaluation", "ood", 0)
    expected = protocol(*moved, 15, 1000, 500, elsewhere=usual)
    assert [(row.split, row.joint) for row in found.shift_rows] == [("ood", joint) for joint in tiny.JOINTS]
    assert [row.mse_mean for row in found.shift_rows] == pytest.approx(expected.mse_mean.tolist())
    assert results.read(tmp_path / "e" / "results.json").shift_rows == found.shift_rows


@pytest.mark.slow
def test_few_test_poses_are_evaluated_with_smaller_draws(
    tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tiny.write_data(tmp_path / "data", anchors=2, tests=200), tmp_path / "e"
    words = ["evaluate", str(tiny_run), "--data", str(data), "--out", str(out), "--occlusions", "0"]
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert "record more test poses, or give smaller --calibration-poses and --test-poses" in said
    assert cli.main([*words, "--calibration-poses", "150", "--test-poses", "50"]) == 0
    assert "with a line fitted on 150 labels" in capsys.readouterr().out
    rows = results.read(out / "results.json").rows
    assert {row.calibration_labels for row in rows} >= {10, 100, 150}
    assert {row.paper_mse for row in rows} == {None}
    assert cli.main(["report", str(out)]) == 0
    assert ">150<" in (out / "report.html").read_text(encoding="utf-8")
