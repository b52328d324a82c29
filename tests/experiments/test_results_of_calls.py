"""The results that a call of an experiment collects from its fits."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ropes import __version__
from ropes.common.files import write_json
from ropes.common.jobs import Job
from ropes.errors import UnfinishedError
from ropes.evaluation.results import Results, write
from ropes.evaluation.rows.kinds import FitRow
from ropes.experiments import folder, parallel
from ropes.experiments import run as experiments
from ropes.experiments.fits import fit_and_evaluate
from ropes.experiments.folder import collect_results, run_folder
from ropes.experiments.plans import experiment
from ropes.experiments.run import run_experiment
from ropes.models.registry import packaged_folder
from tests import tiny
from tests.experiments.tiny_experiment import ONE, small


def test_results_of_a_fit_that_trained_again_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = small()
    stored = {run_folder(tmp_path / "out", ONE, "ropes", seed): "of the earlier version" for seed in plan.seeds}

    def train_again(_: Any, out: Path, *fit: Any, **__: Any) -> None:
        stored[run_folder(out, *fit[:3])] = "of this version"

    def collect(*given: Any) -> Any:
        cache = given[-1]
        for run, content in stored.items():
            cache.setdefault(run, content)
        return SimpleNamespace(found=set(cache.values()), model_rows=())

    def nothing(*_: Any, **__: Any) -> None: ...

    for name in ("require_renderers", "generate_dataset", "copy_artefacts"):
        monkeypatch.setattr(experiments, name, nothing)
    monkeypatch.setattr(experiments, "fit_and_evaluate", train_again)
    monkeypatch.setattr(experiments, "collect_results", collect)
    results: Any = run_experiment(plan, preset="compact", out=tmp_path / "out", show=False)
    assert results.found == {"of this version"}


def test_parallel_fits_of_another_version_or_recipe_are_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small(seeds=(0, 1, 2))
    recipe = plan.recipe(ONE, "ropes")
    stored = {
        "seed-0": ("0.0.1", recipe),
        "seed-1": (__version__, recipe),
        "seed-2": (__version__, tiny.recipe_of("ldr")),
    }
    started, collected = list[int](), list[tuple[str, str, int]]()

    def read(folder: Path) -> SimpleNamespace:
        version, of = stored[folder.name]
        return SimpleNamespace(version=version, recipe=of)

    def run_all(jobs: Sequence[Job], *, finished: Callable[[int], None], **_: Any) -> None:
        for number, job in enumerate(jobs):
            call: Any = job.call
            assert call.func is fit_and_evaluate
            started.append(call.args[4])
            finished(number)

    def collect(fit: tuple[str, str, int]) -> Any:
        collected.append(fit)

    monkeypatch.setattr(parallel, "Run", SimpleNamespace(read=read))
    monkeypatch.setattr(parallel, "is_current", lambda *_: True)
    monkeypatch.setattr(parallel, "run_all", run_all)
    write_json(tmp_path / "experiment.json", {})
    fits = [(ONE, "ropes", seed) for seed in plan.seeds]
    options: dict[str, Any] = {"processes": 2, "cluster": None, "gpus": None, "show": False}
    parallel.fit_at_once(plan, tmp_path, fits, "32-true", collect, **options)
    assert started == [0, 2]
    assert collected == [fits[0], fits[2]]


def test_earlier_results_of_a_parallel_fit_that_fails_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, out = small(), tmp_path / "out"
    stored = {run_folder(out, ONE, "ropes", seed): seed for seed in plan.seeds}
    found: list[set[int]] = []

    def collect(*given: Any) -> Any:
        cache = given[-1]
        for run, content in stored.items():
            cache.setdefault(run, content)
        found.append(set(cache.values()))
        return SimpleNamespace(model_rows=())

    def fail(_: Any, __: Any, fits: Any, ___: Any, collect_after: Callable[[Any], Any], **____: Any) -> None:
        collect_after(fits[0])
        del stored[run_folder(out, *fits[1])]  # its training began again
        raise UnfinishedError("diverged")

    def nothing(*_: Any, **__: Any) -> None: ...

    for name in ("require_renderers", "generate_dataset", "copy_artefacts"):
        monkeypatch.setattr(experiments, name, nothing)
    monkeypatch.setattr(experiments, "fit_at_once", fail)
    monkeypatch.setattr(experiments, "collect_results", collect)
    with pytest.raises(UnfinishedError, match="diverged"):
        run_experiment(plan, preset="compact", out=out, processes=2, show=False)
    assert found == [{0, 1}, {0}]


def test_results_of_methods_of_earlier_calls_stay(tmp_path: Path) -> None:
    write_json(tmp_path / "experiment.json", {"seconds": {"fits": 1.0}})
    about: dict[str, Any] = {"name": "robot-hours", "preset": "compact", "version": __version__, "seconds": 1.0}
    plan = experiment("robot-hours", "compact", ["cnn"])
    fits = [("anchored@2-hours", 0), ("cnn@2-hours", 0), ("cnn@chains-2-hours", 0)]
    cache = {
        run_folder(tmp_path, dataset, label, seed): Results(**about, device=f"{dataset} {label}", rows=())
        for dataset in plan.anchors
        for label, seed in fits
    }
    found = collect_results(plan, "compact", tmp_path, fits, cache)
    one, chains = plan.anchors
    assert found.device.split(" and ")[:2] == [f"{one} anchored@2-hours", f"{one} cnn@2-hours"]
    assert found.device.split(" and ")[2:] == [f"{chains} anchored@2-hours", f"{chains} cnn@chains-2-hours"]


@pytest.mark.parametrize("current", [True, False])
def test_results_of_an_earlier_packaged_estimator_are_left_out(
    current: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_json(tmp_path / "experiment.json", {"seconds": {"fits": 1.0}})
    evaluation = tmp_path / "arm-actions" / "packaged" / "panda-2c"
    fit = FitRow(setup="arm-actions", method="m", seed=0, weights="w", data_checksum="d", version="0.0.1")
    about: dict[str, Any] = {"name": "causal-triplet", "preset": "compact", "version": "0.0.1", "seconds": 1.0}
    write(evaluation / "results.json", Results(**about, device="2 cores", rows=(), fit_rows=(fit,)))

    def is_current(given: Path, run: Path, *_: object) -> bool:
        assert (given, run) == (evaluation, packaged_folder() / "panda-2c")
        return current

    monkeypatch.setattr(folder, "is_current", is_current)
    found = collect_results(experiment("causal-triplet", "compact"), "compact", tmp_path, [], {})
    assert found.fit_rows == ((fit,) if current else ())
