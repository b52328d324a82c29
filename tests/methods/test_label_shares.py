"""Labels of the supervised baselines: which poses have them, and which numbers are refused."""

from pathlib import Path

import numpy as np
import pytest

from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.methods.fit import fit
from ropes.methods.supervised.labels import choose_labels, labelled_rows
from tests import tiny

pytestmark = pytest.mark.slow  # the data set has 1,000 poses


@pytest.fixture(scope="module")
def data(many_anchors: Path) -> Path:
    return many_anchors


@pytest.mark.parametrize("method", tiny.LABELLED)
def test_supervised_fit_without_angles_is_refused(method: str, tmp_path: Path) -> None:
    bare = tiny.write_data(tmp_path / "bare", states=None, joints=())
    with pytest.raises(UserError, match=r"has no joint angles \(observation.state\); method .* needs them"):
        fit(bare, tmp_path / "run", tiny.recipe_of(method), method=method, show=False)
    assert tiny.tree(tmp_path / "run") == {}


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        (0.001, r"--labels 0.001 of 1000 training poses leaves 1 with a label; at least two"),
        (0.002, "held-out anchors"),
    ],
)
def test_too_few_labels_are_refused(labels: float, line: str, data: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=line):
        fit(data, tmp_path / "run", tiny.cnn_recipe(labels=labels), method="cnn", show=False)
    assert tiny.tree(tmp_path / "run") == {}


def test_smaller_label_fraction_is_a_subset_of_a_larger_one(data: Path) -> None:
    few, many = (set(labelled_rows(1000, share, 0).tolist()) for share in (0.1, 0.5))
    assert few < many
    assert len(many) == 500
    assert set(labelled_rows(1000, 0.1, 1).tolist()) != few
    chosen = choose_labels(open_dataset(data), 0.1, 0.25, 0)
    assert {*chosen.kept.tolist(), *chosen.held.tolist()} == few
    anchor = open_dataset(data).frames("train").anchor
    assert not set(anchor[chosen.kept]) & set(anchor[chosen.held])
    shown = chosen.held_angles(np.arange(1000))
    assert np.flatnonzero(np.isfinite(shown).all(1)).tolist() == chosen.held.tolist()
