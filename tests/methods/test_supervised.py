"""The baselines that read labels: they learn, say how many labels they read, and refuse what they cannot use."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file

from ropes.common.files import read_json
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.views import Views
from ropes.errors import UserError
from ropes.evaluation.joints import evaluate
from ropes.experiments.packager import package
from ropes.inference import prediction
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import calibrate, images_of
from ropes.methods.fit import fit
from ropes.methods.recipes import JointNetRecipe, Optimisation, Recipe
from ropes.methods.run import TRAINING_FILE, Run
from ropes.methods.supervised import fit as supervised
from ropes.methods.supervised.stages import AngleStage, PretrainingStage
from ropes.methods.training.stage import Stage
from ropes.methods.training.validation_split import held_out_frames
from ropes.models.checkpoints import WEIGHTS
from ropes.models.registry import CARD_FILE
from ropes.report.html import write_report
from tests import tiny
from tests.kills import killed

pytestmark = pytest.mark.slow  # the fixtures fit

PLACES = "encoder.vit.embeddings.position_embeddings"
#: Nine steps on the tiny data set.
SHORT = Optimisation(epochs=3, batch=20, learning_rate=1e-3)


@pytest.fixture(scope="module")
def data(many_anchors: Path) -> Path:
    return many_anchors


@pytest.fixture(scope="module", params=tiny.LABELLED)
def run(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "run"
    fit(data, folder, tiny.recipe_of(request.param), method=request.param, show=False)
    return folder


def short_recipe(method: str, **changes: Any) -> Recipe:
    """Few steps with labels, and of pre-training."""
    both = {"pretraining": SHORT} if method == "jointnet" else {}
    return replace(tiny.recipe_of(method), training=SHORT, **both, **changes)


@pytest.fixture(scope="module")
def short(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Method → a run of few steps on the tiny data set; never to be changed."""
    folder = tmp_path_factory.mktemp("short")
    for method in tiny.LABELLED:
        fit(tiny_data, folder / method, short_recipe(method), method=method, show=False)
    return {method: folder / method for method in tiny.LABELLED}


def test_supervised_method_predicts_radians(run: Path, data: Path) -> None:
    dataset, estimator = open_dataset(data), Estimator.load(run)
    rows = dataset.frames("test-id").index
    error = estimator.angles(dataset.read_images(rows)) - dataset.states("test-id")
    assert (error**2).mean(0).max() < 0.1 * dataset.states("test-id").var(0).min()


def test_training_summary_contains_curves_and_label_counts(run: Path) -> None:
    summary = read_json(run / TRAINING_FILE)
    curves = summary["stages"]["angles"]
    assert curves["held_out"][-1] < curves["held_out"][0]
    assert summary["labelled_images"] == 2 * summary["labelled_poses"] == 200 * 5 * 2
    assert summary["labelled_poses_held_out"] == 50 * 5
    assert summary["best_step"] in curves["steps"]
    if summary["method"] == "jointnet":
        curves = summary["stages"]["pretraining"]
        assert all(1 < rank <= 32 for rank in curves["rank"])
        assert all(0 < spread < 1 for spread in curves["spread"])
        assert summary["collapse"]["fault"] is None


