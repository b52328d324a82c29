"""`Estimator`: images in, joint angles out."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.common.hardware import AskedPrecision, Precision, device_kind
from ropes.data.dataset import Dataset
from ropes.data.pictures import area_average, enlarge
from ropes.errors import UserError
from ropes.inference.calibration import Calibration, radians_already, read_calibration
from ropes.methods.reader import Reader
from ropes.methods.readers import finished_reader
from ropes.methods.registry import LABELLED_METHODS, VAE_METHODS
from ropes.methods.run import TRAINING_FILE, Run, read_training
from ropes.methods.uncertainty.conformal import LEVEL, Intervals, intervals_from_held_out
from ropes.methods.uncertainty.model import (
    ImageFeatures,
    Reading,
    UncertaintyModel,
    extract_features,
    read_uncertainty,
)
from ropes.models.registry import find_run

_CHUNK = 256
Images = NDArray[np.uint8]
Array = NDArray[np.float64]


class Estimator:
    """Reads joint angles from images with the networks of a finished run.

    Attributes:
        run: identity of the run: joints, cameras, image size.
        calibration: the map to radians, or None before `calibrate`.
        trust: what the run knows of its own errors; None for one that was fitted before there was that stage.
        labelled_images: whose angles training read; 0 for a method that reads none.
    """

    def __init__(
        self,
        run: Run,
        reader: Reader,
        calibration: Calibration | None,
        trust: UncertaintyModel | None = None,
        labelled_images: int = 0,
    ) -> None:
        self.run, self.calibration, self.trust = run, calibration, trust
        self.labelled_images = labelled_images
        self._reader = reader

    def __repr__(self) -> str:
        """Method, cameras, image size, joints, and the unit of `coordinates` after calibration."""
        run = self.run
        unit = "not calibrated" if self.calibration is None else "calibrated to radians"
        return (
            f"Estimator(method={run.method!r}, cameras={list(run.cameras)}, image_size={run.image_size}, "
            f"joints={list(run.joints)}, {unit})"
        )

    @property
    def precision(self) -> Precision:
        """That images are read in."""
        return self._reader.precision

    @classmethod
    def load(cls, folder: Path | str, *, calibrated: bool = True, precision: AskedPrecision = "auto") -> "Estimator":
        """Load the run in `folder`.

        Args:
            folder: of the run.
            calibrated: load its calibration as well, where it has one; without it the run can be calibrated anew.
            precision: see `ropes.methods.readers.load_reader`.

        Raises:
            UserError: no run there, one of another version, one without weights, an unfinished or a damaged one, or a
                calibration of other weights.
        """
        folder = Path(folder)
        run, reader = finished_reader(folder, torch.device(device_kind()), precision)
        if run.method in VAE_METHODS:
            raise UserError(f"{folder} is of method {run.method}, which reads no joints; use ropes evaluate")
        calibration, labelled = read_calibration(folder, run) if calibrated else None, 0
        if run.method in LABELLED_METHODS:
            calibration = calibration or radians_already(len(run.joints))
            labelled = _labelled_images(folder)
        return cls(run, reader, calibration, read_uncertainty(folder), labelled)

    def images(self, dataset: Dataset, split: str, count: int | None = None) -> Images:
        """Images of a split, uint8 (n, cameras, side, side), cameras in the order of `run.cameras`.

        Args:
            dataset: where they are; it may have further cameras.
            split: its name.
            count: how many of the first frames; all of them where left out.

        Raises:
            UserError: no such split, or a camera is missing.
        """
        if absent := [camera for camera in self.run.cameras if camera not in dataset.cameras]:
            raise UserError(f"{dataset.path} has no camera {absent[0]} (it has {', '.join(dataset.cameras)})")
        views = [dataset.cameras.index(camera) for camera in self.run.cameras]
        return dataset.read_images(dataset.frames(split).index[:count])[:, views]

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
            (n, d), in the order of `run.joints`; monotone in the joint's angle, of unknown sign and scale, or radians
            of a method that learnt from labels.

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
        features = ImageFeatures.join([extract_features(self._reader, self._pixels(chunk)) for chunk in chunks])
        trust = self.trust
        return Reading(
            features.coordinates, trust.deviation(features), trust.distance(features), trust.foreign(features)
        )

    @property
    def intervals(self) -> Intervals | None:
        """How large errors are, from the calibration's labels, or else from anchors; None where neither tells."""
        told = None if self.calibration is None else self.calibration.intervals
        if told is None:
            told = self.own_intervals()
        knows = self.trust is not None and self.trust.variance is not None
        return told if told is not None and (knows or not told.by_image) else None

    def own_intervals(self, level: float = LEVEL) -> Intervals | None:
        """How large errors are, from what the fit held out: anchors, or labels where the method reads any."""
        if self.trust is None:
            return None
        return intervals_from_held_out(self.trust, level, "labels" if self.learnt_from_labels else "anchors")

    @property
    def learnt_from_labels(self) -> bool:
        """Whether the method reads angles: its coordinates are radians."""
        return self.run.method in LABELLED_METHODS

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


def load(run: Path | str, *, precision: AskedPrecision = "auto") -> Estimator:
    """Load an estimator by the folder of its run, or by the name of a packaged one.

    Args:
        run: a folder that `ropes fit` wrote, or a name as "panda-2c".
        precision: see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: neither a run's folder nor a packaged estimator, or see `Estimator.load`.
    """
    return Estimator.load(find_run(run), precision=precision)


def _labelled_images(folder: Path) -> int:
    """Images whose angles a fit with labels read."""
    count = read_training(folder).get("labelled_images")
    if not isinstance(count, int):
        raise UserError(f"{folder / TRAINING_FILE} is damaged; delete it and run the same ropes fit command again")
    return count
