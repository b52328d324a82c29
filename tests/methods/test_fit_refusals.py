"""What a fit refuses, and that it leaves nothing behind."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ropes.causal.scm import Regime
from ropes.common import files
from ropes.data import schema
from ropes.errors import UserError
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation
from ropes.methods.ropes import stages
from ropes.methods.run import RUN_FILE
from tests import tiny

Refit = Callable[..., Any]


def regimes_data(path: Path, regimes: tuple[Regime, ...], frames: int) -> Path:
    images = {"train": np.random.default_rng(0).integers(0, 256, (6, frames, 2, 16, 16), dtype=np.uint8)}
    return tiny.write_data(path, described=False, images=images, states=None, regimes=regimes)


@pytest.mark.parametrize(
    ("regimes", "frames", "line"),
    [
        ((Regime(), Regime("elbow", 1), Regime("elbow", 2), Regime("wrist", 1)), 4, "joint wrist has no images under"),
        ((Regime(),), 1, "has no interventions; fitting needs both policies on every joint"),
        ((Regime(), Regime("elbow", 1), Regime("elbow", 2)), 1, "no training image under regime elbow/1"),
    ],
)
def test_data_without_both_policies_is_refused_before_writing(
    regimes: tuple[Regime, ...], frames: int, line: str, tmp_path: Path, refit: Refit
) -> None:
    data = regimes_data(tmp_path / "data", regimes, frames)
    with pytest.raises(UserError, match=line):
        refit(tmp_path / "run", data=data)
    assert tiny.tree(tmp_path / "run") == {}


@pytest.mark.parametrize("method", ["ropes", "anchored", "ldr"])
def test_description_without_a_causal_model_is_refused_before_writing(method: str, tmp_path: Path) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=8, tests=0)
    note = files.read_json(data / schema.PROVENANCE)
    note["setting"]["splits"]["train"] = {"joints": ["elbow"]}
    files.write_json(data / schema.PROVENANCE, note)
    with pytest.raises(UserError, match=r"meta/ropes.json describes no causal model"):
        fit(data, tmp_path / "run", tiny.recipe_of(method), 0, method=method, show=False)
    assert tiny.tree(tmp_path / "run") == {}


def test_images_smaller_than_the_recipe_size_are_refused(tmp_path: Path, refit: Refit) -> None:
    config = dataclasses.replace(tiny.recipe().ae1, image_size=32, stem=2)
    with pytest.raises(UserError, match="16x16 images, smaller than 32x32"):
        refit(tmp_path / "run", ae1=config)
    assert tiny.tree(tmp_path / "run") == {}


def test_folder_with_a_run_on_other_data_is_not_modified(own_run: Path, tmp_path: Path, refit: Refit) -> None:
    before = tiny.tree(own_run)
    with pytest.raises(UserError, match="holds a run with another data checksum"):
        refit(own_run, data=tiny.write_data(tmp_path / "data", anchors=8, tests=0))
    with pytest.raises(UserError, match="holds a run with another seed"):
        refit(own_run, seed=5)
    assert tiny.tree(own_run) == before


def test_folder_with_other_content_is_not_modified(tmp_path: Path, refit: Refit) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match=f"holds something else .no {RUN_FILE} in it"):
        refit(tmp_path)
    assert list(tiny.tree(tmp_path)) == ["thesis.tex"]


def test_dead_code_is_refused_with_a_suggestion(tmp_path: Path, refit: Refit, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stages.dead_fraction(torch.tensor([[[[0.0, 1.0]]], [[[0.0, 0.0]]]])) == 0.5
    monkeypatch.setattr(stages, "dead_fraction", lambda codes: 0.75)
    line = "AE1 collapsed: 75% of its code is always zero .bound 50%.; fit with another --seed or a lower --ae1-"
    with pytest.raises(UserError, match=line):
        refit(tmp_path / "run")
    assert not list((tmp_path / "run").rglob("weights.safetensors"))


def test_constant_code_is_refused(tmp_path: Path, refit: Refit) -> None:
    images = {"train": np.zeros((6, 5, 2, 16, 16), np.uint8)}
    data = tiny.write_data(tmp_path / "data", images=images, states=None)
    with pytest.raises(UserError, match="the codes of a camera are constant: AE1 has collapsed"):
        refit(tmp_path / "run", data=data)


def test_diverging_fit_is_reported(tmp_path: Path, refit: Refit) -> None:
    wild = Optimisation(epochs=3, batch=40, learning_rate=1e30, schedule="constant")
    with pytest.raises(UserError, match=r"diverged by step \d+ .*; choose a --ldr-training.learning-rate below 1e\+30"):
        refit(tmp_path / "run", ldr_training=wild)
