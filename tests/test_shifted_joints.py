"""Errors on poses of which some joints are shifted."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from benchmarks import shifted_joints as benchmark
from ropes.inference.estimator import Estimator
from ropes.simulation.settings import setting_named

SETTING = setting_named("panda-2c-independent")


def test_each_subset_shifts_its_joints_alone() -> None:
    assert benchmark.shifted_joints(SETTING) == ("panda_joint4", "panda_joint6")
    usual, one, both = (benchmark.drawn(SETTING, benchmark.shifted_joints(SETTING)[:size], 4_000) for size in range(3))
    np.testing.assert_array_equal(np.flatnonzero((usual != one).any(axis=0)), [3])
    np.testing.assert_array_equal(np.flatnonzero((usual != both).any(axis=0)), [3, 5])
    assert both[:, 3].mean() - usual[:, 3].mean() > 0.3
    assert both[:, 5].mean() - usual[:, 5].mean() < -0.3


def test_shares_tell_the_own_angle_from_the_other_joints(monkeypatch: pytest.MonkeyPatch) -> None:
    """An estimator that is off by 0.1, and by as much again for joints 4 and 6 where joint 6 is small."""

    def angles(poses: np.ndarray) -> np.ndarray:
        wrong = np.full_like(poses, 0.1)
        small = poses[:, 5] < 1.0
        wrong[small, 3] = wrong[small, 5] = 0.2
        return poses + wrong

    monkeypatch.setattr(benchmark, "rendered", lambda setting, poses: poses)
    run = SimpleNamespace(joints=SETTING.splits["train"].joints)
    rows: list[dict[str, Any]] = benchmark.measured(
        cast(Estimator, SimpleNamespace(run=run, angles=angles)), SETTING, 2000
    )
    assert [row["shifted"] for row in rows] == [
        [],
        ["panda_joint4"],
        ["panda_joint6"],
        ["panda_joint4", "panda_joint6"],
    ]
    assert rows[0]["mse"]["panda_joint1"] == pytest.approx(0.01)
    found = benchmark.shares(rows)
    assert found.keys() == {"panda_joint4", "panda_joint6"}
    assert found["panda_joint4"] == pytest.approx((0, 1), abs=1e-6)
    assert found["panda_joint6"] == pytest.approx((1, 0), abs=1e-6)
    about = {"run": "r", "count": 2000, "device": "d", "processor": "p", "version": "0", "seconds": 1}
    told = benchmark.written({"rows": rows, **about})
    assert "| none | 5.7 | 5.7 | 5.7 |" in told
    assert "| joint 4 | 0% | 100% |" in told
    assert "| joint 6 | 100% | 0% |" in told
