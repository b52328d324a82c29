"""Causal models against what can be worked out by hand: moments, twins, density ratios and Bayes floors."""

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ropes.causal.scm import CausalModel, Regime, TruncatedNormal
from ropes.simulation.settings import setting_named

J1, J2, J3, J4, J5, J6 = (f"panda_joint{k}" for k in range(1, 7))
INDEPENDENT = setting_named("panda-2c-independent").splits["train"]
CAUSAL = setting_named("panda-2c-causal").splits["train"]
ONE_CAMERA = setting_named("panda-1c-independent").splits["train"]


def tn(mean: float, variance: float = 0.4, low: float = -1.5, high: float = 1.5) -> TruncatedNormal:
    return TruncatedNormal(mean=mean, variance=variance, low=low, high=high)


def chain(**changes: Any) -> CausalModel:
    """A → B → C, with D apart; B = 2A, C = B/2 + noise, exactly solvable."""
    given: dict[str, Any] = {
        "joints": ("a", "b", "c", "d"),
        "observational": {"a": tn(0), "d": tn(0.5)},
        "noise": {"c": tn(0, 0.1, 0, 1)},
        "weights": {("b", "c"): 0.5, ("a", "b"): 2.0},
        "interventions": {joint: (tn(0.7), tn(-0.7)) for joint in "abcd"},
    }
    return CausalModel(**(given | changes))


def normal_moments(t: TruncatedNormal) -> tuple[float, float]:
    """Mean and variance of a truncated normal by the textbook formula."""
    scale = math.sqrt(t.variance)
    low, high = (t.low - t.mean) / scale, (t.high - t.mean) / scale
    mass = stats.norm.cdf(high) - stats.norm.cdf(low)
    first = (stats.norm.pdf(low) - stats.norm.pdf(high)) / mass
    second = (low * stats.norm.pdf(low) - high * stats.norm.pdf(high)) / mass
    return t.mean + scale * first, t.variance * (1 + second - first**2)


@pytest.mark.parametrize("t", [tn(0), tn(0.9), tn(1.2, 0.4, 0, 3), tn(0, 0.1, 0, 1), tn(-5, 0.5), tn(0, 1)])
def test_moments_match_the_textbook_formula(t: TruncatedNormal) -> None:
    assert t.moments() == pytest.approx(normal_moments(t), rel=1e-6)


def test_second_parameter_is_the_variance() -> None:
    # Read as a standard deviation, .4 would give .158; the paper's own rows imply .35 to .37.
    assert tn(0).moments()[1] == pytest.approx(0.3537, abs=1e-4)
    samples = tn(0).sample(np.random.default_rng(0), 200_000)
    assert samples.var() == pytest.approx(0.3537, abs=0.005)


@pytest.mark.slow
@given(
    mean=st.floats(-4, 4),
    variance=st.floats(0.05, 3),
    low=st.floats(-3, 2.9),
    width=st.floats(0.1, 4),
    p=st.floats(0, 1),
)
def test_quantile_cdf_and_interval_agree(mean: float, variance: float, low: float, width: float, p: float) -> None:
    t = tn(mean, variance, low, low + width)
    x = float(t.quantile(p))
    assert t.low - 1e-9 <= x <= t.high + 1e-9
    assert float(t.cdf(x)) == pytest.approx(p, abs=1e-6)


def test_samples_follow_the_cdf() -> None:
    t = tn(1.2, 0.4, 0, 3)
    samples = t.sample(np.random.default_rng(1), (100, 50))
    assert samples.shape == (100, 50)
    assert stats.kstest(samples.ravel(), t.cdf).pvalue > 0.01
    assert t.low <= samples.min() <= samples.max() <= t.high


def test_density_integrates_to_one_and_is_zero_outside_the_bounds() -> None:
    t = tn(0.7)
    grid = np.linspace(-1.5, 1.5, 20_001)
    assert np.trapezoid(np.exp(t.log_density(grid)), grid) == pytest.approx(1, abs=1e-6)
    assert list(t.log_density([-1.6, 1.6])) == [-np.inf, -np.inf]


