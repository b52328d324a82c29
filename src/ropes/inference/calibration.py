"""Calibration: the stored map from coordinates to radians, with origin and errors."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ropes.common.arrays import Floats
from ropes.common.files import read_json, write_json
from ropes.errors import UserError
from ropes.methods.run import CALIBRATION_FILE, Run
from ropes.methods.uncertainty.conformal import Intervals
from ropes.methods.weights import uncertainty_digest, weights_digest
from ropes.metrics.calibration import linear_calibration
from ropes.metrics.intervals import leave_one_out_residuals
from ropes.metrics.monotone import bend

#: Relative differences of float32 outputs for equal inputs in batches of different size.
_ROUNDING = 1e-6
#: Least range of a joint's labelled angles, radians; of a prismatic joint, metres.
_LEAST_EXTENT = 2e-3
_SOURCES = ("samples", "labels", "commanded")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Arguments of the `ropes calibrate` command that made a calibration.

    Attributes:
        source: labelled "samples" drawn from a data set, "labels" of a CSV file, or "commanded" distributions.
        seed: seed of the draw.
        level: coverage of the intervals.
        file: name of the file of labels or distributions; None where they come from the data set.

    Raises:
        ValueError: another source.
    """

    source: Literal["samples", "labels", "commanded"]
    seed: int
    level: float
    file: str | None = None

    def __post_init__(self) -> None:
        if self.source not in _SOURCES:
            raise ValueError(f"unknown source of a calibration, {self.source!r}")


@dataclass(frozen=True, kw_only=True)
class CalibrationErrors:
    """Errors of a calibration, estimated on the poses that it is fitted on; joint → radians.

    Attributes:
        left_out: leave-one-out root mean squared error on labelled poses; None without labels.
        half_width: half an interval at the median coordinate and median σ; None without intervals.
    """

    left_out: Mapping[str, float] | None
    half_width: Mapping[str, float] | None


@dataclass(frozen=True)
class Calibration:
    """The map from raw coordinates to radians: a line per joint, and optionally a monotone bend after it.

    Attributes:
        slope: radians per unit of the coordinate, (d,).
        intercept: radians, (d,).
        samples: number of labelled samples; 0 for commanded distributions.
        intervals: conformal intervals; None where unknown.
        knots: (d, 2, k), knots of each joint's `ropes.metrics.monotone.bend`; None for lines alone.
        origin: arguments of `ropes calibrate`; None for calibrations of older versions.
        errors: estimated errors; None for calibrations of older versions.
        ranges: lowest and highest angle of each joint that it was fitted on, radians, (d, 2); None for calibrations of
            older versions.
    """

    slope: Floats
    intercept: Floats
    samples: int
    intervals: Intervals | None = None
    knots: Floats | None = None
    origin: Origin | None = None
    errors: CalibrationErrors | None = None
    ranges: Floats | None = None

    def angles(self, coordinates: Floats) -> Floats:
        """Coordinates (n, d) → radians (n, d)."""
        lines = coordinates * self.slope + self.intercept
        if self.knots is None:
            return lines
        return np.stack([bend(column, knots) for column, knots in zip(lines.T, self.knots, strict=True)], axis=1)


def fit_calibration(coordinates: Floats, angles: Floats, joints: Sequence[str]) -> Calibration:
    """Fit each joint's least-squares line from coordinates (n, d) to radians (n, d) (ROPES Section 4).

    Raises:
        UserError: a joint's angles are the same within `_LEAST_EXTENT`, or its coordinate does not vary.
    """
    for column, joint in enumerate(joints):
        if len(np.unique(angles[:, column])) < 2:
            raise UserError(f"calibration needs two distinct angles of each joint; {joint} has one in all samples")
        if (extent := np.ptp(angles[:, column])) < _LEAST_EXTENT:
            raise UserError(
                f"the angles of {joint} in all samples lie within {math.degrees(extent):.1g}° ({extent:.1g} rad); a "
                f"line from its coordinate to its angle needs at least {math.degrees(_LEAST_EXTENT):.2g}° "
                f"({_LEAST_EXTENT} rad)"
            )
        if np.ptp(coordinates[:, column]) <= _ROUNDING * np.abs(coordinates[:, column]).max():
            raise UserError(
                f"the coordinate of {joint} is the same in all samples, so no line leads from it to angles; "
                "calibrate on more varied samples, or fit the run again"
            )
    slope, intercept = linear_calibration(coordinates, angles)
    ranges = np.stack([angles.min(axis=0), angles.max(axis=0)], axis=1)
    return Calibration(slope, intercept, len(angles), ranges=ranges)


def identity_calibration(joints: int) -> Calibration:
    """The identity, for methods with labels, whose coordinates are radians."""
    return Calibration(np.ones(joints), np.zeros(joints), 0)


