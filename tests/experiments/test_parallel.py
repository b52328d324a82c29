"""Fits of an experiment of arms in parallel processes: those of one method that share their first stages in order."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ropes.common.files import read_json
from ropes.experiments import parallel
from ropes.experiments import run as experiments
from ropes.experiments.fits import torch_threads
from ropes.experiments.folder import run_folder
from ropes.experiments.plan import Experiment
from ropes.experiments.run import reproduce
from ropes.models.checkpoints import WEIGHTS
from tests import tiny
from tests.experiments.tiny_experiment import ONE, small

VARIANTS = ("ropes", "ropes@other")
OTHER = "panda-2c-independent"


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch, calls: list[str]) -> None:
    """Three tiny fits on each of two data sets, on two cores; two of the three share AE1."""

    def planned(name: str, preset: str, methods: Sequence[str] = (), **_: object) -> Experiment:
        recipes = {"ropes": tiny.recipe(), "ropes@other": tiny.recipe(sparsity_weights=(2.0,))}
        return small(
            name=name, recipes={**recipes, "ldr": tiny.recipe_of("ldr")}, anchors={ONE: 8, OTHER: 8}, seeds=(0,)
        )

    monkeypatch.setattr(experiments, "experiment", planned)
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


def test_only_fits_that_share_no_stage_run_at_once(
    two_cores: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, list[int]]] = []

    def run_all(jobs: Sequence[Any], *, processes: int, threads: list[int], **_: Any) -> None:
        asked.append((len(jobs), threads))

    monkeypatch.setattr(parallel, "run_all", run_all)
    options: dict[str, Any] = {"preset": "compact", "processes": 2, "show": False}
    reproduce("demo", out=tmp_path / "one", methods=("ropes",), settings=(ONE,), **options)
    reproduce("demo", out=tmp_path / "settings", methods=("ropes",), **options)
    reproduce("demo", out=tmp_path / "all", **options)
    assert asked == [(1, [2]), (2, [1] * 2), (4, [1] * 4)]
