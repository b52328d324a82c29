"""Applies Table 1's protocol to the coordinates of test poses: rows of joints, of link poses and of freed joints."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.data.dataset import Dataset
from ropes.data.origin import camera_level_of, renderer_of, scene_of
from ropes.errors import UserError
from ropes.evaluation import paper
from ropes.evaluation.drawn_poses import generator_of
from ropes.evaluation.labels import FEWER, few_label_rows
from ropes.evaluation.pictures import SPLITS
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import FreedRow, PoseRow
from ropes.inference.calibration import Calibration
from ropes.inference.estimator import Estimator
from ropes.inference.poses import Arm, arm_of, robot_of
from ropes.methods.recipe import anchors_of, input_size
from ropes.methods.run import Run
from ropes.methods.uncertainty.coverage import Condition, ToAngles
from ropes.methods.uncertainty.model import Reading
from ropes.metrics import Evaluation, ProtocolSizes, correlation_matrix, explained, linear_calibration, protocol
from ropes.metrics.joints import JOINT_METRICS
from ropes.metrics.pose import calibrated_draws, pose_errors
from ropes.simulation.corruption import Hiding

#: Range of a joint at rest, radians: encoder noise.
_AT_REST = 0.05
#: Side of the paper's images, pixels.
_SIDE = 128


@dataclass(frozen=True, kw_only=True)
class TestedPoses:
    """The coordinates of all test images, and the protocol's measurements of them.

    Attributes:
        estimator: the evaluated estimator.
        method: name of the method in the rows.
        seed: seed of the draws.
        sizes: sizes of the draws.
        angles: split → (n, d) true angles, radians.
        images: renderer and camera level of the test images, see `conditions_of_images`.
        comparable: whether the paper's numbers are of such images, see `comparable_with_paper`.
        hide: kind of occlusion.
        label_free: label-free calibration; None if there is none.
        arm: arm whose link poses are measured; None if unknown.
        readings: condition → what the estimator reads from its images; filled one condition at a time.
    """

    estimator: Estimator
    method: str
    seed: int
    sizes: ProtocolSizes
    angles: Mapping[str, NDArray[np.float64]]
    images: Mapping[str, str | None]
    comparable: bool
    hide: Hiding = "square"
    label_free: Calibration | None = None
    arm: Arm | None = None
    readings: dict[Condition, Reading] = field(default_factory=dict)

    @property
    def to_radians(self) -> ToAngles | None:
        """The identity for a supervised method, whose coordinates are radians; None for others."""
        return np.asarray if self.estimator.is_supervised else None

    def map_to_angles(self, condition: Condition) -> ToAngles:
        """From coordinates to radians, for pictures: without labels where that is possible, else a line on labels.

        A coordinate that is the same in all poses gives the mean angle, as in the figures.
        """
        if self.to_radians is not None:
            return self.to_radians
        if self.label_free is not None:
            return self.label_free.angles
        coordinates, angles = self._poses(condition)
        return Calibration(*linear_calibration(coordinates, angles), len(angles)).angles

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
        """The row of the end effector's pose and the arm's keypoints, over the same draws; none for an unknown arm."""
        if self.arm is None:
            return []
        coordinates, angles = self._poses(condition)
        sizes = self.sizes.repeats, self.sizes.fit, self.sizes.test
        drawn = calibrated_draws(coordinates, angles, self._draws(condition), *sizes, self.to_radians)
        true, true_points = _frames(self.arm, angles)
        errors = []
        for estimate, rows in drawn:
            estimated, points = _frames(self.arm, estimate)
            errors.append(pose_errors(estimated, true[rows], points, true_points[rows]))
        row = PoseRow.measured(
            means=np.mean(errors, axis=0),
            deviations=np.std(errors, axis=0),
            link=self.arm.end_effector,
            frame=self.arm.frame,
            calibration_labels=self.sizes.fit if self.to_radians is None else 0,
            **self._conditions(condition),
        )
        return [row]

    def _poses(self, condition: Condition) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Coordinates and true angles under a condition."""
        return self.readings[condition].coordinates, self.angles[condition[0]]

    def _draws(self, condition: Condition) -> np.random.Generator:
        """See `generator_of`."""
        return generator_of(self.seed, condition)

    def _protocol(self, condition: Condition, **options: Any) -> Evaluation:
        sizes = self.sizes.repeats, self.sizes.fit, self.sizes.test
        return protocol(*self._poses(condition), self._draws(condition), *sizes, **options)

    def _rows(self, condition: Condition, measured: Evaluation) -> list[Row]:
        shared: dict[str, Any] = {
            **self._conditions(condition),
            **_conditions_of_training(self.estimator),
            **self.images,
            "calibration_labels": 0 if self.estimator.is_supervised else self.sizes.fit,
            "published_too": self._comparable(condition),
        }
        rows, names = [], [name for metric in JOINT_METRICS for name in metric.fields]
        for k, joint in enumerate(self.estimator.run.joints):
            figures: dict[str, Any] = {name: float(getattr(measured, name)[k]) for name in names}
            rows.append(Row.measured(joint=joint, **figures, **shared))
        return rows

    def _comparable(self, condition: Condition) -> bool:
        """Whether the paper's numbers are measured in the same way: images, setting, occlusion, calibration."""
        hidden = self.hide == "square" or not condition[1]
        calibrated = self.estimator.is_supervised or self.sizes.fit == paper.CALIBRATION_LABELS
        return self.comparable and hidden and calibrated

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


