"""Density ratios of several lengths of training: joint by joint the one of the least held-out contrast is used."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ropes.common.files import read_json
from ropes.methods.recipes import Optimisation
from ropes.methods.ropes import density_ratios
from ropes.methods.run import TRAINING_FILE
from ropes.models.checkpoints import WEIGHTS
from tests import tiny

Refit = Callable[..., Any]
SHARES = (1.0, 0.5)


def weights(run: Path, folder: str) -> bytes:
    return (run / folder / WEIGHTS).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("best", ["1", "0.5"])
def test_density_ratio_with_the_least_held_out_contrast_is_used(
    best: str, tmp_path: Path, refit: Refit, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {"1": 6, "0.5": 3}  # 24 labelled poses in batches of 24

    def contrast(summary: dict[str, Any]) -> float:
        return 0.4 if summary["history"]["steps"][-1] == steps[best] else 0.6

    monkeypatch.setattr(density_ratios, "least_contrast", contrast)
    run = tmp_path / "run"
    refit(run, ldr_shares=SHARES, code_noise=0.1)
    summary = read_json(run / TRAINING_FILE)
    for joint in tiny.JOINTS:
        assert summary["ldr_search"][joint] == {share: 0.4 if share == best else 0.6 for share in steps}
        assert summary["stages"]["ldr"][joint]["steps"][-1] == steps[best]
        assert weights(run, f"ldr/{joint}") == weights(run, f"search/ldr-{best}/{joint}")
        assert weights(run, "search/ldr-1/elbow") != weights(run, "search/ldr-0.5/elbow")


@pytest.mark.slow
def test_half_of_the_epochs_has_twice_the_noise(tmp_path: Path, refit: Refit) -> None:
    settings: dict[str, Any] = {"batch": 24, "learning_rate": 1e-3, "weight_decay": 1e-2}
    refit(tmp_path / "share", ldr_shares=(0.5,), code_noise=0.1)
    refit(tmp_path / "plain", ldr_training=Optimisation(epochs=3, **settings), code_noise=0.2)
    assert tiny.weights(tmp_path / "share") == tiny.weights(tmp_path / "plain")
    assert read_json(tmp_path / "share" / TRAINING_FILE)["ldr_search"] == {}


@pytest.mark.slow
def test_fit_with_a_changed_choice_begins_after_the_density_ratios(tmp_path: Path, refit: Refit) -> None:
    """A finished run whose recipe now compares two lengths keeps AE1, and its AE2 is that of a fresh fit."""
    refit(tmp_path / "run")
    encoder = (tmp_path / "run" / "ae1" / WEIGHTS).stat().st_ino
    refit(tmp_path / "run", ldr_shares=SHARES)
    refit(tmp_path / "fresh", ldr_shares=SHARES)
    assert (tmp_path / "run" / "ae1" / WEIGHTS).stat().st_ino == encoder
    assert tiny.weights(tmp_path / "run") == tiny.weights(tmp_path / "fresh")
