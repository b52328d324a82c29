"""A stage is trained again where the weights of a stage before it are other ones, though all settings are the same.

A run gets such weights if it is fitted with other settings, stopped after the first stage, and fitted with its first
settings again: by another machine, or with `--pretrained` from a run that another machine has fitted.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from ropes.common.files import read_json, write_json
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation, Recipe
from ropes.methods.ropes.stages import LDRStage
from ropes.methods.run import TRAINING_FILE
from ropes.methods.supervised.stages import AngleStage
from ropes.methods.training import loop
from ropes.methods.training.loop import is_finished, train
from ropes.methods.training.stage import Stage
from ropes.models.checkpoints import WEIGHTS
from tests import tiny
from tests.kills import killed

#: Method → the first stage, a setting of it, the stage at which the second fit is stopped, and stages after the first.
FITS: dict[str, tuple[str, dict[str, Any], type[Stage], tuple[str, ...]]] = {
    "jointnet": ("pretraining", {"momentum": 0.9}, AngleStage, ("angles",)),
    "ropes": ("ae1", {"val_fraction": 0.3}, LDRStage, ("ldr/elbow", "ldr/wrist", "directions", "ae2/joint")),
}


def recipe_of(method: str) -> Recipe:
    recipe = tiny.short(tiny.recipe_of(method), 0.3)
    return replace(recipe, basis="scores", joint_ae2=True) if method == "ropes" else recipe


def of_another_machine(run: Path, folder: Path, first: str) -> Path:
    """A copy of a run whose first stage has slightly other weights."""
    shutil.copytree(run, folder)
    weights = {name: 1.001 * each if each.is_floating_point() else each for name, each in stored(run, first).items()}
    (folder / first / WEIGHTS).unlink()
    save_file(weights, folder / first / WEIGHTS)
    return folder


def stored(run: Path, stage: str) -> dict[str, torch.Tensor]:
    return load_file(run / stage / WEIGHTS)


@pytest.mark.slow
@pytest.mark.parametrize("method", FITS)
def test_later_stages_follow_the_weights_of_the_first(method: str, tiny_data: Path, tmp_path: Path) -> None:
    first, other_setting, stops, later = FITS[method]
    run, recipe = tmp_path / "run", recipe_of(method)
    fit(tiny_data, run, recipe, 0, method=method, show=False)
    before = tiny.weights(run)
    pretrained = of_another_machine(run, tmp_path / "other", first)
    with killed(stops, 1):
        fit(tiny_data, run, replace(recipe, **other_setting), 0, method=method, show=False)
    fit(tiny_data, run, recipe, 0, method=method, pretrained=pretrained, show=False)
    after = tiny.weights(run)
    assert after[f"{first}/{WEIGHTS}"] == tiny.weights(pretrained)[f"{first}/{WEIGHTS}"]
    read = {name: read_json(run / name / "stage.json")["inputs"] for name in later}
    assert {name: inputs[first] for name, inputs in read.items()} == dict.fromkeys(later, after[f"{first}/{WEIGHTS}"])
    assert after[f"{later[-1]}/{WEIGHTS}"] != before[f"{later[-1]}/{WEIGHTS}"]
    times = {path: path.stat().st_mtime_ns for path in run.rglob(WEIGHTS)}
    fit(tiny_data, run, recipe, 0, method=method, show=False)
    assert {path: path.stat().st_mtime_ns for path in run.rglob(WEIGHTS)} == times


@pytest.mark.slow
@pytest.mark.parametrize("method", FITS)
def test_run_of_an_earlier_version_trains_nothing_again(method: str, tiny_data: Path, tmp_path: Path) -> None:
    """Such a run does not store which weights a stage was trained on."""
    run, recipe = tmp_path / "run", recipe_of(method)
    fit(tiny_data, run, recipe, 0, method=method, show=False)
    found = {path: read_json(path) for path in run.rglob("stage.json")}
    assert {path.relative_to(run).parent.as_posix() for path, each in found.items() if "inputs" in each} == set(
        FITS[method][3]
    )
    for path, each in found.items():
        write_json(path, {key: value for key, value in each.items() if key != "inputs"})
    before, summary = tiny.tree(run), (run / TRAINING_FILE).read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "run_steps", lambda *_, **__: pytest.fail("a stage is trained"))
        fit(tiny_data, run, recipe, 0, method=method, show=False)
    assert tiny.tree(run) == before
    assert (run / TRAINING_FILE).read_bytes() == summary


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cnn", "ldr"])
def test_samples_of_the_cleaner_train_nothing_again_where_there_is_none(
    method: str, tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, recipe = tmp_path / "run", tiny.short(tiny.recipe_of(method), 0.1)
    fit(tiny_data, run, recipe, 0, method=method, show=False)
    before = tiny.weights(run)
    monkeypatch.setattr(loop, "run_steps", lambda *_, **__: pytest.fail("a stage is trained"))
    fit(tiny_data, run, replace(recipe, cleaner_samples=64), 0, method=method, show=False)
    assert tiny.weights(run) == before


class Still(Stage):
    """Two steps of a network of one weight."""

    rate_option = "--still.learning-rate"

    def __init__(self) -> None:
        training = Optimisation(epochs=1, batch=1, learning_rate=0.01)
        super().__init__(torch.nn.Linear(1, 1), training, steps=2, seed=0)
        self.taken = 0

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        self.taken += 1
        return self.network(batch).sum()


def steps_of(folder: Path, inputs: dict[str, str]) -> int:
    """Steps that a training in the folder takes."""
    stage, given = Still(), {"description": "still", "precision": "32-true", "show": False}
    options: Any = {"folder": folder, "fingerprint": "x", "inputs": inputs, **given}
    train(stage, lambda step: torch.ones(1, 1), **options)
    return stage.taken


def test_result_and_checkpoint_of_other_inputs_are_not_used(tmp_path: Path) -> None:
    finished, stopped = tmp_path / "finished", tmp_path / "stopped"
    assert [steps_of(finished, {"a": each}) for each in ("1", "1", "2", "2")] == [2, 0, 2, 0]
    assert is_finished(finished, "x", {"a": "2"})
    assert not is_finished(finished, "x", {"a": "1"})
    assert is_finished(finished, "x")
    for inputs, steps in (({"a": "1"}, 1), ({"a": "2"}, 2)):
        with killed(Still, 2):
            steps_of(stopped, {"a": "1"})
        assert steps_of(stopped, inputs) == steps
        shutil.rmtree(stopped)
