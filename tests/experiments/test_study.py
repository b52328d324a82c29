"""The disentanglement study, made tiny: several models at a time, gone on with, each written as it ends."""

import multiprocessing
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.common.files import read_json, write_json
from ropes.errors import UnfinishedError, UserError
from ropes.evaluation import results
from ropes.evaluation.record import REVISION
from ropes.experiments import datasets, parallel
from ropes.experiments import folder as experiment_folder
from ropes.experiments import run as experiments
from ropes.experiments.datasets import generate_dataset
from ropes.experiments.fits import torch_threads
from ropes.experiments.folder import claim, data_folder, run_folder, threads_of
from ropes.experiments.plan import Experiment
from ropes.experiments.plans import experiment
from ropes.experiments.run import reproduce
from ropes.methods.fit import fit
from ropes.methods.recipes import EncoderRecipe, Optimisation, VAERecipe
from ropes.methods.registry import method_of, methods_of
from ropes.methods.run import Run
from ropes.methods.vae.stage import VAEStage
from ropes.methods.weights import uncertainty_digest, weights_digest
from ropes.report.html import write_report
from ropes.simulation.finger import write_feasibility
from ropes.simulation.finger_setting import FACTORS, FingerSetting
from tests import tiny
from tests.conftest import MEASURED, REGRESSED
from tests.kills import killed


def planned(name: str, preset: str, methods: Sequence[str] = (), *, recorded: Path | None = None) -> Experiment:
    """A study of few steps on few images."""
    return Experiment(
        name=name,
        recipes={method: tiny.vae_recipe() for method in methods or methods_of("factors")},
        anchors={"finger-cube": 64},
        test_anchors=MEASURED,
        labelled=REGRESSED,
        seeds=(0,),
        occlusions=(),
        at_once=True,
        measures="factors",
        recorded=None if recorded is None else str(recorded),
    )


@pytest.fixture
def out(tmp_path: Path, measured_finger: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for a tiny study, which `reproduce` runs meanwhile; its data are there already."""
    monkeypatch.setattr(experiments, "experiment", planned)
    monkeypatch.setattr(datasets, "write_feasibility", partial(write_feasibility, drawn=500, each=1))

    def simulate(plan: Experiment, setting: str, out: Path, workers: int | None, **options: Any) -> None:
        if not (out / setting).exists():  # as it would come out
            shutil.copytree(measured_finger, out / setting / "data")
        generate_dataset(plan, setting, out, workers, **options)

    monkeypatch.setattr(experiments, "generate_dataset", simulate)
    return tmp_path / "study"


@pytest.fixture
def of_an_arm(tmp_path: Path, tiny_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As `out`, but with images of an arm, which has fewer factors: an evaluation takes a seventh of the time."""

    def simulate(plan: Experiment, setting: str, out: Path, *_: Any, **__: Any) -> None:
        if not (out / setting).exists():
            shutil.copytree(tiny_data, data_folder(out, setting))

    monkeypatch.setattr(experiments, "experiment", planned)
    monkeypatch.setattr(experiments, "generate_dataset", simulate)
    return tmp_path / "study"


@pytest.mark.slow
def test_every_model_is_fitted_once_in_its_own_process(out: Path) -> None:
    seen: list[int] = []
    gather = experiment_folder.collect_results

    def counted(*given: Any) -> results.Results:
        found = gather(*given)
        seen.append(len(found.model_rows))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiments, "collect_results", counted)
        found = reproduce("disentanglement", preset="compact", out=out, processes=2, show=False)
    assert len(seen) == 3
    assert seen == sorted(seen)
    assert (min(seen) >= 1, seen[-1]) == (True, 2)
    assert [(row.method, row.seed) for row in found.model_rows] == [(method, 0) for method in methods_of("factors")]
    assert results.read(out / "results.json") == found
    assert set(read_json(out / "experiment.json")["seconds"]) == {"finger-cube simulate", "finger-cube fits"}
    assert not multiprocessing.active_children()

    weights = {path: path.stat().st_mtime_ns for path in out.rglob("weights.safetensors")}
    again = reproduce("disentanglement", preset="compact", out=out, processes=1, show=False)
    assert again.model_rows == found.model_rows
    assert {path: path.stat().st_mtime_ns for path in out.rglob("weights.safetensors")} == weights

    more = reproduce("disentanglement", preset="compact", out=out, methods=("beta-vae",), seeds=(2,), show=False)
    assert len(more.model_rows) == 3

    write_report(out, out / "report.html")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Possible states" in page
    assert page.count('<img src="data:') == 3 * (4 + 3 + 1)


