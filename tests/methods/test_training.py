"""The fit loop itself, on a network of one weight."""

import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from ropes.common.hardware import Precision
from ropes.errors import UserError
from ropes.methods.recipes import Optimisation
from ropes.methods.training import loop
from ropes.methods.training.loop import is_finished, train
from ropes.methods.training.stage import Stage


class Steep(Stage):
    """A loss whose gradient is a thousand wherever one is; keeps the norms that the optimiser meets."""

    rate_option = "--steep.learning-rate"

    def __init__(self, clip: float | None) -> None:
        optimisation = Optimisation(epochs=1, batch=1, learning_rate=0.01, clip=clip)
        super().__init__(torch.nn.Linear(1, 1, bias=False), optimisation, steps=3, seed=0)
        self.norms: list[float] = []

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        loss = 1000 * self.network(batch).sum()
        self.note(loss=loss)
        return loss

    def configure_optimizers(self) -> Any:
        configured = super().configure_optimizers()
        configured["optimizer"].register_step_post_hook(self._look)
        return configured

    def _look(self, *_: Any) -> None:
        gradient = self.network.get_parameter("weight").grad
        assert gradient is not None
        self.norms.append(float(gradient.norm()))


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
@pytest.mark.parametrize(("clip", "met"), [(None, 1000.0), (0.5, 0.5)])
def test_gradient_norm_is_clipped_under_every_precision(
    tmp_path: Path, precision: Precision, clip: float | None, met: float
) -> None:
    stage = Steep(clip)
    train(
        stage,
        lambda step: torch.ones(1, 1),
        folder=tmp_path,
        fingerprint="x",
        description="steep",
        precision=precision,
        show=False,
    )
    assert stage.norms == pytest.approx([met] * 3, rel=1e-3)


def test_noted_values_are_averaged_over_the_steps() -> None:
    stage = Steep(None)
    for value in (1.0, 3.0):
        stage.note(first=torch.tensor(value))
        stage.note(second=torch.tensor(-value), third=torch.tensor(0.0))
    stage.record(held_out=7.0)
    assert stage.history == {"steps": [0.0], "first": [2.0], "second": [-2.0], "third": [0.0], "held_out": [7.0]}
    stage.record(held_out=8.0)
    assert stage.history["first"] == [2.0]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nonfinite_value_error_names_the_option_to_change(value: float) -> None:
    stage = Steep(None)
    stage.note(loss=torch.tensor(value))
    line = rf"diverged by step 0 \(loss is {value}\); choose a --steep.learning-rate below 0.01"
    with pytest.raises(UserError, match=line):
        stage.record()


class EndsEarly(Steep):
    """Stops early at its second step, during which Ctrl-C is pressed."""

    def __init__(self) -> None:
        super().__init__(0.5)

    def training_step(self, batch: torch.Tensor, batch_idx: int) -> torch.Tensor:
        if self.global_step == 1:
            signal.raise_signal(signal.SIGINT)
        return super().training_step(batch, batch_idx)

    def after_step(self) -> None:
        super().after_step()
        if self.global_step == 2:
            self.trainer.should_stop = True


def trained(stage: Stage, folder: Path, fingerprint: str = "x") -> dict[str, Any]:
    given: dict[str, Any] = {"description": "steep", "precision": "32-true", "show": False}
    return train(stage, lambda step: torch.ones(1, 1), folder=folder, fingerprint=fingerprint, **given)


def test_an_interrupt_at_an_early_stop_loses_nothing(tmp_path: Path) -> None:
    stage = EndsEarly()
    with pytest.raises(KeyboardInterrupt):
        trained(stage, tmp_path)
    assert is_finished(tmp_path, "x")
    assert len(stage.norms) == 2


class Stops(Steep):
    """Stops early at its second step."""

    def after_step(self) -> None:
        super().after_step()
        if self.global_step == 2:
            self.trainer.should_stop = True


def test_a_kill_between_an_early_stop_and_its_weights_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    weights = []
    for name in ("whole", "resumed"):
        with torch.random.fork_rng(), monkeypatch.context() as patch:
            torch.manual_seed(0)
            stage = Stops(0.5)
            if name == "resumed":
                patch.setattr(loop, "SAVE_EVERY", 0.0)
                patch.setattr(loop, "save_weights", killed)
                with pytest.raises(KeyboardInterrupt):
                    trained(stage, tmp_path / name)
                patch.undo()
                stage = Stops(0.5)
            summary = trained(stage, tmp_path / name)
        weights.append((float(stage.network.get_parameter("weight").detach()), summary["history"]))
    assert weights[0] == weights[1]
    assert weights[0][1]["steps"] == [1.0, 2.0]


def test_new_weights_never_stand_beside_an_old_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(Steep(0.5), tmp_path, "old")

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "write_json", killed)
    with pytest.raises(KeyboardInterrupt):
        trained(Steep(0.25), tmp_path, "new")
    assert not is_finished(tmp_path, "old")
    assert not is_finished(tmp_path, "new")
