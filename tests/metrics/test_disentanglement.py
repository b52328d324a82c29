"""Disentanglement metrics: hand-solved matrices, closed forms, invariances, and refusals."""

import math
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropes.common.arrays import Floats
from ropes.metrics.disentanglement import (
    DCI,
    Undefined,
    beta_vae_score,
    dci,
    explicitness,
    factor_vae_score,
    mig,
    modularity,
    sap,
)
from ropes.metrics.disentanglement.information import mutual_information
from ropes.metrics.disentanglement.predictive import completeness, disentanglement

Metric = Callable[[Floats, Floats], float | DCI]
METRICS: tuple[Metric, ...] = (beta_vae_score, dci, explicitness, factor_vae_score, mig, modularity, sap)
#: All four combinations of two binary factors, 100 times.
BINARY = np.tile(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float), (100, 1))


def grid(samples: int = 2_000, seed: int = 0) -> Floats:
    """Three independent factors on grids of their own."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, values, samples) for values in (5, 8, 30)], axis=1).astype(float)


def score(metric: Metric, latents: Floats, factors: Floats) -> float:
    found = metric(latents, factors)
    return found.disentanglement if isinstance(found, DCI) else float(found)


@pytest.mark.parametrize("samples", [20, 53, 400])
def test_few_samples_suffice_for_latents_equal_to_the_factors(samples: int) -> None:
    factors = np.random.default_rng(0).uniform(size=(samples, 2))
    found = dci(factors, factors)
    assert found.disentanglement > 0.5
    assert found.informativeness > 0.3


def test_dci_scores_match_hand_calculation() -> None:
    """Rows of (3/4, 1/4): 1 − H(1/4) in bits."""
    held = 1 + 0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)
    matrix = np.array([[0.75, 0.25], [0.25, 0.75]])
    assert disentanglement(matrix) == pytest.approx(held)
    assert completeness(matrix) == pytest.approx(held)
    assert disentanglement(np.eye(3)) == completeness(np.eye(3)) == 1
    assert disentanglement(np.ones((4, 3))) == pytest.approx(0)
    assert disentanglement(np.zeros((4, 3))) == 0


def test_importance_rows_are_latents_and_columns_factors() -> None:
    """Two latents for one factor are disentangled but not complete; one latent for two factors the reverse."""
    matrix = np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]])
    assert disentanglement(matrix) == 1
    assert completeness(matrix) == pytest.approx(1 - 0.5 * math.log(2, 3))
    assert disentanglement(matrix.T) == pytest.approx(1 - 0.5 * math.log(2, 3))
    assert completeness(matrix.T) == 1


def test_latent_of_zero_importance_is_ignored() -> None:
    assert disentanglement(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])) == 1
    assert disentanglement(np.array([[3.0, 0.0], [0.5, 0.5]])) == pytest.approx(0.75)


def test_mutual_information_matches_hand_calculation() -> None:
    """p(a, b) = (.4, .1; .1, .4): .8 log 1.6 + .2 log .4."""
    joint = [(0, 0)] * 4 + [(0, 1)] + [(1, 0)] + [(1, 1)] * 4
    values = np.array(joint * 10, dtype=float)
    information, entropy = mutual_information(values[:, :1], values[:, 1:])
    assert information[0, 0] == pytest.approx(0.8 * math.log(1.6) + 0.2 * math.log(0.4))
    assert entropy[0] == pytest.approx(math.log(2))


def test_mig_matches_hand_calculation() -> None:
    assert mig(BINARY, BINARY) == pytest.approx(1)
    assert mig(BINARY[:, [0, 0, 1, 1]], BINARY) == pytest.approx(0)
    both = np.stack([2 * BINARY[:, 0] + BINARY[:, 1], BINARY[:, 0]], axis=1)  # the gap of factor 0 is 0, of 1 it is 1
    assert mig(both, BINARY) == pytest.approx(0.5)


def test_modularity_matches_hand_calculation() -> None:
    both = (2 * BINARY[:, 0] + BINARY[:, 1])[:, None]
    assert modularity(BINARY, BINARY) == pytest.approx(1)
    assert modularity(both, BINARY) == pytest.approx(0)
    still = np.zeros((len(BINARY), 1))
    assert modularity(np.hstack([BINARY[:, :1], both, still, still]), BINARY) == pytest.approx(0.25)


def test_every_value_is_a_class_without_factor_bins() -> None:
    """20 bins of a latent that is the factor hold two of 40 values each: ln 20 of ln 40."""
    factors = np.tile(np.arange(40.0), 10)[:, None]
    latents = np.hstack([factors, np.zeros_like(factors)])
    assert mig(latents, factors, factor_bins=None) == pytest.approx(math.log(20) / math.log(40))
    assert mig(latents, factors, factor_bins=40) == pytest.approx(math.log(20) / math.log(40))
    assert mig(latents, factors) == mig(latents, factors, bins=40) == pytest.approx(1)
    four = np.tile(np.arange(4.0), 10)
    parity, both = four[:, None] % 2, np.stack([four, four >= 2], axis=1)
    assert modularity(parity, both, bins=2) == pytest.approx(0)  # both bins of the first factor hold either parity
    assert modularity(parity, both, bins=2, factor_bins=None) == pytest.approx(1)
    for metric in (mig, modularity):
        with pytest.raises(ValueError, match="factor column 1 takes no value twice; its values are not classes"):
            metric(both, np.stack([four, np.arange(40)], axis=1), factor_bins=None)


@pytest.mark.parametrize("values", [3, 5, 7, 12, 20])
@pytest.mark.parametrize("samples", [500, 2_001])
def test_constant_latent_has_no_modularity(values: int, samples: int) -> None:
    """What rounding leaves of no information must not make it modular."""
    factors = np.stack([np.arange(samples) % values, np.random.default_rng(0).normal(size=samples)], axis=1)
    assert modularity(np.full((samples, 1), 0.3), factors) == 0


def test_sap_matches_hand_calculation() -> None:
    """Squared correlations of factor 0: 1 and, with (v0 + v1), 1/2; of factor 1: 1/2 and 0."""
    latents = np.stack([BINARY[:, 0], BINARY.sum(axis=1)], axis=1)
    assert sap(latents, BINARY) == pytest.approx((0.5 + 0.5) / 2)


def test_categorical_sap_is_linear_classification_accuracy() -> None:
    """A latent alone tells factor 0 wholly, the other one half of it: accuracies 1 and about .5."""
    found = sap(BINARY + 0.01 * np.random.default_rng(0).normal(size=BINARY.shape), BINARY, categorical=(0, 1))
    assert found == pytest.approx(0.5, abs=0.12)


def test_explicitness_is_high_for_linear_codes_and_chance_for_noise() -> None:
    noise = np.random.default_rng(0).normal(size=(2_000, 3))
    factors = grid()
    assert explicitness(factors[:, :2] @ np.array([[1.0, 0.5], [-0.3, 1.0]]), factors[:, :2]) > 0.95
    assert explicitness(noise, factors) == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_every_metric_separates_perfect_from_mixed_codes() -> None:
    factors = grid()
    unit = (factors - factors.mean(0)) / factors.std(0)
    mixed = unit @ np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    perfect = {metric.__name__: score(metric, unit, factors) for metric in (*METRICS,)}
    assert all(value > 0.85 for value in perfect.values()), perfect
    for metric in (dci, mig, sap):  # BetaVAE and FactorVAE scores take other codes for perfect, too
        assert score(metric, mixed, factors) < perfect[metric.__name__] - 0.1, metric.__name__


@pytest.mark.slow
def test_informativeness_is_measured_on_held_out_samples() -> None:
    """Trees learn noise by heart; what they tell of new samples is nothing."""
    noise = np.random.default_rng(0).normal(size=(400, 5))
    found = dci(noise, grid(400))
    assert found.informativeness < 0.05
    assert found.importance.shape == (5, 3)
    np.testing.assert_allclose(found.importance.sum(axis=0), 1)


def test_classes_are_treated_as_unordered() -> None:
    """Classes by a circle: accuracy 1; which column it was is told."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, 600).astype(float)
    latents = np.stack([classes + 0.05 * rng.normal(size=600), rng.normal(size=600)], axis=1)
    factors = np.stack([np.pi / 6 * classes, rng.normal(size=600)], axis=1)  # as hues are stored, in radians
    found = dci(latents, factors, categorical=(0,))
    assert found.informativeness_of[0] > 0.99
    assert found.importance[0, 0] > 0.95
    assert sap(latents, factors, categorical=(0,)) > 0.2


