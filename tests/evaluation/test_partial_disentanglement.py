"""What coordinates hold of joints that vary without an intervention, and that nothing is said where none does."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.evaluation import results
from ropes.evaluation.joints import evaluate
from ropes.evaluation.partial_disentanglement import freed_rows
from tests import tiny


@dataclass(frozen=True)
class Recorded:
    """A run and a data set as far as they are asked."""

    angles: NDArray[np.float64]
    state_names: tuple[str, ...] = ("turn", "lift", "still")
    joints: tuple[str, ...] = ("lift",)
    setting: str = "arm"
    seed: int = 3

    def factors(self, split: str) -> NDArray[np.float64]:
        assert split == "test-id"
        return self.angles


def test_a_coordinate_is_held_against_every_joint_that_varies() -> None:
    turn, lift = np.random.default_rng(0).uniform(-1, 1, size=(2, 800))
    of = Recorded(np.stack([turn, lift, np.zeros(800)], axis=1))
    freed, mixed = (
        freed_rows(of, of, "anchored", coordinate[:, None])[0]  # type: ignore[arg-type]
        for coordinate in (3 - 2 * lift, lift + turn)
    )
    assert (freed.setup, freed.method, freed.joint, freed.seed) == ("arm", "anchored", "lift", 3)
    assert set(freed.correlations) == {"turn", "lift"}
    assert freed.correlations["lift"] == pytest.approx(1)
    assert freed.own > 0.98
    assert mixed.own == pytest.approx(0.5, abs=0.15)
    assert mixed.every > 0.95


def test_nothing_is_said_where_no_other_joint_varies(tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    alone = Recorded(np.random.default_rng(0).uniform(size=(50, 1)), state_names=("lift",))
    assert freed_rows(alone, alone, "anchored", alone.angles) == ()  # type: ignore[arg-type]
    evaluate(tiny_run, tiny_data, tmp_path / "e", occlusions=(0,), sizes=tiny.SIZES, show=False)
    assert results.read(tmp_path / "e" / "results.json").freed_rows == ()
