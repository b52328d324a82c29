"""The table of joint metrics: how the evaluation protocol computes each figure of a joint, and where it is stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ropes.metrics.correlation import Floats, mcc

#: Estimates of the test poses that a metric compares with the true angles: coordinates, coordinates after the best
#: one-to-one assignment to the joints, or calibrated angles in radians.
Estimates = Literal["coordinates", "assigned", "calibrated"]


@dataclass(frozen=True, kw_only=True)
class JointMetric:
    """A figure of each joint, measured on the test poses of each draw of `ropes.metrics.protocol`.

    Labels change the metrics of calibrated angles only.  Rows for fewer labels or none measure these again, and share
    all others.

    Attributes:
        mean: field of `Evaluation` and of `ropes.evaluation.rows.joint.Row` for the mean over the draws.
        std: field for the standard deviation over the draws, in its population form; None to leave it out.
        estimates: what is compared with the true angles.
        compute: (estimates (n, d), true angles (n, d) in radians) → (d,).
    """

    mean: str
    std: str | None
    estimates: Estimates
    compute: Callable[[Floats, Floats], Floats]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the metric."""
        return (self.mean,) if self.std is None else (self.mean, self.std)


def squared_error(estimates: Floats, angles: Floats) -> Floats:
    """Mean squared error per joint, (d,) rad², of angles (n, d) in radians."""
    return np.asarray(np.mean((estimates - angles) ** 2, axis=0))


def r_squared(estimates: Floats, angles: Floats) -> Floats:
    """Coefficient of determination per joint, (d,), of angles (n, d): 1 − Σ (θ̂ − θ)² / Σ (θ − mean)².

    At most 1; below 0 where the mean angle has the smaller error.  For the best line from coordinate to angle on these
    poses it is the squared correlation.
    """
    return np.asarray(1 - squared_error(estimates, angles) / angles.var(axis=0))


JOINT_METRICS = (
    JointMetric(mean="mcc_mean", std="mcc_std", estimates="coordinates", compute=mcc),
    JointMetric(mean="mcc_matched", std=None, estimates="assigned", compute=mcc),
    JointMetric(mean="mse_mean", std="mse_std", estimates="calibrated", compute=squared_error),
    JointMetric(mean="r2_mean", std=None, estimates="calibrated", compute=r_squared),
)
#: The metrics that labels change.
CALIBRATED = tuple(metric for metric in JOINT_METRICS if metric.estimates == "calibrated")


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Results of `ropes.metrics.protocol`, per joint.

    Attributes:
        mcc_mean, mcc_std: (d,) over the repeats, in [0, 1].
        mcc_matched: (d,) mean over the repeats for the best one-to-one assignment of coordinates to joints.
        mse_mean, mse_std: (d,) over the repeats, rad².
        r2_mean: (d,) mean over the repeats of R² of the calibrated angles, at most 1.
        best_estimate, best_angle: (d, test) calibrated estimates and true angles, radians, of the repeat with the
            highest correlation of each joint, as in the paper's scatter plots.
        best_mcc, best_mse: (d,) of that repeat.
    """

    mcc_mean: Floats
    mcc_std: Floats
    mcc_matched: Floats
    mse_mean: Floats
    mse_std: Floats
    r2_mean: Floats
    best_estimate: Floats
    best_angle: Floats
    best_mcc: Floats
    best_mse: Floats


def over_draws(metrics: Sequence[JointMetric], draws: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """The fields of metrics from the values of each draw.

    Args:
        metrics: the metrics.
        draws: for each draw the field of a metric's mean → value, (d,).

    Returns:
        Field → mean or standard deviation over the draws, (d,).
    """
    figures = {}
    for metric in metrics:
        values = np.stack([draw[metric.mean] for draw in draws])
        figures[metric.mean] = values.mean(axis=0)
        if metric.std is not None:
            figures[metric.std] = values.std(axis=0)
    return figures
