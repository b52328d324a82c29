"""The stored map from coordinates to radians, with its origin and its errors."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ropes.common.files import read_json, write_json
from ropes.errors import UserError
from ropes.methods.run import CALIBRATION_FILE, Run
from ropes.methods.uncertainty.conformal import Intervals
from ropes.methods.weights import trust_digest, weights_digest
from ropes.metrics.bend import bend
from ropes.metrics.calibration import linear_calibration
from ropes.metrics.intervals import left_out_residuals

#: Spread, relative to the values, that float32 networks give to equal inputs in batches of different size.
_ROUNDING = 1e-6
_SOURCES = ("samples", "labels", "commanded")
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What `ropes calibrate` was asked for.

    Attributes:
        source: labelled "samples" drawn from a data set, "labels" of a CSV file, or "commanded" distributions.
        seed: of the draw.
        level: that the intervals are meant to hold.
        file: name of the file of labels or of distributions; None where the data set told them.

    Raises:
        ValueError: another source.
    """

    source: Literal["samples", "labels", "commanded"]
    seed: int
    level: float
    file: str | None = None

    def __post_init__(self) -> None:
        if self.source not in _SOURCES:
            raise ValueError(f"a calibration of no known source, {self.source!r}")


@dataclass(frozen=True, kw_only=True)
class KnownErrors:
    """What is known of a calibration's errors, on the poses that it was fitted on; joint → radians.

    Attributes:
        left_out: root mean squared error of labelled poses, each from the line fitted without it; None without labels.
        half_width: half an interval around the median coordinate at the median σ; None without intervals.
    """

    left_out: Mapping[str, float] | None
    half_width: Mapping[str, float] | None


@dataclass(frozen=True)
class Calibration:
    """From each raw coordinate to radians: a line, and after it a monotone bend where one is known.

    Attributes:
        slope: radians per unit of the coordinate, (d,).
        intercept: radians, (d,).
        samples: labelled samples behind it, 0 for commanded distributions.
        intervals: how large the errors are, where that is known.
        knots: (d, 2, k) of each joint's `ropes.metrics.bend`; None for lines alone.
        origin: how it was made; None for one from before that was kept.
        errors: what is known of its errors; None likewise.
    """

    slope: Array
    intercept: Array
    samples: int
    intervals: Intervals | None = None
    knots: Array | None = None
    origin: Origin | None = None
    errors: KnownErrors | None = None

    def angles(self, coordinates: Array) -> Array:
        """Coordinates (n, d) → radians (n, d)."""
        lines = coordinates * self.slope + self.intercept
        if self.knots is None:
            return lines
        return np.stack([bend(column, knots) for column, knots in zip(lines.T, self.knots, strict=True)], axis=1)


def fit_calibration(coordinates: Array, angles: Array, joints: Sequence[str]) -> Calibration:
    """The least-squares line of each of the joints from coordinates (n, d) to radians (n, d) (ROPES Section 4).

    Raises:
        UserError: fewer than two distinct angles of a joint, or a coordinate that does not vary.
    """
    for column, joint in enumerate(joints):
        if len(np.unique(angles[:, column])) < 2:
            raise UserError(f"calibration needs two distinct angles of each joint; {joint} has one in all samples")
        if np.ptp(coordinates[:, column]) <= _ROUNDING * np.abs(coordinates[:, column]).max():
            raise UserError(
                f"the coordinate of {joint} is the same in all samples, so no line leads from it to angles; "
                "calibrate on more varied samples, or fit the run again"
            )
    slope, intercept = linear_calibration(coordinates, angles)
    return Calibration(slope, intercept, len(angles))


def radians_already(joints: int) -> Calibration:
    """The map of a method that has learnt from labels: its coordinates are angles in radians."""
    return Calibration(np.ones(joints), np.zeros(joints), 0)


def left_out_errors(coordinates: Array, angles: Array, joints: Sequence[str]) -> dict[str, float] | None:
    """Each joint's root mean squared `ropes.metrics.intervals.left_out_residuals`, radians; None with too few samples.

    Args:
        coordinates: (n, d).
        angles: (n, d), radians.
        joints: (d,) names.
    """
    try:
        residuals = left_out_residuals(coordinates, angles)
    except ValueError:
        return None
    return dict(zip(joints, np.sqrt((residuals**2).mean(axis=0)).tolist(), strict=True))


