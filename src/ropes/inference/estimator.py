"""`Estimator`: joint angles from images."""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.common.hardware import Precision, RequestedPrecision, device_kind
from ropes.data.dataset import Dataset
from ropes.data.pictures import area_average, enlarge
from ropes.errors import UserError
from ropes.inference.calibration import Calibration, identity_calibration, read_calibration
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
    """Predicts joint angles from images with the networks of a finished run.

    Attributes:
        run: identity of the run: joints, cameras, image size.
        calibration: the map to radians; None before `calibrate`.
        trust: uncertainty model; None for runs of versions without one.
        labelled_images: number of training images with angles; 0 for methods without labels.
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
        """Method, cameras, image size, joints, and whether the run is calibrated."""
        run = self.run
        unit = "not calibrated" if self.calibration is None else "calibrated to radians"
        return (
            f"Estimator(method={run.method!r}, cameras={list(run.cameras)}, image_size={run.image_size}, "
            f"joints={list(run.joints)}, {unit})"
        )

    @property
    def precision(self) -> Precision:
        """Precision of the networks."""
        return self._reader.precision

    @classmethod
    def load(
        cls, folder: Path | str, *, calibrated: bool = True, precision: RequestedPrecision = "auto"
    ) -> "Estimator":
        """Load the run in `folder`.

        Args:
            folder: folder of the run.
            calibrated: load the calibration too, where there is one; False leaves it out, to calibrate the run again.
            precision: see `ropes.methods.readers.load_reader`.

        Raises:
            UserError: no run, an unfinished or damaged run, a run of another version or without weights, or a
                calibration of other weights.
        """
        folder = Path(folder)
        run, reader = finished_reader(folder, torch.device(device_kind()), precision)
        if run.method in VAE_METHODS:
            raise UserError(f"{folder} is of method {run.method}, which reads no joints; use ropes evaluate")
        calibration, labelled_images = read_calibration(folder, run) if calibrated else None, 0
        if run.method in LABELLED_METHODS:
            calibration = calibration or identity_calibration(len(run.joints))
            labelled_images = _labelled_images(folder)
        return cls(run, reader, calibration, read_uncertainty(folder), labelled_images)

    def images(self, dataset: Dataset, split: str, count: int | None = None) -> Images:
        """Images of a split, uint8 (n, cameras, side, side), cameras in the order of `run.cameras`.

        Args:
            dataset: a data set; it may have more cameras.
            split: name of the split.
            count: number of frames, the first ones; None for all.

        Raises:
            UserError: no such split, or a camera is missing.
        """
        if absent := [camera for camera in self.run.cameras if camera not in dataset.cameras]:
            raise UserError(f"{dataset.path} has no camera {absent[0]} (it has {', '.join(dataset.cameras)})")
        views = [dataset.cameras.index(camera) for camera in self.run.cameras]
        return dataset.read_images(dataset.frames(split).index[:count])[:, views]

    def _pixels(self, images: Images) -> Tensor:
        """Images (n, V, S, S) → input of the networks, uint8 (n, V, s, s)."""
        views, side = len(self.run.cameras), self.run.image_size
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1:] != (views, side, side):
            raise UserError(
                f"images of shape {images.shape} and type {images.dtype}: "
                f"this run reads uint8 (n, {views}, {side}, {side})"
            )
        return torch.from_numpy(area_average(images, self._reader.size)).to(device_kind())

    @torch.no_grad()
    def coordinates(self, images: Images) -> Array:
        """Raw coordinates, one per joint.

        Args:
            images: grey levels, uint8 (n, cameras, side, side), cameras in the order of `run.cameras`.

        Returns:
            (n, d), in the order of `run.joints`.  A coordinate is monotone in the joint's angle, with unknown sign and
            scale; methods with labels return radians.

        Raises:
            UserError: images of another shape or type.
        """
        out = np.empty((len(images), len(self.run.joints)))
        for start in range(0, len(images), _CHUNK):
            coordinates = self._reader.coordinates(self._pixels(images[start : start + _CHUNK]))
            out[start : start + _CHUNK] = coordinates.double().cpu().numpy()
        return out

    def read(self, images: Images) -> Reading:
        """Raw coordinates with standard deviations and out-of-distribution scores.

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
        """Conformal intervals of the calibration, else of the fit; None where there are none, or σ is unknown."""
        intervals = None if self.calibration is None else self.calibration.intervals
        if intervals is None:
            intervals = self.held_out_intervals()
        has_deviations = self.trust is not None and self.trust.variance is not None
        return intervals if intervals is not None and (has_deviations or not intervals.by_image) else None

    def held_out_intervals(self, level: float = LEVEL) -> Intervals | None:
        """Conformal intervals from the fit's held-out anchors, or held-out labels for methods with labels."""
        if self.trust is None:
            return None
        return intervals_from_held_out(self.trust, level, "labels" if self.is_supervised else "anchors")

    @property
    def is_supervised(self) -> bool:
        """Whether the method learns from labels; its coordinates are then radians."""
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
        """Reconstructions by AE1, and by AE2 with AE1's decoder (Figs. 4, 8, 9), uint8 like `images`.

        None for methods without reconstructions.
        """
        decoded = self._reader.reconstructions(self._pixels(images))
        if decoded is None:
            return None
        first, second = (part.clamp(0, 1).mul(255).round().byte().cpu().numpy() for part in decoded)
        return enlarge(first, self.run.image_size), enlarge(second, self.run.image_size)


def load(run: Path | str, *, precision: RequestedPrecision = "auto") -> Estimator:
    """Load an estimator by the folder of its run, or by the name of a packaged one.

    Args:
        run: a folder written by `ropes fit`, or a name such as "panda-2c".
        precision: see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: neither a run nor a packaged estimator, or see `Estimator.load`.
    """
    return Estimator.load(find_run(run), precision=precision)


def _labelled_images(folder: Path) -> int:
    """Number of images with angles in the training of a method with labels."""
    count = read_training(folder).get("labelled_images")
    if not isinstance(count, int):
        raise UserError(f"{folder / TRAINING_FILE} is damaged; delete it and run the same ropes fit command again")
    return count