def comparable_with_paper(run: Run, dataset: Dataset) -> bool:
    """Whether test images have the setting of the run, and both are images as the paper's.

    These have 128 by 128 pixels, in which occlusions are measured, the scene panda-gym, drawn by PyBullet, and no
    faults of cameras.  One line on standard error warns of another setting, or says what differs in a setting of the
    paper.
    """
    setting = (dataset.provenance or {}).get("setting", {}).get("name")
    if setting not in (None, run.setting):
        print(
            f"ropes: warning: {dataset.path} has setting {setting}, and the run {run.setting}, whose name rows have; "
            "the paper's numbers are left out",
            file=sys.stderr,
        )
    if setting != run.setting or any(shape[:2] != (_SIDE, _SIDE) for shape in run.shapes):
        return False
    differs = _differs_from_paper(run, dataset)
    if differs and setting in paper.SETUPS:
        print(f"ropes: {differs}; the paper's numbers are left out", file=sys.stderr)
    return differs is None


def _differs_from_paper(run: Run, dataset: Dataset) -> str | None:
    """What is not as in the paper's images, in words, of test images or of known training images; None for nothing."""
    for name, theirs, tested, trained in (
        ("scene", paper.SCENE, scene_of(dataset), run.scene),
        ("renderer", paper.RENDERER, renderer_of(dataset), run.renderer),
        ("camera level", paper.CAMERA_LEVEL, camera_level_of(dataset), run.camera_level),
    ):
        if tested != theirs:
            return f"the {name} of {dataset.path} is {tested or 'unknown'}, that of the paper's images {theirs}"
        if trained not in (None, theirs):
            return f"the {name} of the training images is {trained}, that of the paper's images {theirs}"
    return None


def conditions_of_images(run: Run, dataset: Dataset) -> dict[str, str | None]:
    """Renderer and camera level of test images, and of the training images where both are known and differ.

    Args:
        run: of the training images.
        dataset: with the test images.
    """
    found: dict[str, str | None] = {}
    for name, usual, tested, trained in (
        ("renderer", paper.RENDERER, renderer_of(dataset), run.renderer),
        ("camera", paper.CAMERA_LEVEL, camera_level_of(dataset), run.camera_level),
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


def _frames(arm: Arm, angles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The end effector's poses (n, 4, 4) and the keypoints (n, k, 3), metres."""
    poses = arm.poses(angles)
    return poses[arm.end_effector], np.stack([poses[link][:, :3, 3] for link in arm.keypoints], axis=1)


def freed_rows(run: Run, dataset: Dataset, method: str, coordinates: NDArray[np.float64]) -> tuple[FreedRow, ...]:
    """The rows of a run's coordinates on test poses in distribution; none unless another joint varies by 0.05 rad.

    They tell how much each coordinate depends on joints that were never intervened on (partial disentanglement).

    Source: ROPES, Conclusion: "disentangled only those joint angles whose interventions were used in the loss".

    Args:
        run: the run.
        dataset: data set with the angles of every joint that varies.
        method: name of the method in the rows.
        coordinates: coordinates of the split test-id, (n, d).
    """
    angles = dataset.factors(SPLITS["id"])
    vary = np.ptp(angles, axis=0) > _AT_REST
    varying = [name for name, varies in zip(dataset.state_names or (), vary, strict=True) if varies]
    if set(varying) <= set(run.joints):
        return ()
    angles = angles[:, vary]
    correlations = np.abs(correlation_matrix(coordinates, angles))
    workers = torch.get_num_threads()
    return tuple(
        FreedRow(
            setup=run.setting,
            method=method,
            joint=joint,
            seed=run.seed,
            correlations=dict(zip(varying, np.clip(correlations[k], 0, 1).tolist(), strict=True)),
            own=explained(coordinates[:, k], angles[:, [varying.index(joint)]], workers=workers),
            every=explained(coordinates[:, k], angles, workers=workers),
        )
        for k, joint in enumerate(run.joints)
        if joint in varying
    )
