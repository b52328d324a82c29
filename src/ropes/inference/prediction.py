"""Calibrates an estimator on labelled samples, and predicts joint angles from images."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.files import require_folder
from ropes.common.hardware import RequestedPrecision
from ropes.common.stores import Location
from ropes.common.units import percent
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.views import Views, by_camera, read_views
from ropes.errors import UserError
from ropes.inference.calibration import (
    Calibration,
    CalibrationErrors,
    Origin,
    fit_calibration,
    half_widths,
    left_out_errors,
    write_calibration,
)
from ropes.inference.estimator import Estimator
from ropes.inference.held_out import held_out_intervals
from ropes.inference.image_inputs import ImageInput, Pose, opened, poses_of, read_poses
from ropes.inference.labels import read_labels
from ropes.inference.overlay import Overlay, file_name, known_cameras, origin_of, write_pictures
from ropes.inference.poses import chosen_arm
from ropes.inference.predictor import Predictor
from ropes.methods.run import Run, warn_if_other_scene
from ropes.methods.run_folder import run_folder
from ropes.methods.training.validation_split import rows_to_label
from ropes.methods.uncertainty.annotations import missing_fields
from ropes.methods.uncertainty.conformal import LEVEL, intervals_from_labels
from ropes.models.registry import own_run

_CHUNK = 256


def calibrate(
    run: Run | Path | str,
    *,
    data: Dataset | Location | str | None = None,
    labels: Path | str | None = None,
    samples: int = 100,
    seed: int = 0,
    level: float = LEVEL,
) -> Calibration:
    """Fit the line from coordinates to radians and its intervals, and store both with the run.

    Args:
        run: folder of the run, or what `ropes.fit` returned; estimators loaded before do not change.
        data: a labelled data set, or its folder; `samples` of its training poses are drawn, none of them used to fit
            the run.
        labels: alternatively, a CSV file with a column of image paths for each camera, and of radians for each joint.
        samples: number of poses drawn from `data`.
        seed: seed of the draw.
        level: coverage of the intervals.  With too few samples for it, intervals come from the held-out anchors, and
            one line on standard error says so.

    Returns:
        The map, in radians per unit of the coordinate and radians, and its intervals.

    Raises:
        UserError: no labels, labels and a data set, too few labels, images that do not match the run, a level outside
            0 to 1 or above what samples and held-out anchors allow, or a packaged estimator, which stays as it is.
    """
    if data is not None and labels is not None:
        raise UserError("give labelled samples as data or as labels, not both")
    if not 0 < level < 1:
        raise UserError(f"level is {level:g}; it must lie between 0 and 1, for example 0.9")
    folder = run_folder(run)
    own_run(folder.absolute())  # a relative path can equal the name of a packaged estimator
    estimator = Estimator.load(folder, calibrated=False)
    joints = estimator.run.joints
    if labels is not None:
        images, angles = read_labels(estimator.run, Path(labels))
    elif data is not None:
        if samples < 2:
            raise UserError(f"samples is {samples}; a line needs at least 2")
        dataset = open_dataset(data)
        states = states_of(estimator.run, dataset, "train")
        warn_if_other_scene(estimator.run, dataset)
        rows = rows_to_label(estimator.run, dataset, samples, seed)
        images, angles = images_of(estimator.run, dataset, dataset.frames("train").index[rows]), states[rows]
    else:
        raise UserError("give labelled samples: a data set or a CSV file")
    reading = estimator.read(images)
    line = fit_calibration(reading.coordinates, angles, joints)
    intervals = intervals_from_labels(reading.coordinates, reading.deviation, angles, line.slope, level)
    if intervals is None:
        intervals = held_out_intervals(estimator, level, labels=len(angles))
        too_few = f"{len(angles)} samples are too few for {percent(level)} intervals of their own"
        print(f"ropes: {too_few}", file=sys.stderr)
    origin = Origin(
        source="samples" if labels is None else "labels",
        seed=seed,
        level=level,
        file=None if labels is None else Path(labels).name,
    )
    calibration = replace(line, intervals=intervals, origin=origin)
    errors = CalibrationErrors(
        left_out=left_out_errors(reading.coordinates, angles, joints),
        half_width=half_widths(calibration, reading.coordinates, reading.deviation, joints),
    )
    calibration = replace(calibration, errors=errors)
    write_calibration(folder, estimator.run, calibration)
    return calibration


def views_of(run: Run, dataset: Dataset) -> list[int]:
    """Indices of the run's cameras among those of the data set.

    Raises:
        UserError: a camera is missing, or images have another size.
    """
    if missing := [camera for camera in run.cameras if camera not in dataset.cameras]:
        raise UserError(f"{dataset.path} has no camera {missing[0]} (it has {', '.join(dataset.cameras)})")
    views = [dataset.cameras.index(camera) for camera in run.cameras]
    for camera, view, shape in zip(run.cameras, views, run.shapes, strict=True):
        if (actual := dataset.image_shapes[view]) != shape:
            raise UserError(
                f"{dataset.path} has {_kind(actual)} images; the run reads {_kind(shape)} ones of camera {camera}"
            )
    return views


def _kind(shape: tuple[int, ...]) -> str:
    """Height, width, and "grey" or "colour"."""
    return f"{shape[0]}x{shape[1]} {'colour' if len(shape) > 2 else 'grey'}"


def images_of(run: Run, dataset: Dataset, rows: NDArray[np.int64]) -> Views:
    """Images of these frames, cameras in the order of the run."""
    views_of(run, dataset)
    return read_views(dataset, rows, run.cameras)


def states_of(run: Run, dataset: Dataset, split: str) -> NDArray[np.float64]:
    """Angles of a split, joints in the order of the run: (n, d), radians.

    Raises:
        UserError: the data set has no angles, or lacks a joint of the run.
    """
    states = dataset.states(split)
    if missing := [joint for joint in run.joints if joint not in dataset.labelled_joints]:
        raise UserError(f"{dataset.path} has no joint {missing[0]} (it has {', '.join(dataset.labelled_joints)})")
    return states[:, [dataset.labelled_joints.index(joint) for joint in run.joints]]


def predict(
    run: Estimator | Run | Path | str,
    images: Dataset | ImageInput | Location,
    *,
    poses: str | Sequence[str] | None = None,
    urdf: str | Path | None = None,
    split: str | None = None,
    precision: RequestedPrecision = "auto",
) -> Iterator[dict[str, Any]]:
    """Predict joint angles, one dictionary per pose, with keys and errors of `predict_lines`.

    Args:
        run: folder of the run, name of a packaged estimator, what `ropes.fit` returned, or an estimator.
        images: a data set or its folder; a folder of images; one image, for a run with one camera; a dictionary camera
            → image or images; an array or tensor, uint8 (n, cameras, height, width); or a list of poses.  Images are
            PNG or JPEG files, Pillow images, arrays or tensors, see `ropes.inference.image_inputs.as_views`.
        poses: links whose positions (metres) and orientations (quaternions) to add; empty for the end effector, "all"
            for all links.
        urdf: URDF file of the arm, where neither data set nor setting names it.
        split: of a data set; None for all.
        precision: see `ropes.methods.readers.load_reader`; an estimator has its own.

    Yields:
        As `predict_lines`; "images" names the file of each camera, or "split" and "index" in a data set, or the
        "index" of the pose where images are not files.
    """
    if not isinstance(run, Estimator):
        run = Estimator.load(run, precision=precision)
    elif precision != "auto":
        raise UserError("an Estimator has its precision already; give precision to ropes.load")
    return _predictions(run, images, poses=[poses] if isinstance(poses, str) else poses, urdf=urdf, split=split)


def predict_lines(
    run: Path,
    source: Mapping[str, Path] | Location,
    *,
    poses: Sequence[str] | None = None,
    urdf: str | Path | None = None,
    overlay: Path | None = None,
    camera_file: Path | None = None,
    split: str | None = None,
    precision: RequestedPrecision = "auto",
) -> Iterator[str]:
    """Predict joint angles, one JSON object per pose: "images", and the keys of `ropes.inference.predictor.Predictor`.

    One line on standard error names fields that the run does not have.  Images have the type and size of the training
    images; the estimator letterboxes them in the same way as the training images.

    Args:
        run: folder of the run.
        source: an image for each camera by name; a data set; or a folder with a folder of images for each camera,
            where equal names are one pose (with one camera, also a folder of images, or one image).
        poses: links whose poses to add; empty for the end effector, "all" for all links.
        urdf: URDF file of the arm, where neither data set nor setting names it.
        overlay: folder for CAMERA/NAME.png, the arm at the estimated angles drawn over the images, see
            `ropes.inference.overlay`.
        camera_file: JSON file with the cameras' parameters for `overlay`, see `ropes.simulation.pinhole`; by default
            those of the data set or the run's setting.
        split: of a data set; None for all.
        precision: see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: a camera is missing or unknown, or an image has another size or type; with `poses` or `overlay`, an
            unknown link, no URDF, a run that is not calibrated, or a file in place of the overlay's folder.
    """
    if overlay is not None:
        require_folder(overlay)
    estimator = Estimator.load(run, precision=precision)
    options: dict[str, Any] = {"poses": poses, "urdf": urdf, "overlay": overlay, "camera_file": camera_file}
    yield from map(json.dumps, _predictions(estimator, source, split=split, **options))


def _predictions(
    estimator: Estimator,
    source: Dataset | ImageInput | Location,
    *,
    poses: Sequence[str] | None = None,
    urdf: str | Path | None = None,
    overlay: Path | None = None,
    camera_file: Path | None = None,
    split: str | None = None,
) -> Iterator[dict[str, Any]]:
    source = opened(source)
    dataset = source if isinstance(source, Dataset) else None
    if split is not None and dataset is None:
        raise UserError(f"split {split!r} goes with a data set, and images are given")
    arm = None
    if poses is not None or overlay is not None:
        if estimator.calibration is None:
            wanted = "poses" if poses is not None else "overlays"
            raise UserError(f"{wanted} need angles in radians: run `ropes calibrate` first")
        arm = chosen_arm(estimator.run, urdf, dataset)
    predictor = Predictor(estimator, arm, poses)
    pictures = None
    if arm is not None and overlay is not None:
        pictures = Overlay(arm, estimator.run.cameras, known_cameras(estimator.run, dataset, camera_file))
    known, labelled = estimator.trust is not None, estimator.is_supervised
    folder = estimator.run.folder or "the run"
    warning = missing_fields(folder, known=known, intervals=estimator.intervals, labelled=labelled)
    for names, images in _batches(estimator.run, source, split):
        if warning:  # once, after the source has been checked
            print(f"ropes: {warning}", file=sys.stderr)
            warning = None
        for row, (name, prediction) in enumerate(zip(names, predictor(images), strict=True)):
            if pictures is not None and overlay is not None:
                angles = np.array([prediction["joints"][joint] for joint in estimator.run.joints])
                drawn = pictures.draw([camera[row] for camera in by_camera(images)], angles)
                shown = dict(zip(estimator.run.cameras, drawn, strict=True))
                write_pictures(overlay, file_name(name), shown, origin_of(name, dataset))
            yield {"images": name, **prediction}


def _batches(run: Run, source: Dataset | ImageInput, name: str | None) -> Iterator[tuple[list[dict[str, Any]], Views]]:
    """Batches of poses, of a data set those of one split or of all: the names of their images, and the images."""
    if isinstance(source, Dataset):
        warn_if_other_scene(run, source)
        splits = tuple(source.splits) if name is None else (name,)
        if "train" in splits and source.checksum == run.data_checksum:
            print("ropes: the run learned from the images of split train: its errors are too small", file=sys.stderr)
        for split in splits:
            rows = source.frames(split).index
            for start in range(0, len(rows), _CHUNK):
                part = rows[start : start + _CHUNK]
                yield [{"split": split, "index": int(k)} for k in part], images_of(run, source, part)
        return
    poses = poses_of(run, source)
    for start in range(0, len(poses), _CHUNK):
        chunk = poses[start : start + _CHUNK]
        yield [_names(pose, start + k) for k, pose in enumerate(chunk)], read_poses(run, chunk)


def _names(pose: Pose, index: int) -> dict[str, Any]:
    """The file of each camera's image; the index of the pose where an image is no file."""
    files = {camera: str(image) for camera, image in pose.items() if isinstance(image, Path)}
    return dict(files) if len(files) == len(pose) else {"index": index}
