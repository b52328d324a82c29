"""Calibrates an estimator on a few labelled samples, and predicts from image files."""

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common import png
from ropes.common.hardware import AskedPrecision
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.calibration import (
    Calibration,
    KnownErrors,
    Origin,
    fit_calibration,
    half_widths,
    left_out_errors,
    write_calibration,
)
from ropes.inference.estimator import Estimator
from ropes.inference.poses import chosen_arm
from ropes.methods.run import Run, warn_of_scene
from ropes.methods.uncertainty.annotations import foreign_boxes, missing_columns, uncertainty_columns
from ropes.methods.uncertainty.conformal import LEVEL, intervals_from_labels
from ropes.methods.validation_split import rows_to_label

_CHUNK = 256
_OTHER_IMAGES = {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".tif", ".tiff", ".webp"}
Images = NDArray[np.uint8]
Source = Mapping[str, Path] | Path


def calibrate(
    run: Path,
    *,
    data: Path | None = None,
    labels: Path | None = None,
    samples: int = 100,
    seed: int = 0,
    level: float = LEVEL,
) -> Calibration:
    """Fit the line from coordinates to radians, and intervals around it, and store both with the run.

    Args:
        run: folder of the run.
        data: a labelled data set: `samples` of its training poses are drawn, of those that no weight was fitted on.
        labels: or a CSV file with a column of image paths for each camera and one of radians for each joint.
        samples: how many to draw from `data`.
        seed: of the draw.
        level: share of the truths that the intervals are meant to hold; too few samples for it leave the
            intervals to the held-out anchors, and one line on standard error says so.

    Raises:
        UserError: no labels, too few, or images that do not fit the run.
    """
    estimator = Estimator.load(run, calibrated=False)
    if labels is not None:
        images, angles = _read_labels(estimator.run, labels)
    elif data is not None:
        dataset = open_dataset(data)
        states = states_of(estimator.run, dataset, "train")
        warn_of_scene(estimator.run, dataset)
        rows = rows_to_label(estimator.run, dataset, samples, seed)
        images, angles = images_of(estimator.run, dataset, dataset.frames("train").index[rows]), states[rows]
    else:
        raise UserError("give labelled samples: a data set or a CSV file")
    reading = estimator.read(images)
    line = fit_calibration(reading.coordinates, angles, estimator.run.joints)
    intervals = intervals_from_labels(reading.coordinates, reading.deviation, angles, line.slope, level)
    if intervals is None:
        print(f"ropes: {len(angles)} samples are too few for {level:.0%} intervals of their own", file=sys.stderr)
        intervals = estimator.own_intervals(level)
    origin = Origin(
        source="samples" if labels is None else "labels",
        seed=seed,
        level=level,
        file=None if labels is None else labels.name,
    )
    calibration = replace(line, intervals=intervals, origin=origin)
    joints = estimator.run.joints
    errors = KnownErrors(
        left_out=left_out_errors(reading.coordinates, angles, joints),
        half_width=half_widths(calibration, reading.coordinates, reading.deviation, joints),
    )
    calibration = replace(calibration, errors=errors)
    write_calibration(run, estimator.run, calibration)
    return calibration


def views_of(run: Run, dataset: Dataset) -> list[int]:
    """Where the run's cameras are among the data set's.

    Raises:
        UserError: a camera is missing, or images are of another size.
    """
    if missing := [camera for camera in run.cameras if camera not in dataset.cameras]:
        raise UserError(f"{dataset.path} has no camera {missing[0]} (it has {', '.join(dataset.cameras)})")
    if dataset.image_shape != (run.image_size, run.image_size):
        sides = "x".join(map(str, dataset.image_size)) + (" colour" if len(dataset.image_shape) > 2 else "")
        raise UserError(f"{dataset.path} has {sides} images; the run reads {run.image_size}x{run.image_size} grey ones")
    return [dataset.cameras.index(camera) for camera in run.cameras]


