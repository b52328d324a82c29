"""Training on two devices: two processes on the CPU."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from ropes.common.files import read_json
from ropes.errors import UserError
from ropes.methods.fit import fit
from ropes.methods.optimisation import Optimisation
from ropes.methods.recipes import Recipe
from ropes.methods.training.loop import train
from ropes.methods.training.stage import Stage
from ropes.methods.training.team import current_team, training_team
from tests import tiny, tiny_chains, tiny_pairs
from tests.kills import killed, patched_steps

#: Biases whose gradient is zero but for rounding, which AdamW scales up: a softmax does not depend on the first two,
#: the difference of two images' features not on the last.
WITHOUT_GRADIENT = "gaze.1.bias", "k_proj.bias", "project.2.bias"
#: Largest share of other weights whose gradient is zero but for rounding.
FEW = 1e-3
#: Weights whose gradients in a student are near AdamW's ε, 1e-8: rounding changes their step by some hundredths.
TINY_GRADIENT = "far.2.weight", "far.2.bias"
#: Method anchored on chains of moves.
CHAINS = "chains"


class TwoParts(Stage):
    """Two linear layers, the second after noise of the whole batch, and a loss that is not a mean over samples."""

    network: torch.nn.ModuleList
    rate_option = "--two-parts.learning-rate"

    def __init__(self, *, dropout: float = 0.0, unused: bool = False, steps: int = 1) -> None:
        generator = torch.Generator().manual_seed(0)
        layers = torch.nn.Linear(3, 4), torch.nn.Sequential(torch.nn.Dropout(dropout), torch.nn.Linear(4, 2))
        network = torch.nn.ModuleList([*layers, *[torch.nn.Linear(1, 1)] * unused])
        for weight in network.parameters():
            weight.data = torch.randn(weight.shape, generator=generator)
        optimisation = Optimisation(epochs=1, batch=4, learning_rate=0.01, schedule="constant")
        super().__init__(network, optimisation, steps=steps, seed=0)
        self.gradients: list[Tensor] = []

    def training_step(self, batch: Tensor, batch_idx: int) -> Tensor:
        hidden = self.spread(self.network[0], batch)
        noisy = hidden + torch.randn_like(hidden)
        outputs, ranks = self.spread(self.last, noisy, None)
        assert ranks.shape == (len(batch),)
        loss = outputs.square().sum(0).log().sum() + hidden.std()
        self.note(loss=loss)
        return loss

    def last(self, hidden: Tensor, nothing: None) -> tuple[Tensor, Tensor]:
        return self.network[1](hidden), torch.full((len(hidden),), self.device_share.rank)

    def configure_gradient_clipping(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> None:
        self.gradients += [weight.grad.clone() for weight in self.network.parameters() if weight.grad is not None]


def batch_at(step: int) -> Tensor:
    """Five samples: one device has three, the other two."""
    return torch.randn(5, 3, generator=torch.Generator().manual_seed(step))


def trained(stage: Stage, folder: Path, devices: int) -> None:
    with training_team(devices, 1):
        train(stage, batch_at, folder=folder, fingerprint="x", description="x", precision="32-true", show=False)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Recipe]]:
    """A data set for a method, and its tiny recipe for one step of each stage, without dropout."""

    def of(method: str) -> tuple[Path, Recipe]:
        path = tmp_path_factory.mktemp("data") / "data"
        recipe: Any
        if method == CHAINS:
            recipe = replace(tiny.recipe_of("anchored"), foreign=0.0)
            return tiny_chains.write_data(path, chains=16, tests=4), tiny.short(recipe, 0.01)
        if method in ("cde-patch", "icm"):
            tiny_pairs.write_pairs(path, {"train": 48, "validation": 16})
            return path, tiny.short(tiny_pairs.recipe(method), 0.01)
        recipe = tiny.recipe_of(method)
        if method == "ropes":
            recipe = replace(recipe, ldr=replace(recipe.ldr, dropout=0.0), score_weight=1.0, decoded_logit_weight=1.0)
        if hasattr(recipe, "foreign"):
            student = Optimisation(epochs=1, batch=20, learning_rate=1e-3)
            recipe = replace(recipe, foreign=0.5, student=student)
        return tiny.write_data(path), tiny.short(recipe, 0.01)

    return of


@pytest.mark.parametrize(
    "method",
    ["anchored", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ldr", "ropes", "cnn", "jointnet"))]
    + [pytest.param(CHAINS, marks=pytest.mark.slow)]
    + [pytest.param(name, marks=pytest.mark.slow) for name in ("ada-gvae", "beta-vae", "cde-patch", "icm")],
)
def test_weights_after_one_step_equal_those_of_one_device(
    method: str, small: Callable[[str], tuple[Path, Recipe]], tmp_path: Path
) -> None:
    data, recipe = small(method)
    runs = tmp_path / "1", tmp_path / "2"
    for devices, run in enumerate(runs, start=1):
        named = "anchored" if method == CHAINS else method
        fit(data, run, recipe, 0, method=named, precision="32-true", show=False, devices=devices)
    files = tiny.weights(runs[0])
    assert files
    assert files.keys() == tiny.weights(runs[1]).keys()
    for name in files:
        ones, others = (load_file(run / name) for run in runs)
        differ = [
            ((others[weight] - ones[weight]).abs() > (1e-4 if weight.endswith(TINY_GRADIENT) else 1e-5)).flatten()
            for weight in ones
            if not weight.endswith(WITHOUT_GRADIENT)
        ]
        # AdamW's first step has the sign of the gradient, which rounding decides for a few weights.
        assert torch.cat(differ).float().mean() <= FEW, name


def test_gradients_of_uneven_parts_and_chained_outputs_equal_those_of_one_device(tmp_path: Path) -> None:
    one, two = TwoParts(), TwoParts()
    trained(one, tmp_path / "1", 1)
    trained(two, tmp_path / "2", 2)
    assert len(one.gradients) == 4
    for ours, theirs in zip(two.gradients, one.gradients, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert two.history["loss"] == pytest.approx(one.history["loss"], rel=1e-6)


def test_dropout_depends_on_the_seed_alone_and_differs_between_devices(tmp_path: Path) -> None:
    stages = [TwoParts(dropout=0.5, steps=3) for _ in range(3)]
    for stage, devices in zip(stages, (2, 2, 1), strict=True):
        trained(stage, tmp_path / str(stages.index(stage)), devices)
    assert stages[0].history == stages[1].history
    assert stages[0].history["loss"] != pytest.approx(stages[2].history["loss"], rel=1e-3)


@pytest.mark.parametrize("devices", [2, 1])
def test_killed_training_resumes(devices: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = TwoParts(steps=4)
    trained(whole, tmp_path / "whole", 2)
    with killed(TwoParts, 3):
        trained(TwoParts(steps=4), tmp_path / "run", 2)
    resumed = TwoParts(steps=4)
    with patched_steps(lambda stage: None), training_team(devices, 1):
        train(resumed, batch_at, folder=tmp_path / "run", fingerprint="x", description="joint", precision="32-true")
    assert (
        resumed.history == whole.history
        if devices == 2
        else resumed.history["loss"] == pytest.approx(whole.history["loss"])
    )
    line = "ropes: joint was trained on 2 devices up to step 2 and resumes on 1"
    assert (line in capsys.readouterr().err) == (devices == 1)


def test_result_of_another_number_of_devices_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained(TwoParts(steps=2), tmp_path, 2)
    summary = read_json(tmp_path / "stage.json")
    assert summary["devices"] == 2
    for devices in (2, 1):
        with training_team(devices, 1):
            again = train(
                TwoParts(steps=2), batch_at, folder=tmp_path, fingerprint="x", description="joint", precision="32-true"
            )
        assert again == summary
        line = "ropes: joint was trained on 2 devices, not on 1"
        assert (line in capsys.readouterr().err) == (devices == 1)


def test_terminal_interrupts_process_0_alone() -> None:
    with training_team(2, 1) as team:
        assert team is not None
        assert os.getpgid(team.started[0].pid) == team.started[0].pid != os.getpgid(0)


def test_ended_process_gives_one_line(tmp_path: Path) -> None:
    def end(stage: Stage) -> None:
        team = current_team()
        assert team is not None
        team.started[0].kill()

    line = "process 1 of the training ended with code -9; run the same command again to resume"
    with patched_steps(end), pytest.raises(UserError, match=line):
        trained(TwoParts(steps=50), tmp_path, 2)
    assert current_team() is None


def test_stage_that_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    stage = TwoParts()
    stage.last = lambda hidden, nothing: (hidden, hidden)  # type: ignore[method-assign]
    with pytest.raises(UserError, match=r"TwoParts cannot be sent to other processes .*; train on one device"):
        trained(stage, tmp_path, 2)


def test_diverged_training_gives_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stage = TwoParts(steps=2)
    next(stage.network.parameters()).data.fill_(float("nan"))
    with pytest.raises(UserError, match="diverged by step 1"):
        trained(stage, tmp_path, 2)
    assert capfd.readouterr().err == ""


def test_part_of_the_network_without_gradient_trains(tmp_path: Path) -> None:
    stage = TwoParts(unused=True, steps=3)
    stage.unused_weights = True
    trained(stage, tmp_path, 2)
    assert len(stage.history["loss"]) == 3
