"""Table 9's graph comes back from noisy and bent coordinates, whatever their sign, scale and offset."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ropes.causal.graph import direct_effects, estimate_graph, total_effects
from ropes.causal.graph.estimate import BLURRED, SILENT
from ropes.causal.scm import CausalModel, TruncatedNormal
from ropes.metrics import structural_hamming_distance
from ropes.simulation.settings import setting_named

#: Coordinates (n, d), and target, policy and anchor of each pose, (n,).
Design = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
CAUSAL = setting_named("panda-2c-causal").splits["train"]
INDEPENDENT = setting_named("panda-2c-independent").splits["train"]


def true_graph(model: CausalModel) -> NDArray[np.bool_]:
    matrix = np.zeros((len(model.joints),) * 2, dtype=bool)
    for parent, child in model.weights:
        matrix[model.joints.index(parent), model.joints.index(child)] = True
    return matrix


def poses(
    model: CausalModel, anchors: int, rng: np.random.Generator, *, noise: float = 0.0, cubic: float = 0.0
) -> Design:
    """Coordinates of twin samples, (n, d), with what `estimate_graph` takes beside them."""
    angles = model.sample(rng, anchors)
    flat = angles.reshape(-1, angles.shape[-1])
    bent = (flat - flat.mean(0)) / flat.std(0)
    bent = bent + cubic * bent**3
    bent = bent + noise * bent.std(0) * rng.normal(size=bent.shape)
    target = [-1 if regime.joint is None else model.joints.index(regime.joint) for regime in model.regimes]
    policy = [regime.policy for regime in model.regimes]
    return bent, np.tile(target, anchors), np.tile(policy, anchors), np.repeat(np.arange(anchors), len(target))


@pytest.mark.slow
@pytest.mark.parametrize("cubic", [0.0, 0.1, -0.03])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_estimate_graph_recovers_the_graph_of_table_9(noise: float, cubic: float) -> None:
    found = estimate_graph(*poses(CAUSAL, 4000, np.random.default_rng(0), noise=noise, cubic=cubic))
    assert structural_hamming_distance(found.matrix, true_graph(CAUSAL)) == 0
    assert found.undecided == found.cyclic == ()


@pytest.mark.parametrize("cubic", [0.0, 0.1, -0.03])
@pytest.mark.parametrize("noise", [0.0, 0.22, 0.3])  # .22 sd: R² = .95
@pytest.mark.parametrize("seed", [0, 1])
def test_fewer_poses_leave_edges_undetermined_without_false_edges(noise: float, cubic: float, seed: int) -> None:
    found = estimate_graph(*poses(CAUSAL, 500, np.random.default_rng(seed), noise=noise, cubic=cubic))
    true = {(int(parent), int(child)) for parent, child in np.argwhere(true_graph(CAUSAL))}
    assert set(found.edges) <= true <= {*found.edges, *found.undetermined}
    assert set(found.edges) >= {(0, 5), (1, 2), (1, 5)}
    assert found.cyclic == ()
    assert found.unread == {}


@pytest.mark.parametrize("seed", range(3))
def test_independent_joints_have_no_edges(seed: int) -> None:
    found = estimate_graph(*poses(INDEPENDENT, 500, np.random.default_rng(seed), noise=0.3, cubic=0.1))
    assert found.edges == ()
    assert len(found.undetermined) < 15


@pytest.mark.slow
def test_graph_is_recovered_without_anchors_from_more_poses() -> None:
    coordinates, target, policy, _ = poses(CAUSAL, 8000, np.random.default_rng(0), noise=0.1)
    keep = np.random.default_rng(1).permutation(len(target))[: len(target) // 2]  # no anchor is whole
    found = estimate_graph(coordinates[keep], target[keep], policy[keep], np.arange(len(keep)))
    assert structural_hamming_distance(found.matrix, true_graph(CAUSAL)) == 0


@settings(max_examples=15)
@given(
    sign=st.lists(st.sampled_from([-1.0, 1.0]), min_size=6, max_size=6),
    scale=st.lists(st.floats(1e-3, 1e3), min_size=6, max_size=6),
    offset=st.floats(-100, 100),
)
def test_graph_is_invariant_to_sign_scale_and_offset(sign: list[float], scale: list[float], offset: float) -> None:
    coordinates, target, policy, _ = poses(CAUSAL, 60, np.random.default_rng(0), noise=0.2)
    weight = np.ones(len(coordinates))
    plain = direct_effects(total_effects(coordinates, target, policy, weight))
    other = direct_effects(total_effects(coordinates * sign * np.array(scale) + offset, target, policy, weight))
    np.testing.assert_allclose(other, plain, atol=1e-6)


def test_graph_is_equivariant_to_joint_permutation() -> None:
    coordinates, target, policy, anchor = poses(CAUSAL, 200, np.random.default_rng(0))
    order = np.array([3, 5, 0, 2, 1, 4])  # new column k is the old order[k]
    place = np.append(np.argsort(order), -1)
    first = estimate_graph(coordinates, target, policy, anchor)
    second = estimate_graph(coordinates[:, order], place[target], policy, anchor)
    np.testing.assert_array_equal(second.matrix, first.matrix[np.ix_(order, order)])


def test_direct_effects_of_a_chain_match_hand_calculation() -> None:
    # a → b → c with weights 2 and −.5; every joint's policies are 1 and 0.
    table = [(0, 1, (1, 2, -1)), (0, 2, (0, 0, 0)), (1, 1, (0, 1, -0.5)), (1, 2, (0, 0, 0)), (2, 1, (0, 0, 1))]
    table += [(2, 2, (0, 0, 0)), (-1, 0, (9, 9, 9))]
    target, policy, rows = (np.array(column) for column in zip(*table, strict=True))
    total = total_effects(rows.astype(float), target, policy, np.ones(len(rows)))
    np.testing.assert_allclose(total, np.array([[1, 2, -1], [0, 1, -0.5], [0, 0, 1]]))
    np.testing.assert_allclose(direct_effects(total), np.array([[0, 2, 0], [0, 0, -0.5], [0, 0, 0]]), atol=1e-12)


@pytest.mark.slow
def test_the_effects_are_the_model_s_coefficients() -> None:
    found = estimate_graph(*poses(CAUSAL, 4000, np.random.default_rng(0), noise=0.3))
    for (parent, child), weight in CAUSAL.weights.items():
        i, j = CAUSAL.joints.index(parent), CAUSAL.joints.index(child)
        unit = [np.diff([tn.moments()[0] for tn in CAUSAL.interventions[joint]])[0] for joint in (parent, child)]
        assert abs(found.effects[i, j] - weight * unit[0] / unit[1]) < 5 * found.errors[i, j]


def test_integer_weights_equal_repeated_poses() -> None:
    rng = np.random.default_rng(0)
    coordinates, target, policy, _ = poses(CAUSAL, 20, rng)
    weight = rng.integers(1, 4, len(target))
    repeated = np.repeat(coordinates, weight, axis=0), np.repeat(target, weight), np.repeat(policy, weight)
    expected = total_effects(*repeated, np.ones(weight.sum()))
    np.testing.assert_allclose(total_effects(coordinates, target, policy, weight.astype(float)), expected)
    several = np.stack([np.ones(len(target)), weight])
    each = [total_effects(coordinates, target, policy, one) for one in several]
    np.testing.assert_array_equal(total_effects(coordinates, target, policy, several), each)


@pytest.mark.slow
def test_standard_errors_match_the_spread_over_repeated_draws() -> None:
    drawn = [estimate_graph(*poses(CAUSAL, 100, np.random.default_rng(k), noise=0.3)) for k in range(12)]
    spread = np.std([found.effects for found in drawn], axis=0, ddof=1)
    stated = np.mean([found.errors for found in drawn], axis=0)
    off = ~np.eye(6, dtype=bool)
    assert 0.7 < spread[off].mean() / stated[off].mean() < 1.4


def _two(effect: float, back: float, noise: float, anchors: int, seed: int = 0, mixed: float = 0.0) -> Design:
    """Two joints, each drawn one unit higher by its first policy, each the other's cause; a share of one's reading."""
    rng = np.random.default_rng(seed)
    regimes = [(-1, 0), (0, 1), (0, 2), (1, 1), (1, 2)]
    poses, terms = [], 0.5 * rng.normal(size=(anchors, 2))
    for target, policy in regimes:
        (a, b), loop = terms.T, 1 - back * effect
        a, b = (a + back * b) / loop, (b + effect * a) / loop
        drawn = 0.5 * rng.normal(size=anchors) + (policy == 1)
        a, b = {-1: (a, b), 0: (drawn, terms[:, 1] + effect * drawn), 1: (terms[:, 0] + back * drawn, drawn)}[target]
        poses.append(np.stack([a, b + mixed * a], axis=1) + noise * rng.normal(size=(anchors, 2)))
    targets, policies = (np.repeat([regime[k] for regime in regimes], anchors) for k in (0, 1))
    return np.concatenate(poses), targets, policies, np.tile(np.arange(anchors), 5)


def test_effect_adds_an_edge_and_mixture_adds_none() -> None:
    effect, mixture = (estimate_graph(*_two(e, 0, 0.1, 2000, mixed=m)) for e, m in ((0.4, 0), (0, 0.4)))
    np.testing.assert_allclose([effect.effects[0, 1], mixture.effects[0, 1]], 0.4, atol=0.05)  # responses are alike
    np.testing.assert_allclose(effect.cleared[0, 1], 0.4, atol=0.12)
    np.testing.assert_allclose(mixture.cleared[0, 1], 0.0, atol=0.06)
    assert (effect.edges, effect.undetermined) == (((0, 1),), ())
    assert (mixture.edges, mixture.undetermined) == ((), ())


def test_mixture_that_cancels_an_effect_leaves_the_edge_undetermined() -> None:
    found = estimate_graph(*_two(0.4, 0, 0.1, 500, mixed=-0.4))
    assert abs(found.effects[0, 1]) < 0.05
    assert (0, 1) in found.undetermined


def test_mixture_with_few_poses_is_undecided() -> None:
    found = estimate_graph(*_two(0, 0, 0.1, 60, mixed=0.4))
    assert found.edges == ()
    assert (0, 1) in found.undecided


def test_memorised_policies_turn_a_mixture_into_a_false_edge() -> None:
    """So `ropes.evaluation.causal_graph` reads no image that the fit learnt from."""
    coordinates, target, *design = _two(0, 0, 0.1, 1000, mixed=0.4)
    assert estimate_graph(coordinates, target, *design).edges == ()
    coordinates[target == 1, 1] -= 0.4 * coordinates[target == 1, 0]
    assert estimate_graph(coordinates, target, *design).edges == ((0, 1),)


def test_estimate_graph_keeps_the_strongest_edge_of_a_cycle() -> None:
    found = estimate_graph(*_two(0.5, 0.3, noise=0.01, anchors=1500))
    assert found.edges == ((0, 1),)
    assert found.cyclic == ((1, 0),)
    assert found.undetermined == ()


def test_few_noisy_poses_leave_an_edge_undecided() -> None:
    found = estimate_graph(*_two(0.3, 0.0, noise=0.5, anchors=80))
    assert (0, 1) in found.undecided
    assert found.edges == ()
    assert (0, 1) in estimate_graph(*_two(0.3, 0.0, noise=0.5, anchors=3000)).edges


def test_bound_sets_the_smallest_effect_that_counts_as_an_edge() -> None:
    design = _two(0.17, 0.0, noise=0.01, anchors=3000)
    assert estimate_graph(*_two(0.05, 0.0, noise=0.01, anchors=3000)).edges == ()
    assert estimate_graph(*design).edges == ((0, 1),)
    assert estimate_graph(*design, bound=0.3).edges == ()


def test_single_joint_has_a_graph_without_edges() -> None:
    coordinates, target, policy, anchor = _two(0.3, 0.0, noise=0.1, anchors=100)
    rows = target < 1
    for number in (anchor[rows], np.arange(rows.sum())):
        found = estimate_graph(coordinates[rows][:, :1], target[rows], policy[rows], number)
        assert (found.edges, found.undetermined, found.unread) == ((), (), {})
        assert found.effects == pytest.approx(0)


def test_uninformative_coordinate_leaves_its_pairs_undetermined() -> None:
    coordinates, *design = poses(INDEPENDENT, 500, np.random.default_rng(0), noise=0.3)
    rng = np.random.default_rng(1)
    coordinates[:, 2] = rng.normal(size=len(coordinates))
    coordinates[:, 4] = coordinates[:, 3] + 0.02 * coordinates[:, 4] + 0.3 * rng.normal(size=len(coordinates))
    found = estimate_graph(coordinates, *design)
    assert found.edges == ()
    assert found.unread[2] == SILENT
    assert 4 in found.unread
    assert {pair for pair in found.undetermined if set(pair) & {2, 4}} == {
        (i, j) for i in range(6) for j in range(6) if i != j and {i, j} & {2, 4}
    }
    assert np.isnan(found.effects[2]).all()
    assert np.isfinite(found.effects[np.ix_([0, 1, 3, 5], [0, 1, 3, 5])]).all()


@pytest.mark.slow
def test_blurred_coordinate_is_excluded() -> None:
    coordinates, *design = poses(INDEPENDENT, 2000, np.random.default_rng(0))
    coordinates[:, 1] += 3 * np.random.default_rng(1).normal(size=len(coordinates))
    found = estimate_graph(coordinates, *design)
    assert found.unread == {1: BLURRED}
    assert found.edges == ()


def test_nan_constant_coordinates_and_missing_policies_raise() -> None:
    coordinates, target, policy, anchor = _two(0.3, 0.0, noise=0.1, anchors=30)
    still = coordinates.copy()
    still[:, 1] = 2
    with pytest.raises(ValueError, match="the coordinate of joint 2 does not respond to the policies on it"):
        estimate_graph(still, target, policy, anchor)
    more, *design = _two(0.3, 0.0, noise=0.1, anchors=300)
    with pytest.raises(ValueError, match="cannot be told apart"):
        estimate_graph(more @ np.ones((2, 2)), *design)
    kept = ~((target == 1) & (policy == 2))
    with pytest.raises(ValueError, match="joint 2 has fewer than two poses under one of its policies"):
        estimate_graph(coordinates[kept], target[kept], policy[kept], anchor[kept])


def test_policies_with_equal_means_raise() -> None:
    tn = TruncatedNormal(mean=0, variance=0.4, low=-1, high=1)
    model = CausalModel(joints=("a",), observational={"a": tn}, interventions={"a": (tn, tn)})
    with pytest.raises(ValueError, match="the coordinate of joint 1 does not respond"):
        estimate_graph(*poses(model, 400, np.random.default_rng(0)))
