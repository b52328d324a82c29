"""A supervised fit on the first anchors alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.common.files import read_json
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation.joints import evaluate
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation
from ropes.methods.run import TRAINING_FILE, Run
from ropes.methods.training.validation_split import held_out_frames
from tests import tiny

SHORT = Optimisation(epochs=0.5, batch=20, learning_rate=1e-3)


@pytest.mark.slow
def test_fit_uses_only_the_first_anchors(cache_home: Path, tmp_path: Path) -> None:
    def spoil(states: dict[str, NDArray[np.float64]]) -> None:
        states["train"][50:] += 1.0

    data = tiny.write_data(tmp_path / "data", anchors=200)
    other = tiny.write_data(tmp_path / "other", anchors=200, change=spoil)
    recipe = tiny.cnn_recipe(training=SHORT, anchors=50, labels=0.5)
    for name, labels in (("run", data), ("spoilt", other)):
        fit(labels, tmp_path / name, recipe, method="cnn", show=False)
    assert tiny.weights(tmp_path / "run") == tiny.weights(tmp_path / "spoilt")
    summary = read_json(tmp_path / "run" / TRAINING_FILE)
    assert (summary["provenance"]["anchors"], summary["provenance"]["poses"]) == (50, 250)
    assert summary["labelled_poses"] == 125
    fresh = held_out_frames(Run.read(tmp_path / "run"), open_dataset(data)).reshape(200, 5)
    assert fresh[50:].all()
    assert fresh[:50].all(1).sum() == fresh[:50].any(1).sum() == 12  # a quarter of the fifty
    rows = evaluate(tmp_path / "run", data, tmp_path / "e", occlusions=(0,), show=False).rows
    assert {(row.anchors, row.labels) for row in rows} == {(50, 250)}
    with pytest.raises(UserError, match="the data set has 200 anchors or chains, fewer than the 201 requested"):
        fit(data, tmp_path / "new", replace(recipe, anchors=201), method="cnn", show=False)
    assert not (tmp_path / "new").exists()