def test_evaluation_of_a_supervised_run_fits_no_line(run: Path, data: Path, tmp_path: Path) -> None:
    results = evaluate(run, data, tmp_path / "e", occlusions=(0, 4), show=False)
    assert {row.calibration_labels for row in results.rows} == {0}
    assert {row.labels for row in results.rows} == {2000}
    assert {row.label_share for row in results.rows} == {1.0}
    assert {row.intervals for row in results.trust_rows} == {"own"}
    usual = [row.coverage for row in results.trust_rows if row.occlusion == 0]
    assert 0.8 < min(usual) <= max(usual) < 0.98
    write_report(tmp_path / "e", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "width from held-out labels" in page
    assert "angles from labels: share of their variance" in page
    dataset, estimator = open_dataset(data), Estimator.load(run)
    assert estimator.intervals is not None
    assert estimator.intervals.source == "labels"
    read = estimator.coordinates(dataset.read_images(dataset.frames("test-id").index))
    for row, error in zip(results.rows, ((read - dataset.states("test-id")) ** 2).mean(0), strict=False):
        assert row.mse_mean == pytest.approx(float(error), rel=0.1)


@pytest.mark.parametrize(
    ("method", "kind"), [("cnn", AngleStage), ("jointnet", PretrainingStage), ("jointnet", AngleStage)]
)
def test_killed_fit_resumes_to_the_same_weights(
    method: str, kind: type[Stage], tiny_data: Path, short: dict[str, Path], tmp_path: Path
) -> None:
    with killed(kind, 7):
        fit(tiny_data, tmp_path / "killed", short_recipe(method), method=method, show=False)
    fit(tiny_data, tmp_path / "killed", short_recipe(method), method=method, show=False)
    assert tiny.weights(tmp_path / "killed") == tiny.weights(short[method])


@pytest.mark.any_processor
def test_other_label_fraction_keeps_the_pretraining(tiny_data: Path, short: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(short["jointnet"], tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("weights.safetensors")}
    fit(tiny_data, tmp_path / "run", short_recipe("jointnet", labels=0.5), method="jointnet", show=False)
    changed = {path.parent.name for path, when in before.items() if path.stat().st_mtime_ns != when}
    assert changed == {"angles"}


@pytest.mark.any_processor
@pytest.mark.parametrize("frozen", [True, False])
def test_labels_update_the_pretrained_encoder_unless_frozen(
    frozen: bool, tiny_data: Path, short: dict[str, Path], tmp_path: Path
) -> None:
    run = short["jointnet"]
    if frozen:
        run = tmp_path / "run"
        recipe = short_recipe("jointnet", frozen=True)
        fit(tiny_data, run, recipe, method="jointnet", pretrained=short["jointnet"], show=False)
    trained, before = (load_file(run / stage / WEIGHTS) for stage in ("angles", "pretraining"))
    same = {
        name: torch.equal(weight, before[f"average.{name.removeprefix('encoder.')}"])
        for name, weight in trained.items()
        if name.startswith("encoder.")
    }
    assert {name for name, stayed in same.items() if stayed} == (set(same) if frozen else {PLACES})


@pytest.mark.any_processor
def test_different_angles_make_a_different_run(short: dict[str, Path], tmp_path: Path) -> None:
    """The checksum of a data set leaves angles out; a supervised run must not."""
    other = tiny.write_data(tmp_path / "other", change=lambda states: states.update(train=states["train"] + 0.1))
    shutil.copytree(short["cnn"], tmp_path / "run")
    before = tiny.tree(tmp_path / "run")
    with pytest.raises(UserError, match="holds a run with another angles checksum"):
        fit(other, tmp_path / "run", short_recipe("cnn"), method="cnn", show=False)
    assert tiny.tree(tmp_path / "run") == before


@pytest.mark.any_processor
def test_pretraining_is_reused_only_with_the_same_recipe(
    tiny_data: Path, short: dict[str, Path], tmp_path: Path
) -> None:
    first, chosen, own = short["jointnet"], short_recipe("jointnet"), tmp_path / "own"
    assert isinstance(chosen, JointNetRecipe)
    fit(tiny_data, own, replace(chosen, momentum=0.9), method="jointnet", show=False)
    fit(tiny_data, own, chosen, method="jointnet", pretrained=first, show=False)  # in the place of another one
    assert (own / "pretraining" / "stage.json").read_bytes() == (first / "pretraining" / "stage.json").read_bytes()
    assert (
        tiny.weights(own)["pretraining/weights.safetensors"] == tiny.weights(first)["pretraining/weights.safetensors"]
    )
    other = replace(chosen, vit=replace(chosen.vit, depth=1))
    with pytest.raises(UserError, match="pre-trained on other data, with another seed or other settings"):
        fit(tiny_data, tmp_path / "new", other, method="jointnet", pretrained=first, show=False)
    assert not (tmp_path / "new").exists()
    jointnet = replace(chosen, vit=replace(chosen.vit, hidden=8, rounds=1))  # no part of the pre-training
    fit(tiny_data, tmp_path / "new", jointnet, method="jointnet", pretrained=first, show=False)
    assert tiny.weights(tmp_path / "new")["pretraining/weights.safetensors"] in tiny.weights(first).values()


@pytest.mark.any_processor
def test_run_of_another_method_has_no_pretraining_to_reuse(
    tiny_data: Path, short: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="holds no finished pre-training of method jointnet"):
        fit(
            tiny_data,
            tmp_path / "new",
            short_recipe("jointnet"),
            method="jointnet",
            pretrained=short["cnn"],
            show=False,
        )
    with pytest.raises(UserError, match="method cnn is not pre-trained; leave --pretrained out"):
        fit(tiny_data, tmp_path / "new", short_recipe("cnn"), method="cnn", pretrained=short["cnn"], show=False)
    assert not (tmp_path / "new").exists()


@pytest.mark.any_processor
def test_collapsed_pretraining_prints_a_warning_and_is_reported(
    tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervised, "collapse", lambda rank, spread: "as told by a test")
    fit(tiny_data, tmp_path / "run", short_recipe("jointnet"), method="jointnet", show=False)
    assert "ropes: warning: pre-training collapsed: as told by a test; lower" in capsys.readouterr().err
    evaluate(tmp_path / "run", tiny_data, tmp_path / "e", occlusions=(0,), sizes=tiny.SIZES, show=False)
    write_report(tmp_path / "e", tmp_path / "page.html")
    assert "Pre-training collapsed: as told by a test." in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.any_processor
def test_collapse_is_not_tested_with_few_held_out_images(tmp_path: Path) -> None:
    few = tiny.write_data(tmp_path / "few", anchors=4)
    fit(few, tmp_path / "run", short_recipe("jointnet"), method="jointnet", show=False)
    assert read_json(tmp_path / "run" / TRAINING_FILE)["collapse"] is None
    evaluate(tmp_path / "run", few, tmp_path / "e", occlusions=(0,), sizes=tiny.SIZES, show=False)
    write_report(tmp_path / "e", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The validation split is too small to test whether pre-training collapsed." in page
    assert "Methods with training labels predict radians directly." in page


@pytest.mark.any_processor
def test_reused_pretraining_is_kept_without_the_source_run(
    tiny_data: Path, short: dict[str, Path], tmp_path: Path
) -> None:
    chosen = short_recipe("jointnet")
    shutil.copytree(short["jointnet"], tmp_path / "first")
    fit(tiny_data, tmp_path / "own", chosen, method="jointnet", pretrained=tmp_path / "first", show=False)
    before = tiny.tree(tmp_path / "own")
    shutil.rmtree(tmp_path / "first")
    fit(tiny_data, tmp_path / "own", chosen, method="jointnet", pretrained=tmp_path / "first", show=False)
    assert tiny.tree(tmp_path / "own") == before


@pytest.mark.any_processor
def test_erased_share_is_recorded_in_the_results(tiny_data: Path, tmp_path: Path) -> None:
    fit(tiny_data, tmp_path / "run", short_recipe("cnn", random_erasing=0.5), method="cnn", show=False)
    measured = evaluate(tmp_path / "run", tiny_data, tmp_path / "e", occlusions=(0,), sizes=tiny.SIZES, show=False)
    rows = measured.rows
    assert {row.erased for row in rows} == {0.5}


@pytest.mark.any_processor
def test_calibration_uses_fresh_poses_and_leaves_the_evaluation_unchanged(
    run: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "run"
    shutil.copytree(run, own)
    before = evaluate(own, data, tmp_path / "before", occlusions=(0,), show=False).rows
    chosen: list[int] = []

    def noted(of: Run, dataset: Dataset, rows: NDArray[np.int64]) -> Views:
        chosen.extend(rows.tolist())
        return images_of(of, dataset, rows)

    monkeypatch.setattr(prediction, "images_of", noted)
    calibrate(own, data=data, samples=100)
    dataset = open_dataset(data)
    fresh = dataset.frames("train").index[held_out_frames(Run.read(own), dataset)]
    assert len(chosen) == 100
    assert set(chosen) <= set(fresh.tolist())
    assert evaluate(own, data, tmp_path / "after", occlusions=(0,), show=False).rows == before
    with pytest.raises(UserError, match="250 training poses that the run has not learnt from, fewer than the 251"):
        calibrate(own, data=data, samples=251)


@pytest.mark.any_processor
def test_packaged_run_gives_the_same_radians(run: Path, data: Path, tmp_path: Path) -> None:
    evaluate(run, data, tmp_path / "e", occlusions=(0,), show=False)
    made = package(run, name="tiny", data=data, results=tmp_path / "e" / "results.json", out=tmp_path / "out")
    assert not (made / "calibration.json").exists()
    images = open_dataset(data).read_images(range(8))
    before, after = Estimator.load(run), Estimator.load(made)
    assert np.array_equal(before.angles(images), after.angles(images))
    assert after.labelled_images == before.labelled_images > 0
    card = (made / CARD_FILE).read_text(encoding="utf-8")
    assert f"the angles of {read_json(run / TRAINING_FILE)['labelled_poses']:,} poses." in card
    assert "| radians from | the networks, trained on labels |" in card
    assert "ropes calibrate" not in card
    assert "The networks give radians." in card
    for title in ("RMS error, °", "MSE, rad²", "MCC"):
        assert re.search(rf"\| {re.escape(title)} \|.*\n\|.*\n\| in distribution \|", card)


@pytest.mark.any_processor
def test_too_few_held_out_labels_give_only_the_flag(
    tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fit(tiny_data, tmp_path / "run", short_recipe("cnn", labels=0.2), method="cnn", show=False)
    assert "ropes: no standard deviations: " in capsys.readouterr().err
    estimator, dataset = Estimator.load(tmp_path / "run"), open_dataset(tiny_data)
    reading = estimator.read(dataset.read_images(np.arange(4)))
    assert reading.deviation is None
    assert reading.distance is not None
    assert estimator.intervals is None