def images_of(run: Run, dataset: Dataset, rows: NDArray[np.int64]) -> Images:
    """Images of these frames, cameras in the order of the run: uint8 (n, V, S, S)."""
    views = views_of(run, dataset)
    return dataset.read_images(rows)[:, views]


def states_of(run: Run, dataset: Dataset, split: str) -> NDArray[np.float64]:
    """Angles of a split, joints in the order of the run: (n, d), radians.

    Raises:
        UserError: the data set has no angles, or not of all the run's joints.
    """
    states = dataset.states(split)
    if missing := [joint for joint in run.joints if joint not in dataset.joints]:
        raise UserError(f"{dataset.path} has no joint {missing[0]} (it has {', '.join(dataset.joints)})")
    return states[:, [dataset.joints.index(joint) for joint in run.joints]]


def predict_lines(
    run: Path,
    source: Source,
    *,
    poses: Sequence[str] | None = None,
    urdf: str | Path | None = None,
    precision: AskedPrecision = "auto",
) -> Iterator[str]:
    """One JSON line a pose: its images, the unit ("rad", or "raw" before calibration), a value a joint, what to trust.

    See `ropes.methods.uncertainty.annotations.uncertainty_columns`; a run that does not know gets one line on standard
    error instead.

    With `poses`, the poses of links of the arm as well, and the frame that they are in; see
    `ropes.inference.poses.Arm.describe`.

    Args:
        run: folder of the run.
        source: an image for each camera by name; or a data set; or a folder with a folder of images for each
            camera, equal names belonging together (with one camera the images may lie in it directly, or be one file).
        poses: links whose poses to add; none named for the end effector's, "all" for all.
        urdf: the arm's URDF file, where the run's setting does not name it.
        precision: see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: a camera is missing or unknown, or an image is of another size or type; with `poses`, no such link,
            no URDF, or a run that is not calibrated.
    """
    estimator = Estimator.load(run, precision=precision)
    calibration, intervals = estimator.calibration, estimator.intervals
    unit, to_shown = ("raw", np.asarray) if calibration is None else ("rad", calibration.angles)
    describe = None if poses is None else _describer(estimator, poses, urdf)
    known, labelled = estimator.trust is not None, estimator.learnt_from_labels
    lacking = missing_columns(run, known=known, intervals=intervals, labelled=labelled)
    for names, images in _batches(estimator.run, source):
        if lacking:  # said once, and only where there is something to predict from
            print(f"ropes: {lacking}", file=sys.stderr)
            lacking = None
        reading = estimator.read(images)
        values = to_shown(reading.coordinates)
        doubts = uncertainty_columns(estimator.run.joints, reading, intervals, to_shown)
        if reading.foreign is not None:
            cameras, side = estimator.run.cameras, estimator.run.image_size
            for doubt, parts in zip(doubts, reading.foreign, strict=True):
                doubt["foreign"] = foreign_boxes(cameras, parts, side)
        more = describe(values) if describe else [{}] * len(values)
        for name, row, doubt, described in zip(names, values, doubts, more, strict=True):
            joints = {joint: round(float(value), 6) for joint, value in zip(estimator.run.joints, row, strict=True)}
            yield json.dumps({"images": name, "unit": unit, "joints": joints, **doubt, **described})


def _describer(
    estimator: Estimator, asked: Sequence[str], urdf: str | Path | None
) -> Callable[[NDArray[np.float64]], list[dict[str, Any]]]:
    if estimator.calibration is None:
        raise UserError("poses need angles in radians: run `ropes calibrate` first")
    arm = chosen_arm(estimator.run, urdf)
    links = arm.links(asked)
    return lambda angles: arm.describe(angles, links)


def _batches(run: Run, source: Source) -> Iterator[tuple[list[object], Images]]:
    if isinstance(source, Mapping):
        _check_cameras(run, source)
        files = [{camera: source[camera] for camera in run.cameras}]
    elif (source / "meta" / "info.json").exists():
        dataset = open_dataset(source)
        warn_of_scene(run, dataset)
        for split in dataset.splits:
            rows = dataset.frames(split).index
            for start in range(0, len(rows), _CHUNK):
                part = rows[start : start + _CHUNK]
                yield [{"split": split, "index": int(k)} for k in part], images_of(run, dataset, part)
        return
    else:
        files = _files_in(run, source)
    for start in range(0, len(files), _CHUNK):
        chunk = files[start : start + _CHUNK]
        images = np.stack([np.stack([_read(run, pose[camera]) for camera in run.cameras]) for pose in chunk])
        yield [{camera: str(path) for camera, path in pose.items()} for pose in chunk], images


