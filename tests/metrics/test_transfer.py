"""Transfer errors by hand, and rank correlations."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.metrics.disentanglement.samples import tree_options
from ropes.metrics.transfer import (
    REGRESSORS,
    Regressor,
    classifier_errors,
    least_significant_correlation,
    rank_correlation,
    rank_correlations,
    transfer_errors,
)

Arrays = tuple[NDArray[np.float64], NDArray[np.float64]]
RNG = np.random.default_rng(0)
FACTORS = RNG.random((1_500, 2))
#: Of no factor, of the first, and of the first less the second.
CODES = np.stack([RNG.normal(size=1_500), 5 * FACTORS[:, 0], FACTORS[:, 0] - FACTORS[:, 1]], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("regressor", REGRESSORS)
def test_transfer_error_is_low_only_for_factors_that_codes_contain(regressor: Regressor) -> None:
    learnt, tested = slice(0, 1_000), slice(1_000, 1_500)
    known = transfer_errors((CODES[learnt], FACTORS[learnt]), (CODES[tested], FACTORS[tested]), regressor=regressor)
    assert known.shape == (1, 2)
    assert known.max() < 0.08
    unknown = transfer_errors(
        (CODES[learnt, :1], FACTORS[learnt]), (CODES[tested, :1], FACTORS[tested]), regressor=regressor
    )
    assert unknown == pytest.approx(0.25, abs=0.04)  # the mean deviation of an even distribution from its middle


def test_openmp_sets_the_threads_of_trees_unless_given() -> None:
    assert tree_options(100, None)["n_jobs"] == 0  # LightGBM takes None for every core, whatever OMP_NUM_THREADS says
    assert tree_options(100, 2)["n_jobs"] == 2


def test_trees_learn_from_few_samples() -> None:
    factors = np.random.default_rng(0).uniform(size=(30, 1))
    assert transfer_errors((factors, factors), (factors, factors))[0, 0] < 0.15


@pytest.mark.slow
def test_several_test_sets_share_one_fitted_regressor() -> None:
    learnt, first, second = ((CODES[rows], FACTORS[rows]) for rows in np.split(np.arange(1_500), 3))
    both = transfer_errors(learnt, first, second)
    assert both[0] == pytest.approx(transfer_errors(learnt, first)[0])
    assert both[1] == pytest.approx(transfer_errors(learnt, second)[0])


@pytest.mark.slow
def test_trees_ignore_shifts_of_separate_codes() -> None:
    """A code of its own for the factor that shifts leaves the other one alone; a mixed code carries the shift over."""
    low, high = FACTORS[:, 1] < 0.5, FACTORS[:, 1] >= 0.5
    mixed = FACTORS @ np.array([[1.0, 1.0], [1.0, -1.0]])
    apart, together = (
        transfer_errors((codes[low], FACTORS[low]), (codes[high], FACTORS[high]))[0, 0] for codes in (FACTORS, mixed)
    )
    assert apart < 0.02
    assert together > 5 * apart


def test_rank_correlation_uses_rows_that_have_both_values() -> None:
    """Rising, falling and constant columns; one with gaps."""
    table = np.stack([[1, 2, 3, 4], [8, 4, 2, 1], [5, 5, 5, 5], [1, np.nan, 9, 2]], axis=1)
    found = rank_correlations(table)
    assert found[0, 1] == pytest.approx(-1)
    assert found[0, 3] == found[3, 0] == pytest.approx(0.5)
    assert np.isnan(found[2]).all()
    assert found[1, 1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("learnt", "tested", "line"),
    [
        ((CODES, FACTORS[:-1]), (CODES, FACTORS), "of the same samples"),
        ((CODES, FACTORS), (CODES[:, :2], FACTORS), "other numbers of codes or factors"),
        ((CODES, FACTORS * np.nan), (CODES, FACTORS), "not finite"),
        ((CODES, 2 * FACTORS), (CODES, FACTORS), r"scaled to \[0, 1\]"),
    ],
)
def test_bad_arrays_are_refused(learnt: Arrays, tested: Arrays, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        transfer_errors(learnt, tested)


@pytest.mark.slow
def test_mlp_standardises_codes_by_the_training_set() -> None:
    """A code that hardly varies among the samples to learn from, and does in all others, must not drown the rest."""
    rng = np.random.default_rng(1)
    factors = rng.random((1_500, 1))
    told = 5 * factors[:, 0]
    still = np.stack([told, 1e-3 * rng.normal(size=1_500)], axis=1)
    other = np.stack([told, rng.normal(size=1_500)], axis=1)
    within, over_all = (
        transfer_errors((still, factors), (other, factors), regressor="mlp", trained=trained)[0, 0]
        for trained in (None, other)
    )
    assert over_all < 0.1
    assert within > 5 * over_all


def test_classifier_predicts_factors_that_codes_contain() -> None:
    factors = np.random.default_rng(0).integers(4, size=(900, 2)) / 3
    learnt, tested = slice(0, 600), slice(600, 900)
    wrong = classifier_errors((factors[learnt, :1], factors[learnt]), (factors[tested, :1], factors[tested]))
    assert wrong[0] == 0
    assert wrong[1] == pytest.approx(0.75, abs=0.08)
    with pytest.raises(ValueError, match="other numbers of codes or factors"):
        classifier_errors((CODES, FACTORS), (CODES[:, :1], FACTORS))


def test_few_models_give_a_wide_confidence_interval() -> None:
    """Bonett and Wright by hand: r = .9 of five pairs."""
    found = rank_correlation([1, 2, 3, 4, 5, np.nan], [1, 2, 3, 5, 4, 0])
    assert found.value == pytest.approx(0.9)
    wide = 1.959964 * np.sqrt((1 + 0.81 / 2) / 2)
    assert (found.low, found.high) == pytest.approx(tuple(np.tanh(np.arctanh(0.9) + np.array([-wide, wide]))))
    assert found.pairs == 5
    assert np.isnan(rank_correlation([1, 2, 3, 4], [1, 2, 3, 4]).low)
    assert np.isnan(rank_correlation([1, 2], [2, 1]).value)
    with pytest.raises(ValueError, match="two columns of one length"):
        rank_correlation([1, 2], [1, 2, 3])


@pytest.mark.parametrize("pairs", [4, 6, 12, 540])
def test_intervals_exclude_zero_from_the_least_significant_correlation_on(pairs: int) -> None:
    least = least_significant_correlation(pairs)
    half_width = 1.959964 * np.sqrt((1 + least**2 / 2) / (pairs - 3))
    assert np.arctanh(least) == pytest.approx(half_width, rel=1e-5)
    assert np.isnan(least_significant_correlation(3))


def test_unknown_regressors_and_invalid_tables_raise() -> None:
    with pytest.raises(ValueError, match="choose one of trees, forest, mlp1, mlp, mlp3"):
        transfer_errors((CODES, FACTORS), (CODES, FACTORS), regressor="lasso")  # type: ignore[arg-type] # no such name
    with pytest.raises(ValueError, match=r"must be finite and \(t, 3\), got \(1500, 2\)"):
        transfer_errors((CODES, FACTORS), (CODES, FACTORS), trained=CODES[:, :2])
    with pytest.raises(ValueError, match="expected a table"):
        rank_correlations(np.zeros(3))
