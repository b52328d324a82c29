"""Calibration without labels: a monotone map that matches the commanded distributions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.causal.scm import Regime
from ropes.common.seeds import generator
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.calibration import Calibration, KnownErrors, Origin, half_widths, write_calibration
from ropes.inference.consistency import FEWEST_FOR_WIDTHS, Angles, require_agreement
from ropes.inference.estimator import Estimator
from ropes.inference.policy_distributions import Commanded, described_by, read_commanded
from ropes.inference.prediction import images_of
from ropes.methods.uncertainty.conformal import LEVEL
from ropes.methods.uncertainty.model import Reading
from ropes.methods.validation_split import not_learnt_from
from ropes.metrics.bend import matched_means
from ropes.metrics.calibration import commanded_calibration

#: Poses read of each regime: their mean angle is then known to a hundredth of a radian or so.
_POSES = 2000
#: Poses of each regime below which a mean is a matter of chance: of 30 it is known to a fifth of their spread.
FEWEST = 30
#: Quantiles of a policy that stand for its distribution.
_QUANTILES = 10_000
Array = NDArray[np.float64]


@dataclass(frozen=True)
class PolicyReadings:
    """What was read of the poses that tell of each joint; column k is of joint k.

    Attributes:
        first, second: coordinates under policy 1 and policy 2 on the joint, (n, d).
        usual: without intervention, of the joints (columns) whose observational distribution is told; (n,) each.
        deviation: standard deviations of `first` and after them `second`, (2 n, d); None where the run knows none.
    """

    first: Array
    second: Array
    usual: dict[int, Array]
    deviation: Array | None

    @property
    def both(self) -> Array:
        """Coordinates under both policies, (2 n, d)."""
        return np.concatenate([self.first, self.second])


def calibrate_commanded(
    run: Path, data: Path, *, file: Path | None = None, seed: int = 0, level: float = LEVEL
) -> Calibration:
    """Fit the map from coordinates to radians on commanded distributions, and store it with the run.

    Args:
        run: folder of the run.
        data: data set whose images and regimes are read; without a file it tells its distributions as well, as those
            of `ropes simulate` do.
        file: that tells them instead, see `ropes.inference.policy_distributions.read_commanded`.
        seed: of the choice of poses where there are more than enough.
        level: share of the truths that the intervals, which rest on held-out anchors, are meant to hold.

    Raises:
        UserError: see `read_policies` and `fit_commanded`, or the file is malformed.
    """
    estimator, dataset = Estimator.load(run, calibrated=False), open_dataset(data)
    joints = estimator.run.joints
    told = described_by(dataset, joints) if file is None else read_commanded(file, joints)
    readings = read_policies(estimator, dataset, told, seed=seed)
    found = fit_commanded(estimator, readings, told, str(dataset.path if file is None else file))
    calibration = replace(
        found,
        intervals=estimator.own_intervals(level),
        origin=Origin(source="commanded", seed=seed, level=level, file=None if file is None else file.name),
    )
    half_width = half_widths(calibration, readings.both, readings.deviation, joints)
    calibration = replace(calibration, errors=KnownErrors(left_out=None, half_width=half_width))
    write_calibration(run, estimator.run, calibration)
    return calibration


def commanded_map(estimator: Estimator, dataset: Dataset, *, seed: int = 0) -> Calibration:
    """The map from coordinates to radians that the description of a data set's training split implies.

    The data set's angles are never read.

    Args:
        estimator: of a run on this data set, or on one filmed alike.
        dataset: tells its distributions.
        seed: of the choice of poses where there are more than enough.

    Raises:
        UserError: the data set tells no distributions, or see `read_policies` and `fit_commanded`.
    """
    told = described_by(dataset, estimator.run.joints)
    return fit_commanded(estimator, read_policies(estimator, dataset, told, seed=seed), told, str(dataset.path))


def fit_commanded(estimator: Estimator, readings: PolicyReadings, told: Sequence[Commanded], where: str) -> Calibration:
    """The map from coordinates to radians that commanded distributions imply.

    A line that gives the poses under each of a joint's policies their commanded mean, and a monotone bend after it that
    gives both together their commanded distribution (`ropes.metrics.matched_means`).  The observational poses are not
    used for it, and test it.

    Args:
        estimator: that the readings are of.
        readings: of a data set.
        told: of each joint.
        where: what tells it, for messages.

    Raises:
        UserError: what is told contradicts the images, see `ropes.inference.consistency.require_agreement`, or a
            coordinate hardly varies.
    """
    try:
        means = np.array([each.means for each in told]).T
        line = Calibration(*commanded_calibration(readings.first, readings.second, means), samples=0)
    except ValueError as error:
        raise UserError(f"{where}: {error}; fit the run again") from error
    one, two, errors = line.angles(readings.first), line.angles(readings.second), _errors(estimator, readings, line)
    for k, joint in enumerate(estimator.run.joints):
        usual = readings.usual[k] * line.slope[k] + line.intercept[k] if k in readings.usual else None
        known = None if errors is None else float(errors[k])
        require_agreement(where, joint, told[k], Angles(one[:, k], two[:, k], usual, known))
    try:
        return replace(line, knots=_knots(np.concatenate([one, two]), told))
    except ValueError as error:
        raise UserError(f"{where}: {error} to see how the coordinates are spread; record more poses") from error


def _errors(estimator: Estimator, readings: PolicyReadings, line: Calibration) -> Array | None:
    """Root mean squared error of each joint after a line, radians, as anchors know it; None where they do not."""
    if readings.deviation is None or estimator.trust is None or estimator.trust.scores is None:
        return None
    units = np.sqrt((readings.deviation**2).mean(axis=0) * np.nanmean(estimator.trust.scores**2, axis=0))
    return np.asarray(np.abs(line.slope) * units)


def _knots(angles: Array, told: Sequence[Commanded]) -> Array | None:
    """Each joint's bend, (d, 2, k); None with too few poses for bends."""
    if len(angles) < FEWEST_FOR_WIDTHS:
        return None
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    drawn = [np.concatenate([policy.quantile(shares) for policy in each.policies]) for each in told]
    return np.stack([matched_means(read, expected) for read, expected in zip(angles.T, drawn, strict=True)])