def _check_cameras(run: Run, given: Mapping[str, Path]) -> None:
    if missing := [camera for camera in run.cameras if camera not in given]:
        raise UserError(f"no image for camera {missing[0]}; this run needs {', '.join(run.cameras)}")
    if unknown := [camera for camera in given if camera not in run.cameras]:
        raise UserError(f"unknown camera {unknown[0]}; this run knows {', '.join(run.cameras)}")


def _files_in(run: Run, folder: Path) -> list[dict[str, Path]]:
    if folder.is_file():
        if len(run.cameras) > 1:
            pairs = " ".join(f"{camera}=FILE" for camera in run.cameras)
            raise UserError(f"{folder} is one image, and the run reads {len(run.cameras)} cameras: give {pairs}")
        return [{run.cameras[0]: folder}]
    if not folder.is_dir():
        raise UserError(f"{folder} is neither a folder nor a data set")
    if len(run.cameras) == 1 and not (folder / run.cameras[0]).is_dir():
        images = [{run.cameras[0]: path} for path in _images_in(folder)]
    else:
        if missing := [camera for camera in run.cameras if not (folder / camera).is_dir()]:
            raise UserError(f"{folder} has no folder {missing[0]}; it needs one of PNG images for each camera")
        names = {camera: {path.name for path in _images_in(folder / camera)} for camera in run.cameras}
        every = sorted(set().union(*names.values()))
        for camera, found in names.items():
            if lacking := [name for name in every if name not in found]:
                raise UserError(f"{folder / camera / lacking[0]} is missing; another camera has an image of that name")
        images = [{camera: folder / camera / name for camera in run.cameras} for name in every]
    if not images:
        raise UserError(f"{folder} holds no PNG images")
    return images


def _images_in(folder: Path) -> list[Path]:
    """The PNG files of a folder, by name; images of other kinds are not passed over in silence."""
    found = sorted(folder.iterdir())
    if others := [path for path in found if path.suffix.lower() in _OTHER_IMAGES]:
        raise UserError(f"{others[0]} is no PNG; convert it to 8-bit grey PNG (BT.601), or take it out of the folder")
    return [path for path in found if path.suffix.lower() == ".png"]


def _read(run: Run, path: Path) -> Images:
    try:
        return png.decode(path.read_bytes(), (run.image_size, run.image_size))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path}: {error}; convert it to 8-bit grey (BT.601) of the size trained on") from error


def _read_labels(run: Run, path: Path) -> tuple[Images, NDArray[np.float64]]:
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} is no CSV file ({error})") from error
    if not rows:
        raise UserError(f"{path} holds no labelled samples")
    if missing := [name for name in (*run.cameras, *run.joints) if name not in rows[0]]:
        raise UserError(f"{path} has no column {missing[0]}; it needs {', '.join((*run.cameras, *run.joints))}")
    images, angles = [], []
    for number, row in enumerate(rows, start=2):
        try:
            angles.append([float(row[joint]) for joint in run.joints])
        except (TypeError, ValueError) as error:
            raise UserError(f"{path}, line {number}: an angle is not a number") from error
        if absent := [camera for camera in run.cameras if not row[camera]]:
            raise UserError(f"{path}, line {number}: no image for camera {absent[0]}")
        images.append(np.stack([_read(run, path.parent / row[camera]) for camera in run.cameras]))
    table = np.array(angles)
    if not np.isfinite(table).all():
        line = 2 + int(np.flatnonzero(~np.isfinite(table).all(1))[0])
        raise UserError(f"{path}, line {line}: an angle is not finite")
    return np.stack(images), table
