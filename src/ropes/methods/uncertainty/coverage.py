"""Measures interval coverage and out-of-distribution detection against true angles."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ropes.common.arrays import Floats
from ropes.methods.uncertainty.conformal import LEVEL, Intervals, intervals_from_held_out, intervals_from_labels
from ropes.methods.uncertainty.model import Reading, UncertaintyModel
from ropes.metrics.calibration import linear_calibration
from ropes.metrics.intervals import auroc, coverage

Condition = tuple[str, int]
ToAngles = Callable[[Floats], Floats]
#: The reference for out-of-distribution detection: the in-distribution test split without squares.
IN_DISTRIBUTION: Condition = ("id", 0)


@dataclass(frozen=True)
class LabelledPoses:
    """Labelled poses for one calibration.

    Attributes:
        reading: predictions of n poses.
        angles: (n, d), radians.
    """

    reading: Reading
    angles: Floats

    def __len__(self) -> int:
        return len(self.angles)


@dataclass(frozen=True)
class _Kind:
    """One kind of intervals: its name in a `CoverageRow`, its number of labels, intervals and map for each repeat."""

    name: str
    labels: int
    repeats: Sequence[tuple[Intervals, ToAngles]]


def measure_uncertainty(
    model: UncertaintyModel,
    readings: Mapping[Condition, Reading],
    angles: Mapping[str, Floats],
    *,
    labelled: Mapping[int, Sequence[LabelledPoses]],
    commanded: tuple[Intervals, ToAngles] | None = None,
    own: ToAngles | None = None,
    level: float = LEVEL,
) -> list[tuple[int, dict[str, Any]]]:
    """Coverage and width of intervals, and detection rates of the out-of-distribution score.

    Coverage is that of a user's workflow: `ropes fit`, `ropes calibrate` on held-out poses, and `ropes predict` on
    unlabelled test poses. Intervals "commanded" have the width from anchors, around the map implied by the known policy
    distributions, without labels. Intervals "anchors" have the same width, around the line from the greatest number of
    labels.

    Deviation: the line is fitted on held-out anchors, without squares; that of the errors on poses of the test split,
    with the same squares.  Why: users calibrate once, on clean images.  Effect: coverage is that of a user's workflow,
    and errors in the same table are not.

    Args:
        model: of the run.
        readings: (split, occlusion) → predictions for every pose of the split; those of `IN_DISTRIBUTION`, if present,
            are the reference for distances.
        angles: split → (n, d) true angles, radians.
        labelled: number of labels → that many labelled poses, for each repeat.
        commanded: map from coordinates to radians implied by the known policy distributions, and its intervals; None
            where unknown.
        own: map from coordinates to radians of a supervised method; only its own intervals are then measured.
        level: nominal coverage.

    Returns:
        (joint's column, fields of a `CoverageRow`) for every kind of intervals under every condition.
    """
    kinds = _kinds(model, labelled, commanded, level) if own is None else _supervised(model, own, level)
    rows = []
    for (split, occlusion), reading in readings.items():
        about = {
            "split": split,
            "occlusion": occlusion,
            "auroc": _auroc(readings, (split, occlusion)),
            "flagged": float((_distance(reading) > 1).mean()),
        }
        for kind in kinds:
            covered, width = np.mean([_score(reading, *each, angles[split]) for each in kind.repeats], axis=0)
            stated = {"level": kind.repeats[0][0].level, "calibration_labels": kind.labels}
            about_kind = {**about, "intervals": kind.name, **stated}
            for column in range(len(covered)):
                figures = {"coverage": float(covered[column]), "width": float(width[column])}
                rows.append((column, {**about_kind, **figures}))
    return rows


def _supervised(model: UncertaintyModel, own: ToAngles, level: float) -> list[_Kind]:
    """The intervals of a supervised method, around its predicted angles."""
    width = intervals_from_held_out(model, level, "labels")
    return [] if width is None else [_Kind("own", 0, [(width, own)])]


def _kinds(
    model: UncertaintyModel,
    labelled: Mapping[int, Sequence[LabelledPoses]],
    commanded: tuple[Intervals, ToAngles] | None,
    level: float,
) -> list[_Kind]:
    """The kinds of intervals of a label-free method, each with its map to radians."""
    unlabelled = intervals_from_held_out(model, level)
    kinds = []
    if commanded is not None:
        kinds.append(_Kind("commanded", 0, [commanded]))
    for count, repeats in sorted(labelled.items()):
        calibrated = [_calibrate(poses, level) for poses in repeats]
        if unlabelled is not None and count == max(labelled):
            kinds.append(_Kind("anchors", count, [(unlabelled, line) for _, line in calibrated]))
        enough = [(width, line) for width, line in calibrated if width is not None]
        if enough:
            kinds.append(_Kind("labels", count, enough))
    return kinds


def _calibrate(poses: LabelledPoses, level: float) -> tuple[Intervals | None, ToAngles]:
    """Intervals from labelled poses (None from too few), and the line to radians that they lie around."""
    reading = poses.reading
    slope, intercept = linear_calibration(reading.coordinates, poses.angles)
    width = intervals_from_labels(reading.coordinates, reading.deviation, poses.angles, slope, level)
    return width, lambda coordinates: coordinates * slope + intercept


def _score(reading: Reading, intervals: Intervals, to_angles: ToAngles, truth: Floats) -> Floats:
    """Coverage and mean width (radians) of each joint, (2, d)."""
    low, high = intervals.around(reading.coordinates, reading.deviation, to_angles)
    return np.stack([coverage(low, high, truth), (high - low).mean(0)])


def _distance(reading: Reading) -> Floats:
    assert reading.distance is not None  # an uncertainty model always has an OOD score
    return reading.distance


def _auroc(readings: Mapping[Condition, Reading], condition: Condition) -> float | None:
    """AUROC of a condition against the reference; None for the reference itself, and without one."""
    if condition == IN_DISTRIBUTION or IN_DISTRIBUTION not in readings:
        return None
    return auroc(_distance(readings[IN_DISTRIBUTION]), _distance(readings[condition]))
