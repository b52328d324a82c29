"""Calibrates an estimator on labelled samples, and predicts joint angles from images."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.hardware import RequestedPrecision
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.views import Views, by_camera, joined
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
from ropes.inference.overlay import Overlay, file_name, known_cameras, origin_of, write_pictures
from ropes.inference.poses import chosen_arm
from ropes.inference.predictor import Predictor
from ropes.inference.sources import files_in, named_files, read_files, read_labels
from ropes.methods.run import Run, warn_if_other_scene
from ropes.methods.uncertainty.annotations import missing_fields
from ropes.methods.uncertainty.conformal import LEVEL, intervals_from_labels
from ropes.methods.validation_split import rows_to_label
from ropes.models.registry import find_run

_CHUNK = 256
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
    """Fit the line from coordinates to radians and its intervals, and store both with the run.

    Args:
        run: folder of the run.
        data: a labelled data set; `samples` of its training poses are drawn, none of them used to fit the run.
        labels: alternatively, a CSV file with a column of image paths for each camera, and of radians for each joint.
        samples: number of poses drawn from `data`.
        seed: seed of the draw.
        level: coverage of the intervals.  With too few samples for it, intervals come from the held-out anchors, and
            one line on standard error says so.

    Raises:
        UserError: no labels, too few labels, or images that do not match the run.
    """
    estimator = Estimator.load(run, calibrated=False)
    joints = estimator.run.joints
    if labels is not None:
        images, angles = read_labels(estimator.run, labels)
    elif data is not None:
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
        print(f"ropes: {len(angles)} samples are too few for {level:.0%} intervals of their own", file=sys.stderr)
        intervals = estimator.held_out_intervals(level)
    origin = Origin(
        source="samples" if labels is None else "labels",
        seed=seed,
        level=level,
        file=None if labels is None else labels.name,
    )
    calibration = replace(line, intervals=intervals, origin=origin)
    errors = CalibrationErrors(
        left_out=left_out_errors(reading.coordinates, angles, joints),
        half_width=half_widths(calibration, reading.coordinates, reading.deviation, joints),
    )
    calibration = replace(calibration, errors=errors)
    write_calibration(run, estimator.run, calibration)
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
    views = views_of(run, dataset)
    images = dataset.read_cameras(rows)
    return joined([images[view] for view in views])


def states_of(run: Run, dataset: Dataset, split: str) -> NDArray[np.float64]:
    """Angles of a split, joints in the order of the run: (n, d), radians.

    Raises:
        UserError: the data set has no angles, or lacks a joint of the run.
    """
    states = dataset.states(split)
    if missing := [joint for joint in run.joints if joint not in dataset.joints]:
        raise UserError(f"{dataset.path} has no joint {missing[0]} (it has {', '.join(dataset.joints)})")
    return states[:, [dataset.joints.index(joint) for joint in run.joints]]


def predict(
    run: Path | str,
    images: Mapping[str, Path | str] | Path | str,
    *,
    poses: Sequence[str] | None = None,
    urdf: str | Path | None = None,
    precision: RequestedPrecision = "auto",
) -> Iterator[dict[str, Any]]:
    """Predict joint angles, one dictionary per pose, with keys and errors of `predict_lines`.

    Args:
        run: folder of the run, or name of a packaged estimator.
        images: an image file for each camera by name; a folder of images; one image, for a run with one camera; or a
            data set.
        poses: links whose poses to add; empty for the end effector, "all" for all links.
        urdf: URDF file of the arm, where neither data set nor setting names it.
        precision: see `ropes.methods.readers.load_reader`.
    """
    source = {name: Path(file) for name, file in images.items()} if isinstance(images, Mapping) else Path(images)
    return map(json.loads, predict_lines(find_run(run), source, poses=poses, urdf=urdf, precision=precision))


def predict_lines(
    run: Path,
    source: Source,
    *,
    poses: Sequence[str] | None = None,
    urdf: str | Path | None = None,
    overlay: Path | None = None,
    camera_file: Path | None = None,
    precision: RequestedPrecision = "auto",
) -> Iterator[str]:
    """Predict joint angles, one JSON object per pose: "images", and the keys of `ropes.inference.predictor.Predictor`.

    One line on standard error names fields that the run does not have.  Images have the type and size of the training
    images; the estimator letterboxes both alike.

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
        precision: see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: a camera is missing or unknown, or an image has another size or type; with `poses` or `overlay`, an
            unknown link, no URDF, or a run that is not calibrated.
    """
    estimator = Estimator.load(run, precision=precision)
    dataset = None if isinstance(source, Mapping) or not _is_dataset(source) else open_dataset(source)
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
    warning = missing_fields(run, known=known, intervals=estimator.intervals, labelled=labelled)
    for names, images in _batches(estimator.run, source if dataset is None else dataset):
        if warning:  # once, after the source has been checked
            print(f"ropes: {warning}", file=sys.stderr)
            warning = None
        for row, (name, prediction) in enumerate(zip(names, predictor(images), strict=True)):
            if pictures is not None and overlay is not None:
                angles = np.array([prediction["joints"][joint] for joint in estimator.run.joints])
                drawn = pictures.draw([camera[row] for camera in by_camera(images)], angles)
                shown = dict(zip(estimator.run.cameras, drawn, strict=True))
                write_pictures(overlay, file_name(name), shown, origin_of(name, dataset))
            yield json.dumps({"images": name, **prediction})


def _is_dataset(source: Path) -> bool:
    return (source / "meta" / "info.json").exists()


def _batches(run: Run, source: Source | Dataset) -> Iterator[tuple[list[Mapping[str, Any]], Views]]:
    """Batches of poses: the names of their images, and the images."""
    if isinstance(source, Dataset):
        warn_if_other_scene(run, source)
        for split in source.splits:
            rows = source.frames(split).index
            for start in range(0, len(rows), _CHUNK):
                part = rows[start : start + _CHUNK]
                yield [{"split": split, "index": int(k)} for k in part], images_of(run, source, part)
        return
    poses = [named_files(run, source)] if isinstance(source, Mapping) else files_in(run, source)
    for start in range(0, len(poses), _CHUNK):
        chunk = poses[start : start + _CHUNK]
        yield [{camera: str(path) for camera, path in pose.items()} for pose in chunk], read_files(run, chunk)