def half_widths(
    calibration: Calibration, coordinates: Array, deviation: Array | None, joints: Sequence[str]
) -> dict[str, float] | None:
    """Each joint's half interval in radians around the median coordinate, at the median σ; None without intervals.

    Args:
        calibration: with its intervals.
        coordinates: (n, d).
        deviation: (n, d), σ of the coordinates, where the run knows it.
        joints: (d,) names.
    """
    intervals = calibration.intervals
    if intervals is None:
        return None
    middle = np.median(coordinates, axis=0, keepdims=True)
    usual = None if deviation is None else np.median(deviation, axis=0, keepdims=True)
    low, high = intervals.around(middle, usual, calibration.angles)
    return dict(zip(joints, ((high - low)[0] / 2).tolist(), strict=True))


def write_calibration(folder: Path, run: Run, calibration: Calibration) -> None:
    """Store a calibration with its run, bound to the weights, and to the standard deviations, that it is of."""
    lines: dict[str, dict[str, Any]] = {
        joint: {"slope": float(calibration.slope[k]), "intercept": float(calibration.intercept[k])}
        for k, joint in enumerate(run.joints)
    }
    if calibration.knots is not None:
        for joint, knots in zip(run.joints, calibration.knots.tolist(), strict=True):
            lines[joint]["bend"] = dict(zip(("from", "to"), knots, strict=True))
    content: dict[str, Any] = {
        "samples": calibration.samples,
        "joints": lines,
        "weights_sha256": weights_digest(folder),
    }
    if calibration.intervals is not None:
        content["intervals"] = calibration.intervals.to_dict(run.joints)
        content["trust_sha256"] = trust_digest(folder) if calibration.intervals.by_image else None
    if calibration.origin is not None:
        content["origin"] = asdict(calibration.origin)
    if calibration.errors is not None:
        content["errors"] = asdict(calibration.errors)
    write_json(folder / CALIBRATION_FILE, content)


def read_calibration(folder: Path, run: Run) -> Calibration | None:
    """The calibration stored with a run; None before `ropes calibrate`.

    Raises:
        UserError: the file is damaged, or the calibration is of other weights or standard deviations than the run has
            now.
    """
    path = folder / CALIBRATION_FILE
    if not path.exists():
        return None
    content: dict[str, Any] = read_json(path)
    try:
        weights = content.get("weights_sha256")
        lines = [content["joints"][joint] for joint in run.joints]
        slope, intercept = (np.array([float(line[key]) for line in lines]) for key in ("slope", "intercept"))
        told, origin, errors = (content.get(key) for key in ("intervals", "origin", "errors"))
        found = Calibration(
            slope,
            intercept,
            int(content["samples"]),
            intervals=None if told is None else Intervals.from_dict(told, run.joints),
            knots=_read_knots(lines),
            origin=None if origin is None else Origin(**origin),
            errors=None if errors is None else _read_errors(errors, run.joints),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); run `ropes calibrate` again") from error
    if weights != weights_digest(folder):
        raise UserError(f"{path} is of other weights than {folder} has now; run `ropes calibrate` again")
    by_image, known = found.intervals is not None and found.intervals.by_image, trust_digest(folder)
    if by_image and known is not None and known != content.get("trust_sha256"):
        raise UserError(f"{path} has intervals in other units than {folder} has now; run `ropes calibrate` again")
    return found


def _read_errors(content: Mapping[str, Any], joints: Sequence[str]) -> KnownErrors:
    told = {
        key: None if content[key] is None else {joint: float(content[key][joint]) for joint in joints}
        for key in ("left_out", "half_width")
    }
    return KnownErrors(**told)


def _read_knots(lines: Sequence[Mapping[str, Any]]) -> Array | None:
    if not any("bend" in line for line in lines):
        return None
    knots = np.array([[line["bend"]["from"], line["bend"]["to"]] for line in lines], dtype=np.float64)
    if knots.ndim != 3 or knots.shape[-1] < 2 or not (np.diff(knots) > 0).all():
        raise ValueError("a bend does not rise")
    return knots
