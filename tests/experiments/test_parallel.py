"""Fits of an experiment of arms in parallel processes: those of one method that share their first stages in order."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.common.files import read_json, write_json
from ropes.common.jobs import Job
from ropes.data import schema
from ropes.data.layout import Dataset, open_dataset
from ropes.errors import UnfinishedError
from ropes.evaluation import results
from ropes.experiments import datasets, parallel
from ropes.experiments import run as experiments
from ropes.experiments.fits import torch_threads
from ropes.experiments.folder import run_folder, timed
from ropes.experiments.plan import Experiment
from ropes.experiments.run import reproduce
from ropes.methods.recipes import Optimisation
from ropes.models.checkpoints import WEIGHTS
from ropes.simulation.settings import Setting
from tests import tiny
from tests.experiments.tiny_experiment import ONE, small

VARIANTS = ("ropes", "ropes@other")
OTHER = "panda-2c-independent"


def three_fits(name: str, preset: str, methods: Sequence[str] = (), **_: object) -> Experiment:
    """Three tiny fits on each of two data sets; two of the three share AE1."""
    recipes = {"ropes": tiny.recipe(), "ropes@other": tiny.recipe(sparsity_weights=(2.0,))}
    return small(name=name, recipes={**recipes, "ldr": tiny.recipe_of("ldr")}, anchors={ONE: 8, OTHER: 8}, seeds=(0,))


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> None:
    """The experiment of `three_fits`, on two cores."""

    def simulate(setting: Setting, *, out: Path, anchors: int, test_anchors: int, **_: Any) -> Dataset:
        if not out.exists():
            calls.append(f"simulate {setting.name}")
            tiny.write_data(out, anchors=anchors, tests=test_anchors)
            note = read_json(out / schema.PROVENANCE)
            note["setting"]["name"] = setting.name
            write_json(out / schema.PROVENANCE, note)
        return open_dataset(out)

    monkeypatch.setattr(experiments, "experiment", three_fits)
    monkeypatch.setattr(datasets, "simulate", simulate)
    monkeypatch.setattr(parallel, "usable_cores", lambda: 2)


@pytest.mark.slow
def test_parallel_fits_give_the_weights_of_fits_one_after_the_other(two_cores: None, tmp_path: Path) -> None:
    options: dict[str, Any] = {"preset": "compact", "settings": (ONE,), "show": False}
    found = reproduce("demo", out=tmp_path / "parallel", processes=2, **options)
    with torch_threads(1):
        ordered = reproduce("demo", out=tmp_path / "ordered", **options)
    assert found.rows == ordered.rows
    assert {row.method for row in found.rows} == {"ropes", "ropes@other", "ldr"}
    assert tiny.weights(tmp_path / "parallel") == tiny.weights(tmp_path / "ordered")
    one, other = (run_folder(tmp_path / "parallel", ONE, label, 0) / "ae1" / WEIGHTS for label in VARIANTS)
    assert one.samefile(other)  # trained once
    assert set(read_json(tmp_path / "parallel" / "experiment.json")["threads"].values()) == {1}


@pytest.mark.slow
def test_fits_of_all_data_sets_run_at_once_and_a_failed_one_stops_no_other(
    two_cores: None, calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steep = Optimisation(epochs=6, batch=24, learning_rate=1e18)

    def with_one_that_diverges(*given: Any, **options: Any) -> Experiment:
        plan = three_fits(*given, **options)
        return replace(plan, recipes={**plan.recipes, "ropes": tiny.recipe(ae2_training=steep)})

    monkeypatch.setattr(experiments, "experiment", with_one_that_diverges)
    out = tmp_path / "out"
    with pytest.raises(UnfinishedError, match=rf"({ONE}|{OTHER}) ropes seed 0: .*diverged.* \(2 of 6 failed\)"):
        reproduce("demo", preset="compact", out=out, processes=2, show=False)
    assert calls == [f"simulate {ONE}", f"simulate {OTHER}"]
    done = {(row.setup, row.method) for row in results.read(out / "results.json").rows}
    assert done == {(setting, method) for setting in (ONE, OTHER) for method in ("ropes@other", "ldr")}
    assert set(read_json(out / "experiment.json")["seconds"]) == {
        f"{ONE} simulate",
        f"{OTHER} simulate",
        f"{ONE}, {OTHER} fits",
    }


def test_seconds_so_far_are_stored_before_the_block_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_json(tmp_path / "experiment.json", {})
    times = iter([10.0, 12.0, 15.0, 100.0, 101.0])
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    with timed(tmp_path, "fits") as store:
        store()
        assert read_json(tmp_path / "experiment.json")["seconds"] == {"fits": 2.0}
    assert read_json(tmp_path / "experiment.json")["seconds"] == {"fits": 5.0}
    with timed(tmp_path, "fits"):  # a second call goes on
        pass
    assert read_json(tmp_path / "experiment.json")["seconds"] == {"fits": 6.0}


def test_fits_wait_for_the_one_whose_stages_they_share(
    two_cores: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[list[int | None], list[int]]] = []

    def run_all(jobs: Sequence[Job], *, processes: int, **_: Any) -> None:
        asked.append(([job.after for job in jobs], [job.threads for job in jobs]))

    monkeypatch.setattr(parallel, "run_all", run_all)
    options: dict[str, Any] = {"preset": "compact", "processes": 2, "show": False}
    with torch_threads(2):
        reproduce("demo", out=tmp_path / "one", methods=("ropes",), settings=(ONE,), **options)
        reproduce("demo", out=tmp_path / "settings", methods=("ropes",), **options)
        reproduce("demo", out=tmp_path / "all", **options)
    with torch_threads(1):  # as OMP_NUM_THREADS=1 sets it
        reproduce("demo", out=tmp_path / "one-thread", methods=("ropes",), settings=(ONE,), **options)
    one, *larger, one_thread = asked
    assert one == ([None, 0], [2, 2])
    assert one_thread == ([None, 0], [1, 1])
    for (after, threads), alone, waiting in zip(larger, (2, 4), (2, 2), strict=True):
        assert sorted(each is None for each in after) == [False] * waiting + [True] * alone
        assert threads == [1] * (waiting + alone)