def read_policies(
    estimator: Estimator, dataset: Dataset, told: Sequence[Commanded], *, seed: int = 0
) -> PolicyReadings:
    """Read training poses under each policy, and without intervention where that is told: as many of each regime.

    Args:
        estimator: of a run on this data set, or on one filmed alike.
        dataset: its images and regimes are read; those come first that no weight was fitted on.
        told: of each joint of the run.
        seed: of the choice of poses where there are more than enough.

    Raises:
        UserError: too few poses under a regime.
    """
    joints = estimator.run.joints
    policies = [[Regime(joint, policy) for joint in joints] for policy in (1, 2)]
    tested = [k for k, each in enumerate(told) if each.usual is not None]
    chosen = _chosen(estimator, dataset, [*policies[0], *policies[1], *([Regime()] if tested else [])], seed)
    read = {regime: estimator.read(images_of(estimator.run, dataset, rows)) for regime, rows in chosen.items()}
    (first, one), (second, two) = (_columns([read[regime] for regime in regimes]) for regimes in policies)
    return PolicyReadings(
        first,
        second,
        {k: read[Regime()].coordinates[:, k] for k in tested},
        None if one is None or two is None else np.concatenate([one, two]),
    )


def _chosen(
    estimator: Estimator, dataset: Dataset, regimes: Sequence[Regime], seed: int
) -> dict[Regime, NDArray[np.int64]]:
    """Rows of the data set under each regime, as many for each, those first that no weight was fitted on."""
    frames, fresh = dataset.frames("train"), not_learnt_from(estimator.run, dataset)
    ranked = {}
    for regime in regimes:
        number = dataset.regimes.index(regime) if regime in dataset.regimes else -1
        rows = generator(seed, "commanded", regime.name).permutation(np.flatnonzero(frames.regime == number))
        if len(rows) < FEWEST:
            raise UserError(
                f"{dataset.path} has {len(rows)} training images under {regime.name}; commanded distributions need "
                f"{FEWEST} or more, for a mean of fewer is a matter of chance"
            )
        ranked[regime] = rows[np.argsort(~fresh[rows], kind="stable")]
    few = min(_POSES, *map(len, ranked.values()))
    return {regime: np.sort(frames.index[rows[:few]]) for regime, rows in ranked.items()}


def _columns(readings: Sequence[Reading]) -> tuple[Array, Array | None]:
    """Coordinate k of the k-th reading, and its standard deviation where known; (n, d) each."""
    coordinates = np.stack([reading.coordinates[:, k] for k, reading in enumerate(readings)], axis=1)
    known = [reading.deviation[:, k] for k, reading in enumerate(readings) if reading.deviation is not None]
    return coordinates, np.stack(known, axis=1) if len(known) == len(readings) else None
