"""Structural Hamming distance between causal graphs."""

import numpy as np
from numpy.typing import ArrayLike


def structural_hamming_distance(estimated: ArrayLike, true: ArrayLike) -> int:
    """Number of pairs of joints in which two graphs differ: a missing, extra or reversed edge counts once.

    Source: Tsamardinos et al., Machine Learning 65 (2006), Section 8, without undirected edges.

    Args:
        estimated: (d, d), true or 1 if the row's joint is a parent of the column's.
        true: (d, d), as `estimated`.

    Raises:
        ValueError: not square matrices of the same size, or an entry that is neither 0 nor 1.
    """
    one, other = (_adjacency(matrix) for matrix in (estimated, true))
    if one.shape != other.shape:
        raise ValueError(f"the graphs have {len(one)} and {len(other)} joints")
    differs = one != other
    return int(np.triu(differs | differs.T).sum())


def _adjacency(matrix: ArrayLike) -> np.ndarray:
    values = np.asarray(matrix)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(f"a graph is a square matrix, not one of shape {values.shape}")
    if not np.isin(values, (0, 1)).all():
        raise ValueError("a graph's matrix holds 0 and 1 only")
    return values.astype(bool)
