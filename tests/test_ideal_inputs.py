"""The error of method `ropes` with ideal inputs of its stages."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import ideal_inputs
from ropes.methods.recipes import Optimisation
from tests import tiny


@pytest.mark.slow
def test_ideal_inputs_leave_the_error_of_the_stages_that_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, causal = np.random.default_rng(0), tiny.model()
    states = {"train": causal.sample(rng, 60)}
    states |= {split: causal.sample_observational(rng, tiny.TESTED)[:, None] for split in ideal_inputs.TESTS}
    images = {split: tiny.draw(angles) for split, angles in states.items()}
    tiny.write_data(tmp_path / "tiny-60", images=images, states=states)
    training = Optimisation(epochs=150, batch=24, learning_rate=3e-3)
    recipe = replace(tiny.recipe(foreign=0.5), ldr_training=training, sparsity_weights=(0.0,), logit_weight=1.0)
    monkeypatch.setattr(ideal_inputs, "ropes_recipe", lambda preset: recipe)
    rows = ideal_inputs.measured(tmp_path, "tiny:60", 0)
    named = {(row["codes"], row["ratios"], row["coordinates"]): row for row in rows if row["split"] == "test-id"}
    assert (len(named), len(rows)) == (8, 16)
    assert not (tmp_path / "tiny-60-0" / "student").exists()
    exact, learned = (np.mean(named["angles", ratios, "logits"]["mse"]) for ratios in ideal_inputs.RATIOS[::-1])
    # Lines of exact ratios of exact angles are exact but for the network.
    assert exact < 0.01 < learned
    assert exact < 0.3 * np.mean(named["AE1", "exact", "logits"]["mse"])
    weights = tiny.weights(tmp_path)
    assert ideal_inputs.measured(tmp_path, "tiny:60", 0) == rows  # nothing is done again
    assert tiny.weights(tmp_path) == weights
    page = ideal_inputs.written({"rows": rows, "device": "a", "version": "0"})
    assert "`tiny`, 60 anchors, poses in distribution, 1 training seed:\n" in page
    assert "`tiny`, 60 anchors, shifted poses, 1 training seed:\n" in page
    best, first = (named[inputs] for inputs in (("angles", "exact", "logits"), ("AE1", "learned", "AE2")))
    assert f"| angles | exact | logits | {best['mse'][0]:.4f} ({best['mcc'][0]:.3f}) |" in page
    share = 1 - named["AE1", "learned", "logits"]["mse"][0] / first["mse"][0]
    assert f"| AE2 | {share:.0%} |" in page