def left_out_errors(coordinates: Floats, angles: Floats, joints: Sequence[str]) -> dict[str, float] | None:
    """Leave-one-out root mean squared error of each joint's line, radians; None with too few samples.

    Args:
        coordinates: (n, d).
        angles: (n, d), radians.
        joints: (d,) names.
    """
    try:
        residuals = leave_one_out_residuals(coordinates, angles)
    except ValueError:
        return None
    return dict(zip(joints, np.sqrt((residuals**2).mean(axis=0)).tolist(), strict=True))


def half_widths(
    calibration: Calibration, coordinates: Floats, deviation: Floats | None, joints: Sequence[str]
) -> dict[str, float] | None:
    """Half an interval at the median coordinate and median σ of each joint, radians; None without intervals.

    Args:
        calibration: a calibration.
        coordinates: (n, d).
        deviation: (n, d), σ of the coordinates; None where the run has none.
        joints: (d,) names.
    """
    intervals = calibration.intervals
    if intervals is None:
        return None
    coordinate = np.median(coordinates, axis=0, keepdims=True)
    sigma = None if deviation is None else np.median(deviation, axis=0, keepdims=True)
    low, high = intervals.around(coordinate, sigma, calibration.angles)
    return dict(zip(joints, ((high - low)[0] / 2).tolist(), strict=True))


def write_calibration(folder: Path, run: Run, calibration: Calibration) -> None:
    """Store a calibration with its run, with the digests of the weights and of the uncertainty model."""
    lines: dict[str, dict[str, Any]] = {
        joint: {"slope": float(calibration.slope[k]), "intercept": float(calibration.intercept[k])}
        for k, joint in enumerate(run.joints)
    }
    if calibration.knots is not None:
        for joint, knots in zip(run.joints, calibration.knots.tolist(), strict=True):
            lines[joint]["bend"] = dict(zip(("from", "to"), knots, strict=True))
    if calibration.ranges is not None:
        for joint, ends in zip(run.joints, calibration.ranges.tolist(), strict=True):
            lines[joint]["range"] = ends
    content: dict[str, Any] = {
        "samples": calibration.samples,
        "joints": lines,
        "weights_sha256": weights_digest(folder),
    }
    if calibration.intervals is not None:
        content["intervals"] = calibration.intervals.to_dict(run.joints)
        content["trust_sha256"] = uncertainty_digest(folder) if calibration.intervals.by_image else None
    if calibration.origin is not None:
        content["origin"] = asdict(calibration.origin)
    if calibration.errors is not None:
        content["errors"] = asdict(calibration.errors)
    write_json(folder / CALIBRATION_FILE, content)


def read_calibration(folder: Path, run: Run) -> Calibration | None:
    """The calibration stored with a run; None before `ropes calibrate`.

    Raises:
        UserError: the file is damaged, or the run's weights or uncertainty model have changed since.
    """
    path = folder / CALIBRATION_FILE
    if not path.exists():
        return None
    content: dict[str, Any] = read_json(path)
    try:
        weights = content.get("weights_sha256")
        lines = [content["joints"][joint] for joint in run.joints]
        slope, intercept = (np.array([float(line[key]) for line in lines]) for key in ("slope", "intercept"))
        intervals, origin, errors = (content.get(key) for key in ("intervals", "origin", "errors"))
        calibration = Calibration(
            slope,
            intercept,
            int(content["samples"]),
            intervals=None if intervals is None else Intervals.from_dict(intervals, run.joints),
            knots=_read_knots(lines),
            origin=None if origin is None else Origin(**origin),
            errors=None if errors is None else _read_errors(errors, run.joints),
            ranges=_read_ranges(lines),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); run `ropes calibrate` again") from error
    if weights != weights_digest(folder):
        raise UserError(f"{path} is of other weights than {folder} has now; run `ropes calibrate` again")
    by_image = calibration.intervals is not None and calibration.intervals.by_image
    trust = uncertainty_digest(folder)
    if by_image and trust is not None and trust != content.get("trust_sha256"):
        raise UserError(f"{path} has intervals in other units than {folder} has now; run `ropes calibrate` again")
    return calibration


def _read_errors(content: Mapping[str, Any], joints: Sequence[str]) -> CalibrationErrors:
    errors = {
        key: None if content[key] is None else {joint: float(content[key][joint]) for joint in joints}
        for key in ("left_out", "half_width")
    }
    return CalibrationErrors(**errors)


def _read_ranges(lines: Sequence[Mapping[str, Any]]) -> Floats | None:
    if not any("range" in line for line in lines):
        return None
    ranges = np.array([line["range"] for line in lines], dtype=np.float64)
    if ranges.shape != (len(lines), 2) or not (ranges[:, 0] <= ranges[:, 1]).all():
        raise ValueError("a range is no pair of ascending angles")
    return ranges


def _read_knots(lines: Sequence[Mapping[str, Any]]) -> Floats | None:
    if not any("bend" in line for line in lines):
        return None
    knots = np.array([[line["bend"]["from"], line["bend"]["to"]] for line in lines], dtype=np.float64)
    if knots.ndim != 3 or knots.shape[-1] < 2 or not (np.diff(knots) > 0).all():
        raise ValueError("a bend does not rise")
    return knots
