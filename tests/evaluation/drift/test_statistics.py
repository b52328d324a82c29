"""Rates of false alarms and power of the tests, on simulated errors; hand-solved variances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropes.common.arrays import Floats
from ropes.evaluation.drift.check import joint_drifts
from ropes.evaluation.drift.slow_errors import long_run_variance, slow_factors
from ropes.evaluation.drift.statistics import (
    Drift,
    Zero,
    change_point,
    drift,
    median_influence,
    shared_variance,
    similar_errors,
    spread_of,
)

FRAMES = 200
ZERO = Zero(value=0.0, error=0.0)


def errors(rng: np.random.Generator, rho: float, columns: int = 1, frames: int = FRAMES) -> Floats:
    """First-order autoregressive errors of variance 1, (frames, columns)."""
    noise = rng.normal(size=(frames, columns))
    noise[1:] *= np.sqrt(1 - rho**2)
    for t in range(1, frames):
        noise[t] += rho * noise[t - 1]
    return noise


def drift_of(differences: Floats, *, std: float = 1e-6, tests: int = 1, angles: Floats | None = None) -> Drift:
    """Without poses, and by default as if the estimator had promised no error: the differences alone tell."""
    n = len(differences)
    poses = 10 * np.arange(n, dtype=np.float64)[:, None] if angles is None else angles
    return drift(differences, np.full(n, std), poses, np.arange(n) / 30, tests=tests)


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "most", "few"), [(0.0, 0.09, 0), (0.5, 0.09, 0), (0.8, 0.12, 0.4), (0.95, 0.09, 1)])
def test_false_alarms_are_about_five_percent(rho: float, most: float, few: float) -> None:
    rng, draws = np.random.default_rng(0), 250
    found = [drift_of(errors(rng, rho)[:, 0]) for _ in range(draws)]
    assert np.mean([each.offset.significant for each in found]) < most
    assert np.mean([each.trend.significant for each in found]) < most
    assert np.mean([each.few for each in found]) <= few


@pytest.mark.slow
def test_too_few_independent_frames_are_said_and_have_wider_intervals() -> None:
    rng, joints = np.random.default_rng(11), 6
    alarms = few = 0.0
    for _ in range(40):
        found = [drift_of(each, tests=2 * joints) for each in errors(rng, 0.95, joints).T]
        alarms += any(each.offset.significant or each.trend.significant for each in found) / 40
        few += float(np.mean([each.few for each in found])) / 40
    assert alarms <= 0.15  # about 0.45 without wider intervals
    assert few > 0.8
    assert slow_factors(FRAMES, 0.05 / 12, False) == (1, 1)
    assert min(slow_factors(FRAMES, 0.05 / 12, True)) > 1.5


@pytest.mark.slow
def test_all_joints_together_share_the_level() -> None:
    rng, draws, joints = np.random.default_rng(1), 150, 6
    alarms = 0
    for _ in range(draws):
        logged = rng.uniform(-1.5, 1.5, (FRAMES, joints))
        read = logged + 0.05 * errors(rng, 0.0, joints)
        found = joint_drifts(read, logged, np.full(read.shape, 0.05), np.arange(FRAMES) / 30, [ZERO] * joints)
        alarms += any(each.drifted for each in found)
    assert alarms / draws < 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)


def test_an_offset_is_found_and_measured() -> None:
    rng = np.random.default_rng(2)
    found = [drift_of(errors(rng, 0.0)[:, 0] + 0.6, tests=12) for _ in range(20)]
    assert np.mean([each.offset.significant for each in found]) > 0.9
    assert np.mean([each.offset.value for each in found]) == pytest.approx(0.6, abs=0.1)
    assert not any(each.trend.significant for each in found)


@pytest.mark.parametrize("height", [2.0, 15.0])
def test_a_step_in_the_middle_is_found_and_dated(height: float) -> None:
    late = np.arange(FRAMES) >= FRAMES // 2
    each = drift_of(errors(np.random.default_rng(3), 0.0)[:, 0] + height * late, tests=12)
    assert each.trend.significant
    assert each.change is not None
    assert each.before is not None
    assert each.after is not None
    assert abs(each.change - FRAMES // 2) <= 5
    assert each.after - each.before == pytest.approx(height, abs=0.5)


def test_a_slow_trend_is_found_and_has_no_date() -> None:
    slow = np.linspace(0, 4, FRAMES)
    each = drift_of(errors(np.random.default_rng(4), 0.0)[:, 0] + slow, tests=12)
    assert each.trend.significant
    assert each.trend.value == pytest.approx(4, abs=0.8)
    assert (each.change, each.before, each.after) == (None, None, None)


def test_spread_beyond_the_errors_is_unexplained() -> None:
    rng = np.random.default_rng(8)
    noise, motion = errors(rng, 0.0)[:, 0], rng.uniform(-1.5, 1.5, FRAMES)
    for differences, unexplained in ((noise, False), (2 * noise, False), (noise + 8 * motion, True)):
        assert drift_of(differences, std=1.0).unexplained is unexplained
    usual = Zero(value=0.0, error=0.0, spread=5.0)  # of a reference whose differences are as large
    found = drift(noise + 8 * motion, np.ones(FRAMES), motion[:, None], np.arange(FRAMES) / 30, tests=1, zero=usual)
    assert (found.usual_spread, found.unexplained) == (5.0, False)
    assert spread_of(rng.normal(size=100_000)) == pytest.approx(1, abs=0.02)


def test_a_standing_arm_gives_one_error_and_not_many() -> None:
    rng = np.random.default_rng(5)
    alone = drift_of(1.0 + 0.01 * errors(rng, 0.0)[:, 0], std=1.0, angles=np.zeros((FRAMES, 3)))
    assert not alone.drifted
    assert alone.offset.error == pytest.approx(1.0, rel=1e-3)
    assert alone.effective == pytest.approx(1, abs=0.1)
    assert drift_of(1.0 + 0.01 * errors(rng, 0.0)[:, 0], std=1.0).drifted  # the same at many poses


def test_the_error_of_zero_widens_the_offset_alone() -> None:
    noise = errors(np.random.default_rng(6), 0.0)[:, 0] + 0.5
    poses = 10 * np.arange(FRAMES, dtype=np.float64)[:, None]
    stds, times = np.full(FRAMES, 1e-6), np.arange(FRAMES) / 30
    known = drift(noise, stds, poses, times, tests=1)
    other = drift(noise, stds, poses, times, tests=1, zero=Zero(value=0.5, error=1.0))
    assert known.offset.significant
    assert not other.offset.significant
    assert other.offset.value == pytest.approx(known.offset.value - 0.5)
    assert other.offset.error == pytest.approx(np.hypot(known.offset.error, 1.0))
    assert other.trend == known.trend


@pytest.mark.slow
@given(st.floats(-5, 5), st.floats(-5, 5))
def test_a_line_on_top_shifts_offset_and_trend_by_itself(offset: float, slope: float) -> None:
    noise = errors(np.random.default_rng(7), 0.3, frames=61)[:, 0]
    plain = drift_of(noise)
    shifted = drift_of(noise + offset)
    assert shifted.offset.value == pytest.approx(plain.offset.value + offset)
    assert shifted.offset.error == pytest.approx(plain.offset.error)
    risen = drift_of(noise + slope * np.linspace(0, 1, 61))
    assert risen.trend.value == pytest.approx(plain.trend.value + slope, abs=1e-4)
    assert risen.trend.error == pytest.approx(plain.trend.error, rel=1e-3)


@pytest.mark.slow
def test_variances_of_known_processes() -> None:
    rng, draws = np.random.default_rng(8), 200
    white = np.mean([long_run_variance(errors(rng, 0.0)[:, 0], 13) for _ in range(draws)])
    correlated = np.mean([long_run_variance(errors(rng, 0.5, frames=2000)[:, 0], 13) for _ in range(draws)])
    assert white == pytest.approx(1, rel=0.1)
    assert correlated == pytest.approx((1 + 0.5) / (1 - 0.5), rel=0.1)
    values = rng.normal(size=20_000)
    assert median_influence(values, 0.0).var() == pytest.approx(1.35**2, rel=0.05)  # π / 2, and 8% for its root


def test_similar_poses_by_hand() -> None:
    close = similar_errors(np.array([[0.0, 0.0], [0.3, 0.4], [9.0, 9.0]]), 0.5)
    np.testing.assert_allclose(close[0], [1, np.exp(-0.5), 0], atol=1e-12)
    weights, stds = np.array([0.5, 0.5]), np.array([2.0, 4.0])
    assert shared_variance(weights, stds, np.ones((2, 2))) == pytest.approx(9)  # one error: the mean of σ, squared
    assert shared_variance(weights, stds, np.eye(2)) == pytest.approx(5)  # two errors: (1 + 4)


def test_a_step_beside_a_line() -> None:
    position = np.linspace(-0.5, 0.5, 60)
    assert change_point((np.arange(60) >= 25).astype(float), position) == 25
    assert change_point(position, position) is None


def test_too_few_frames_are_refused() -> None:
    with pytest.raises(ValueError, match="29 frames; at least 30"):
        drift_of(np.zeros(29))
    with pytest.raises(ValueError, match="a value for each"):
        drift(np.zeros(40), np.zeros(39), np.zeros((40, 1)), np.arange(40.0), tests=1)
