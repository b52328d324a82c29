"""Fields of a prediction beside the angles: standard deviations, intervals, out-of-distribution score."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ropes.common import png
from ropes.common.arrays import Floats
from ropes.methods.uncertainty.conformal import Intervals
from ropes.methods.uncertainty.drift import Drift
from ropes.methods.uncertainty.model import Reading

#: Share of a view that a foreign object covers: large, and so much that nothing can be read.
_LARGE, _MOST = 0.1, 0.5


def foreign_boxes(
    cameras: Sequence[str], foreign: NDArray[np.bool_], shapes: Sequence[Sequence[int]]
) -> dict[str, list[list[int]]]:
    """Bounding boxes of the foreign objects in one pose, [left, top, right, bottom] in pixels of the camera's image.

    Args:
        cameras: (V,) names.
        foreign: (V, s, s), whether each part of each view is foreign; parts that touch, also at a corner, share a box.
        shapes: (V,), height and width of each camera's images, in pixels; the network sees them letterboxed.

    Returns:
        Camera → its boxes, for each camera that has any inside its image.
    """
    boxes = {}
    for camera, parts, (height, width, *_) in zip(cameras, foreign, shapes, strict=True):
        slices = ndimage.find_objects(ndimage.label(parts, structure=np.ones((3, 3)))[0])
        edges = np.array([(columns.start, rows.start, columns.stop, rows.stop) for rows, columns in slices])
        if len(edges):
            top, left = png.bars(height, width)
            in_square = np.round(edges * (max(height, width) / parts.shape[-1])).astype(int)
            inside = (in_square - [left, top, left, top]).clip(0, [width, height, width, height])
            inside = inside[(inside[:, 2:] > inside[:, :2]).all(1)]
            if len(inside):
                boxes[camera] = inside.tolist()
    return boxes


def uncertainty_columns(
    joints: Sequence[str], reading: Reading, intervals: Intervals | None, to_shown: Callable[[Floats], Floats]
) -> list[dict[str, Any]]:
    """std, low, high and level of every joint, and `out_of_distribution` with `distance`, for each pose.

    `to_shown` maps the ends of the interval as it maps the coordinate. The ratio of std to half the interval stays what
    it is for the coordinate.

    Args:
        joints: (d,) names.
        reading: n poses, with σ of the coordinates and distances where the run has an uncertainty model.
        intervals: factors of σ; None for a run without.
        to_shown: from coordinates (n, d) to the unit of the output, monotonic in each coordinate.

    Returns:
        One dict per pose, without the fields that the run does not have.
    """
    coordinates, distance = reading.coordinates, reading.distance
    poses: list[dict[str, Any]] = [{} for _ in coordinates]
    if intervals is not None:
        low, high = intervals.around(coordinates, reading.deviation, to_shown)
        columns = {"std": intervals.ratio * (high - low) / 2, "low": low, "high": high}
        for k, pose in enumerate(poses):
            for name, column in columns.items():
                pose[name] = {joint: round(float(value), 6) for joint, value in zip(joints, column[k], strict=True)}
            pose["level"] = intervals.level
    if distance is not None:
        for pose, score in zip(poses, distance, strict=True):
            pose |= {"out_of_distribution": bool(score > 1), "distance": round(float(score), 4)}
    return poses


def reasons(
    cameras: Sequence[str], drift: Drift | None, foreign: NDArray[np.bool_] | None, *, flagged: bool
) -> dict[str, list[str]]:
    """How one pose differs from the training images.

    Args:
        cameras: (V,) names.
        drift: of this pose, (V,) each; None for a run on renderings, which have no usual range.
        foreign: (V, s, s), parts of a view with a foreign object; None for a run without a detector.
        flagged: the pose is out of distribution, so that a foreign object of any size is named; otherwise one that
            covers a tenth of a view.

    Returns:
        Camera → any of "light", "camera moved", "no picture" and "foreign object", for each camera that has any.
    """
    none = np.zeros(len(cameras), bool)
    light, place, blank = (none, none, none) if drift is None else drift
    share = none.astype(np.float64) if foreign is None else covered(foreign)
    # The light and the place of a blank frame are unknown.
    seen = {"light": light & ~blank, "camera moved": place & ~blank, "no picture": blank}
    seen["foreign object"] = share > (0 if flagged else _LARGE)
    named = {camera: [what for what, views in seen.items() if views[view]] for view, camera in enumerate(cameras)}
    return {camera: what for camera, what in named.items() if what}


def unreadable(drift: Drift | None, foreign: NDArray[np.bool_] | None) -> bool:
    """Whether a view of one pose is blank, or a foreign object covers most of it; arguments as for `reasons`."""
    return bool((drift is not None and drift.blank.any()) or (foreign is not None and covered(foreign).max() > _MOST))


def covered(foreign: NDArray[np.bool_]) -> Floats:
    """Share of each view that foreign objects cover, (V, s, s) → (V,)."""
    return foreign.mean((1, 2), dtype=np.float64)


def missing_fields(run: Path | str, *, known: bool, intervals: Intervals | None, labelled: bool = False) -> str | None:
    """One line that names the fields missing from the predictions of `run`; None where none are.

    Args:
        run: folder of the run, as the line names it.
        known: whether the run has an uncertainty model.
        intervals: of its predictions.
        labelled: whether its method learns from labels.
    """
    if not known:
        missing = "" if intervals is not None else "standard deviations, intervals and "
        return (
            f"{run} was fitted without an uncertainty model: no {missing}flags of out-of-distribution images; "
            "fit again with this version, on at least 40 anchors, to add them"
        )
    if intervals is None:
        reason = "too few labels were held out" if labelled else "its data had no complete anchors, or too few"
        return (
            f"{run} has no standard deviations and intervals: {reason}; ropes calibrate with labelled samples adds them"
        )
    return None
