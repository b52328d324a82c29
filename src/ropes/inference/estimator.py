"""`Estimator`: joint angles from images."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ropes.common.arrays import Floats, Images, Rows
from ropes.common.hardware import Precision, RequestedPrecision, device_kind
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.pictures import enlarge
from ropes.data.views import Views, count, from_planes, planes, read_views, squares, take
from ropes.errors import UserError
from ropes.inference.calibration import Calibration, identity_calibration, read_calibration
from ropes.inference.hub import pretrained_folder
from ropes.inference.image_inputs import ImageInput, as_views
from ropes.methods.reader import Reader
from ropes.methods.readers import finished_reader
from ropes.methods.registry import method_named
from ropes.methods.run import Run, read_labelled_images
from ropes.methods.run_folder import run_folder
from ropes.methods.training.registration import read_registration
from ropes.methods.uncertainty.conformal import LEVEL, Intervals, intervals_from_held_out
from ropes.methods.uncertainty.drift import Drift
from ropes.methods.uncertainty.model import ImageFeatures, Reading, UncertaintyModel, extract_features, read_uncertainty
from ropes.models.registration import Registration

_CHUNK = 256


class Estimator:
    """Predicts joint angles from images with the networks of a finished run.

    Methods take images in every form of `ropes.inference.image_inputs.as_views`: uint8 arrays and tensors
    (n, cameras, height, width), files, Pillow images, lists and dictionaries of these.  One pose counts as n = 1.

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
        registration: Registration | None = None,
    ) -> None:
        self.run, self.calibration, self.trust = run, calibration, trust
        self.labelled_images = labelled_images
        self._reader = reader
        self._registration = None if registration is None else registration.to(device_kind()).fixed()

    def __repr__(self) -> str:
        """Method, cameras, image size, joints, and whether the run is calibrated."""
        run = self.run
        unit = "not calibrated" if self.calibration is None else "calibrated to radians"
        size = f"image_size={run.image_size}"
        if set(run.shapes) != {(run.image_size, run.image_size)}:
            size = f"image_shapes={list(run.shapes)}"
        return (
            f"Estimator(method={run.method!r}, cameras={list(run.cameras)}, {size}, joints={list(run.joints)}, {unit})"
        )

    @property
    def precision(self) -> Precision:
        """Precision of the networks."""
        return self._reader.precision

    @property
    def networks(self) -> tuple[Reader, Registration | None]:
        """The reader, and what registers the images of a real camera; None for a run on renderings."""
        return self._reader, self._registration

    @classmethod
    def load(
        cls, folder: Run | Path | str, *, calibrated: bool = True, precision: RequestedPrecision = "auto"
    ) -> "Estimator":
        """Load a run.

        Args:
            folder: folder of the run, name of a packaged estimator such as "panda-2c", or what `ropes.fit` returned.
            calibrated: load the calibration too, where there is one; False leaves it out, to calibrate the run again.
            precision: see `ropes.methods.readers.load_reader`.

        Raises:
            UserError: no run, an unfinished or damaged run, a run of another version or without weights, or a
                calibration of other weights.
        """
        folder = run_folder(folder)
        run, reader = finished_reader(folder, torch.device(device_kind()), precision)
        method = method_named(run.method)
        if method.learns != "joints":
            raise UserError(f"{folder} is of method {run.method}, which reads no joints; use ropes evaluate")
        calibration, labelled_images = read_calibration(folder, run) if calibrated else None, 0
        if method.reads_labels:
            calibration = calibration or identity_calibration(len(run.joints))
            labelled_images = read_labelled_images(folder)
        return cls(run, reader, calibration, read_uncertainty(folder), labelled_images, read_registration(folder))

    @classmethod
    def from_pretrained(cls, name: Path | str, *, download: bool = False) -> "Estimator":
        """Load the estimator of a folder, of a packaged name, or of a repository on the Hugging Face Hub.

        Args:
            name: folder of a run or of `ropes package`, a packaged name, or with `download` a repository, "owner/name".
            download: allow the network; without it nothing is downloaded.

        Raises:
            UserError: neither a folder nor a packaged name, a failed download, or see `load`.
        """
        return cls.load(pretrained_folder(name, download=download))

    def images(self, dataset: Dataset | Path | str, split: str, count: int | None = None) -> Views:
        """Images of a split, cameras in the order of `run.cameras`; see `ropes.data.views.Views`.

        Args:
            dataset: a data set, or its folder; it may have more cameras.
            split: name of the split.
            count: number of frames, the first ones; None for all.

        Raises:
            UserError: no such split, or a camera is missing.
        """
        dataset = open_dataset(dataset)
        if absent := [camera for camera in self.run.cameras if camera not in dataset.cameras]:
            raise UserError(f"{dataset.path} has no camera {absent[0]} (it has {', '.join(dataset.cameras)})")
        return read_views(dataset, dataset.frames(split).index[:count], self.run.cameras)

    def _planes(self, images: Views) -> Tensor:
        """Images → letterboxed planes, uint8 (n, P, s, s)."""
        return torch.from_numpy(np.ascontiguousarray(planes(squares(images, self._reader.size)))).to(device_kind())

    def _pixels(self, images: Views) -> tuple[Tensor, Tensor | None]:
        """Images → registered planes, uint8 (n, P, s, s), and the parts removed, see `Registration.cleaned`."""
        pixels = self._planes(images)
        return (pixels, None) if self._registration is None else self._registration.cleaned(pixels)

    def drift(self, images: ImageInput) -> Drift | None:
        """Views whose light or whose camera's place differs from those of the training images, and blank views.

        None for a run on renderings, which have no usual range.

        Raises:
            UserError: images of another shape or type.
        """
        return self.read(images, drift=True).drift

    def shown(self, images: ImageInput) -> Images:
        """Images for pictures, squares: as they are where all are squares of one size, else as the networks see them.

        Returns:
            uint8 (n, cameras, side, side), in colour (n, cameras, side, side, 3).
        """
        return squares(as_views(self.run, images), self._shown_side)

    @property
    def _shown_side(self) -> int:
        sides = {side for shape in self.run.shapes for side in shape[:2]}
        return sides.pop() if len(sides) == 1 else self._reader.size

    @torch.no_grad()
    def attention(self, images: ImageInput) -> Floats | None:
        """Where the network looks: its attention over each view, (n, V, s, s), each map with sum 1.

        A part is a square of the letterboxed image.  None for a network without attention.

        Raises:
            UserError: images of another shape or type.
        """
        logits = self._reader.attention(self._pixels(as_views(self.run, images))[0])
        return None if logits is None else logits.flatten(2).softmax(-1).view_as(logits).double().cpu().numpy()

    @torch.no_grad()
    def coordinates(self, images: ImageInput) -> Floats:
        """Raw coordinates, one per joint.

        Args:
            images: levels from 0 to 255 of n poses, or of one; see `ropes.inference.image_inputs.as_views`.  They have
                the size of the training images, and are letterboxed in the same way.

        Returns:
            (n, d), in the order of `run.joints`; (1, d) for one pose.  A coordinate is monotone in the joint's angle,
            with unknown sign and scale; methods with labels return radians.

        Raises:
            UserError: images of another shape or type.
        """
        views = as_views(self.run, images)
        poses = count(views)
        out = np.empty((poses, len(self.run.joints)))
        for start in range(0, poses, _CHUNK):
            coordinates = self._reader.coordinates(self._pixels(take(views, slice(start, start + _CHUNK)))[0])
            out[start : start + _CHUNK] = coordinates.double().cpu().numpy()
        return out

    def read(self, images: ImageInput, *, drift: bool = False) -> Reading:
        """Raw coordinates with standard deviations, out-of-distribution scores, and detected or removed foreign parts.

        Args:
            images: as for `coordinates`.
            drift: find drift too.

        Raises:
            UserError: images of another shape or type.
        """
        views, registration = as_views(self.run, images), self._registration
        cleans = registration is not None and registration.cleaner is not None
        drift = drift and registration is not None
        if not count(views) or (self.trust is None and not cleans and not drift):
            return Reading(self.coordinates(views), None, None)
        removals, *kinds = (Rows[np.bool_](count(views)) for _ in range(1 + len(Drift._fields)))

        def parts() -> Iterator[ImageFeatures]:
            for start in range(0, count(views), _CHUNK):
                pixels = self._planes(take(views, slice(start, start + _CHUNK)))
                if registration is not None:
                    parameters = registration.frame_parameters(pixels)
                    if drift:
                        for kind, found in zip(kinds, registration.drifted(pixels, parameters), strict=True):
                            kind.put(start, found.cpu().numpy())
                    pixels, removed = registration.cleaned(pixels, parameters)
                    if removed is not None:
                        removals.put(start, removed.cpu().numpy())
                yield extract_features(self._reader, pixels)

        features, trust = ImageFeatures.join(parts(), count(views)), self.trust
        drifted, foreign = Drift(*(kind.all() for kind in kinds)) if drift else None, removals.values
        if trust is None:
            return Reading(features.coordinates, None, None, foreign, drifted)
        detected = trust.foreign(features)
        foreign = detected if foreign is None else foreign if detected is None else foreign | detected
        return Reading(features.coordinates, trust.deviation(features), trust.distance(features), foreign, drifted)

    @property
    def intervals(self) -> Intervals | None:
        """Conformal intervals of the calibration, else of the fit; None where there are none, or σ is unknown."""
        known, intervals = self.calibration, None if self.calibration is None else self.calibration.intervals
        if intervals is None and (known is None or known.origin is None):  # those of old versions have no origin
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
        return method_named(self.run.method).reads_labels

    def angles(self, images: ImageInput) -> Floats:
        """Joint angles in radians, (n, d) in the order of `run.joints`; (1, d) for one pose.

        Args:
            images: as for `coordinates`.

        Raises:
            UserError: the run is not calibrated, or images of another shape or type.
        """
        if self.calibration is None:
            raise UserError("the run is not calibrated: run `ropes calibrate` with a few labelled samples")
        return self.calibration.angles(self.coordinates(images))

    @torch.no_grad()
    def reconstructions(self, images: ImageInput) -> tuple[Images, Images] | None:
        """Reconstructions by AE1, and by AE2 with AE1's decoder (Figs. 4, 8, 9), uint8 like `shown` images.

        None for methods without reconstructions.
        """
        decoded = self._reader.reconstructions(self._pixels(as_views(self.run, images))[0])
        if decoded is None:
            return None
        first, second = (part.clamp(0, 1).mul(255).round().byte().cpu().numpy() for part in decoded)
        side, channels = self._shown_side, self.run.channels
        return from_planes(enlarge(first, side), channels), from_planes(enlarge(second, side), channels)


def load(run: Run | Path | str, *, precision: RequestedPrecision = "auto") -> Estimator:
    """Load an estimator, as `Estimator.load` does.

    Args:
        run: a folder written by `ropes fit`, the name of a packaged estimator such as "panda-2c", or what `ropes.fit`
            returned.
        precision: see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: neither a run nor a packaged estimator, or see `Estimator.load`.
    """
    return Estimator.load(run, precision=precision)
