"""Calibration with few labels or none: rows for users who cannot label 1,000 poses."""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.evaluation.rows.joint import Row
from ropes.inference.calibration import Calibration
from ropes.inference.estimator import Estimator
from ropes.inference.policy_calibration import commanded_map
from ropes.inference.prediction import images_of, states_of
from ropes.methods.policies import described_model
from ropes.methods.uncertainty.coverage import LabelledPoses
from ropes.methods.validation_split import not_learnt_from, rows_to_label
from ropes.metrics import ProtocolSizes, few_labels

#: Labelled poses of the lines beside the protocol's own number; 0 comes from commanded distributions.
FEWER = (10, 100)
Array = NDArray[np.float64]


def map_without_labels(estimator: Estimator, dataset: Dataset, seed: int) -> Calibration | None:
    """The map to radians that takes no label: the run's own, or what the data set's commanded distributions imply.

    A run that was calibrated on commanded distributions keeps its map, whatever data it is tested on; see
    `ropes.inference.policy_calibration`.  None where there is none and nothing is told.

    Where what is told contradicts the images there is none either, and standard error says why.

    Args:
        estimator: of the run.
        dataset: with the training split that is read; of it only images, regimes and commanded distributions.
        seed: of the choice of poses.
    """
    kept = estimator.calibration
    if kept is not None and kept.samples == 0:
        return kept
    if "train" not in dataset.splits or described_model(dataset) is None:
        return None
    try:
        return commanded_map(estimator, dataset, seed=seed)
    except UserError as error:
        print(f"ropes: warning: no figures for calibration without labels: {error}", file=sys.stderr)
        return None


def labelled_poses(
    estimator: Estimator, dataset: Dataset, counts: Sequence[int], repeats: int
) -> dict[int, list[LabelledPoses]]:
    """What `ropes calibrate --samples COUNT --seed REPEAT` would draw from the data set, read and labelled.

    Numbers of labels for which the training split is too small or not labelled are left out, and standard error says
    so.

    Args:
        estimator: of the run.
        dataset: with labels.
        counts: numbers of labels.
        repeats: seeds of the draw, from 0 on.

    Returns:
        Number of labels → the poses of each draw.
    """
    if "train" not in dataset.splits:
        print(
            f"ropes: no coverage with labels: {dataset.path} has no training split to label poses of", file=sys.stderr
        )
        return {}
    try:
        index, angles = dataset.frames("train").index, states_of(estimator.run, dataset, "train")
    except UserError as error:
        print(f"ropes: no coverage with labels: {error}", file=sys.stderr)
        return {}
    fresh = int(not_learnt_from(estimator.run, dataset).sum())
    if beyond := [f"{count:,}" for count in counts if count > fresh]:
        few = f"{dataset.path} has {fresh:,} training poses that the run has not learnt from"
        print(f"ropes: no coverage with {' or '.join(beyond)} labels: {few}", file=sys.stderr)
    found = {}
    for count in (count for count in counts if count <= fresh):
        drawn = [rows_to_label(estimator.run, dataset, count, seed) for seed in range(repeats)]
        rows, place = np.unique(np.concatenate(drawn), return_inverse=True)  # of each image one look is enough
        reading = estimator.read(images_of(estimator.run, dataset, index[rows]))
        parts = place.reshape(repeats, count)
        found[count] = [LabelledPoses(reading.take(part), angles[rows[part]]) for part in parts]
    return found


def few_label_rows(
    rows: list[Row],
    estimates: Array,
    angles: Array,
    rng: np.random.Generator,
    known: Calibration | None,
    fewer: Sequence[int],
    sizes: ProtocolSizes,
) -> list[Row]:
    """The protocol's rows once more for every smaller number of calibration labels, joint by joint.

    The correlation stays: no line changes it.

    Args:
        rows: of the protocol, a joint each, in the order of the columns.
        estimates: (n, d) coordinates.
        angles: (n, d), radians.
        rng: in the state that the protocol was given it in.
        known: from `map_without_labels`.
        fewer: numbers of labels.
        sizes: as of the protocol.
    """
    measured = few_labels(
        estimates,
        angles,
        rng,
        [count for count in fewer if count < sizes.fit],
        known=known.angles if known else None,
        repeats=sizes.repeats,
        fit=sizes.fit,
        test=sizes.test,
    )
    return [
        # The paper has no figures for fewer labels.
        replace(
            row,
            mse_mean=float(mean[k]),
            mse_std=float(std[k]),
            calibration_labels=count,
            paper_mcc=None,
            paper_mse=None,
        )
        for count, (mean, std) in measured.items()
        for k, row in enumerate(rows)
    ]
