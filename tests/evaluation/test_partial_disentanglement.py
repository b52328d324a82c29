"""What coordinates hold of joints that vary without an intervention, and that nothing is said where none does."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.causal.scm import Regime
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.evaluation import results
from ropes.evaluation.joint_protocol import freed_rows
from ropes.evaluation.joints import evaluate
from tests import tiny
from tests.estimators import run_of

RUN = run_of(joints=("lift",), setting="arm", seed=3)


def recorded(path: Path, angles: NDArray[np.float64], joints: tuple[str, ...]) -> Dataset:
    """A data set of test poses with the angles (n, d) of these joints, none of them intervened on."""
    images = {"test-id": np.zeros((len(angles), 1, 2, 4, 4), np.uint8)}
    states = {"test-id": angles[:, None]}
    regimes = (Regime(),)
    tiny.write_data(path, described=False, images=images, states=states, joints=joints, regimes=regimes)
    return open_dataset(path)


def test_coordinate_is_correlated_with_every_varying_joint(tmp_path: Path) -> None:
    turn, lift = np.random.default_rng(0).uniform(-1, 1, size=(2, 800))
    data = recorded(tmp_path / "data", np.stack([turn, lift, np.zeros(800)], axis=1), ("turn", "lift", "still"))
    freed, mixed = (
        freed_rows(RUN, data, "anchored", coordinate[:, None])[0] for coordinate in (3 - 2 * lift, lift + turn)
    )
    assert (freed.setup, freed.method, freed.joint, freed.seed) == ("arm", "anchored", "lift", 3)
    assert set(freed.correlations) == {"turn", "lift"}
    assert freed.correlations["lift"] == pytest.approx(1)
    assert freed.own > 0.98
    assert mixed.own == pytest.approx(0.5, abs=0.15)
    assert mixed.every > 0.95


def test_no_rows_when_no_other_joint_varies(tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    angles = np.random.default_rng(0).uniform(size=(50, 1))
    assert freed_rows(RUN, recorded(tmp_path / "data", angles, ("lift",)), "anchored", angles) == ()
    evaluate(tiny_run, tiny_data, tmp_path / "e", occlusions=(0,), sizes=tiny.SIZES, show=False)
    assert results.read(tmp_path / "e" / "results.json").freed_rows == ()
