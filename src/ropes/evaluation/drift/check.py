"""Checks a recording with logged angles: read minus logged angle of each joint, place and light of each camera."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from ropes.common.arrays import evenly
from ropes.data.dataset import Dataset
from ropes.data.layout import dataset_folder, open_dataset
from ropes.data.recordings.plan import ImportOptions
from ropes.data.recordings.source import Options, StateUnit
from ropes.errors import UserError
from ropes.evaluation.drift.camera import CameraDrift, camera_drift
from ropes.evaluation.drift.frames import LoggedFrames, is_of_ropes, read_frames
from ropes.evaluation.drift.plausible import require_plausible
from ropes.evaluation.drift.result import Check
from ropes.evaluation.drift.seen import (
    Seen,
    calibrated_offsets,
    calibration_of,
    joint_drifts,
    network_planes,
    reference_offsets,
    see,
)
from ropes.evaluation.drift.statistics import FEWEST_FRAMES, LEVEL, ReferenceOffset
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import images_of
from ropes.methods.run import Run
from ropes.methods.run_folder import run_folder
from ropes.models.registration import Registration

#: Frames of a reference.
_REFERENCE = 200
#: Without a reference, the first share of a recording is the usual place of its cameras; at least so many frames.
_FIRST, _FEWEST_FIRST = 0.2, 20


@dataclass(frozen=True)
class Reference:
    """Frames that were recorded while joints and cameras were known to be right.

    Attributes:
        name: of the recording or data set.
        pixels: images as the network gets them, uint8 (n, P, s, s).
        offsets: median differences of each joint; None where the reference has no logged angles.
        imported: the data set, if `ropes import` or another command of ropes wrote it.
    """

    name: str
    pixels: Tensor
    offsets: Sequence[ReferenceOffset] | None
    imported: Dataset | None


def check(
    run: Estimator | Run | Path | str,
    recording: Dataset | Path | str,
    *,
    reference: Dataset | Path | str | None = None,
    state: StateUnit | None = None,
    frames: int = 1000,
    options: ImportOptions | None = None,
) -> Check:
    """Check on a recording with logged angles whether the arm is still calibrated and whether a camera moved.

    A joint drifted if the median of its read minus logged angles, their trend or their spread is more than the
    estimator's own errors explain; see `ropes.evaluation.drift.statistics.drift`.

    Frames whose logged angle of a joint is outside the range that the run learnt do not count for this joint.

    Args:
        run: a calibrated run: its folder, the name of a packaged estimator, what `ropes.fit` returned, or an estimator.
        recording: anything that `ropes import` reads, with joint angles, or a data set.
        reference: recording or data set that was recorded while joints and cameras were known to be right.
            Differences of the joints and places of the cameras are compared with it; the crops of its import apply to
            the recording.  A data set of ropes is read as it is, and a recording with these options, but with its own
            log.
        state: unit of the logged angles, "radians", "degrees" or "percent"; percent needs `options` with the
            calibration.  None is radians, and angles that look like degrees are refused.  Data sets of ropes have
            radians; where the recording is one, this is the unit of the reference.
        frames: number of frames at most, evenly over the recording.
        options: further options of reading the recording, see `ropes.data.recordings.plan.ImportOptions`.

    Raises:
        UserError: the run is not calibrated or has no standard deviations, or the recording is damaged, has no angles,
            is of another arm, has clocks that disagree, or has angles in another unit.
    """
    estimator = run if isinstance(run, Estimator) else Estimator.load(run_folder(run))
    calibration_of(estimator)
    if frames < FEWEST_FRAMES:
        raise UserError(f"{frames} frames; a check needs at least {FEWEST_FRAMES}")
    if state == "none":
        raise UserError("a check needs the logged angles; give their unit: radians, degrees or percent")
    path, given = _local_folder(recording), replace(options or ImportOptions(), state=state)
    own = given
    if is_of_ropes(path):
        own = replace(given, state="radians", streams=replace(given.streams, calibration=None))
    other = None if reference is None else _local_folder(reference)
    if own.unit != given.unit and (other is None or is_of_ropes(other)):
        raise UserError(f"{path} is a data set of ropes, whose angles are in radians; leave --state {state} out")
    usual = None if other is None else _reference(estimator, other, given)
    found = read_frames(
        estimator.run, path, frames=frames, options=own, imported=None if usual is None else usual.imported
    )
    seen, found = _checked(estimator, found, path, own.unit)
    offsets = calibrated_offsets(estimator, seen.stds) if usual is None or usual.offsets is None else usual.offsets
    return Check(
        run=str(estimator.run.folder or "the run"),
        recording=f"{path} ({found.source})",
        joints=estimator.run.joints,
        drifts=joint_drifts(found, seen, offsets),
        cameras=_cameras(estimator, seen.pixels, usual),
        compared=_compared(estimator, usual),
        since_beginning=usual is None and estimator.networks[1] is None,
        joints_compared="the calibration" if usual is None or usual.offsets is None else usual.name,
        reference=None if usual is None else usual.name,
        level=LEVEL,
        times=found.times,
        read=seen.read,
        logged=found.angles,
        stds=seen.stds,
        usual=offsets,
        flagged=seen.flagged,
        tested=seen.tested,
        low=seen.low,
        high=seen.high,
        coverage=calibration_of(estimator)[1].level,
        outside=seen.outside(found.angles),
        frames=found,
    )


def _local_folder(recording: Dataset | Path | str) -> Path:
    path = dataset_folder(recording)
    if not isinstance(path, Path):
        raise UserError(f"{path} is not on this machine; copy it, because a check reads local files")
    return path


def _checked(estimator: Estimator, frames: LoggedFrames, path: Path, unit: StateUnit) -> tuple[Seen, LoggedFrames]:
    """Readings of enough frames that follow the logged angles, and the frames with the log at the images' time.

    Raises:
        UserError: too few frames, or see `require_plausible`.
    """
    if len(frames) < FEWEST_FRAMES:
        raise UserError(f"{path} has {len(frames)} frames with logged angles; a check needs at least {FEWEST_FRAMES}")
    seen = see(estimator, frames)
    return seen, require_plausible(frames, seen.read, seen.stds, path, unit)


def _reference(estimator: Estimator, path: Path, options: ImportOptions) -> Reference:
    imported = open_dataset(path) if is_of_ropes(path) else None
    if imported is None:  # a log and its clock belong to one recording
        options = replace(options, streams=replace(options.streams, log=None, offset=0.0))
    else:
        options = replace(options, state="radians", streams=Options(), rotate={}, crop={})
        if imported.state_names is None:
            rows = imported.frames(next(iter(imported.splits))).index
            rows = rows[evenly(len(rows), _REFERENCE)]
            pixels = network_planes(estimator, images_of(estimator.run, imported, rows))
            return Reference(path.name, pixels, None, imported)
    frames = read_frames(estimator.run, path, frames=_REFERENCE, options=options)
    seen, frames = _checked(estimator, frames, path, options.unit)
    return Reference(path.name, seen.pixels, reference_offsets(frames, seen), imported)


def _compared(estimator: Estimator, usual: Reference | None) -> str:
    """With what the cameras are compared, in words."""
    if usual is not None:
        return usual.name
    return "the beginning of the recording" if estimator.networks[1] is None else "the training images"


def _cameras(estimator: Estimator, pixels: Tensor, usual: Reference | None) -> tuple[CameraDrift, ...]:
    """Each camera against the reference, else the run's registration, else the beginning of the recording."""
    run, (_, registration) = estimator.run, estimator.networks
    scales = [max(shape[:2]) / pixels.shape[-1] for shape in run.shapes]
    named = list(enumerate(zip(run.cameras, scales, strict=True)))
    if usual is None and registration is not None:
        there = pixels.to(registration.background.device)
        return tuple(camera_drift(camera, there, registration, k, scale=scale) for k, (camera, scale) in named)
    first = pixels[: max(_FEWEST_FIRST, round(_FIRST * len(pixels)))] if usual is None else usual.pixels
    found = []
    for k, (camera, scale) in named:
        view = slice(k * run.channels, (k + 1) * run.channels)
        found.append(camera_drift(camera, pixels[:, view], Registration.of_camera(first[:, view]), scale=scale))
    return tuple(found)
