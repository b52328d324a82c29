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
    tiny.write_data(tmp_path / "tiny-60", anchors=60)
    training = Optimisation(epochs=150, batch=24, learning_rate=3e-3)
    recipe = replace(tiny.recipe(foreign=0.5), ldr_training=training, sparsity_weights=(0.0,), logit_weight=1.0)
    monkeypatch.setattr(ideal_inputs, "ropes_recipe", lambda preset: recipe)
    rows = ideal_inputs.measured(tmp_path, "tiny:60", 0)
    named = {(row["codes"], row["ratios"], row["coordinates"]): row for row in rows}
    assert len(named) == len(rows) == 8
    assert not (tmp_path / "tiny-60-0" / "student").exists()
    exact, learned = (np.mean(named["angles", ratios, "logits"]["mse"]) for ratios in ideal_inputs.RATIOS[::-1])
    # Lines of exact ratios of exact angles are exact but for the network.
    assert exact < 0.01 < learned
    assert exact < 0.3 * np.mean(named["AE1", "exact", "logits"]["mse"])
    weights = tiny.weights(tmp_path)
    assert ideal_inputs.measured(tmp_path, "tiny:60", 0) == rows  # nothing is done again
    assert tiny.weights(tmp_path) == weights
    page = ideal_inputs.written({"rows": rows, "device": "a", "version": "0"})
    assert "`tiny`, 60 anchors, seed 0:\n" in page
    assert f"| angles | exact | logits | {named['angles', 'exact', 'logits']['mse'][0]:.4f} |" in page
