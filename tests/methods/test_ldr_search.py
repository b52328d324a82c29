"""Density ratios of several lengths of training: joint by joint the one of the least held-out contrast is used."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ropes.common.files import read_json
from ropes.methods.context import Context
from ropes.methods.recipes import Optimisation
from ropes.methods.ropes import density_ratios
from ropes.methods.ropes.fit import fit
from ropes.methods.ropes.stages import LDRStage
from ropes.methods.run import TRAINING_FILE
from ropes.methods.training.stage import Stage
from ropes.models.checkpoints import WEIGHTS
from tests import tiny
from tests.kills import Killed, patched_steps

Refit = Callable[..., Any]
SHARES = (1.0, 0.5)


def weights(run: Path, folder: str) -> bytes:
    return (run / folder / WEIGHTS).read_bytes()


@pytest.mark.slow
def test_density_ratio_of_each_joint_with_the_least_held_out_contrast_is_used(
    tmp_path: Path, refit: Refit, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {"1": 6, "0.5": 3}  # 24 labelled poses in batches of 24
    chosen, asked = {"elbow": "1", "wrist": "0.5"}, list[int]()

    def contrast(summary: dict[str, Any]) -> float:
        joint = tiny.JOINTS[len(asked) // len(SHARES)]  # all of a joint, then those of the next one
        asked.append(summary["history"]["steps"][-1])
        return 0.4 if asked[-1] == steps[chosen[joint]] else 0.6

    monkeypatch.setattr(density_ratios, "least_contrast", contrast)
    run = tmp_path / "run"
    refit(run, ldr_shares=SHARES, code_noise=0.1)
    assert asked == [6, 3, 6, 3]
    summary = read_json(run / TRAINING_FILE)
    for joint, best in chosen.items():
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
@pytest.mark.parametrize("number", [2, 4])
def test_fit_killed_in_the_search_resumes_to_the_same_weights(number: int, tmp_path: Path, refit: Refit) -> None:
    """In the shorter training of the first joint, and of the second one."""
    begun: list[Stage] = []

    def die(stage: Stage) -> None:
        if isinstance(stage, LDRStage) and stage not in begun:
            begun.append(stage)
            if len(begun) == number:
                raise Killed

    with patched_steps(die), pytest.raises(Killed):
        refit(tmp_path / "run", ldr_shares=SHARES)
    refit(tmp_path / "run", ldr_shares=SHARES)
    refit(tmp_path / "whole", ldr_shares=SHARES)
    assert tiny.weights(tmp_path / "run") == tiny.weights(tmp_path / "whole")


@pytest.mark.slow
def test_fit_killed_before_a_choice_is_linked_resumes(
    tmp_path: Path, refit: Refit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Context, "link", die)
        with pytest.raises(Killed):
            refit(tmp_path / "run", ldr_shares=SHARES)
    assert not (tmp_path / "run" / "ldr").exists()
    trained: list[type[Stage]] = []
    with patched_steps(lambda stage: trained.append(type(stage))):
        refit(tmp_path / "run", ldr_shares=SHARES)
    assert trained.count(LDRStage) == 6 + 3  # of the second joint alone
    refit(tmp_path / "whole", ldr_shares=SHARES)
    assert tiny.weights(tmp_path / "run") == tiny.weights(tmp_path / "whole")


@pytest.mark.slow
def test_search_of_another_run_is_reused(tiny_data: Path, tmp_path: Path) -> None:
    for name, weight in (("first", 1.0), ("other", 2.0)):
        recipe = tiny.recipe(ldr_shares=SHARES, sparsity_weights=(weight,))
        pretrained = tmp_path / "first" if name == "other" else None
        fit(tiny_data, tmp_path / name, recipe, 0, pretrained=pretrained, show=False)
    for joint in tiny.JOINTS:
        for folder in (f"ldr/{joint}", *(f"search/ldr-{share:g}/{joint}" for share in SHARES)):
            one, other = (tmp_path / name / folder / WEIGHTS for name in ("first", "other"))
            assert one.samefile(other)


@pytest.mark.slow
def test_fit_with_a_changed_choice_begins_after_the_density_ratios(tmp_path: Path, refit: Refit) -> None:
    """A finished run whose recipe now compares two lengths keeps AE1, and its AE2 is that of a fresh fit."""
    refit(tmp_path / "run")
    encoder = (tmp_path / "run" / "ae1" / WEIGHTS).stat().st_ino
    refit(tmp_path / "run", ldr_shares=SHARES)
    refit(tmp_path / "fresh", ldr_shares=SHARES)
    assert (tmp_path / "run" / "ae1" / WEIGHTS).stat().st_ino == encoder
    assert tiny.weights(tmp_path / "run") == tiny.weights(tmp_path / "fresh")
    refit(tmp_path / "run")
    refit(tmp_path / "single")
    both = [tiny.weights(tmp_path / name) for name in ("run", "single")]
    assert both[1].items() <= both[0].items()  # the search of before is still there
