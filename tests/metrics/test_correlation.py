"""Correlation against cases solved by hand, and what must not change it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from ropes.metrics import assignment, correlation_matrix, mcc
from ropes.metrics.correlation import Method


def test_pearson_matches_hand_solved_case() -> None:
    # Centred: (-1, 0, 1) and (-2, 1, 1) -> product 3, lengths sqrt 2 and sqrt 6.
    score = mcc([[0.0], [1.0], [2.0]], [[0.0], [3.0], [3.0]])
    assert score == pytest.approx([3 / np.sqrt(12)])


def test_spearman_matches_hand_solved_case_with_ties() -> None:
    # Ranks (1, 2, 3, 4) and (1, 2.5, 2.5, 4): product 4.5, lengths sqrt 5 and sqrt 4.5.
    score = mcc([[0.0], [1.0], [2.0], [30.0]], [[-5.0], [2.0], [2.0], [2.1]], method="spearman")
    assert score == pytest.approx([4.5 / np.sqrt(22.5)])


def test_only_spearman_is_one_for_any_monotonic_map() -> None:
    z = np.linspace(-1.5, 1.5, 50)[:, None]
    assert mcc(-np.exp(4 * z), z, method="spearman") == pytest.approx([1.0])
    assert mcc(-np.exp(4 * z), z)[0] < 0.9


def test_hungarian_undoes_a_permutation_and_identity_does_not() -> None:
    z = np.random.default_rng(0).normal(size=(400, 3))
    order = [2, 0, 1]
    assert mcc(z[:, order], z, matching="hungarian") == pytest.approx([1, 1, 1])
    assert np.all(mcc(z[:, order], z) < 0.2)
    np.testing.assert_array_equal(assignment(correlation_matrix(z[:, order], z), "hungarian"), [1, 2, 0])


def test_hungarian_maximises_the_total_instead_of_greedy_matches() -> None:
    # Greedy takes .9 first and is left with .1 (total 1.0); the best total is .8 + .7.
    np.testing.assert_array_equal(assignment([[0.9, 0.8], [0.7, 0.1]], "hungarian"), [1, 0])


def test_hungarian_selects_among_extra_coordinates() -> None:
    np.testing.assert_array_equal(assignment([[0.1, 0.2], [0.9, 0.3], [0.2, 0.8]], "hungarian"), [1, 2])


def test_constant_coordinate_scores_zero() -> None:
    z = np.arange(5.0)[:, None]
    assert mcc(np.full((5, 1), 0.1), z) == [0.0]
    assert mcc(np.full((5, 1), 0.1), z, method="spearman") == [0.0]


@given(
    seed=st.integers(0, 2**32 - 1),
    scale=st.floats(1e-3, 1e3) | st.floats(-1e3, -1e-3),
    shift=st.floats(-10, 10),
    method=st.sampled_from(["pearson", "spearman"]),
)
def test_mcc_is_invariant_to_sign_scale_offset_and_sample_order(
    seed: int, scale: float, shift: float, method: Method
) -> None:
    rng = np.random.default_rng(seed)
    z, noisy = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    noisy += z
    plain = mcc(noisy, z, method)
    shuffled = rng.permutation(40)
    np.testing.assert_allclose(mcc(scale * noisy + shift, z, method), plain, atol=1e-9)
    np.testing.assert_allclose(mcc(noisy[shuffled], z[shuffled], method), plain, atol=1e-9)
    assert np.all((plain >= 0) & (plain <= 1))


@given(seed=st.integers(0, 2**32 - 1), order=st.permutations(range(4)))
def test_hungarian_is_invariant_to_coordinate_order(seed: int, order: list[int]) -> None:
    rng = np.random.default_rng(seed)
    z, guess = rng.normal(size=(30, 4)), rng.normal(size=(30, 4))
    kept, permuted = mcc(guess, z, matching="hungarian"), mcc(guess[:, order], z, matching="hungarian")
    np.testing.assert_allclose(permuted.sum(), kept.sum(), atol=1e-9)
    assert kept.sum() >= mcc(guess, z).sum() - 1e-9


def test_mcc_is_exact_for_tiny_and_huge_units() -> None:
    z = np.random.default_rng(0).normal(size=(20, 1))
    for unit in (1e-200, 1e200):
        assert mcc(unit * z, z) == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("estimates", "angles", "options", "message"),
    [
        (np.zeros((3, 2)), np.zeros((4, 2)), {}, r"got \(3, 2\) and \(4, 2\)"),
        (np.zeros(3), np.zeros(3), {}, "expected"),
        ([[0.0]], [[1.0]], {}, "at least two samples"),
        ([[0.0], [np.nan]], [[1.0], [2.0]], {}, "estimates are not finite: row 1, column 0"),
        ([[0.0], [1.0]], [[1.0], [np.inf]], {}, "angles are not finite: row 1"),
        ([[0.0], [1.0]], [[1.0], [1.0]], {}, "angle column 0 never changes"),
        ([[0.0], [1.0]], [[1.0], [2.0]], {"method": "kendall"}, "unknown correlation"),
        ([[0.0], [1.0]], [[1.0], [2.0]], {"matching": "greedy"}, "unknown matching"),
        ([[0.0], [1.0]], [[1.0, 2.0], [2.0, 1.0]], {}, "one coordinate a joint, got 1 for 2"),
        ([[0.0], [1.0]], [[1.0, 2.0], [2.0, 1.0]], {"matching": "hungarian"}, "cannot be assigned to 2"),
    ],
)
def test_bad_input_raises(estimates: ArrayLike, angles: ArrayLike, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mcc(estimates, angles, **options)
