import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ropes.common.arrays import Bools
from ropes.metrics import structural_hamming_distance

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
GRAPHS = arrays(np.bool_, (4, 4))


def changed(*entries: tuple[int, int]) -> np.ndarray:
    matrix = CHAIN.copy()
    for entry in entries:
        matrix[entry] = 1 - matrix[entry]
    return matrix


@pytest.mark.parametrize(
    ("estimated", "distance"),
    [
        (CHAIN, 0),
        (changed((0, 1)), 1),  # missing
        (changed((0, 2)), 1),  # extra
        (changed((0, 1), (1, 0)), 1),  # reversed
        (CHAIN.T, 2),
        (changed((0, 1), (1, 0), (0, 2)), 2),
        (np.zeros((3, 3)), 2),
    ],
)
def test_each_missing_extra_or_reversed_edge_counts_once(estimated: np.ndarray, distance: int) -> None:
    assert structural_hamming_distance(estimated, CHAIN) == distance


@given(GRAPHS, GRAPHS, GRAPHS, st.permutations(range(4)))
def test_shd_is_a_metric_and_invariant_to_joint_order(a: Bools, b: Bools, c: Bools, order: list[int]) -> None:
    for graph in (a, b, c):
        np.fill_diagonal(graph, False)
    between = structural_hamming_distance
    assert between(a, b) == between(b, a) == between(a[np.ix_(order, order)], b[np.ix_(order, order)])
    assert (between(a, b) == 0) == np.array_equal(a, b)
    assert between(a, c) <= between(a, b) + between(b, c)


@pytest.mark.parametrize(
    ("estimated", "line"),
    [
        (np.zeros((3, 2)), r"a graph is a square matrix, not one of shape \(3, 2\)"),
        (np.zeros((2, 2)), "the graphs have 2 and 3 joints"),
        (np.full((3, 3), 0.5), "holds 0 and 1 only"),
    ],
)
def test_invalid_graph_raises(estimated: np.ndarray, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        structural_hamming_distance(estimated, CHAIN)
