"""Applies Table 1's protocol to the coordinates of test poses: rows of joint angles and of link poses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.seeds import generator
from ropes.evaluation.labels import FEWER, few_label_rows
from ropes.evaluation.poses import pose_row
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.pose import PoseRow
from ropes.inference.calibration import Calibration
from ropes.inference.estimator import Estimator
from ropes.inference.poses import Arm
from ropes.methods.recipes import EncoderRecipe, LabelledRecipe
from ropes.methods.uncertainty.coverage import Condition, ToAngles
from ropes.methods.uncertainty.model import Reading
from ropes.metrics import Evaluation, ProtocolSizes, protocol
from ropes.simulation.corruption import Hiding


@dataclass(frozen=True)
class TestedPoses:
    """What was read off the test images so far, and how the protocol measures it.

    Attributes:
        estimator: that read them.
        called: what rows call the method.
        seed: of the draws.
        sizes: of the draws.
        hide: what hides a part of the images where a condition has an occlusion.
        own: the map to radians of a method that has learnt from labels; None for others.
        known: the map that takes no label; None where there is none.
        arm: whose links' poses are measured; None where it is not known.
        angles: split → (n, d) true angles, radians.
        readings: of the conditions that were read.
    """

    estimator: Estimator
    called: str
    seed: int
    sizes: ProtocolSizes
    hide: Hiding
    own: ToAngles | None
    known: Calibration | None
    arm: Arm | None
    angles: Mapping[str, NDArray[np.float64]]
    readings: Mapping[Condition, Reading]

    def measured(self, condition: Condition) -> Evaluation:
        """The protocol's correlations and errors under a condition."""
        return self._protocol(condition, known=self.own)

    def rows(self, condition: Condition, measured: Evaluation) -> list[Row]:
        """The rows of a condition; without occlusion also of lines on fewer labels, and of the map that takes none."""
        found = self._rows(condition, measured)
        if self.own is not None:
            return found
        fewer = FEWER if condition[1] == 0 else ()  # lines are fitted without squares in practice
        read = self._read(condition)
        return found + few_label_rows(found, *read, self._draws(condition), self.known, fewer, self.sizes)

    def shift_rows(self, condition: Condition) -> list[Row]:
        """Of shifted poses the rows of lines that were fitted on poses that are not shifted, with the same draws."""
        split, occlusion = condition
        usual = "id", occlusion
        if self.own is not None or split != "ood" or usual not in self.readings:
            return []
        elsewhere = (*self._read(usual), self._draws(usual))
        return self._rows(condition, self._protocol(condition, elsewhere=elsewhere))

    def pose_rows(self, condition: Condition) -> list[PoseRow]:
        """The row of the end effector's pose; none of an arm that is not known."""
        if self.arm is None:
            return []
        about = _conditions(self.estimator, self.called, *condition)
        draws = self._draws(condition)
        return [pose_row(self.arm, *self._read(condition), draws, self.sizes, self.own, **about)]

    def _read(self, condition: Condition) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.readings[condition].coordinates, self.angles[condition[0]]

    def _draws(self, condition: Condition) -> np.random.Generator:
        """The draws of a condition, anew: every measure has the same ones."""
        return generator(self.seed, "evaluation", *condition)

    def _protocol(self, condition: Condition, **how: Any) -> Evaluation:
        sizes = self.sizes.repeats, self.sizes.fit, self.sizes.test
        return protocol(*self._read(condition), self._draws(condition), *sizes, **how)

    def _rows(self, condition: Condition, measured: Evaluation) -> list[Row]:
        split, occlusion = condition
        return [
            Row.measured(
                joint=joint,
                mcc=(float(measured.mcc_mean[k]), float(measured.mcc_std[k])),
                mse=(float(measured.mse_mean[k]), float(measured.mse_std[k])),
                mcc_matched=float(measured.mcc_matched[k]),
                calibration_labels=0 if self.estimator.learnt_from_labels else self.sizes.fit,
                published_too=self.hide == "square" or not occlusion,
                **_trained_on(self.estimator),
                **_conditions(self.estimator, self.called, split, occlusion),
            )
            for k, joint in enumerate(self.estimator.run.joints)
        ]


def _trained_on(estimator: Estimator) -> dict[str, Any]:
    """Anchors, side of the images, and shares of erased images and of labels of the training, for a `Row`."""
    run, recipe = estimator.run, estimator.run.recipe
    anchors, erased, share = run.anchors, 0.0, None
    if isinstance(recipe, EncoderRecipe):
        anchors, erased = recipe.anchors or run.anchors, recipe.random_erasing
    if isinstance(recipe, LabelledRecipe):
        erased, share = recipe.random_erasing, recipe.labels
    return {"anchors": anchors, "image_size": recipe.shape.image_size, "erased": erased, "label_share": share}


def _conditions(estimator: Estimator, called: str, split: str, occlusion: int) -> dict[str, Any]:
    run = estimator.run
    return {
        "setup": run.setting,
        "method": called,
        "split": split,
        "occlusion": int(occlusion),
        "seed": run.seed,
        "labels": estimator.labelled_images,
    }