@pytest.mark.slow
def test_same_seed_gives_the_same_score() -> None:
    factors, noise = grid(), np.random.default_rng(3).normal(size=(2_000, 3))
    latents = factors + 8 * noise
    for metric in (dci, beta_vae_score, factor_vae_score, explicitness):
        first, again = (score(metric, latents, factors) for _ in range(2))
        assert first == again, metric.__name__
        other = metric(latents, factors, seed=1)
        assert (other.informativeness if isinstance(other, DCI) else other) != first, metric.__name__


@pytest.fixture(scope="module")
def mixed() -> tuple[Floats, Floats, dict[str, float]]:
    """Latents that hold some of each factor, the factors, and what every metric says of them."""
    factors = grid(600)
    unit = (factors - factors.mean(0)) / factors.std(0)
    latents = unit @ np.array([[1, 0.3, 0], [0, 1, 0.2], [0.1, 0, 1]]) + 0.1 * np.random.default_rng(5).normal(
        size=unit.shape
    )
    return latents, factors, {metric.__name__: scored(metric, latents, factors) for metric in METRICS}


def scored(metric: Metric, latents: Floats, factors: Floats) -> float:
    """The score, of few points where a metric draws them."""
    for drawn in (beta_vae_score, factor_vae_score):
        if metric is drawn:
            return float(drawn(latents, factors, points=500))
    return score(metric, latents, factors)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    order=st.permutations(range(3)),
    signs=st.tuples(*[st.sampled_from([-1.0, 1.0])] * 3),
    scales=st.tuples(*[st.floats(0.5, 20)] * 3),
)
def test_scores_are_invariant_to_order_sign_and_scale_of_latents(
    mixed: tuple[Floats, Floats, dict[str, float]],
    order: list[int],
    signs: tuple[float, ...],
    scales: tuple[float, ...],
) -> None:
    latents, factors, before = mixed
    changed = (latents * signs * scales)[:, order]
    tolerances: dict[Metric, float] = {mig: 0.03, modularity: 0.03, sap: 1e-9, explicitness: 1e-3, dci: 0.03}
    for metric in METRICS:
        tolerance = tolerances.get(metric, 0.02)
        assert scored(metric, changed, factors) == pytest.approx(before[metric.__name__], abs=tolerance), metric


