"""A trained method as users meet it: images in, joint angles out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.data.pictures import area_average, enlarge
from ropes.errors import UserError
from ropes.files import read_json, write_json
from ropes.hardware import device_kind
from ropes.methods.readers import Reader, load_reader
from ropes.methods.run import CALIBRATION_FILE, TRAINING_FILE, Run
from ropes.metrics.bend import bend
from ropes.metrics.calibration import linear_calibration
from ropes.trust.intervals import Intervals, intervals_from_anchors
from ropes.trust.trust import Reading, Seen, Trust, read_trust, see

_CHUNK = 256
#: Spread, relative to the values, that float32 networks give to equal inputs in batches of different size.
_ROUNDING = 1e-6
Images = NDArray[np.uint8]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """From each raw coordinate to radians: a line, and after it a monotone bend where one is known.

    Attributes:
        slope: radians per unit of the coordinate, (d,).
        intercept: radians, (d,).
        samples: labelled samples behind it, 0 for commanded distributions.
        intervals: how large the errors are, where that is known.
        knots: (d, 2, k) of each joint's `ropes.metrics.bend`; None for lines alone.
    """

    slope: Array
    intercept: Array
    samples: int
    intervals: Intervals | None = None
    knots: Array | None = None

    def angles(self, coordinates: Array) -> Array:
        """Coordinates (n, d) → radians (n, d)."""
        lines = coordinates * self.slope + self.intercept
        if self.knots is None:
            return lines
        return np.stack([bend(column, knots) for column, knots in zip(lines.T, self.knots, strict=True)], axis=1)


class Estimator:
    """Reads joint angles from images with the networks of a finished run.

    Attributes:
        run: identity of the run: joints, cameras, image size.
        calibration: the map to radians, or None before `calibrate`.
        trust: what the run knows of its own errors; None for one that was fitted before there was that stage.
    """

    def __init__(self, run: Run, reader: Reader, calibration: Calibration | None, trust: Trust | None = None) -> None:
        self.run, self.calibration, self.trust = run, calibration, trust
        self._reader = reader

    @classmethod
    def load(cls, folder: Path) -> "Estimator":
        """Load the run in `folder`.

        Raises:
            UserError: no run there, one of another version, one without weights, an unfinished or a damaged one.
        """
        run = Run.read(folder)
        reader = load_reader(run, folder, torch.device(device_kind()))
        if not (folder / TRAINING_FILE).exists():
            raise UserError(f"{folder} is an unfinished run; run the same ropes fit command again to go on")
        return cls(run, reader, _read_calibration(folder, run), read_trust(folder))

    def _pixels(self, images: Images) -> Tensor:
        """(n, V, S, S) grey levels → what the networks read, uint8 (n, V, s, s)."""
        views, side = len(self.run.cameras), self.run.image_size
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1:] != (views, side, side):
            raise UserError(
                f"images of shape {images.shape} and type {images.dtype}: "
                f"this run reads uint8 (n, {views}, {side}, {side})"
            )
        small = area_average(images, self._reader.size)
        return torch.from_numpy(small).to(device_kind())

    @torch.no_grad()
    def coordinates(self, images: Images) -> Array:
        """Raw coordinates, one a joint.

        Args:
            images: grey levels, uint8 (n, cameras, side, side), cameras in the order of `run.cameras`.

        Returns:
            (n, d), in the order of `run.joints`; monotone in the joint's angle, of unknown sign and scale.

        Raises:
            UserError: images of another shape or type.
        """
        out = np.empty((len(images), len(self.run.joints)))
        for start in range(0, len(images), _CHUNK):
            found = self._reader.coordinates(self._pixels(images[start : start + _CHUNK]))
            out[start : start + _CHUNK] = found.double().cpu().numpy()
        return out

    def read(self, images: Images) -> Reading:
        """Raw coordinates with their standard deviations, and how unusual each image is.

        Args:
            images: as for `coordinates`.

        Raises:
            UserError: images of another shape or type.
        """
        if self.trust is None or not len(images):
            return Reading(self.coordinates(images), None, None)
        chunks = [images[start : start + _CHUNK] for start in range(0, len(images), _CHUNK)]
        seen = Seen.join([see(self._reader, self._pixels(chunk)) for chunk in chunks])
        return Reading(seen.coordinates, self.trust.deviation(seen), self.trust.distance(seen))

    @property
    def intervals(self) -> Intervals | None:
        """How large errors are, from the calibration's labels, or else from anchors; None where neither tells."""
        told = None if self.calibration is None else self.calibration.intervals
        if told is None and self.trust is not None:
            told = intervals_from_anchors(self.trust)
        knows = self.trust is not None and self.trust.spread is not None
        return told if told is not None and (knows or not told.by_image) else None

    def angles(self, images: Images) -> Array:
        """Joint angles in radians, (n, d).

        Raises:
            UserError: the run is not calibrated, or images of another shape or type.
        """
        if self.calibration is None:
            raise UserError("the run is not calibrated: run `ropes calibrate` with a few labelled samples")
        return self.calibration.angles(self.coordinates(images))

    @torch.no_grad()
    def reconstructions(self, images: Images) -> tuple[Images, Images] | None:
        """What AE1, and AE2 followed by AE1's decoder, make of images (Figs. 4, 8, 9), uint8 like `images`.

        None for a method that reconstructs nothing.
        """
        made = self._reader.reconstructions(self._pixels(images))
        if made is None:
            return None
        first, second = (part.clamp(0, 1).mul(255).round().byte().cpu().numpy() for part in made)
        return enlarge(first, self.run.image_size), enlarge(second, self.run.image_size)


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


def write_calibration(folder: Path, run: Run, calibration: Calibration) -> None:
    """Store a calibration with its run."""
    lines: dict[str, dict[str, Any]] = {
        joint: {"slope": float(calibration.slope[k]), "intercept": float(calibration.intercept[k])}
        for k, joint in enumerate(run.joints)
    }
    if calibration.knots is not None:
        for joint, knots in zip(run.joints, calibration.knots.tolist(), strict=True):
            lines[joint]["bend"] = dict(zip(("from", "to"), knots, strict=True))
    content: dict[str, Any] = {"samples": calibration.samples, "joints": lines}
    if calibration.intervals is not None:
        content["intervals"] = calibration.intervals.to_dict(run.joints)
    write_json(folder / CALIBRATION_FILE, content)


def _read_calibration(folder: Path, run: Run) -> Calibration | None:
    path = folder / CALIBRATION_FILE
    if not path.exists():
        return None
    content: dict[str, Any] = read_json(path)
    try:
        lines = [content["joints"][joint] for joint in run.joints]
        slope, intercept = (np.array([float(line[key]) for line in lines]) for key in ("slope", "intercept"))
        told = content.get("intervals")
        intervals = None if told is None else Intervals.from_dict(told, run.joints)
        return Calibration(slope, intercept, int(content["samples"]), intervals, _read_knots(lines))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}); run `ropes calibrate` again") from error


def _read_knots(lines: Sequence[Mapping[str, Any]]) -> Array | None:
    if not any("bend" in line for line in lines):
        return None
    knots = np.array([[line["bend"]["from"], line["bend"]["to"]] for line in lines], dtype=np.float64)
    if knots.ndim != 3 or knots.shape[-1] < 2 or not (np.diff(knots) > 0).all():
        raise ValueError("a bend does not rise")
    return knots
