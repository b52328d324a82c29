"""How the deltas of actions lie: opposite, unrelated, sparse.

Source: causal delta embeddings (arXiv 2508.04492).
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def mean_cosines(
    deltas: ArrayLike, verbs: ArrayLike, antonyms: Mapping[str, str]
) -> tuple[dict[str, NDArray[np.generic]], dict[str, float]]:
    """Cosines between the mean deltas of verbs.

    Args:
        deltas: (n, l).
        verbs: texts, (n,).
        antonyms: verb → verb.

    Returns:
        "cosines", (v, v), with "verbs", (v,); and the mean over pairs of "antonyms", and of "unrelated" verbs, where
        there are such.

    Raises:
        ValueError: lengths differ, or a delta is not finite.
    """
    values, texts = np.asarray(deltas, dtype=np.float64), np.asarray(verbs, dtype=np.str_)
    if values.ndim != 2 or len(values) != len(texts) or not len(texts):
        raise ValueError(f"deltas are (n, l) and verbs (n,), got {values.shape} and {texts.shape}")
    if not np.isfinite(values).all():
        raise ValueError("a delta is not finite")
    known = np.unique(texts)
    means = np.stack([values[texts == verb].mean(axis=0) for verb in known])
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    directions = np.divide(means, norms, out=np.zeros_like(means), where=norms > 0)
    cosines = directions @ directions.T
    opposite = np.array([[antonyms.get(str(one)) == str(other) for other in known] for one in known])
    apart = ~np.eye(len(known), dtype=bool)
    chosen = {"antonyms": opposite & apart, "unrelated": ~opposite & apart}
    between = {name: float(cosines[places].mean()) for name, places in chosen.items() if places.any()}
    return {"cosines": cosines, "verbs": known}, between


def active_share(deltas: ArrayLike, threshold: float = 0.1) -> float:
    """Mean share of a delta's dimensions that reach `threshold` times its largest; of deltas (n, l).

    Raises:
        ValueError: there are none.
    """
    sizes = np.abs(np.asarray(deltas, dtype=np.float64))
    if sizes.ndim != 2 or not sizes.size:
        raise ValueError(f"deltas are (n, l), got {sizes.shape}")
    largest = sizes.max(axis=1, keepdims=True)
    return float(((sizes >= threshold * largest) & (largest > 0)).mean())


def principal_axes(deltas: ArrayLike, count: int = 2) -> Floats:
    """Deltas (n, l) along their directions of greatest length, not centred: no change stays at 0, (n, count)."""
    values = np.asarray(deltas, dtype=np.float64)
    _, _, axes = np.linalg.svd(values, full_matrices=False)
    projected: Floats = values @ axes[:count].T
    return projected
