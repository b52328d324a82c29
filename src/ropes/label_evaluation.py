"""Rows of results calibrated on few labels, or on none: what an evaluation tells those who cannot label 1,000 poses."""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ropes.calibration import Calibration
from ropes.commanded import commanded_map
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.estimator import Estimator
from ropes.methods.policies import described_model
from ropes.metrics import few_labels
from ropes.results import Row

#: Labelled poses of the lines beside the protocol's own number; 0 comes from commanded distributions.
FEWER = (10, 100)
Array = NDArray[np.float64]


def map_without_labels(estimator: Estimator, dataset: Dataset, seed: int) -> Calibration | None:
    """The map to radians that takes no label: the run's own, or what the data set's commanded distributions imply.

    A run that was calibrated on commanded distributions keeps its map, whatever data it is tested on; see
    `ropes.commanded`.  None where there is none and nothing is told.

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


def few_label_rows(
    rows: list[Row],
    estimates: Array,
    angles: Array,
    rng: np.random.Generator,
    known: Calibration | None,
    fewer: Sequence[int],
    repeats: int,
    fit: int,
    test: int,
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
        repeats: as of the protocol.
        fit: as of the protocol.
        test: as of the protocol.
    """
    measured = few_labels(
        estimates,
        angles,
        rng,
        [count for count in fewer if count < fit],
        known=known.angles if known else None,
        repeats=repeats,
        fit=fit,
        test=test,
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
