"""The results that a call of an experiment collects from its fits."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ropes.experiments import run as experiments
from ropes.experiments.folder import run_folder
from ropes.experiments.run import run_experiment
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