@pytest.mark.slow
def test_factor_vae_score_ignores_latents_of_low_variance() -> None:
    """A faint copy of a factor would be the least varying; a mask taken by its length would keep it."""
    factors = grid()
    unit = (factors - factors.mean(0)) / factors.std(0)
    noise = np.random.default_rng(0).normal(size=(2_000, 1))
    assert factor_vae_score(np.hstack([1e-3 * unit, unit]), factors) == pytest.approx(1, abs=0.01)
    small = factor_vae_score(1e-3 * unit, factors)
    assert isinstance(small, Undefined)
    assert "every latent is below 0.05" in small.reason
    assert factor_vae_score(1e-3 * unit, factors, pruned=5e-5) == pytest.approx(1, abs=0.01)
    one = factor_vae_score(np.hstack([1e-3 * unit, noise]), factors)
    assert float(one) == pytest.approx(1 / 3, abs=0.05)


def test_dependent_factors_have_no_score() -> None:
    factors = grid(4_000)
    possible = factors[factors[:, 0] + factors[:, 1] < 8]
    for metric in (beta_vae_score, factor_vae_score):
        found = metric(possible, possible)
        assert isinstance(found, Undefined)
        assert "factors 0 and 1 depend on one another" in found.reason
        assert math.isnan(float(found))
        assert not isinstance(metric(factors, factors, points=200), Undefined)
        told = metric(factors, factors, points=200, complete=False)
        assert isinstance(told, Undefined)
        assert "some combinations of factors do not exist" in told.reason
        assert np.isnan(told)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
def test_bad_arrays_are_refused(metric: Metric) -> None:
    factors = grid(100)
    for latents, other, line in (
        (factors[:50], factors, "differ in length: 50 and 100"),
        (factors, np.hstack([factors, np.ones((100, 1))]), "factor column 3 never changes"),
        (np.where(np.arange(100)[:, None] == 7, np.nan, factors), factors, "latents are not finite: row 7, column 0"),
        (factors, np.where(np.arange(100)[:, None] == 7, np.inf, factors), "factors are not finite"),
        (factors[:, 0], factors, r"expected latents \(n, k\)"),
        (factors[:1], factors[:1], "at least"),
    ):
        with pytest.raises(ValueError, match=line):
            metric(latents, other)


def test_metric_specific_invalid_input_raises() -> None:
    factors = grid(100)
    for metric in (mig, modularity):
        with pytest.raises(ValueError, match="10 samples do not fill 20 bins"):
            metric(factors[:10], factors[:10])
        with pytest.raises(ValueError, match="at least two bins"):
            metric(factors, factors, bins=1)
    for gap in (mig, sap):
        with pytest.raises(ValueError, match="a gap needs at least two latents"):
            gap(factors[:, :1], factors)
    for several in (modularity, beta_vae_score, factor_vae_score):
        with pytest.raises(ValueError, match="needs at least two"):
            several(factors, factors[:, :1])
    with pytest.raises(ValueError, match=r"categorical columns \[7\] are not all among the 3 factors"):
        dci(factors, factors, categorical=(7,))
    seldom = factors.copy()
    seldom[0, 0] = 99
    with pytest.raises(ValueError, match="factor column 0 has a value too seldom"):
        explicitness(seldom, seldom)


@pytest.mark.slow
def test_metrics_do_not_import_torch() -> None:
    code = "import sys; from ropes.metrics import dci; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
