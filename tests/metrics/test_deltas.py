"""How deltas lie, by hand."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from ropes.metrics.deltas import (
    action_variance,
    active_share,
    mean_cosines,
    moves,
    nearest,
    nearest_direction,
    principal_axes,
)

VERBS = np.array(["open", "open", "close", "slice"])
DELTAS = np.array([[2.0, 1.0, 0.0], [2.0, -1.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 0.0, 5.0]])


def test_mean_deltas_of_antonyms_have_opposite_directions() -> None:
    found, between = mean_cosines(DELTAS, VERBS, {"open": "close", "close": "open"})
    assert found["verbs"].tolist() == ["close", "open", "slice"]
    np.testing.assert_allclose(found["cosines"], [[1, -1, 0], [-1, 1, 0], [0, 0, 1]], atol=1e-12)
    assert between == pytest.approx({"antonyms": -1.0, "unrelated": 0.0, "unrelated size": 0.0})


def test_verb_is_listed_next_to_its_antonym() -> None:
    opposite = {"switch off": "light", "light": "switch off"}
    found, between = mean_cosines([[1.0, 1.0], [1.0, 0.0], [-1.0, 0.0]], ["open", "switch off", "light"], opposite)
    assert found["verbs"].tolist() == ["light", "switch off", "open"]
    assert between == pytest.approx({"antonyms": -1.0, "unrelated": 0.0, "unrelated size": 0.5**0.5})


def test_only_unrelated_verbs_are_compared_without_antonyms() -> None:
    assert mean_cosines(DELTAS, VERBS, {})[1] == pytest.approx({"unrelated": -1 / 3, "unrelated size": 1 / 3})


def test_zero_delta_has_no_direction() -> None:
    found, _ = mean_cosines(np.zeros((2, 3)), ["a", "b"], {})
    assert (found["cosines"] == 0).all()


def test_active_dimensions_are_counted() -> None:
    assert active_share([[10.0, 1.0, 0.9, 0.0]]) == 0.5
    assert active_share(np.zeros((2, 4))) == 0


def test_action_variance_is_taken_within_each_verb() -> None:
    """Of "open" 0 + 1 beside a squared length of 5, of the others nothing: the mean of 1 0 0 by that of 5 9 25."""
    assert action_variance(DELTAS, VERBS) == pytest.approx(1 / 39)
    assert action_variance([[1.0], [1.0]], ["a", "a"]) == 0
    assert action_variance([[1.0], [-1.0]], ["a", "a"]) == 1
    assert action_variance(np.zeros((2, 3)), ["a", "b"]) is None
    with pytest.raises(ValueError, match=r"deltas are \(n, l\)"):
        action_variance(DELTAS, VERBS[:2])


def test_nearest_deltas_have_the_same_direction() -> None:
    assert nearest([[0.0, 0.1, 9.0], [-1.0, 0.0, 0.0]], DELTAS, 2).tolist() == [[3, 0], [2, 3]]


def test_principal_plane_preserves_lengths_within_it() -> None:
    plane = principal_axes(np.column_stack([DELTAS[:, [0, 2]], np.zeros((4, 3))]))
    np.testing.assert_allclose(np.linalg.norm(plane, axis=1), np.linalg.norm(DELTAS[:, [0, 2]], axis=1))


def test_a_plane_of_one_delta_or_of_one_dimension_has_two_columns() -> None:
    np.testing.assert_allclose(np.abs(principal_axes([[3.0, 4.0]])), [[5.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(np.abs(principal_axes([[2.0], [-1.0]])), [[2.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize("given", [([[1.0]], []), ([1.0], ["a"]), ([[np.nan]], ["a"]), (np.zeros((0, 3)), [])])
def test_incomparable_deltas_raise(given: tuple[ArrayLike, ArrayLike]) -> None:
    with pytest.raises(ValueError, match="delta"):
        mean_cosines(*given, {})


def test_empty_deltas_have_no_active_share() -> None:
    with pytest.raises(ValueError, match="deltas are"):
        active_share([])


def test_joint_encoded_as_a_direction_is_recognised() -> None:
    steps = np.array([0.2, 0.5, -0.3, -0.4])
    found = moves(np.outer(steps, [1.0, -2.0, 0.5]), steps)
    assert found == pytest.approx({"direction": 1.0, "opposite": -1.0, "length": 1.0})
    askew = moves([[1.0, 1.0], [1.0, -1.0], [-2.0, 0.0]], [1.0, 1.0, -1.0])
    assert askew["direction"] == pytest.approx((2 * np.sqrt(0.5) + 1) / 3)
    assert np.isnan(askew["length"])
    with pytest.raises(ValueError, match="all of these went one way"):
        moves([[1.0], [2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="steps"):
        moves([[1.0], [2.0]], [1.0])


def test_nearest_mean_direction_is_returned() -> None:
    learnt = [[1.0, 0.1], [5.0, -0.2], [-1.0, 0.0], [0.0, 3.0]]
    assert nearest_direction(learnt, [0, 0, 1, 2], [[0.1, 0.0], [-9.0, 1.0], [0.5, 0.6]]).tolist() == [0, 1, 2]
