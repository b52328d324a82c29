"""`Predictor`: angles with error bars, flags and link poses from images, as `ropes predict` prints them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ropes.data.views import Views
from ropes.inference.estimator import Estimator
from ropes.inference.poses import Arm
from ropes.methods.uncertainty.annotations import foreign_boxes, reasons, uncertainty_columns, unreadable
from ropes.methods.uncertainty.coverage import ToAngles


class Predictor:
    """Describes the prediction of each pose.

    Args:
        estimator: the estimator.
        arm: for link poses; needs a calibrated estimator.
        poses: links whose poses to add; empty for the end effector, "all" for all links, None for none.

    Raises:
        UserError: an unknown link.
    """

    def __init__(self, estimator: Estimator, arm: Arm | None = None, poses: Sequence[str] | None = None) -> None:
        self._estimator, self._arm = estimator, arm
        self._links = () if arm is None or poses is None else arm.links(poses)
        calibration = estimator.calibration
        self._unit = "raw" if calibration is None else "rad"
        self._to_shown: ToAngles = np.asarray if calibration is None else calibration.angles
        self._intervals = estimator.intervals

    def __call__(self, images: Views) -> list[dict[str, Any]]:
        """The prediction of each pose, JSON-able.

        Keys: "unit" ("rad", or "raw" before calibration), "joints", the columns of
        `ropes.methods.uncertainty.annotations.uncertainty_columns`, "foreign" with the boxes of foreign objects,
        "reasons" (`ropes.methods.uncertainty.annotations.reasons`), and the link poses of
        `ropes.inference.poses.Arm.describe`.  "reasons" is there for poses that are flagged as out of distribution, and
        for others with a reason.  A pose is flagged where its "distance" is above 1, a view is blank, or a foreign
        object covers most of a view.

        Raises:
            UserError: images of another shape or type.
        """
        run, estimator = self._estimator.run, self._estimator
        reading = estimator.read(images, drift=True)
        values = self._to_shown(reading.coordinates)
        columns = uncertainty_columns(run.joints, reading, self._intervals, self._to_shown)
        if reading.foreign is not None:
            for column, foreign in zip(columns, reading.foreign, strict=True):
                column["foreign"] = foreign_boxes(run.cameras, foreign, run.shapes)
        for row, column in enumerate(columns):
            drift = None if reading.drift is None else reading.drift.take(np.array(row))
            foreign = None if reading.foreign is None else reading.foreign[row]
            if "out_of_distribution" in column and unreadable(drift, foreign):
                column["out_of_distribution"] = True
            flagged = column.get("out_of_distribution", False)
            found = reasons(run.cameras, drift, foreign, flagged=flagged)
            if found or flagged:
                column["reasons"] = found
        links: list[dict[str, Any]] = [{}] * len(values)
        if self._arm is not None and self._links:
            links = self._arm.describe(values, self._links)
        return [
            {"unit": self._unit, "joints": _named(run.joints, row), **column, **described}
            for row, column, described in zip(values, columns, links, strict=True)
        ]


def _named(joints: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    return {joint: round(float(value), 6) for joint, value in zip(joints, values, strict=True)}
