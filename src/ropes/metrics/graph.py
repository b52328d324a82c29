"""Structural Hamming distance between causal graphs."""

import numpy as np
from numpy.typing import ArrayLike


def structural_hamming_distance(estimated: ArrayLike, true: ArrayLike) -> int:
    """Pairs of joints between which two graphs differ: each missing, extra or reversed edge counts once.

    Source: Tsamardinos et al., Machine Learning 65 (2006), Section 8, without undirected edges.

    Args:
        estimated: (d, d), true or 1 where the row's joint is a parent of the column's.
        true: (d, d), as `estimated`.

    Raises:
        ValueError: they are not square matrices of the same size, or an entry is neither 0 nor 1.
    """
    found, wanted = (_adjacency(matrix) for matrix in (estimated, true))
    if found.shape != wanted.shape:
        raise ValueError(f"the graphs have {len(found)} and {len(wanted)} joints")
    differs = found != wanted
    return int(np.triu(differs | differs.T).sum())


def _adjacency(matrix: ArrayLike) -> np.ndarray:
    values = np.asarray(matrix)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(f"a graph is a square matrix, not one of shape {values.shape}")
    if not np.isin(values, (0, 1)).all():
        raise ValueError("a graph's matrix holds 0 and 1 only")
    return values.astype(bool)
