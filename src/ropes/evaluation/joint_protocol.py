"""Applies Table 1's protocol to the coordinates of test poses: rows of joint angles and of link poses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.seeds import generator
from ropes.data.dataset import Dataset
from ropes.evaluation.labels import FEWER, few_label_rows
from ropes.evaluation.poses import pose_row
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import PoseRow
from ropes.inference.calibration import Calibration, fit_calibration
from ropes.inference.estimator import Estimator
from ropes.inference.poses import Arm
from ropes.methods.recipe import anchors_of, input_size
from ropes.methods.run import Run, camera_level_of, renderer_of
from ropes.methods.uncertainty.coverage import Condition, ToAngles
from ropes.methods.uncertainty.model import Reading
from ropes.metrics import Evaluation, ProtocolSizes, protocol
from ropes.metrics.joints import JOINT_METRICS
from ropes.simulation.corruption import Hiding


@dataclass(frozen=True, kw_only=True)
class TestedPoses:
    """The coordinates of all test images, and the protocol's measurements of them.

    Attributes:
        estimator: the evaluated estimator.
        method: name of the method in the rows.
        seed: seed of the draws.
        sizes: sizes of the draws.
        hide: kind of occlusion.
        label_free: label-free calibration; None if there is none.
        arm: arm whose link poses are measured; None if unknown.
        angles: split → (n, d) true angles, radians.
        images: renderer and camera level of the test images, see `conditions_of_images`.
        readings: condition → what the estimator reads from its images; filled one condition at a time.
    """

    estimator: Estimator
    method: str
    seed: int
    sizes: ProtocolSizes
    hide: Hiding
    label_free: Calibration | None
    arm: Arm | None
    angles: Mapping[str, NDArray[np.float64]]
    images: Mapping[str, str | None]
    readings: dict[Condition, Reading] = field(default_factory=dict)

    @property
    def to_radians(self) -> ToAngles | None:
        """The identity for a supervised method, whose coordinates are radians; None for others."""
        return np.asarray if self.estimator.is_supervised else None

    def map_to_angles(self, condition: Condition) -> ToAngles:
        """From coordinates to radians, for pictures: without labels where that is possible, else a line on labels."""
        if self.to_radians is not None:
            return self.to_radians
        if self.label_free is not None:
            return self.label_free.angles
        return fit_calibration(*self._poses(condition), self.estimator.run.joints).angles

    def measured(self, condition: Condition) -> Evaluation:
        """The protocol's correlations and errors under a condition."""
        return self._protocol(condition, known=self.to_radians)

    def rows(self, condition: Condition, measured: Evaluation) -> list[Row]:
        """The rows of a condition; also of label-free calibration, and without occlusion of fewer labels."""
        rows = self._rows(condition, measured)
        if self.to_radians is not None:
            return rows
        fewer = FEWER if condition[1] == 0 else ()  # in practice, calibration images have no occlusion
        poses = self._poses(condition)
        return rows + few_label_rows(rows, *poses, self._draws(condition), self.label_free, fewer, self.sizes)

    def shift_rows(self, condition: Condition) -> list[Row]:
        """The rows of shifted poses after calibration on poses in distribution, with the same draws."""
        split, occlusion = condition
        in_distribution = "id", occlusion
        if self.to_radians is not None or split != "ood" or in_distribution not in self.readings:
            return []
        elsewhere = (*self._poses(in_distribution), self._draws(in_distribution))
        return self._rows(condition, self._protocol(condition, elsewhere=elsewhere))

    def pose_rows(self, condition: Condition) -> list[PoseRow]:
        """The row of the end effector's pose; none for an unknown arm."""
        if self.arm is None:
            return []
        draws, conditions = self._draws(condition), self._conditions(condition)
        return [pose_row(self.arm, *self._poses(condition), draws, self.sizes, self.to_radians, **conditions)]

    def _poses(self, condition: Condition) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coordinates and true angles under a condition."""
        return self.readings[condition].coordinates, self.angles[condition[0]]

    def _draws(self, condition: Condition) -> np.random.Generator:
        """A new generator for a condition, so that every measurement draws the same poses."""
        return generator(self.seed, "evaluation", *condition)

    def _protocol(self, condition: Condition, **options: Any) -> Evaluation:
        sizes = self.sizes.repeats, self.sizes.fit, self.sizes.test
        return protocol(*self._poses(condition), self._draws(condition), *sizes, **options)

    def _rows(self, condition: Condition, measured: Evaluation) -> list[Row]:
        shared: dict[str, Any] = {
            **self._conditions(condition),
            **_conditions_of_training(self.estimator),
            **self.images,
            "calibration_labels": 0 if self.estimator.is_supervised else self.sizes.fit,
            "published_too": self.hide == "square" or not condition[1],
        }
        rows, names = [], [name for metric in JOINT_METRICS for name in metric.fields]
        for k, joint in enumerate(self.estimator.run.joints):
            figures: dict[str, Any] = {name: float(getattr(measured, name)[k]) for name in names}
            rows.append(Row.measured(joint=joint, **figures, **shared))
        return rows

    def _conditions(self, condition: Condition) -> dict[str, Any]:
        """Fields that a `Row` and a `PoseRow` share."""
        split, occlusion = condition
        return {
            "setup": self.estimator.run.setting,
            "method": self.method,
            "split": split,
            "occlusion": int(occlusion),
            "seed": self.estimator.run.seed,
            "labels": self.estimator.labelled_images,
        }


def conditions_of_images(run: Run, dataset: Dataset) -> dict[str, str | None]:
    """Renderer and camera level of test images, and of the training images where both are known and differ.

    Args:
        run: of the training images.
        dataset: with the test images.
    """
    found: dict[str, str | None] = {}
    for name, usual, tested, trained in (
        ("renderer", "pybullet", renderer_of(dataset), run.renderer),
        ("camera", "clean", camera_level_of(dataset), run.camera_level),
    ):
        found[name] = None if tested == usual else tested
        found[f"trained_{name}"] = None if tested is None or trained == tested else trained
    return found


def _conditions_of_training(estimator: Estimator) -> dict[str, Any]:
    """Training anchors, image size, and shares of erased and of labelled images, for a `Row`."""
    run, recipe = estimator.run, estimator.run.recipe
    return {
        "anchors": anchors_of(recipe) or run.anchors,
        "image_size": input_size(recipe.shape),
        "erased": getattr(recipe, "random_erasing", 0.0),
        "label_share": getattr(recipe, "labels", None),
    }
