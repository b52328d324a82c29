"""Geometry of action deltas: cosines, sparsity, variance.

Source: causal delta embeddings (arXiv 2508.04492).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def mean_cosines(
    deltas: ArrayLike, verbs: ArrayLike, antonyms: Mapping[str, str]
) -> tuple[dict[str, NDArray[Any]], dict[str, float]]:
    """Cosines between the mean deltas of verbs.

    Args:
        deltas: (n, l).
        verbs: strings, (n,).
        antonyms: verb → verb.

    Returns:
        "cosines", (v, v), with "verbs", (v,), antonyms side by side; and, if there are such pairs, the mean cosines of
        "antonyms" and of "unrelated" verbs, and "unrelated size", the mean absolute cosine of the latter.  Cosines of a
        verb with two antonyms cancel in the mean, but not in the mean absolute value.

    Raises:
        ValueError: lengths differ, or a delta is not finite.
    """
    values, texts = _labelled(deltas, verbs, "verbs")
    if not np.isfinite(values).all():
        raise ValueError("a delta is not finite")
    distinct = np.array(sorted(np.unique(texts), key=lambda verb: (min(verb, antonyms.get(str(verb), verb)), verb)))
    directions = _unit(np.stack([values[texts == verb].mean(axis=0) for verb in distinct]))
    cosines = directions @ directions.T
    opposite = np.array([[antonyms.get(str(one)) == str(other) for other in distinct] for one in distinct])
    different = ~np.eye(len(distinct), dtype=bool)
    masks = {"antonyms": opposite & different, "unrelated": ~opposite & different}
    means = {name: float(cosines[mask].mean()) for name, mask in masks.items() if mask.any()}
    if masks["unrelated"].any():
        means["unrelated size"] = float(np.abs(cosines[masks["unrelated"]]).mean())
    return {"cosines": cosines, "verbs": distinct}, means


def active_share(deltas: ArrayLike, threshold: float = 0.1) -> float:
    """Activation density: mean share of a delta's dimensions of at least `threshold` times its largest; (n, l).

    Raises:
        ValueError: there are no deltas.
    """
    sizes = np.abs(np.asarray(deltas, dtype=np.float64))
    if sizes.ndim != 2 or not sizes.size:
        raise ValueError(f"deltas are (n, l), got {sizes.shape}")
    largest = sizes.max(axis=1, keepdims=True)
    return float(((sizes >= threshold * largest) & (largest > 0)).mean())


def action_variance(deltas: ArrayLike, actions: ArrayLike) -> float | None:
    """Var_x[δ_a(x)] within an action, averaged over actions, as a share of the mean squared length of the deltas.

    0 if the delta of an action does not depend on the object, 1 if its deltas have mean zero; None if all deltas are 0.

    Source: the invariance of causal delta embeddings, Var_x[δ_a(x)] ≈ 0.

    Args:
        deltas: (n, l).
        actions: strings, (n,).

    Raises:
        ValueError: lengths differ.
    """
    values, texts = _labelled(deltas, actions, "actions")
    groups = [values[texts == action] for action in np.unique(texts)]
    lengths = np.mean([(group**2).sum(axis=1).mean() for group in groups])
    return None if lengths == 0 else float(np.mean([group.var(axis=0).sum() for group in groups]) / lengths)


def nearest(queries: ArrayLike, reference: ArrayLike, count: int) -> NDArray[np.int64]:
    """Rows of the `count` deltas of `reference` (n, l) with the largest cosine to each query (m, l), (m, count)."""
    cosines = _unit(np.asarray(queries, dtype=np.float64)) @ _unit(np.asarray(reference, dtype=np.float64)).T
    return np.asarray(np.argsort(-cosines, axis=1, kind="stable")[:, :count], dtype=np.int64)


def principal_axes(deltas: ArrayLike, count: int = 2) -> Floats:
    """Uncentred projection of deltas (n, l) on their first right singular vectors, (n, count); no change maps to 0.

    Fewer deltas or dimensions than `count` have that many directions alone; the other columns are 0.
    """
    values = np.asarray(deltas, dtype=np.float64)
    _, _, axes = np.linalg.svd(values, full_matrices=False)
    projected: Floats = np.zeros((len(values), count))
    projected[:, : len(axes)] = values @ axes[:count].T
    return projected


def moves(deltas: ArrayLike, steps: ArrayLike) -> dict[str, float]:
    """Directions and lengths of one joint's deltas, for steps up and down.

    Args:
        deltas: (n, l).
        steps: signed displacement of the joint, (n,).

    Returns:
        "direction": mean cosine of each delta with the mean delta of its sign; 1 for a single direction.  "opposite":
        cosine between the mean deltas of both signs; −1 for opposite directions.  "length": Pearson's correlation of
        the deltas' lengths with the distances; NaN if either is constant.

    Raises:
        ValueError: lengths differ, or all steps have the same sign.
    """
    values, displacement = np.asarray(deltas, dtype=np.float64), np.asarray(steps, dtype=np.float64)
    if values.ndim != 2 or displacement.shape != (len(values),):
        raise ValueError(f"deltas are (n, l) and steps (n,), got {values.shape} and {displacement.shape}")
    up, down = displacement > 0, displacement < 0
    if not (up.any() and down.any()):
        raise ValueError("steps of both signs are needed; all of these went one way")
    means = [_unit(values[mask].mean(axis=0)) for mask in (up, down)]
    same_sign = np.where(up[:, None], *means)
    lengths, distances = np.linalg.norm(values, axis=1), np.abs(displacement)
    varies = lengths.std() > 0 and distances.std() > 0
    return {
        "direction": float((_unit(values) * same_sign).sum(axis=1).mean()),
        "opposite": float(means[0] @ means[1]),
        "length": float(np.corrcoef(lengths, distances)[0, 1]) if varies else float("nan"),
    }


def nearest_direction(deltas: ArrayLike, classes: ArrayLike, queries: ArrayLike) -> NDArray[np.int64]:
    """The class whose mean direction has the largest cosine with each query.

    Args:
        deltas: labelled deltas, (n, l).
        classes: their classes 0 to c − 1, (n,), each at least once.
        queries: deltas, (m, l).

    Returns:
        (m,) classes.
    """
    values, numbers = np.asarray(deltas, dtype=np.float64), np.asarray(classes, dtype=np.int64)
    means = np.stack([_unit(_unit(values[numbers == k]).mean(axis=0)) for k in range(numbers.max() + 1)])
    return np.asarray((_unit(np.asarray(queries, dtype=np.float64)) @ means.T).argmax(axis=1), dtype=np.int64)


def _labelled(deltas: ArrayLike, labels: ArrayLike, kind: str) -> tuple[Floats, NDArray[np.str_]]:
    """Check deltas (n, l) and a string for each of them."""
    values, texts = np.asarray(deltas, dtype=np.float64), np.asarray(labels, dtype=np.str_)
    if values.ndim != 2 or len(values) != len(texts) or not len(texts):
        raise ValueError(f"deltas are (n, l) and {kind} (n,), got {values.shape} and {texts.shape}")
    return values, texts


def _unit(values: Floats) -> Floats:
    """Vectors along the last axis scaled to length 1; zero vectors stay zero."""
    length = np.linalg.norm(values, axis=-1, keepdims=True)
    return np.divide(values, length, out=np.zeros_like(values), where=length > 0)
