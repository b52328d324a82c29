"""Reads images with labels, from a CSV file."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.common.units import require_angles_in_radians
from ropes.data.views import Views
from ropes.errors import UserError
from ropes.inference.image_inputs import Pose, read_poses
from ropes.inference.sources import csv_rows
from ropes.methods.run import Run


def read_labels(run: Run, path: Path) -> tuple[Views, NDArray[np.float64]]:
    """Images and angles (n, d), radians, of a CSV file.

    Raises:
        UserError: the file, a column or an image is missing, an angle is not a finite number, or the angles of
            a joint are probably in degrees.
    """
    rows = csv_rows(path, (*run.cameras, *run.joints), "labelled samples")
    poses: list[Pose] = []
    angles = []
    for number, row in enumerate(rows, start=2):
        try:
            angles.append([float(row[joint]) for joint in run.joints])
        except (TypeError, ValueError) as error:
            raise UserError(f"{path}, line {number}: an angle is not a number") from error
        if absent := [camera for camera in run.cameras if not row[camera]]:
            raise UserError(f"{path}, line {number}: no image for camera {absent[0]}")
        poses.append({camera: path.parent / row[camera] for camera in run.cameras})
    images, table = read_poses(run, poses), np.array(angles)
    if not np.isfinite(table).all():
        line = 2 + int(np.flatnonzero(~np.isfinite(table).all(1))[0])
        raise UserError(f"{path}, line {line}: an angle is not finite")
    try:
        require_angles_in_radians(run.joints, table)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error
    return images, table
