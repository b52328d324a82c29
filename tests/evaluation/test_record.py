"""An evaluation is current as long as its run has the weights and the training data that it was made of."""

import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from ropes.common.files import read_json, write_json
from ropes.common.hardware import Precision, RequestedPrecision
from ropes.data.layout import open_dataset
from ropes.evaluation import results
from ropes.evaluation.joints import evaluate
from ropes.evaluation.record import claim_evaluation, is_current
from ropes.evaluation.rows.kinds import FitRow
from ropes.experiments import run as experiments
from ropes.experiments.plans import experiment
from ropes.methods.fit import fit
from ropes.methods.run import UNCERTAINTY_FILE, Run
from ropes.methods.weights import weights_digest
from ropes.models.checkpoints import load_tree, save_tree
from tests import tiny
from tests.kills import interrupt


def change_weights(run: Path) -> None:
    """Other weights in a run's folder, as if it had been fitted again; nothing else says so."""
    path = run / "ae1" / "weights.safetensors"
    save_file({name: tensor * 1.01 for name, tensor in load_file(path).items()}, path)


@pytest.fixture(scope="module")
def evaluated(tiny_run: Path, tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation of the tiny run; never to be changed."""
    out = tmp_path_factory.mktemp("evaluated") / "evaluation"
    evaluate(tiny_run, tiny_data, out, occlusions=(0,), show=False)
    return out


@pytest.fixture
def measured(own_run: Path, evaluated: Path) -> Path:
    """A copy of that evaluation in a copy of the run, to be changed."""
    return Path(shutil.copytree(evaluated, own_run / "evaluation"))


def test_results_record_the_weights_of_their_fit(measured: Path, own_run: Path) -> None:
    run = Run.read(own_run)
    fit = FitRow(
        setup="tiny",
        method="ropes",
        seed=0,
        weights=weights_digest(own_run),
        data_checksum=run.data_checksum,
        version=run.version,
        seconds=round(sum(read_json(own_run / "training.json")["provenance"]["seconds"].values()), 1),
    )
    assert results.read(measured / "results.json").fit_rows == (fit,)
    assert read_json(measured / "evaluation.json")["weights"] == fit.weights


def test_file_times_do_not_affect_whether_an_evaluation_is_current(
    measured: Path, own_run: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(own_run, copy, copy_function=shutil.copyfile)
    (copy / "training.json").touch()  # later than its results, as git and rsync may leave it
    assert is_current(copy / "evaluation", copy)
    change_weights(copy)
    (copy / "evaluation" / "results.json").touch()  # and now the other way round
    assert not is_current(copy / "evaluation", copy)


@pytest.mark.parametrize("lost", ["training.json", "run.json", "evaluation/evaluation.json", "evaluation/results.json"])
def test_evaluation_with_missing_files_is_not_current(measured: Path, own_run: Path, lost: str) -> None:
    assert is_current(measured, own_run)
    (own_run / lost).unlink()
    assert not is_current(measured, own_run)


def test_an_evaluation_of_other_data_or_of_an_older_version_is_not_current(measured: Path, own_run: Path) -> None:
    about = read_json(measured / "evaluation.json")
    write_json(measured / "evaluation.json", {**about, "fitted_on": "other data"})
    assert not is_current(measured, own_run)
    write_json(measured / "evaluation.json", {**about, "revision": about["revision"] - 1})
    assert not is_current(measured, own_run)
    del about["weights"]
    write_json(measured / "evaluation.json", about)
    assert not is_current(measured, own_run)


def test_evaluation_with_another_uncertainty_model_is_not_current(measured: Path, own_run: Path) -> None:
    assert is_current(measured, own_run)
    tree = load_tree(own_run / UNCERTAINTY_FILE)
    tree["spread"]["level"] = tree["spread"]["level"] + 1
    save_tree(own_run / UNCERTAINTY_FILE, tree)
    assert not is_current(measured, own_run)


@pytest.mark.slow
def test_evaluation_in_another_precision_is_not_current(tiny_data: Path, tmp_path: Path) -> None:
    out, run = tmp_path / "out", tmp_path / "run"
    fit(tiny_data, run, tiny.cnn_recipe(), method="cnn", show=False)
    evaluate(run, tiny_data, out, occlusions=(0,), show=False)  # convolutions read in float32
    assert is_current(out, run)
    assert is_current(out, run, "32-true")
    assert not is_current(out, run, "bf16-mixed")
    evaluate(run, tiny_data, out, occlusions=(0,), precision="bf16-mixed", show=False)
    assert is_current(out, run, "bf16-mixed")
    assert not is_current(out, run, "32-true")


@pytest.mark.slow
def test_evaluation_of_a_fit_on_some_anchors_is_current_if_it_was_calibrated_on_these(
    tiny_data: Path, tmp_path: Path
) -> None:
    out, run = tmp_path / "out", tmp_path / "run"
    fit(tiny_data, run, tiny.cnn_recipe(anchors=6), method="cnn", show=False)
    evaluate(run, tiny_data, out, occlusions=(0,), show=False)
    assert is_current(out, run)
    about = read_json(out / "evaluation.json")
    assert about.pop("calibrated_on") == 6
    write_json(out / "evaluation.json", about)  # of an earlier version
    assert not is_current(out, run)


@pytest.mark.slow
def test_fixed_precision_method_is_current_after_one_evaluation(measured: Path, own_run: Path, tiny_data: Path) -> None:
    assert not is_current(measured, own_run, "bf16-mixed")
    evaluate(
        own_run, tiny_data, measured, occlusions=(0,), precision="bf16-mixed", show=False
    )  # ropes reads in float32
    assert is_current(measured, own_run, "bf16-mixed")


@pytest.mark.slow
def test_an_evaluation_of_other_weights_is_repeated(
    measured: Path, own_run: Path, tiny_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = results.read(measured / "results.json")
    change_weights(own_run)
    with monkeypatch.context() as patch:
        patch.setattr("ropes.evaluation.record.write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            evaluate(own_run, tiny_data, measured, occlusions=(0,), show=False)
    assert not (measured / "results.json").exists()  # what was killed does not vouch for the old figures
    assert not is_current(measured, own_run)
    after = evaluate(own_run, tiny_data, measured, occlusions=(0,), show=False)
    assert is_current(measured, own_run)
    assert after.rows != before.rows


def test_packaged_estimator_is_evaluated_again_after_an_update(
    own_run: Path, tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def measure(
        run: Path, data: Path, out: Path, *, name: str, label: str, precision: RequestedPrecision = "auto"
    ) -> None:
        asked.append(label)
        precisions: tuple[RequestedPrecision, Precision] = precision, "32-true"
        about = Run.read(run), open_dataset(tiny_data), label, precisions
        folder = claim_evaluation(out, run, *about, began=0.0, measures="moves")
        (out / "artefacts").mkdir()
        folder.write(name)

    def found(name: str) -> Path:
        assert name == "packaged:panda-2c"
        return own_run

    monkeypatch.setattr(experiments, "find_run", found)
    monkeypatch.setattr(experiments, "evaluate_estimator", measure)
    write_json(tmp_path / "out" / "experiment.json", {})
    plan = experiment("causal-triplet", "compact")
    for _ in range(2):
        experiments.evaluate_packaged(plan, tmp_path / "out")
    assert asked == ["anchored (panda-2c)"]
    change_weights(own_run)
    write_json(own_run / "run.json", {**read_json(own_run / "run.json"), "data_checksum": "other"})
    for _ in range(2):
        experiments.evaluate_packaged(plan, tmp_path / "out")
    assert len(asked) == 2
