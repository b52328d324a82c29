"""Rates of false alarms and power of the tests, on simulated errors; hand-solved variances."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropes.common.arrays import Floats
from ropes.evaluation.drift.slow_errors import bounds, median_influence, slow_errors
from ropes.evaluation.drift.statistics import (
    Drift,
    ReferenceOffset,
    change_point,
    drifts,
    shared_variance,
    similar_errors,
    spread_of,
)

FRAMES = 200
NO_REFERENCE = ReferenceOffset(value=0.0, half=0.0)


def errors(rng: np.random.Generator, rho: float, columns: int = 1, frames: int = FRAMES) -> Floats:
    """First-order autoregressive errors of variance 1, (frames, columns)."""
    noise = rng.normal(size=(frames, columns))
    noise[1:] *= np.sqrt(1 - rho**2)
    for t in range(1, frames):
        noise[t] += rho * noise[t - 1]
    return noise


def all_of(
    differences: Floats,
    *,
    std: float = 1e-6,
    angles: Floats | None = None,
    times: Floats | None = None,
    usual: Sequence[ReferenceOffset] | None = None,
) -> tuple[Drift, ...]:
    """Without poses, and by default as if the estimator had promised no error: the differences alone tell."""
    n, joints = differences.shape
    poses = 10 * np.arange(n, dtype=np.float64)[:, None] if angles is None else angles
    times = np.arange(n) / 30 if times is None else times
    return drifts(differences, np.full((n, joints), std), poses, times, usual=usual or [NO_REFERENCE] * joints)


def drift_of(differences: Floats, *, std: float = 1e-6, angles: Floats | None = None) -> Drift:
    """The only joint."""
    (found,) = all_of(differences[:, None], std=std, angles=angles)
    return found


def is_alarm(found: tuple[Drift, ...]) -> bool:
    return any(each.offset.significant or each.trend.significant for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("joints", [1, 6])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8, 0.9, 0.95])
def test_false_alarms_are_about_five_percent(rho: float, joints: int) -> None:
    rng, draws = np.random.default_rng(0), 200
    alarms = np.mean([is_alarm(all_of(errors(rng, rho, joints))) for _ in range(draws)])
    assert alarms < 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)


@pytest.mark.slow
@pytest.mark.parametrize(("of_reference", "of_recording", "frames"), [(0.95, 0.0, 200), (0.9, 0.5, 60)])
def test_a_slow_or_short_reference_raises_no_more_alarms(of_reference: float, of_recording: float, frames: int) -> None:
    rng, draws, alarms = np.random.default_rng(1), 100, 0
    for _ in range(draws):
        usual = [
            ReferenceOffset(value=each.offset.value, half=each.offset.half)
            for each in all_of(errors(rng, of_reference, 6, frames))
        ]
        alarms += is_alarm(all_of(errors(rng, of_recording, 6), usual=usual))
    assert alarms / draws < 0.05 + 2 * np.sqrt(0.05 * 0.95 / draws)


@pytest.mark.slow
@pytest.mark.parametrize(
    "times",
    [
        np.concatenate([np.linspace(0, 1, 5), np.linspace(20, 80, 90), np.linspace(99, 100, 5)]),
        np.concatenate([np.linspace(0, 30, 10), np.linspace(30.5, 70, 80), np.linspace(71, 100, 10)]),
        np.concatenate([[0], np.linspace(40, 60, 98), [100]]),
        np.repeat([0.0, 100.0], 50),
    ],
    ids=["two gaps", "a dense middle", "two outer frames", "two times"],
)
def test_times_that_are_not_even_raise_no_more_alarms(times: Floats) -> None:
    rng, draws = np.random.default_rng(2), 100
    alarms = np.mean([is_alarm(all_of(errors(rng, 0.0, 6, len(times)), times=times)) for _ in range(draws)])
    assert alarms < 0.05 + 2 * np.sqrt(0.05 * 0.95 / draws)


@pytest.mark.slow
def test_joints_together_find_drifts_that_one_alone_does_not() -> None:
    """Of errors that change slowly: 200 frames have ten independent ones."""
    rng, draws, late = np.random.default_rng(1), 40, np.arange(FRAMES) >= FRAMES // 2
    steps, alone = [], []
    for _ in range(draws):
        noise = errors(rng, 0.9, 6)
        noise[:, 2] += 5 * late
        steps.append([each.trend.significant for each in all_of(noise)])
        alone.append(drift_of(noise[:, 2]).trend.significant)
    found = np.mean(steps, axis=0)
    assert found[2] > 0.7
    assert np.delete(found, 2).mean() < 0.05
    assert np.mean(alone) < found[2]


@pytest.mark.slow
def test_too_few_independent_frames_are_said_and_have_wide_intervals() -> None:
    rng = np.random.default_rng(11)
    few = [each.few for _ in range(40) for each in all_of(errors(rng, 0.98, 6))]
    many = [each.few for _ in range(40) for each in all_of(errors(rng, 0.5, 6))]
    assert np.mean(few) > 0.3
    assert not any(many)
    slow, fast = (bounds(FRAMES, 6, np.full(2, each), 0.05 / 12) for each in (1.0, 50.0))
    assert slow[0] > 1.5 * fast[0]
    assert slow[1] > 1.5 * fast[1]
    assert 2.7 < fast[0] < 3.3  # a normal distribution's is 2.9


@pytest.mark.slow
def test_errors_that_depend_on_the_pose_raise_no_more_alarms() -> None:
    """Errors as an estimator has them: a smooth function of the pose, which the arm passes."""
    rng, draws, alarms = np.random.default_rng(3), 40, 0
    for _ in range(draws):
        goals = rng.uniform(-1.2, 1.2, (30, 6))
        poses = np.concatenate([np.linspace(one, other, 10) for one, other in itertools.pairwise(goals)])
        waves, phase = rng.normal(size=(6, 200)) / 0.5, rng.uniform(0, 2 * np.pi, 200)
        smooth = np.sqrt(2 / 200) * np.cos(poses @ waves + phase) @ rng.normal(size=(200, 6))
        alarms += is_alarm(all_of(smooth, std=1.0, angles=poses))
    assert alarms / draws <= 0.15


def test_errors_of_white_noise_are_those_of_the_textbook() -> None:
    noise = np.random.default_rng(4).normal(size=(50, 6, 500))
    influence = median_influence(noise)
    found = slow_errors(influence - influence.mean(-1, keepdims=True), noise, np.linspace(-0.5, 0.5, 500))
    assert found.offset.mean() == pytest.approx(1.35 / np.sqrt(500), rel=0.1)
    assert found.trend.mean() == pytest.approx(1 / np.sqrt(500 / 12), rel=0.1)
    assert np.median(found.independent) == pytest.approx(125, rel=0.15)


def test_an_offset_is_found_and_measured() -> None:
    rng = np.random.default_rng(2)
    found = [all_of(errors(rng, 0.0, 6) + 0.6 * (np.arange(6) == 0))[0] for _ in range(20)]
    assert np.mean([each.offset.significant for each in found]) > 0.9
    assert np.mean([each.offset.value for each in found]) == pytest.approx(0.6, abs=0.1)
    assert not any(each.trend.significant for each in found)


def test_a_large_step_is_dated_and_does_not_count_as_unexplained() -> None:
    noise = errors(np.random.default_rng(9), 0.0, 3)
    noise[FRAMES // 2 :, 1] += 12
    still, moved, _ = all_of(noise, std=1.0)
    assert (still.unexplained, moved.unexplained) == (False, False)
    assert moved.change == FRAMES // 2
    assert moved.after == pytest.approx(12, abs=0.5)


@pytest.mark.parametrize("height", [2.0, 15.0])
def test_a_step_in_the_middle_is_found_and_dated(height: float) -> None:
    late = np.arange(FRAMES) >= FRAMES // 2
    each = drift_of(errors(np.random.default_rng(3), 0.0)[:, 0] + height * late)
    assert each.trend.significant
    assert each.change is not None
    assert each.before is not None
    assert each.after is not None
    assert abs(each.change - FRAMES // 2) <= 5
    assert each.after - each.before == pytest.approx(height, abs=0.5)


def test_a_slow_trend_is_found_and_has_no_date() -> None:
    slow = np.linspace(0, 4, FRAMES)
    each = drift_of(errors(np.random.default_rng(4), 0.0)[:, 0] + slow)
    assert each.trend.significant
    assert each.trend.value == pytest.approx(4, abs=0.8)
    assert (each.change, each.before, each.after) == (None, None, None)


def test_spread_beyond_the_errors_is_unexplained() -> None:
    rng = np.random.default_rng(8)
    noise, motion = errors(rng, 0.0)[:, 0], rng.uniform(-1.5, 1.5, FRAMES)
    for differences, unexplained in ((noise, False), (2 * noise, False), (noise + 8 * motion, True)):
        assert drift_of(differences, std=1.0).unexplained is unexplained
    usual = ReferenceOffset(value=0.0, half=0.0, spread=5.0)  # of a reference whose differences are as large
    differences, times = (noise + 8 * motion)[:, None], np.arange(FRAMES) / 30
    (found,) = drifts(differences, np.ones((FRAMES, 1)), motion[:, None], times, usual=[usual])
    assert (found.usual_spread, found.unexplained) == (5.0, False)
    assert spread_of(rng.normal(size=100_000)) == pytest.approx(1, abs=0.02)


def test_a_standing_arm_gives_one_error_and_not_many() -> None:
    rng = np.random.default_rng(5)
    alone = drift_of(1.0 + 0.01 * errors(rng, 0.0)[:, 0], std=1.0, angles=np.zeros((FRAMES, 3)))
    assert not alone.drifted
    assert alone.offset.error == pytest.approx(1.0, rel=1e-3)
    assert alone.effective == pytest.approx(1, abs=0.1)
    assert drift_of(1.0 + 0.01 * errors(rng, 0.0)[:, 0], std=1.0).drifted  # the same at many poses


def test_the_interval_of_the_reference_widens_the_offset_alone() -> None:
    noise = errors(np.random.default_rng(6), 0.0)[:, 0] + 0.5
    poses = 10 * np.arange(FRAMES, dtype=np.float64)[:, None]
    stds, times = np.full((FRAMES, 1), 1e-6), np.arange(FRAMES) / 30
    (known,) = drifts(noise[:, None], stds, poses, times, usual=[NO_REFERENCE])
    (other,) = drifts(noise[:, None], stds, poses, times, usual=[ReferenceOffset(value=0.5, half=3.0)])
    assert known.offset.significant
    assert not other.offset.significant
    assert other.offset.value == pytest.approx(known.offset.value - 0.5)
    assert other.offset.error == known.offset.error
    assert other.offset.half == pytest.approx(np.hypot(known.offset.half, 3.0))
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
        drifts(np.zeros((40, 1)), np.zeros((39, 1)), np.zeros((40, 1)), np.arange(40.0), usual=[NO_REFERENCE])
