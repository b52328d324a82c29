"""What limits the wrist: each change is made alone, and its share is of the first fit's error."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import wrist
from ropes.inference.estimator import Estimator
from ropes.methods.recipes import EncoderRecipe

JOINTS = tuple(f"panda_joint{k}" for k in range(1, 7))


def test_each_change_leaves_the_tests_and_the_other_joints_alone() -> None:
    first, apart, wide = (wrist.setting_of(wrist.CHANGES[name]) for name in ("first", "apart", "wide"))
    assert first.scene == "panda-gym"
    for changed in (apart, wide):
        assert {split: model for split, model in changed.splits.items() if split != "train"} == {
            split: model for split, model in first.splits.items() if split != "train"
        }
    usual, farther, wider = (setting.splits["train"] for setting in (first, apart, wide))
    for joint in JOINTS:
        is_wrist = joint in wrist.WRIST
        assert (farther.bayes_floor(joint) < 0.05) == is_wrist
        assert (wider.observational[joint] != usual.observational[joint]) == is_wrist
    assert farther.observational == usual.observational
    assert wider.interventions == usual.interventions
    for name in ("half", "more"):
        assert wrist.setting_of(wrist.CHANGES[name]) == first


def test_every_fit_is_measured_on_both_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coordinates of joint 6 have noise; the fit with a change has half as much."""
    fitted: list[tuple[str, EncoderRecipe]] = []
    angles = np.random.default_rng(0).normal(size=(1_600, 6))
    dataset = SimpleNamespace(labelled_joints=JOINTS, states=lambda split: angles)
    monkeypatch.setattr(wrist, "simulate", lambda setting, out, anchors: dataset)

    def fit(data: object, out: Path, recipe: EncoderRecipe, seed: int) -> str:
        fitted.append((out.name, recipe))
        return out.name

    def load(name: str) -> Any:
        noise = np.zeros((1_600, 6))
        noise[:, 5] = np.random.default_rng(1).normal(size=1_600) * (0.2 if name == "first-0" else 0.1)
        run = SimpleNamespace(joints=JOINTS)
        return SimpleNamespace(run=run, images=lambda *asked: None, coordinates=lambda images: angles + noise)

    monkeypatch.setattr(wrist, "fit", fit)
    monkeypatch.setattr(Estimator, "load", load)
    rows = [row for name in ("first", "more") for row in wrist.measured(tmp_path, name, 100, 0)]
    assert [name for name, _ in fitted] == ["first-0", "more-0"]
    assert all(recipe.foreign == 0 for _, recipe in fitted)
    assert fitted[1][1].encoder.widths == tuple(round(1.5 * width) for width in fitted[0][1].encoder.widths)
    assert [(row["change"], row["split"]) for row in rows] == [(n, s) for n in ("first", "more") for s in wrist.TESTS]
    about = {"anchors": 100, "device": "d", "processor": "p", "version": "0", "seconds": 1}
    told = wrist.written({"rows": rows, **about})
    error, less = (row["mse"]["panda_joint6"] for row in (rows[0], rows[2]))
    assert error == pytest.approx(0.04, rel=0.15)
    assert f"| none | 0.000 | {error:.3f} |" in told
    assert f"{less:.3f} ({1 - less / error:.0%})" in told
