"""Evaluations whose draws of test poses lack the motion of a joint."""

from pathlib import Path

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.evaluation.joints import evaluate, evaluate_transfer
from tests import tiny


@pytest.mark.parametrize("moved", [0, 1], ids=["never moves", "moves in one pose"])
def test_joint_that_does_not_move_in_drawn_test_poses_is_refused(moved: int, tiny_run: Path, tmp_path: Path) -> None:
    def park(states: dict[str, np.ndarray]) -> None:
        states["test-id"][..., 1] = 0.3
        states["test-id"][:moved, 0, 1] = 0.5

    data = tiny.write_data(tmp_path / "data", anchors=2, tests=80, change=park)
    line = "joint wrist has one angle in all (20|40) poses that are drawn from split test-id"
    with pytest.raises(UserError, match=line):
        evaluate(tiny_run, data, tmp_path / "e", sizes=tiny.SIZES, occlusions=(0,), show=False)
    with pytest.raises(UserError, match=line):
        evaluate_transfer(tiny_run, data, tmp_path / "e", sizes=tiny.SIZES)
    assert not (tmp_path / "e").exists()
