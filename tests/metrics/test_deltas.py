"""How deltas lie, by hand."""

import numpy as np
import pytest

from ropes.metrics.deltas import active_share, mean_cosines, principal_axes

VERBS = np.array(["open", "open", "close", "slice"])
DELTAS = np.array([[2.0, 1.0, 0.0], [2.0, -1.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 0.0, 5.0]])


def test_mean_deltas_of_antonyms_point_opposite_ways() -> None:
    found, between = mean_cosines(DELTAS, VERBS, {"open": "close", "close": "open"})
    assert found["verbs"].tolist() == ["close", "open", "slice"]
    np.testing.assert_allclose(found["cosines"], [[1, -1, 0], [-1, 1, 0], [0, 0, 1]], atol=1e-12)
    assert between == pytest.approx({"antonyms": -1.0, "unrelated": 0.0})


def test_without_antonyms_only_unrelated_verbs_are_told() -> None:
    assert mean_cosines(DELTAS, VERBS, {})[1] == pytest.approx({"unrelated": -1 / 3})


def test_a_delta_that_is_nothing_has_no_direction() -> None:
    found, _ = mean_cosines(np.zeros((2, 3)), ["a", "b"], {})
    assert (found["cosines"] == 0).all()


def test_active_dimensions_are_counted() -> None:
    assert active_share([[10.0, 1.0, 0.9, 0.0]]) == 0.5
    assert active_share(np.zeros((2, 4))) == 0


def test_the_plane_keeps_lengths_of_what_lies_in_it() -> None:
    plane = principal_axes(np.column_stack([DELTAS[:, [0, 2]], np.zeros((4, 3))]))
    np.testing.assert_allclose(np.linalg.norm(plane, axis=1), np.linalg.norm(DELTAS[:, [0, 2]], axis=1))


@pytest.mark.parametrize("given", [([[1.0]], []), ([1.0], ["a"]), ([[np.nan]], ["a"]), (np.zeros((0, 3)), [])])
def test_what_cannot_be_compared_is_refused(given: tuple[object, object]) -> None:
    with pytest.raises(ValueError, match="delta"):
        mean_cosines(*given, {})  # type: ignore[arg-type]


def test_no_deltas_have_no_active_share() -> None:
    with pytest.raises(ValueError, match="deltas are"):
        active_share([])
