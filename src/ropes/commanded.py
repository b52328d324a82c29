"""Radians without a label: the line that fits what the policies were commanded to draw."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.estimator import Calibration, Estimator, write_calibration
from ropes.methods.policies import described_model
from ropes.metrics.calibration import commanded_calibration
from ropes.prediction import images_of
from ropes.scm import Regime
from ropes.seeds import generator
from ropes.trust.intervals import LEVEL, intervals_from_anchors

#: Farther off than this share of the distance between the two policies' means, an observational mean contradicts.
_OFF_CENTRE = 0.25
#: Poses read of each regime: their mean angle is then known to a hundredth of a radian or so.
_POSES = 2000
_DRAWN = 20_000
Array = NDArray[np.float64]


def calibrate_commanded(run: Path, data: Path, *, seed: int = 0, level: float = LEVEL) -> Calibration:
    """Fit the line from coordinates to radians on commanded distributions, and store it with the run.

    Args:
        run: folder of the run.
        data: data set that tells its distributions, as those of `ropes simulate` do.
        seed: of the choice of poses where there are more than enough.
        level: share of the truths that the intervals, which rest on held-out anchors, are meant to hold.

    Raises:
        UserError: see `commanded_line`.
    """
    estimator = Estimator.load(run)
    intervals = intervals_from_anchors(estimator.trust, level) if estimator.trust else None
    calibration = replace(commanded_line(estimator, open_dataset(data), seed=seed), intervals=intervals)
    write_calibration(run, estimator.run, calibration)
    return calibration


def commanded_line(estimator: Estimator, dataset: Dataset, *, seed: int = 0) -> Calibration:
    """The line from coordinates to radians that the commanded distributions of a data set's training split imply.

    The observational poses are not used for it, and test it: their mean angle must come out as commanded.  The data
    set's angles are never read.

    Args:
        estimator: of a run on this data set, or on one filmed alike.
        dataset: tells its distributions.
        seed: of the choice of poses where there are more than enough.

    Raises:
        UserError: the data set tells no distributions or lacks a policy, or what it tells contradicts its images.
    """
    model, joints = described_model(dataset), estimator.run.joints
    if model is None:
        raise UserError(f"{dataset.path} does not tell its policies' distributions; calibrate on labelled samples")
    if missing := [joint for joint in joints if joint not in model.interventions]:
        raise UserError(f"{dataset.path} tells no commanded distribution for {missing[0]}")
    means = np.array([[model.interventions[joint][k].moments()[0] for joint in joints] for k in (0, 1)])
    policies = ([Regime(joint, policy) for joint in joints] for policy in (1, 2))
    first, second = (_under(estimator, dataset, regimes, seed) for regimes in policies)
    try:
        slope, intercept = commanded_calibration(first, second, means)
    except ValueError as error:
        raise UserError(f"{dataset.path}: {error}; fit the run again") from error
    usual = model.sample_observational(np.random.default_rng(0), _DRAWN).mean(axis=0)
    seen = _under(estimator, dataset, [Regime()] * len(joints), seed).mean(axis=0) * slope + intercept
    for k, joint in enumerate(joints):
        expected = usual[model.joints.index(joint)]
        if abs(seen[k] - expected) > _OFF_CENTRE * abs(means[0, k] - means[1, k]):
            raise UserError(
                f"{dataset.path}: the commanded distributions contradict the images: joint {joint} reads "
                f"{seen[k]:.2f} rad on average without intervention where {expected:.2f} was commanded"
            )
    return Calibration(slope, intercept, samples=0)


def _under(estimator: Estimator, dataset: Dataset, regimes: list[Regime], seed: int) -> Array:
    """Coordinate k of poses under the k-th regime, as many for each: (n, d)."""
    frames = dataset.frames("train")
    read = {}
    for regime in dict.fromkeys(regimes):
        rows = frames.index[frames.regime == dataset.regimes.index(regime)] if regime in dataset.regimes else []
        if not len(rows):
            raise UserError(f"{dataset.path} has no training image under {regime.name}")
        chosen = np.sort(generator(seed, "commanded", regime.name).permutation(rows)[:_POSES])
        read[regime] = estimator.coordinates(images_of(estimator.run, dataset, chosen))
    fewest = min(map(len, read.values()))
    return np.stack([read[regime][:fewest, k] for k, regime in enumerate(regimes)], axis=1)