@pytest.mark.slow
def test_killed_parallel_fits_resume_to_the_same_weights(of_an_arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "usable_cores", lambda: 2)
    out = of_an_arm
    options: dict[str, Any] = {"methods": ("beta-vae",), "seeds": (0, 1), "processes": 2, "show": False}
    again = partial(reproduce, "disentanglement", preset="compact", out=out, **options)
    whole = again()
    assert set(read_json(out / "experiment.json")["threads"].values()) == {1}
    before = tiny.weights(out)
    run = run_folder(out, "finger-cube", "beta-vae", 1)
    shutil.rmtree(run)
    with torch_threads(1), killed(VAEStage, 3):
        fit(out / "finger-cube" / "data", run, tiny.vae_recipe(), 1, method="beta-vae", show=False)
    assert (run / "vae" / "last.safetensors").exists()

    resumed = again()
    assert tiny.weights(out) == before
    assert [row.scores for row in resumed.model_rows] == [row.scores for row in whole.model_rows]


@pytest.mark.slow
def test_fits_with_more_threads_than_cores_run_one_at_a_time(of_an_arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with fewer cores than the one that they were begun on."""
    asked: list[tuple[int, list[int]]] = []
    monkeypatch.setattr(
        parallel,
        "run_all",
        lambda jobs, *, processes, **_: asked.append((processes, [job.threads for job in jobs])),
    )
    for cores, processes in ((8, 2), (2, 2)):
        monkeypatch.setattr(parallel, "usable_cores", lambda cores=cores: cores)
        with torch_threads(cores):
            reproduce("disentanglement", preset="compact", out=of_an_arm, processes=processes, show=False)
    assert asked == [(2, [4] * 2), (1, [4] * 2)]


def test_resumed_fits_keep_their_number_of_threads(tmp_path: Path) -> None:
    write_json(tmp_path / "experiment.json", {"preset": "compact"})
    runs = [run_folder(tmp_path, "finger-cube", "beta-vae", seed) for seed in (0, 1, 2)]
    assert threads_of(tmp_path, runs[:2], 4) == [4, 4]
    assert threads_of(tmp_path, runs[1:], 1) == [4, 1]
    assert threads_of(tmp_path, runs, 16) == [4, 4, 1]
    assert read_json(tmp_path / "experiment.json")["preset"] == "compact"


@pytest.mark.slow
def test_failed_model_does_not_stop_the_others(
    of_an_arm: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:

    def with_one_that_diverges(*given: Any, **options: Any) -> Experiment:
        plan = planned(*given, **options)
        steep = tiny.vae_recipe(training=Optimisation(epochs=3, batch=8, learning_rate=1e18))
        return replace(plan, recipes={**plan.recipes, "beta-vae": steep})

    monkeypatch.setattr(experiments, "experiment", with_one_that_diverges)
    assert cli.main(["reproduce", "disentanglement", "--out", str(of_an_arm)]) == 2
    assert re.search(r"training diverged by step \d+ .* \(1 of 2 failed\)", capsys.readouterr().err)
    assert [row.method for row in results.read(of_an_arm / "results.json").model_rows] == ["ada-gvae"]
    assert '<th scope="row">ada-gvae' in (of_an_arm / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_no_page_is_written_when_every_model_fails(of_an_arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steep = tiny.vae_recipe(training=Optimisation(epochs=3, batch=8, learning_rate=1e18))

    def with_none_that_ends(*given: Any, **options: Any) -> Experiment:
        return replace(planned(*given, **options), recipes={"beta-vae": steep})

    monkeypatch.setattr(experiments, "experiment", with_none_that_ends)
    with pytest.raises(UnfinishedError, match="training diverged"):
        reproduce("disentanglement", preset="compact", out=of_an_arm, show=False)
    assert cli.main(["reproduce", "disentanglement", "--out", str(of_an_arm)]) == 2
    assert not (of_an_arm / "report.html").exists()


def test_pictures_show_the_first_finished_seed(tmp_path: Path, tiny_run: Path) -> None:
    plan = experiment("supervision", "compact", ("ldr",))
    (setting,) = plan.anchors
    label = next(iter(plan.recipes))
    for seed in (1, 2):
        run = run_folder(tmp_path, setting, label, seed)
        shutil.copytree(tiny_run, run)
        write_json(run / "evaluation" / "results.json", {})
        read_with = {"weights": weights_digest(run), "trust": uncertainty_digest(run), "revision": REVISION}
        about = {"fitted_on": Run.read(run).data_checksum, **read_with}
        write_json(run / "evaluation" / "evaluation.json", about)
        write_json(run / "evaluation" / "artefacts" / setting / f"{label}-{seed}.json", {})
    experiment_folder.copy_artefacts(plan, tmp_path, [(label, seed) for seed in (0, 1, 2)], ())
    assert list(tiny.tree(tmp_path / "artefacts")) == [f"{setting}/{label}-1.json"]


@pytest.mark.slow
def test_photographs_are_checked_first_and_used_for_testing(out: Path) -> None:
    file = out.with_name("photographs.npz")
    factors = np.array([[factor.low for factor in FACTORS]] * 3)
    images = np.zeros((3, 32, 32, 3), np.uint8)

    again = partial(
        reproduce, "disentanglement", preset="compact", out=out, methods=("ada-gvae",), seeds=(0,), recorded=file
    )
    with pytest.raises(UserError, match="is missing"):
        again(show=False)
    assert not out.exists()
    np.savez(file, images=images, labels=factors)
    found = again(show=False)
    assert "trees_ood2_b_real" in found.model_rows[0].scores
    write_report(out, out / "report.html")
    assert "errors of each factor, OOD2-B (photographs)" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_possible_states_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "feasibility.npz"
    write_feasibility(path, FingerSetting(image_size=16), drawn=2_000, each=2)
    with np.load(path) as stored:
        assert stored["drawn"].sum() == 2_000
        assert (stored["possible"] <= stored["drawn"]).all()
        assert stored["possible"].sum() / 2_000 == pytest.approx(0.528, abs=0.04)
        assert stored["upright"].shape == (30, 30)
        assert 0 < stored["upright"].mean() < 1


@pytest.mark.parametrize(("preset", "models"), [("compact", 12), ("paper", 1_080)])
def test_sweep_matches_the_paper(preset: str, models: int) -> None:
    plan = experiment("disentanglement", preset)
    assert len(plan.recipes) * len(plan.seeds) == models
    recipes = list(plan.recipes.values())
    assert all(isinstance(recipe, VAERecipe) for recipe in recipes)
    assert {method_of(label) for label in plan.recipes} == set(methods_of("factors"))
    assert {recipe.noise for recipe in recipes if isinstance(recipe, VAERecipe)} == {True, False}
    assert len({(method_of(label), str(recipe)) for label, recipe in plan.recipes.items()}) == len(recipes)
    if preset == "paper":
        assert {recipe.beta for recipe in recipes if isinstance(recipe, VAERecipe)} == {1, 2, 4}


@pytest.mark.parametrize(
    ("preset", "method", "steps"),
    [("compact", "ada-gvae", 7_000), ("compact", "ldr", 1_442), ("paper", "ada-gvae", 400_000)],
)
def test_number_of_steps_does_not_depend_on_the_number_of_anchors(preset: str, method: str, steps: int) -> None:
    plan = experiment("supervision", preset, (method,))
    found = set()
    for recipe in plan.recipes.values():
        assert isinstance(recipe, VAERecipe | EncoderRecipe)
        assert recipe.anchors is not None
        found.add(recipe.training.steps(2 * 7 * recipe.anchors))  # images of pairs
    assert found == {steps}


def test_methods_of_other_experiments_are_refused() -> None:
    with pytest.raises(UserError, match="disentanglement is not for method anchored"):
        experiment("disentanglement", "compact", ("anchored",))
    with pytest.raises(UserError, match="table1 is not for method beta-vae"):
        experiment("table1", "compact", ("beta-vae",))
    with pytest.raises(UserError, match="learns from labels; compare"):
        experiment("supervision", "compact", ("cnn",))


def test_recordings_are_identified_by_content(tmp_path: Path) -> None:
    first, second = tmp_path / "home-of-somebody" / "real.npz", tmp_path / "elsewhere" / "real.npz"
    for file in (first, second):
        file.parent.mkdir()
        file.write_bytes(b"photographs")

    def taken(file: Path) -> None:
        claim(tmp_path / "study", experiment("disentanglement", "compact", recorded=file), "compact")

    taken(first)
    taken(second)
    assert "somebody" not in (tmp_path / "study" / "experiment.json").read_text(encoding="utf-8")
    second.write_bytes(b"others")
    with pytest.raises(UserError, match="holds another experiment"):
        taken(second)
    with pytest.raises(UserError, match="holds another experiment"):
        claim(tmp_path / "study", experiment("disentanglement", "compact"), "compact")
