"""Fields of a prediction beside the angles: error bars, interval, out-of-distribution score."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ropes.methods.uncertainty.conformal import Intervals
from ropes.methods.uncertainty.model import Reading

Array = NDArray[np.float64]


def foreign_boxes(cameras: Sequence[str], foreign: NDArray[np.bool_], side: int) -> dict[str, list[list[int]]]:
    """Where something foreign is in the views of one pose, as boxes of [left, top, right, bottom] in pixels.

    Args:
        cameras: (V,) names.
        foreign: (V, s, s), by parts of each view; those that touch, by a corner too, are one box.
        side: of the images, in pixels.

    Returns:
        A list for each camera that shows any.
    """
    found, width = {}, side / foreign.shape[-1]
    for camera, parts in zip(cameras, foreign, strict=True):
        things = ndimage.find_objects(ndimage.label(parts, structure=np.ones((3, 3)))[0])
        boxes = [[columns.start, rows.start, columns.stop, rows.stop] for rows, columns in things]
        if boxes:
            found[camera] = [[round(edge * width) for edge in box] for box in boxes]
    return found


def trust_columns(
    joints: Sequence[str], reading: Reading, intervals: Intervals | None, to_shown: Callable[[Array], Array]
) -> list[dict[str, Any]]:
    """For each pose std, low and high of every joint with the level of the interval, and `unusual` with `distance`.

    An interval around a coordinate becomes one around what is shown of it by the same map; std is in the proportion to
    its half width that it has to that of the coordinate.

    Args:
        joints: (d,) names.
        reading: of n poses, with σ of the coordinates and distances where the run knows them.
        intervals: what σ has to be multiplied by; None where nothing is known.
        to_shown: from coordinates (n, d) to what is shown, rising or falling in each.

    Returns:
        One dict a pose, empty of what is not known.
    """
    coordinates, distance = reading.coordinates, reading.distance
    found: list[dict[str, Any]] = [{} for _ in coordinates]
    if intervals is not None:
        low, high = intervals.around(coordinates, reading.deviation, to_shown)
        share = np.divide(intervals.scale, intervals.quantile, where=intervals.quantile > 0, out=np.zeros(len(joints)))
        columns = {"std": share * (high - low) / 2, "low": low, "high": high}
        for k, pose in enumerate(found):
            pose |= {name: _by_joint(joints, column[k]) for name, column in columns.items()}
            pose["level"] = intervals.level
    if distance is not None:
        for pose, away in zip(found, distance, strict=True):
            pose |= {"unusual": bool(away > 1), "distance": round(float(away), 4)}
    return found


def _by_joint(joints: Sequence[str], row: Array) -> dict[str, float]:
    return {joint: round(float(value), 6) for joint, value in zip(joints, row, strict=True)}


def missing_columns(run: Path, *, known: bool, intervals: Intervals | None, labelled: bool = False) -> str | None:
    """One line on the columns that the predictions of `run` lack; None where they lack none.

    Args:
        run: folder of the run.
        known: whether the run holds what its last stage learnt.
        intervals: of its predictions.
        labelled: whether its method learnt from labels.
    """
    if not known:
        lacking = "" if intervals is not None else "standard deviations, intervals and "
        return (
            f"{run} was fitted without the stage that learns what to trust: no {lacking}flags of unusual images; "
            "ropes fit with the same options adds them"
        )
    if intervals is None:
        few = "too few labels were held out" if labelled else "its data had no complete anchors, or too few"
        return f"{run} has no standard deviations and intervals: {few}; ropes calibrate with labelled samples adds them"
    return None
