"""Intervals and flags against the truth: does a 90% interval hold 90% of the angles, and is the unusual flagged?"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.metrics.calibration import linear_calibration
from ropes.metrics.intervals import auroc, coverage
from ropes.trust.intervals import LEVEL, Intervals, intervals_from_held_out, intervals_from_labels
from ropes.trust.trust import Reading, Trust

Array = NDArray[np.float64]
Condition = tuple[str, int]
ToAngles = Callable[[Array], Array]


def measure_trust(
    trust: Trust,
    readings: Mapping[Condition, Reading],
    angles: Mapping[str, Array],
    rng: np.random.Generator,
    *,
    repeats: int,
    fitted: int,
    tested: int,
    commanded: ToAngles | None = None,
    own: ToAngles | None = None,
    level: float = LEVEL,
) -> list[tuple[int, dict[str, Any]]]:
    """Coverage and width of intervals, and how well the distance tells images from usual ones.

    As in use, calibration happens once: the line to radians, and with "labels" the width of the intervals, come
    from labelled poses of the reference, the first split without squares; only the test poses change.  Intervals
    "commanded" have the width of those from anchors and lie around the map that takes no label.  Repeated with fresh
    poses, none of which is ever in both sets.

    Deviation: the error's own protocol fits its line on poses with the same squares as the test poses'.

    Args:
        trust: of the run.
        readings: (split, occlusion) → what was read off every pose of the split; the first split's with occlusion 0
            are the reference.
        angles: split → (n, d) true angles, radians.
        rng: draws the poses.
        repeats: how many draws.
        fitted: labelled poses that calibrate.
        tested: poses that are tested.
        commanded: the map from coordinates to radians that commanded distributions imply; None where not told.
        own: the map from coordinates to radians that a method brings which has learnt from labels; its own intervals
            around it are then the only ones.
        level: that the intervals are meant to have.

    Returns:
        (joint's column, fields of a `TrustRow`) in the order of the readings; for each condition intervals without
        any label, where the map is known, from anchors, where there are any, and from labels.
    """
    reference = next(iter(angles))
    usual = readings[reference, 0]
    found: dict[tuple[Condition, str], list[Array]] = {}
    for _ in range(repeats):
        drawn = rng.permutation(len(angles[reference]))
        labelled, rest = drawn[:fitted], drawn[fitted:]
        if own is None:
            kinds = _kinds(trust, usual, labelled, angles[reference][labelled], commanded, level)
        else:
            width = intervals_from_held_out(trust, level, "labels")
            kinds = {} if width is None else {"own": (width, own)}
        for (split, occlusion), reading in readings.items():
            others = rest if split == reference else rng.permutation(len(angles[split]))
            rows = others[:tested]
            for kind, (intervals, to_angles) in kinds.items():
                score = _score(reading, rows, intervals, to_angles, angles[split][rows])
                found.setdefault(((split, occlusion), kind), []).append(score)
    measured = []
    for ((split, occlusion), kind), scores in found.items():
        reading = readings[split, occlusion]
        held, width = np.mean(scores, axis=0)
        about = {
            "split": split,
            "occlusion": occlusion,
            "intervals": kind,
            "level": level,
            "calibration_labels": 0 if kind in ("commanded", "own") else fitted,
            "auroc": None if reading is usual else _auroc(usual, reading),
            "flagged": float((_distance(reading) > 1).mean()),
        }
        for column in range(len(held)):
            measured.append((column, {**about, "coverage": float(held[column]), "width": float(width[column])}))
    return measured


def _kinds(
    trust: Trust, usual: Reading, rows: NDArray[np.int64], angles: Array, commanded: ToAngles | None, level: float
) -> dict[str, tuple[Intervals, ToAngles]]:
    """What users may have, by name: intervals, and the map to radians that they lie around."""
    deviation = None if usual.deviation is None else usual.deviation[rows]
    slope, intercept = linear_calibration(usual.coordinates[rows], angles)
    line = partial(_on_line, slope, intercept)
    unlabelled = intervals_from_held_out(trust, level)
    labelled = intervals_from_labels(usual.coordinates[rows], deviation, angles, slope, level)
    every = {"commanded": (unlabelled, commanded), "anchors": (unlabelled, line), "labels": (labelled, line)}
    return {name: (width, to) for name, (width, to) in every.items() if width is not None and to is not None}


def _on_line(slope: Array, intercept: Array, coordinates: Array) -> Array:
    return coordinates * slope + intercept


def _score(reading: Reading, rows: NDArray[np.int64], intervals: Intervals, to_angles: ToAngles, truth: Array) -> Array:
    """Coverage and mean width (radians) of each joint, (2, d)."""
    deviation = None if reading.deviation is None else reading.deviation[rows]
    low, high = intervals.around(reading.coordinates[rows], deviation, to_angles)
    return np.stack([coverage(low, high, truth), (high - low).mean(0)])


def _distance(reading: Reading) -> Array:
    assert reading.distance is not None  # a run that knows of its errors also knows distances
    return reading.distance


def _auroc(usual: Reading, other: Reading) -> float:
    return auroc(_distance(usual), _distance(other))
