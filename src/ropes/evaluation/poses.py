"""Errors of link poses: forward kinematics of the estimated angles, with the draws and calibration of the joints."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.evaluation.rows.kinds import PoseRow
from ropes.inference.poses import Arm, arm_of, robot_of
from ropes.methods.run import Run
from ropes.metrics.calibration import ProtocolSizes
from ropes.metrics.pose import calibrated_draws, pose_errors

Array = NDArray[np.float64]


def arm_or_none(run: Run, dataset: Dataset) -> Arm | None:
    """The arm in a data set's images; None if neither run nor data set names it, or its URDF cannot be read.

    An unreadable URDF prints a warning.
    """
    robot = robot_of(run, dataset.provenance)
    if robot is None:
        return None
    try:
        return arm_of(run, robot, dataset.urdf)
    except UserError as error:
        print(f"ropes: warning: errors of poses are left out: {error}", file=sys.stderr)
        return None


def pose_row(
    arm: Arm,
    coordinates: Array,
    angles: Array,
    rng: np.random.Generator,
    sizes: ProtocolSizes,
    to_radians: Callable[[Array], Array] | None = None,
    **conditions: Any,
) -> PoseRow:
    """Errors of the end effector's pose and of the arm's keypoints, over the draws of `ropes.metrics.protocol`.

    Args:
        arm: the arm; its joints are the columns.
        coordinates: (n, d).
        angles: (n, d) true angles, radians.
        rng: generator in the state in which `protocol` receives it, for the same draws.
        sizes: sizes of `protocol`.
        to_radians: map from coordinates to radians; None for linear calibration.
        conditions: further fields of `PoseRow`.
    """
    true, true_points = _frames(arm, angles)
    errors = []
    for estimate, rows in calibrated_draws(coordinates, angles, rng, sizes.repeats, sizes.fit, sizes.test, to_radians):
        estimated, points = _frames(arm, estimate)
        errors.append(pose_errors(estimated, true[rows], points, true_points[rows]))
    figures = np.stack(errors)
    return PoseRow.measured(
        means=figures.mean(axis=0),
        deviations=figures.std(axis=0),
        link=arm.end_effector,
        frame=arm.frame,
        calibration_labels=sizes.fit if to_radians is None else 0,
        **conditions,
    )


def _frames(arm: Arm, angles: Array) -> tuple[Array, Array]:
    """The end effector's poses (n, 4, 4) and the keypoints (n, k, 3), metres."""
    poses = arm.poses(angles)
    return poses[arm.end_effector], np.stack([poses[link][:, :3, 3] for link in arm.keypoints], axis=1)
