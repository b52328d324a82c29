"""Intervals and flags against the truth: does a 90% interval hold 90% of the angles, and is the unusual flagged?"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.metrics.calibration import linear_calibration
from ropes.metrics.intervals import auroc, coverage
from ropes.trust.intervals import LEVEL, Intervals, intervals_from_anchors, intervals_from_labels
from ropes.trust.trust import Reading, Trust

Array = NDArray[np.float64]
Condition = tuple[str, int]


def measure_trust(
    trust: Trust,
    readings: Mapping[Condition, Reading],
    angles: Mapping[str, Array],
    rng: np.random.Generator,
    *,
    repeats: int,
    fitted: int,
    tested: int,
    level: float = LEVEL,
) -> list[tuple[int, dict[str, Any]]]:
    """Coverage and width of intervals, and how well the distance tells images from usual ones.

    As in use, calibration happens once: the line to radians, and with "labels" the width of the intervals, come
    from labelled poses of the reference, the first split without squares; only the test poses change.  Repeated with
    fresh poses, none of which is ever in both sets.

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
        level: that the intervals are meant to have.

    Returns:
        (joint's column, fields of a `TrustRow`) in the order of the readings; for each condition intervals from
        anchors, where there are any, and from labels.
    """
    reference = next(iter(angles))
    usual = readings[reference, 0]
    found: dict[tuple[Condition, str], list[Array]] = {}
    for _ in range(repeats):
        drawn = rng.permutation(len(angles[reference]))
        labelled, rest = drawn[:fitted], drawn[fitted:]
        line = linear_calibration(usual.coordinates[labelled], angles[reference][labelled])
        kinds = _kinds(trust, usual, labelled, angles[reference][labelled], line[0], level)
        for (split, occlusion), reading in readings.items():
            others = rest if split == reference else rng.permutation(len(angles[split]))
            rows = others[:tested]
            for kind, intervals in kinds.items():
                score = _score(reading, rows, line, intervals, angles[split][rows])
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
            "calibration_labels": fitted,
            "auroc": None if reading is usual else _auroc(usual, reading),
            "flagged": float((_distance(reading) > 1).mean()),
        }
        for column in range(len(held)):
            measured.append((column, {**about, "coverage": float(held[column]), "width": float(width[column])}))
    return measured


def _kinds(
    trust: Trust, usual: Reading, rows: NDArray[np.int64], angles: Array, slope: Array, level: float
) -> dict[str, Intervals]:
    deviation = None if usual.deviation is None else usual.deviation[rows]
    both = {
        "anchors": intervals_from_anchors(trust, level),
        "labels": intervals_from_labels(usual.coordinates[rows], deviation, angles, slope, level),
    }
    return {kind: intervals for kind, intervals in both.items() if intervals is not None}


def _score(
    reading: Reading, rows: NDArray[np.int64], line: tuple[Array, Array], intervals: Intervals, truth: Array
) -> Array:
    """Coverage and mean width (radians) of each joint, (2, d)."""
    slope, intercept = line
    values = reading.coordinates[rows] * slope + intercept
    sigma = np.abs(slope) * intervals.sigma(None if reading.deviation is None else reading.deviation[rows], values)
    half = intervals.quantile * sigma
    return np.stack([coverage(values - half, values + half, truth), 2 * half.mean(0)])


def _distance(reading: Reading) -> Array:
    assert reading.distance is not None  # a run that knows of its errors also knows distances
    return reading.distance


def _auroc(usual: Reading, other: Reading) -> float:
    return auroc(_distance(usual), _distance(other))
