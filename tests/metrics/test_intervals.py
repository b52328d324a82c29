"""Quantiles that promise, intervals that hold, ranks that tell apart: by hand, and by their theory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropes.metrics.calibration import linear_calibration
from ropes.metrics.intervals import auroc, conformal_quantile, coverage, leave_one_out_residuals


@pytest.mark.parametrize(
    ("count", "level", "place"), [(9, 0.9, 9), (10, 0.9, 10), (19, 0.9, 18), (99, 0.9, 90), (3, 0.5, 2)]
)
def test_conformal_quantile_is_the_score_of_the_right_rank(count: int, level: float, place: int) -> None:
    scores = np.random.default_rng(count).permutation(np.arange(1.0, count + 1))
    assert conformal_quantile(scores[:, None], level) == [place]


def test_too_few_scores_give_an_infinite_quantile() -> None:
    assert np.isinf(conformal_quantile(np.ones((8, 2)), 0.9)).all()


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, float("nan")])
def test_a_level_outside_its_range_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="a level lies between 0 and 1"):
        conformal_quantile(np.ones((20, 1)), level)


def test_infinite_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="not infinite"):
        conformal_quantile(np.array([[1.0], [np.inf]]), 0.5)


def test_column_with_missing_samples_uses_the_remaining_ones() -> None:
    scores = np.random.default_rng(0).normal(size=(40, 3)) ** 2
    lacking = scores.copy()
    lacking[::2, 0], lacking[4:, 2] = np.nan, np.nan
    found = conformal_quantile(lacking, 0.9)
    assert found[0] == conformal_quantile(scores[1::2, :1], 0.9)[0]
    assert found[1] == conformal_quantile(scores, 0.9)[1]
    assert found[2] == np.inf


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_new_score_is_covered_at_the_promised_rate(level: float) -> None:
    # Exact for continuous scores: P = ⌈(n + 1) level⌉ / (n + 1), whatever their distribution.
    rng, count, trials = np.random.default_rng(0), 29, 4000
    scores = rng.standard_cauchy((count, trials)) ** 2
    held = (rng.standard_cauchy(trials) ** 2 <= conformal_quantile(scores, level)).mean()
    expected = np.ceil((count + 1) * level) / (count + 1)
    assert abs(held - expected) < 4 * np.sqrt(expected * (1 - expected) / trials)


def test_leave_one_out_residuals_match_refitted_lines() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
    found = leave_one_out_residuals(x, y)
    for k in range(12):
        others = np.arange(12) != k
        slope, intercept = linear_calibration(x[others], y[others])
        np.testing.assert_allclose(found[k], slope * x[k] + intercept - y[k])


def test_undefined_leave_one_out_residuals_raise() -> None:
    with pytest.raises(ValueError, match="three samples or more"):
        leave_one_out_residuals([[0.0], [1.0]], [[0.0], [1.0]])
    with pytest.raises(ValueError, match="does not vary"):
        leave_one_out_residuals(np.ones((4, 1)), np.arange(4.0)[:, None])
    with pytest.raises(ValueError, match="one sample alone"):
        leave_one_out_residuals([[0.0], [0.0], [1.0]], [[0.0], [1.0], [2.0]])


def test_coverage_counts_both_ends() -> None:
    truth = np.array([[0.0], [1.0], [2.0], [3.0]])
    assert coverage(np.full((4, 1), 1.0), np.full((4, 1), 2.0), truth) == [0.5]


def test_auroc_matches_hand_calculation() -> None:
    assert auroc([0, 1], [2, 3]) == 1
    assert auroc([2, 3], [0, 1]) == 0
    assert auroc([1, 1], [1]) == 0.5
    assert auroc([0, 2], [1, 3]) == 0.75
    with pytest.raises(ValueError, match="at least one number"):
        auroc([], [1.0])
    with pytest.raises(ValueError, match="at least one number"):
        auroc([0.0], [float("nan")])


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9), st.lists(st.integers(-5, 5), min_size=1, max_size=9))
def test_auroc_is_the_probability_of_correct_ranking(inside: list[int], outside: list[int]) -> None:
    pairs = [(high > low) + 0.5 * (high == low) for low in inside for high in outside]
    assert auroc(inside, outside) == pytest.approx(np.mean(pairs))
    assert auroc(np.exp(inside), np.exp(outside)) == pytest.approx(np.mean(pairs))
