from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ropes.experiments import datasets, fits
from ropes.experiments import run as experiments
from ropes.experiments.plan import Experiment
from tests import tiny
from tests.experiments.tiny_experiment import small


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, cache_home: Path) -> list[str]:
    """Experiments are tiny, their images blobs; gives what was done, in order."""
    done: list[str] = []

    def simulate(setting: Any, *, out: Path, anchors: int, test_anchors: int, **_: Any) -> None:
        if not out.exists():
            done.append(f"simulate {setting.name}")
            tiny.write_data(out, anchors=anchors, tests=test_anchors)

    def recorded(name: str) -> None:
        original: Callable[..., Any] = getattr(fits, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            done.append(name)
            return original(*args, **kwargs)

        monkeypatch.setattr(fits, name, call)

    def planned(name: str, preset: str, methods: Sequence[str] = (), **_: object) -> Experiment:
        return small(name=name, recipes={method: tiny.recipe_of(method) for method in methods or ("ropes",)})

    monkeypatch.setattr(experiments, "experiment", planned)
    monkeypatch.setattr(datasets, "simulate", simulate)
    recorded("fit")
    recorded("evaluate")
    return done
