"""Measures interval coverage and the flag's rates against true angles."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.methods.uncertainty.conformal import LEVEL, Intervals, intervals_from_held_out, intervals_from_labels
from ropes.methods.uncertainty.model import Reading, Trust
from ropes.metrics.calibration import linear_calibration
from ropes.metrics.intervals import auroc, coverage

Array = NDArray[np.float64]
Condition = tuple[str, int]
ToAngles = Callable[[Array], Array]
#: The images that all others are compared with: the in-distribution test split without squares.
USUAL: Condition = ("id", 0)


@dataclass(frozen=True)
class LabelledPoses:
    """Labelled poses that one call of `ropes calibrate` draws.

    Attributes:
        reading: what was read off their images, n poses.
        angles: (n, d), radians.
    """

    reading: Reading
    angles: Array

    def __len__(self) -> int:
        return len(self.angles)


@dataclass(frozen=True)
class _Kind:
    """One kind of intervals: their name in a `TrustRow`, how many labels they took, one map and width a repeat."""

    name: str
    labels: int
    repeats: Sequence[tuple[Intervals, ToAngles]]


def measure_trust(
    trust: Trust,
    readings: Mapping[Condition, Reading],
    angles: Mapping[str, Array],
    *,
    labelled: Mapping[int, Sequence[LabelledPoses]],
    commanded: ToAngles | None = None,
    own: ToAngles | None = None,
    level: float = LEVEL,
) -> list[tuple[int, dict[str, Any]]]:
    """Coverage and width of intervals, and how well the distance tells images from usual ones.

    Coverage is that of what a user runs: `ropes fit`, `ropes calibrate` on poses that no weight was fitted on, and
    `ropes predict` on the test poses, of which none is labelled.  Intervals "commanded" have the width of those from
    anchors and lie around the map that takes no label; "anchors" have that width and lie around the line from the
    greatest number of labels.

    Deviation: the line is fitted on poses of anchors that no weight was fitted on, without squares; that of the errors
    on poses of the test split, with the same squares.  Why: users calibrate once, on clean images.  Effect: coverage is
    that of what a user runs, and errors in the same table are not.

    Args:
        trust: of the run.
        readings: (split, occlusion) → what was read off every pose of the split; those of `USUAL`, where they are
            among them, are what distances are compared with.
        angles: split → (n, d) true angles, radians.
        labelled: number of labels → that many labelled poses, once for every repeat.
        commanded: the map from coordinates to radians that commanded distributions imply; None where not told.
        own: the map from coordinates to radians that a method brings which has learnt from labels; its own intervals
            around it are then the only ones.
        level: that the intervals are meant to have.

    Returns:
        (joint's column, fields of a `TrustRow`) for every kind of intervals under every condition.
    """
    kinds = _kinds(trust, labelled, commanded, level) if own is None else _own(trust, own, level)
    measured = []
    for (split, occlusion), reading in readings.items():
        about = {
            "split": split,
            "occlusion": occlusion,
            "level": level,
            "auroc": _auroc(readings, (split, occlusion)),
            "flagged": float((_distance(reading) > 1).mean()),
        }
        for kind in kinds:
            held, width = np.mean([_score(reading, *each, angles[split]) for each in kind.repeats], axis=0)
            about_kind = {**about, "intervals": kind.name, "calibration_labels": kind.labels}
            for column in range(len(held)):
                found = {"coverage": float(held[column]), "width": float(width[column])}
                measured.append((column, {**about_kind, **found}))
    return measured


def _own(trust: Trust, own: ToAngles, level: float) -> list[_Kind]:
    """The intervals of a method that has learnt from labels, around the radians that it reads."""
    width = intervals_from_held_out(trust, level, "labels")
    return [] if width is None else [_Kind("own", 0, [(width, own)])]


def _kinds(
    trust: Trust, labelled: Mapping[int, Sequence[LabelledPoses]], commanded: ToAngles | None, level: float
) -> list[_Kind]:
    """What users may have: intervals, and the map to radians that they lie around."""
    unlabelled = intervals_from_held_out(trust, level)
    kinds = []
    if unlabelled is not None and commanded is not None:
        kinds.append(_Kind("commanded", 0, [(unlabelled, commanded)]))
    for count, repeats in sorted(labelled.items()):
        calibrated = [_calibrated(poses, level) for poses in repeats]
        if unlabelled is not None and count == max(labelled):
            kinds.append(_Kind("anchors", count, [(unlabelled, line) for _, line in calibrated]))
        known = [(width, line) for width, line in calibrated if width is not None]
        if known:
            kinds.append(_Kind("labels", count, known))
    return kinds


def _calibrated(poses: LabelledPoses, level: float) -> tuple[Intervals | None, ToAngles]:
    """Intervals from labelled poses, None from too few, and the line to radians that they lie around."""
    reading = poses.reading
    slope, intercept = linear_calibration(reading.coordinates, poses.angles)
    width = intervals_from_labels(reading.coordinates, reading.deviation, poses.angles, slope, level)
    return width, partial(_on_line, slope, intercept)


def _on_line(slope: Array, intercept: Array, coordinates: Array) -> Array:
    return coordinates * slope + intercept


def _score(reading: Reading, intervals: Intervals, to_angles: ToAngles, truth: Array) -> Array:
    """Coverage and mean width (radians) of each joint, (2, d)."""
    low, high = intervals.around(reading.coordinates, reading.deviation, to_angles)
    return np.stack([coverage(low, high, truth), (high - low).mean(0)])


def _distance(reading: Reading) -> Array:
    assert reading.distance is not None  # a run that knows of its errors also knows distances
    return reading.distance


def _auroc(readings: Mapping[Condition, Reading], condition: Condition) -> float | None:
    """Between images under a condition and usual ones; None for those themselves, and where none were measured."""
    if condition == USUAL or USUAL not in readings:
        return None
    return auroc(_distance(readings[USUAL]), _distance(readings[condition]))
