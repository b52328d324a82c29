"""Geometry of action deltas: cosines, sparsity, variance.

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
        "cosines", (v, v), with "verbs", (v,), a verb beside its antonym; and the mean over pairs of "antonyms", over
        those of "unrelated" verbs, and "unrelated size", the mean of the latter's absolute values, where there are
        such.  A verb that lies anyhow to two opposite ones has a mean of 0 with them, and a size that tells.

    Raises:
        ValueError: lengths differ, or a delta is not finite.
    """
    values, texts = np.asarray(deltas, dtype=np.float64), np.asarray(verbs, dtype=np.str_)
    if values.ndim != 2 or len(values) != len(texts) or not len(texts):
        raise ValueError(f"deltas are (n, l) and verbs (n,), got {values.shape} and {texts.shape}")
    if not np.isfinite(values).all():
        raise ValueError("a delta is not finite")
    known = np.array(sorted(np.unique(texts), key=lambda verb: (min(verb, antonyms.get(str(verb), verb)), verb)))
    directions = _unit(np.stack([values[texts == verb].mean(axis=0) for verb in known]))
    cosines = directions @ directions.T
    opposite = np.array([[antonyms.get(str(one)) == str(other) for other in known] for one in known])
    apart = ~np.eye(len(known), dtype=bool)
    chosen = {"antonyms": opposite & apart, "unrelated": ~opposite & apart}
    between = {name: float(cosines[places].mean()) for name, places in chosen.items() if places.any()}
    if chosen["unrelated"].any():
        between["unrelated size"] = float(np.abs(cosines[chosen["unrelated"]]).mean())
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


def action_variance(deltas: ArrayLike, actions: ArrayLike) -> float | None:
    """Var_x[δ_a(x)] over pairs of one action, the mean over actions, in shares of the deltas' mean squared length.

    0 where an action is one vector whatever it is done to, 1 where it is none; None where no delta has a length.

    Source: the invariance of causal delta embeddings, Var_x[δ_a(x)] ≈ 0.

    Args:
        deltas: (n, l).
        actions: texts, (n,).

    Raises:
        ValueError: lengths differ.
    """
    values, texts = np.asarray(deltas, dtype=np.float64), np.asarray(actions, dtype=np.str_)
    if values.ndim != 2 or len(values) != len(texts) or not len(texts):
        raise ValueError(f"deltas are (n, l) and actions (n,), got {values.shape} and {texts.shape}")
    own = [values[texts == action] for action in np.unique(texts)]
    lengths = np.mean([(each**2).sum(axis=1).mean() for each in own])
    return None if lengths == 0 else float(np.mean([each.var(axis=0).sum() for each in own]) / lengths)


def nearest(asked: ArrayLike, known: ArrayLike, count: int) -> NDArray[np.int64]:
    """Rows of the `count` deltas of `known` (n, l) whose cosine with each one asked (m, l) is greatest, (m, count)."""
    cosines = _unit(np.asarray(asked, dtype=np.float64)) @ _unit(np.asarray(known, dtype=np.float64)).T
    return np.asarray(np.argsort(-cosines, axis=1, kind="stable")[:, :count], dtype=np.int64)


def principal_axes(deltas: ArrayLike, count: int = 2) -> Floats:
    """Deltas (n, l) along their directions of greatest length, not centred: no change stays at 0, (n, count)."""
    values = np.asarray(deltas, dtype=np.float64)
    _, _, axes = np.linalg.svd(values, full_matrices=False)
    projected: Floats = values @ axes[:count].T
    return projected


def moves(deltas: ArrayLike, steps: ArrayLike) -> dict[str, float]:
    """How the deltas of one joint lie, that goes up in some pairs and down in others.

    Args:
        deltas: (n, l).
        steps: how far the joint went, signed, (n,).

    Returns:
        "direction": mean cosine of each delta with the mean of those that went the same way, 1 where it is one
        direction; "opposite": cosine between the means of both ways, −1 where they point opposite ways; "length":
        Pearson's correlation of the deltas' lengths with the distances gone, NaN where either never changes.

    Raises:
        ValueError: lengths differ, or all went the same way.
    """
    values, gone = np.asarray(deltas, dtype=np.float64), np.asarray(steps, dtype=np.float64)
    if values.ndim != 2 or gone.shape != (len(values),):
        raise ValueError(f"deltas are (n, l) and steps (n,), got {values.shape} and {gone.shape}")
    if not ((gone > 0).any() and (gone < 0).any()):
        raise ValueError("deltas of both ways are compared, and all of these went one way")
    means = [_unit(values[chosen].mean(axis=0)) for chosen in (gone > 0, gone < 0)]
    own = np.where((gone > 0)[:, None], *means)
    lengths, distances = np.linalg.norm(values, axis=1), np.abs(gone)
    varies = lengths.std() > 0 and distances.std() > 0
    return {
        "direction": float((_unit(values) * own).sum(axis=1).mean()),
        "opposite": float(means[0] @ means[1]),
        "length": float(np.corrcoef(lengths, distances)[0, 1]) if varies else float("nan"),
    }


def nearest_direction(learnt: ArrayLike, classes: ArrayLike, asked: ArrayLike) -> NDArray[np.int64]:
    """The class whose mean direction each delta is nearest to by its cosine.

    Args:
        learnt: deltas, (n, l).
        classes: numbers 0 to c − 1 of theirs, (n,), each at least once.
        asked: deltas, (m, l).

    Returns:
        (m,) numbers of classes.
    """
    values, numbers = np.asarray(learnt, dtype=np.float64), np.asarray(classes, dtype=np.int64)
    means = np.stack([_unit(_unit(values[numbers == k]).mean(axis=0)) for k in range(numbers.max() + 1)])
    return np.asarray((_unit(np.asarray(asked, dtype=np.float64)) @ means.T).argmax(axis=1), dtype=np.int64)


def _unit(values: Floats) -> Floats:
    """Along the last axis; nothing stays nothing."""
    length = np.linalg.norm(values, axis=-1, keepdims=True)
    return np.divide(values, length, out=np.zeros_like(values), where=length > 0)
