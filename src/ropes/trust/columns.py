"""What a prediction says of itself, beside the angles."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.trust.intervals import Intervals

Array = NDArray[np.float64]


def trust_columns(
    joints: Sequence[str],
    values: Array,
    deviation: Array | None,
    distance: Array | None,
    unit: Array,
    intervals: Intervals | None,
) -> list[dict[str, Any]]:
    """For each pose std, low and high of every joint with the level of the interval, and `unusual` with `distance`.

    Args:
        joints: (d,) names.
        values: (n, d), estimates in the unit that is shown.
        deviation: (n, d), σ of the coordinates; None where the run knows none.
        distance: (n,), above 1 for unusual images; None where unknown.
        unit: (d,), what is shown for one unit of the coordinate, positive.
        intervals: what σ has to be multiplied by; None where nothing is known.

    Returns:
        One dict a pose, empty of what is not known.
    """
    found: list[dict[str, Any]] = [{} for _ in values]
    if intervals is not None:
        sigma = intervals.sigma(deviation, values) * unit
        half = intervals.quantile * sigma
        columns = {"std": intervals.scale * sigma, "low": values - half, "high": values + half}
        for k, pose in enumerate(found):
            pose |= {name: _by_joint(joints, column[k]) for name, column in columns.items()}
            pose["level"] = intervals.level
    if distance is not None:
        for pose, away in zip(found, distance, strict=True):
            pose |= {"unusual": bool(away > 1), "distance": round(float(away), 4)}
    return found


def _by_joint(joints: Sequence[str], row: Array) -> dict[str, float]:
    return {joint: round(float(value), 6) for joint, value in zip(joints, row, strict=True)}


def missing_columns(run: Path, *, known: bool, intervals: Intervals | None) -> str | None:
    """One line on the columns that the predictions of `run` lack; None where they lack none.

    Args:
        run: folder of the run.
        known: whether the run holds what its last stage learnt.
        intervals: of its predictions.
    """
    if not known:
        lacking = "" if intervals is not None else "standard deviations, intervals and "
        return (
            f"{run} was fitted without the stage that learns what to trust: no {lacking}flags of unusual images; "
            "ropes fit with the same options adds them"
        )
    if intervals is None:
        return (
            f"{run} has no standard deviations and intervals: its data had no complete anchors, or too few; "
            "ropes calibrate with labelled samples adds them"
        )
    return None