@pytest.mark.parametrize(("variance", "high", "line"), [(0, 1, "variance"), (-1, 1, "variance"), (1, -1.5, "empty")])
def test_invalid_distributions_raise(variance: float, high: float, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        tn(0, variance, -1.5, high)


@pytest.mark.parametrize("regime", CAUSAL.regimes)
def test_regime_names_round_trip(regime: Regime) -> None:
    assert Regime.parse(regime.name) == regime


def test_regimes_are_ordered_observational_first_then_by_joint() -> None:
    assert [regime.name for regime in ONE_CAMERA.regimes] == [
        "observational",
        *(f"panda_joint{k}/{policy}" for k in (2, 4, 6) for policy in (1, 2)),
    ]


@pytest.mark.parametrize("name", ["", "elbow", "elbow/3", "/1", "observational/1/x"])
def test_invalid_regime_names_raise(name: str) -> None:
    with pytest.raises(ValueError, match="not a regime"):
        Regime.parse(name)


@pytest.mark.parametrize(("joint", "policy"), [(None, 1), ("a", 0), ("a", 3)])
def test_invalid_regimes_raise(joint: str | None, policy: int) -> None:
    with pytest.raises(ValueError, match="no such regime"):
        Regime(joint, policy)


@pytest.mark.parametrize("model", [INDEPENDENT, CAUSAL, ONE_CAMERA, chain()])
def test_counterfactual_poses_differ_only_in_descendants(model: CausalModel) -> None:
    poses = model.sample(np.random.default_rng(3), 50)
    assert poses.shape == (50, len(model.regimes), len(model.joints))
    anchor = poses[:, 0]
    for k, regime in enumerate(model.regimes[1:], start=1):
        assert regime.joint is not None
        reached = model.descendants(regime.joint)
        for column, joint in enumerate(model.joints):
            if joint in reached:
                assert (poses[:, k, column] != anchor[:, column]).all()
            else:
                np.testing.assert_array_equal(poses[:, k, column], anchor[:, column])


def test_causal_graph_matches_figure_10() -> None:
    assert CAUSAL.descendants(J1) == {J1, J6}
    assert CAUSAL.descendants(J2) == {J2, J3, J5, J6}
    assert CAUSAL.descendants(J3) == {J3, J5, J6}
    assert CAUSAL.descendants(J4) == {J4}
    assert CAUSAL.descendants(J5) == {J5, J6}
    assert CAUSAL.descendants(J6) == {J6}


def test_intervention_propagates_with_the_same_equations_and_noise() -> None:
    model = chain()
    poses = model.sample(np.random.default_rng(4), 30)
    anchor = poses[:, 0]
    noise = anchor[:, 2] - 0.5 * anchor[:, 1]
    np.testing.assert_allclose(anchor[:, 1], 2 * anchor[:, 0])
    for k, regime in enumerate(model.regimes):
        if regime.joint in ("a", "b"):
            np.testing.assert_allclose(poses[:, k, 2], 0.5 * poses[:, k, 1] + noise)
        if regime.joint == "a":
            np.testing.assert_allclose(poses[:, k, 1], 2 * poses[:, k, 0])


@pytest.mark.parametrize("joint", CAUSAL.joints)
@pytest.mark.parametrize("policy", [1, 2])
def test_the_intervened_joint_has_its_policy_s_distribution(joint: str, policy: int) -> None:
    poses = CAUSAL.sample(np.random.default_rng(5), 4000)
    regime, column = CAUSAL.regimes.index(Regime(joint, policy)), CAUSAL.joints.index(joint)
    assert stats.kstest(poses[:, regime, column], CAUSAL.interventions[joint][policy - 1].cdf).pvalue > 1e-3


def test_causal_model_moments_match_the_theory() -> None:
    # By hand from App. F: covariance of J3 with J2 is .88 var J2, and so on down the graph.
    wide, positive, noise = normal_moments(tn(0)), normal_moments(tn(1.2, 0.4, 0, 3)), normal_moments(tn(0, 0.1, 0, 1))
    mean = {J1: positive[0] + noise[0], J2: noise[0], J4: noise[0]}
    mean[J3] = 0.88 * mean[J2] + noise[0]
    mean[J5] = 0.26 * mean[J3] + noise[0]
    mean[J6] = 0.24 * mean[J1] + 0.31 * mean[J2] + 0.37 * mean[J3] + 0.15 * mean[J5] + noise[0]
    e = noise[1]
    variance = {J1: positive[1] + e, J2: wide[1] + e, J4: wide[1] + e}
    variance[J3] = 0.88**2 * variance[J2] + e
    variance[J5] = 0.26**2 * variance[J3] + e
    on_j3 = 0.37 + 0.15 * 0.26  # J6's total weight on J3's own noise
    on_j2 = 0.31 + 0.88 * on_j3
    variance[J6] = 0.24**2 * variance[J1] + on_j2**2 * variance[J2] + on_j3**2 * e + 0.15**2 * e + e
    poses = CAUSAL.sample_observational(np.random.default_rng(6), 200_000)
    np.testing.assert_allclose(poses.mean(0), [mean[j] for j in CAUSAL.joints], atol=0.006)
    np.testing.assert_allclose(poses.var(0), [variance[j] for j in CAUSAL.joints], rtol=0.02)


def test_observational_variances_match_the_design_note() -> None:
    poses = INDEPENDENT.sample_observational(np.random.default_rng(7), 100_000)
    np.testing.assert_allclose(poses.var(0), [0.339, 0.354, 0.354, 0.354, 0.354, 0.354], atol=0.006)


@pytest.mark.parametrize("model", [INDEPENDENT, CAUSAL, ONE_CAMERA])
def test_log_density_ratio_is_affine_with_slope_mean_difference_over_variance(model: CausalModel) -> None:
    for joint in model.joints:
        first, second = model.interventions[joint]
        z = np.linspace(first.low, first.high, 50)
        ratio = model.log_density_ratio(joint, z)
        slope = (first.mean - second.mean) / first.variance
        np.testing.assert_allclose(ratio - ratio[0], slope * (z - z[0]), atol=1e-9)
        np.testing.assert_allclose(ratio, first.log_density(z) - second.log_density(z))


def test_log_density_ratio_is_nan_outside_both_policies() -> None:
    assert math.isnan(float(INDEPENDENT.log_density_ratio(J2, 2.0)))


FLOORS = {J1: 0.3472, J2: 0.3432, J3: 0.3432, J4: 0.2288, J5: 0.2288, J6: 0.2551}


@pytest.mark.parametrize("model", [INDEPENDENT, CAUSAL])
def test_bayes_floors_of_two_cameras_match_the_table(model: CausalModel) -> None:
    assert {joint: round(model.bayes_floor(joint), 4) for joint in model.joints} == FLOORS


def test_bayes_floors_of_one_camera_match_the_table() -> None:
    assert {round(ONE_CAMERA.bayes_floor(joint), 4) for joint in ONE_CAMERA.joints} == {0.3801}


@pytest.mark.parametrize("model", [INDEPENDENT, ONE_CAMERA])
def test_bayes_floors_match_drawn_samples(model: CausalModel) -> None:
    rng = np.random.default_rng(8)
    for joint in model.joints:
        first, second = (policy.sample(rng, 100_000) for policy in model.interventions[joint])
        ratios = model.log_density_ratio(joint, first), model.log_density_ratio(joint, second)
        drawn = 0.5 * np.logaddexp(0, -ratios[0]).mean() + 0.5 * np.logaddexp(0, ratios[1]).mean()
        assert model.bayes_floor(joint) == pytest.approx(drawn, abs=0.003)


@pytest.mark.parametrize(
    ("pair", "floor"),
    [
        ((tn(0.3), tn(0.3)), math.log(2)),  # nothing to tell apart
        ((tn(0, 1, -2, -1), tn(0, 1, 1, 2)), 0.0),  # nothing in common
        # Uniform in the limit: they share half of their range, where nothing can be told.
        ((tn(0, 1e9, 0, 2), tn(0, 1e9, 1, 3)), 0.5 * math.log(2)),
    ],
)
def test_bayes_floors_match_hand_calculation(pair: tuple[TruncatedNormal, TruncatedNormal], floor: float) -> None:
    model = CausalModel(joints=("a",), observational={"a": tn(0)}, interventions={"a": pair})
    assert model.bayes_floor("a") == pytest.approx(floor, abs=1e-6)


@pytest.mark.parametrize("std", [1.0, 0.02, 0.003, 1e-5])
@pytest.mark.parametrize("place", [0.0, 2.9])
def test_bayes_floors_of_narrow_policies_are_those_of_wide_ones(std: float, place: float) -> None:
    """Means σ / 10 apart, far from the ends of ±3 rad or, in units of σ, of a wider range."""
    ends = max(3.0, 20 * std)
    pair = tn(place, std**2, -ends, ends), tn(place + std / 10, std**2, -ends, ends)
    model = CausalModel(joints=("a",), observational={"a": tn(0)}, interventions={"a": pair})
    assert model.bayes_floor("a") == pytest.approx(0.6919, abs=1e-4)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"weights": {("a", "b"): 1.0, ("b", "a"): 1.0}}, "cycle"),
        ({"weights": {("a", "a"): 1.0, ("a", "b"): 1.0}}, "cycle"),
        ({"observational": {"a": tn(0), "d": tn(0), "e": tn(0)}}, r"not among the joints: \['e'\]"),
        ({"interventions": {"elbow": (tn(1), tn(0))}}, r"not among the joints: \['elbow'\]"),
        ({"weights": {("a", "b"): 1.0, ("x", "c"): 1.0}}, r"not among the joints: \['x'\]"),
        ({"observational": {"a": tn(0)}}, r"nothing to draw these joints from: \['d'\]"),
    ],
)
def test_invalid_causal_models_raise(changes: dict[str, object], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        chain(**changes)


@pytest.mark.parametrize("model", [INDEPENDENT, CAUSAL, ONE_CAMERA, chain()])
def test_causal_models_round_trip_through_json(model: CausalModel) -> None:
    again = CausalModel.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model
    np.testing.assert_array_equal(again.sample(np.random.default_rng(9), 3), model.sample(np.random.default_rng(9), 3))
