"""A trained method as users meet it: images in, joint angles out."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.calibration import Calibration, read_calibration
from ropes.data.pictures import area_average, enlarge
from ropes.errors import UserError
from ropes.hardware import device_kind
from ropes.methods.readers import Reader, load_reader
from ropes.methods.run import TRAINING_FILE, Run
from ropes.trust.intervals import Intervals, intervals_from_anchors
from ropes.trust.trust import Reading, Seen, Trust, read_trust, see

_CHUNK = 256
Images = NDArray[np.uint8]
Array = NDArray[np.float64]


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
        return cls(run, reader, read_calibration(folder, run), read_trust(folder))

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
