"""Which joints a data set has angles of, to learn from labels or to evaluate."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ropes.causal.scm import Regime
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.writer import write_arrays
from ropes.errors import UserError
from ropes.methods.fit import fit
from ropes.simulation.finger_setting import NAMES
from tests import tiny

OBSERVATIONAL = (Regime(),)
ELBOW = (Regime(), Regime("elbow", 1), Regime("elbow", 2))


def data(folder: Path, joints: Sequence[str], regimes: Sequence[Regime]) -> Dataset:
    """Ten anchors whose angles are 0, 1, …"""
    shape = (10, len(regimes), len(joints))
    write_arrays(
        folder,
        images={"train": np.zeros((*shape[:2], 1, 16, 16), np.uint8)},
        states={"train": np.broadcast_to(np.arange(len(joints), dtype=np.float64), shape)},
        cameras=["left"],
        joints=list(joints),
        regimes=regimes,
    )
    return open_dataset(folder)


@pytest.mark.parametrize(
    ("joints", "regimes", "labelled"),
    [
        (("wrist", "elbow"), ELBOW, {"elbow": 1}),
        (("wrist", "elbow"), OBSERVATIONAL, {"wrist": 0, "elbow": 1}),
        (NAMES, OBSERVATIONAL, {}),  # of finger and cube
    ],
)
def test_joints_under_intervention_or_all_of_an_arm_are_labelled(
    joints: Sequence[str], regimes: Sequence[Regime], labelled: dict[str, float], tmp_path: Path
) -> None:
    dataset = data(tmp_path / "data", joints, regimes)
    assert dataset.labelled_joints == tuple(labelled)
    expected = np.tile(np.array(list(labelled.values()), dtype=np.float64), (10 * len(regimes), 1))
    np.testing.assert_array_equal(dataset.states("train"), expected)


@pytest.mark.parametrize("method", tiny.LABELLED)
def test_factors_are_no_joints_to_learn(method: str, tmp_path: Path) -> None:
    dataset = data(tmp_path / "data", NAMES, OBSERVATIONAL)
    with pytest.raises(UserError, match=f"actions or factors and no joints; method {method} learns the angles of"):
        fit(dataset, tmp_path / "run", tiny.recipe_of(method), method=method, show=False)
    assert not (tmp_path / "run").exists()
