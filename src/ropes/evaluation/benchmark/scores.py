"""Scores of predictions: root mean square error in degrees first, then the other figures of each joint."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ropes.evaluation.benchmark.predictions import Predictions
from ropes.evaluation.benchmark.task import Task
from ropes.evaluation.rows.schema import Amount, Explained, Share, check_fields
from ropes.metrics.correlation import mcc
from ropes.metrics.intervals import coverage
from ropes.metrics.joints import r_squared, squared_error


@dataclass(frozen=True, kw_only=True)
class JointScore:
    """Figures of one joint over all poses of a test split.

    Attributes:
        rms_degrees: root mean square error, degrees.
        mse: mean squared error, rad².
        mcc: absolute correlation of predicted and true angles, in [0, 1]; 0 for a constant prediction.
        r2: share of the true angles' variance that the predictions explain; below 0 where the mean of the true
            angles would be a better prediction.
        coverage: share of true angles within their intervals; None without intervals.
        width_degrees: mean width of the intervals, degrees; None without intervals.

    Raises:
        ValueError: a figure out of range.
    """

    rms_degrees: Amount
    mse: Amount
    mcc: Share
    r2: Explained
    coverage: Share | None = None
    width_degrees: Amount | None = None

    def __post_init__(self) -> None:
        check_fields(self)


def score(task: Task, predictions: Mapping[str, Predictions]) -> dict[str, dict[str, JointScore]]:
    """Compare predictions with the true angles.

    Args:
        task: the task.
        predictions: split → predictions.

    Returns:
        Split → joint → figures.

    Raises:
        UserError: see `Task.angles`.
    """
    return {split: _of_split(task, split, each) for split, each in predictions.items()}


def _of_split(task: Task, split: str, given: Predictions) -> dict[str, JointScore]:
    angles = task.angles(split)
    mse = squared_error(given.angles, angles)
    columns = {
        "rms_degrees": np.degrees(np.sqrt(mse)),
        "mse": mse,
        "mcc": mcc(given.angles, angles),
        "r2": r_squared(given.angles, angles),
    }
    if given.lower is not None and given.upper is not None:
        columns["coverage"] = coverage(given.lower, given.upper, angles)
        columns["width_degrees"] = np.degrees(np.mean(given.upper - given.lower, axis=0))
    return {
        joint: JointScore(**{name: float(values[k]) for name, values in columns.items()})
        for k, joint in enumerate(task.joints)
    }
