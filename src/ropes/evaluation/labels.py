"""Calibration with few labels or none: rows for users who cannot label 1,000 poses."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ropes.common.arrays import Floats
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.evaluation.rows.joint import Row
from ropes.inference.calibration import Calibration
from ropes.inference.estimator import Estimator
from ropes.inference.policy_calibration import calibration_from_policies
from ropes.inference.prediction import images_of, states_of
from ropes.methods.policies import described_model
from ropes.methods.training.validation_split import held_out_frames, rows_to_label
from ropes.methods.uncertainty.coverage import LabelledPoses
from ropes.metrics import ProtocolSizes, few_labels

#: Numbers of calibration labels that are tested besides the protocol's own.
FEWER = (10, 100)


def label_free_calibration(estimator: Estimator, dataset: Dataset, seed: int) -> Calibration | None:
    """Calibration to radians without labels: the run's own, or one fitted on the data set's known policy distributions.

    A run that was calibrated without labels keeps its calibration, on any test data; see
    `ropes.inference.policy_calibration`.

    Args:
        estimator: the estimator.
        dataset: its training split is read, without angles.
        seed: seed of the choice of poses.

    Returns:
        None if the policy distributions are unknown, or inconsistent with the images; the latter prints a warning.
    """
    stored = estimator.calibration
    if stored is not None and stored.samples == 0:
        return stored
    if "train" not in dataset.splits or described_model(dataset) is None:
        return None
    try:
        return calibration_from_policies(estimator, dataset, seed=seed)
    except UserError as error:
        print(f"ropes: warning: no figures for calibration without labels: {error}", file=sys.stderr)
        return None


def labelled_poses(
    estimator: Estimator, dataset: Dataset, counts: Sequence[int], repeats: int
) -> dict[int, list[LabelledPoses]]:
    """The poses that `ropes calibrate --samples COUNT --seed REPEAT` draws from a data set, read and labelled.

    A count that exceeds the labelled training poses is left out, with a message on standard error.

    Args:
        estimator: the estimator.
        dataset: data set with labels.
        counts: numbers of labels.
        repeats: number of draws, with seeds from 0 on.

    Returns:
        Number of labels → poses of each draw.
    """
    if "train" not in dataset.splits:
        _say_no_coverage("labels", f"{dataset.path} has no training split to label poses of")
        return {}
    try:
        index, angles = dataset.frames("train").index, states_of(estimator.run, dataset, "train")
    except UserError as error:
        _say_no_coverage("labels", error)
        return {}
    available = int(held_out_frames(estimator.run, dataset).sum())
    if beyond := [f"{count:,}" for count in counts if count > available]:
        reason = f"{dataset.path} has {available:,} training poses outside of the run's training set"
        _say_no_coverage(f"{' or '.join(beyond)} labels", reason)
    poses = {}
    for count in (count for count in counts if count <= available):
        draws = [rows_to_label(estimator.run, dataset, count, seed) for seed in range(repeats)]
        rows, place = np.unique(np.concatenate(draws), return_inverse=True)  # draws overlap; read each image once
        reading = estimator.read(images_of(estimator.run, dataset, index[rows]))
        parts = place.reshape(repeats, count)
        poses[count] = [LabelledPoses(reading.take(part), angles[rows[part]]) for part in parts]
    return poses


def _say_no_coverage(labels: str, reason: object) -> None:
    print(f"ropes: no coverage with {labels}: {reason}", file=sys.stderr)


def few_label_rows(
    rows: list[Row],
    estimates: Floats,
    angles: Floats,
    rng: np.random.Generator,
    label_free: Calibration | None,
    fewer: Sequence[int],
    sizes: ProtocolSizes,
) -> list[Row]:
    """Copies of the protocol's rows for fewer calibration labels and for label-free calibration.

    The metrics that labels do not change stay the same, see `ropes.metrics.joints`. The paper has no figures for these
    rows.

    Args:
        rows: rows of the protocol, one per joint, in the order of the columns.
        estimates: (n, d) coordinates.
        angles: (n, d), radians.
        rng: generator in the state in which the protocol received it.
        label_free: label-free calibration, or None.
        fewer: numbers of labels.
        sizes: sizes of the protocol.
    """
    found = few_labels(
        estimates,
        angles,
        rng,
        [count for count in fewer if count < sizes.fit],
        known=label_free.angles if label_free else None,
        repeats=sizes.repeats,
        fit=sizes.fit,
        test=sizes.test,
    )
    made = []
    for count, figures in found.items():
        for k, row in enumerate(rows):
            measured: dict[str, Any] = {name: float(values[k]) for name, values in figures.items()}
            made.append(replace(row, calibration_labels=count, paper_mcc=None, paper_mse=None, **measured))
    return made
