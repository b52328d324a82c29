"""Radians without a label: the monotone map that fits what the policies were commanded to draw."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.calibration import Calibration, Origin, write_calibration
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.estimator import Estimator
from ropes.methods.held_out import not_learnt_from
from ropes.methods.policies import described_model
from ropes.metrics.bend import matched_means
from ropes.metrics.calibration import commanded_calibration
from ropes.prediction import images_of
from ropes.scm import Regime, TruncatedNormal
from ropes.seeds import generator
from ropes.trust.intervals import LEVEL, intervals_from_anchors

#: Farther off than this share of the distance between the two policies' means, an observational mean contradicts.
_OFF_CENTRE = 0.25
#: Narrower than this share of what was commanded, angles contradict: noise makes them wider.
_TOO_NARROW = 0.6
#: Poses read of each regime: their mean angle is then known to a hundredth of a radian or so.
_POSES = 2000
#: Poses under both policies together below which a line is all that they tell.
_FEWEST_TO_BEND = 400
_DRAWN = 20_000
#: Quantiles of a policy that stand for its distribution.
_QUANTILES = 10_000
Array = NDArray[np.float64]


def calibrate_commanded(run: Path, data: Path, *, seed: int = 0, level: float = LEVEL) -> Calibration:
    """Fit the map from coordinates to radians on commanded distributions, and store it with the run.

    Args:
        run: folder of the run.
        data: data set that tells its distributions, as those of `ropes simulate` do.
        seed: of the choice of poses where there are more than enough.
        level: share of the truths that the intervals, which rest on held-out anchors, are meant to hold.

    Raises:
        UserError: see `commanded_map`.
    """
    estimator = Estimator.load(run)
    intervals = intervals_from_anchors(estimator.trust, level) if estimator.trust else None
    origin = Origin(source="commanded", seed=seed, level=level)
    calibration = replace(commanded_map(estimator, open_dataset(data), seed=seed), intervals=intervals, origin=origin)
    write_calibration(run, estimator.run, calibration)
    return calibration


def commanded_map(estimator: Estimator, dataset: Dataset, *, seed: int = 0) -> Calibration:
    """The map from coordinates to radians that the commanded distributions of a data set's training split imply.

    A line that gives the poses under each of a joint's policies their commanded mean, and a monotone bend after it that
    gives both together their commanded distribution (`ropes.metrics.matched_means`).  The observational poses are not
    used for it, and test it: their mean angle must come out as commanded.  The data set's angles are never read.

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
    told = [model.interventions[joint] for joint in joints]
    means = np.array([[policies[k].moments()[0] for policies in told] for k in (0, 1)])
    regimes = ([Regime(joint, policy) for joint in joints] for policy in (1, 2))
    fresh = not_learnt_from(estimator.run, dataset)
    first, second = (_under(estimator, dataset, each, fresh, seed) for each in regimes)
    try:
        line = Calibration(*commanded_calibration(first, second, means), samples=0)
    except ValueError as error:
        raise UserError(f"{dataset.path}: {error}; fit the run again") from error
    usual = model.sample_observational(np.random.default_rng(0), _DRAWN).mean(axis=0)
    seen = line.angles(_under(estimator, dataset, [Regime()] * len(joints), fresh, seed)).mean(axis=0)
    one, two = line.angles(first), line.angles(second)
    width = np.sqrt((one.var(axis=0) + two.var(axis=0)) / 2)
    enough = 2 * len(one) >= _FEWEST_TO_BEND
    for k, joint in enumerate(joints):
        contradiction = f"{dataset.path}: the commanded distributions contradict the images: joint {joint} "
        expected = usual[model.joints.index(joint)]
        if abs(seen[k] - expected) > _OFF_CENTRE * abs(means[0, k] - means[1, k]):
            raise UserError(
                f"{contradiction}reads {seen[k]:.2f} rad on average without intervention where {expected:.2f} was "
                "commanded"
            )
        commanded = float(np.sqrt(np.mean([policy.moments()[1] for policy in told[k]])))
        if enough and width[k] < _TOO_NARROW * commanded:
            raise UserError(
                f"{contradiction}spreads by {width[k]:.2f} rad under each of its policies where {commanded:.2f} was "
                "commanded (or the coordinate has not learnt its ends: fit longer)"
            )
    try:
        return replace(line, knots=_knots(np.concatenate([one, two]), told))
    except ValueError as error:
        raise UserError(f"{dataset.path}: {error} to see how the coordinates are spread; record more poses") from error


def _knots(angles: Array, told: Sequence[Sequence[TruncatedNormal]]) -> Array | None:
    """Each joint's bend, (d, 2, k); None with too few poses for bends."""
    if len(angles) < _FEWEST_TO_BEND:
        return None
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    drawn = [np.concatenate([policy.quantile(shares) for policy in policies]) for policies in told]
    return np.stack([matched_means(read, expected) for read, expected in zip(angles.T, drawn, strict=True)])


def _under(estimator: Estimator, dataset: Dataset, regimes: list[Regime], fresh: NDArray[np.bool_], seed: int) -> Array:
    """Coordinate k of poses under the k-th regime, as many for each, those that are `fresh` first: (n, d)."""
    frames, ranked = dataset.frames("train"), {}
    for regime in dict.fromkeys(regimes):
        number = dataset.regimes.index(regime) if regime in dataset.regimes else -1
        rows = generator(seed, "commanded", regime.name).permutation(np.flatnonzero(frames.regime == number))
        if not len(rows):
            raise UserError(f"{dataset.path} has no training image under {regime.name}")
        ranked[regime] = rows[np.argsort(~fresh[rows], kind="stable")]
    few = min(_POSES, *map(len, ranked.values()))
    read = {
        regime: estimator.coordinates(images_of(estimator.run, dataset, np.sort(frames.index[rows[:few]])))
        for regime, rows in ranked.items()
    }
    return np.stack([read[regime][:, k] for k, regime in enumerate(regimes)], axis=1)
