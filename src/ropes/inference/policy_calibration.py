"""Calibration without labels: a monotone map to the policies' commanded distributions."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.causal.scm import Regime
from ropes.common.arrays import Bools, Floats
from ropes.common.seeds import generator
from ropes.common.stores import Location
from ropes.data.chains import has_chains
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.calibration import Calibration, CalibrationErrors, Origin, half_widths, write_calibration
from ropes.inference.consistency import FEWEST_FOR_WIDTHS, Angles, require_consistency
from ropes.inference.estimator import Estimator
from ropes.inference.held_out import held_out_intervals
from ropes.inference.policy_distributions import Commanded, described_by, read_commanded
from ropes.inference.prediction import images_of
from ropes.methods.training.validation_split import fitted_frames, held_out_frames
from ropes.methods.uncertainty.conformal import LEVEL
from ropes.methods.uncertainty.model import Reading
from ropes.metrics.calibration import commanded_calibration
from ropes.metrics.monotone import matched_means, posterior_shrinkage

#: Largest number of poses per regime; their mean angle then has a standard error of about 0.01 rad.
MAX_POSES = 2000
#: Smallest number of poses per regime; the mean of 30 has a standard error of a fifth of their standard deviation.
FEWEST = 30
#: Fewest chains whose starts give a bend.
_FEWEST_STARTS = 100
#: Quantiles that represent a distribution.
_SHARES = (np.arange(10_000) + 0.5) / 10_000


@dataclass(frozen=True)
class PolicyReadings:
    """Coordinates of each joint under its two policies and without intervention; column k is joint k.

    Attributes:
        first, second: coordinates under policy 1 and policy 2 on the joint, (n, d).
        observational: joint (column) → coordinates without intervention, (n,), where its observational mean is known.
        deviation: standard deviations of `first`, then `second`, (2 n, d); None where unknown.
        of_chains: whether the poses are those of chains of moves.
        unused: which poses of `first` and of `second` the fit did not use, bool (2, n, d); None for all.
    """

    first: Floats
    second: Floats
    observational: dict[int, Floats]
    deviation: Floats | None
    of_chains: bool = False
    unused: Bools | None = None

    @property
    def both(self) -> Floats:
        """Coordinates under both policies, (2 n, d)."""
        return np.concatenate([self.first, self.second])


def calibrate_commanded(
    run: Path, data: Location, *, file: Path | None = None, seed: int = 0, level: float = LEVEL
) -> Calibration:
    """Fit the map from coordinates to radians on commanded distributions, and store it with the run.

    Args:
        run: folder of the run.
        data: data set with images and regimes; without `file`, also with a description of the distributions, as
            `ropes simulate` writes it.
        file: JSON file of the distributions, see `ropes.inference.policy_distributions.read_commanded`.
        seed: seed of the choice of poses.
        level: coverage of the intervals, which come from held-out anchors.

    Raises:
        UserError: see `read_policies` and `fit_commanded`, or the file is malformed.
    """
    estimator, dataset = Estimator.load(run, calibrated=False), open_dataset(data)
    joints = estimator.run.joints
    commanded = described_by(dataset, joints) if file is None else read_commanded(file, joints)
    readings = read_policies(estimator, dataset, commanded, seed=seed)
    calibration = replace(
        fit_commanded(estimator, readings, commanded, str(dataset.path if file is None else file), level),
        origin=Origin(source="commanded", seed=seed, level=level, file=None if file is None else file.name),
    )
    half_width = half_widths(calibration, readings.both, readings.deviation, joints)
    calibration = replace(calibration, errors=CalibrationErrors(left_out=None, half_width=half_width))
    write_calibration(run, estimator.run, calibration)
    return calibration


def calibration_from_policies(estimator: Estimator, dataset: Dataset, *, seed: int = 0) -> Calibration:
    """The map from coordinates to radians by the distributions that a data set describes; reads no angles.

    Args:
        estimator: estimator of a run on this data set, or on one with the same arm and cameras.
        dataset: a data set with a description of its distributions.
        seed: seed of the choice of poses.

    Raises:
        UserError: the data set describes no distributions, or see `read_policies` and `fit_commanded`.
    """
    commanded = described_by(dataset, estimator.run.joints)
    readings = read_policies(estimator, dataset, commanded, seed=seed)
    return fit_commanded(estimator, readings, commanded, str(dataset.path))


def fit_commanded(
    estimator: Estimator,
    readings: PolicyReadings,
    commanded: Sequence[Commanded],
    source: str,
    level: float = LEVEL,
) -> Calibration:
    """Fit the map from coordinates to radians on commanded distributions.

    A line maps the poses under each of a joint's policies to their commanded mean.  A monotone bend after it maps both
    together (`ropes.metrics.matched_means`) to the distribution of posterior means: the commanded one, narrowed about
    its mean by what the noise of the coordinates adds to the line's readings (`ropes.metrics.posterior_shrinkage`).
    Observational poses only check the line.

    In chains of moves all joints are under policies at once.  Poses are then farther from the observational ones, and a
    coordinate of joints that are hard to see is less steep in them.  The bend therefore maps the observational poses,
    from which chains start, to their own distribution, where that is known of every joint and they are enough.

    Args:
        estimator: the estimator of the readings.
        readings: readings from a data set.
        commanded: commanded distributions of each joint.
        source: file or data set of the distributions, for messages.
        level: coverage of the intervals, from the run's held-out anchors.

    Raises:
        UserError: the distributions contradict the images, see `ropes.inference.consistency.require_consistency`, or a
            coordinate hardly varies; or the level is too high for the run's held-out anchors.
    """
    try:
        means = np.array([joint.means for joint in commanded]).T
        ranges = np.array([joint.range for joint in commanded])
        line = Calibration(*commanded_calibration(readings.first, readings.second, means), samples=0, ranges=ranges)
    except ValueError as error:
        raise UserError(f"{source}: {error}; fit the run again") from error
    first, second = line.angles(readings.first), line.angles(readings.second)
    observational = {k: values * line.slope[k] + line.intercept[k] for k, values in readings.observational.items()}
    errors = held_out_errors(estimator, readings, line)
    for k, joint in enumerate(estimator.run.joints):
        error_of_joint = None if errors is None else float(errors[k])
        unused = None if readings.unused is None else readings.unused[..., k]
        angles = Angles(first[:, k], second[:, k], observational.get(k), error_of_joint, unused)
        require_consistency(source, joint, commanded[k], angles)
    intervals = held_out_intervals(estimator, level)
    starts = _starts(observational, commanded) if readings.of_chains else None
    if starts is None and len(first) + len(second) < FEWEST_FOR_WIDTHS:  # too few for bends
        return replace(line, intervals=intervals)
    try:
        if starts is not None:
            return replace(line, knots=np.stack([matched_means(*pair) for pair in starts]), intervals=intervals)
        knots, shrinkage = _bends(np.concatenate([first, second]), commanded)
    except ValueError as error:
        raise UserError(f"{source}: {error} to fit a bend; record more poses") from error
    # The map of angles is ρ² times as steep as the readings, and their errors are ρ times as large as the noise.
    return replace(line, knots=knots, intervals=None if intervals is None else intervals.widened(1 / shrinkage))


def held_out_errors(estimator: Estimator, readings: PolicyReadings, line: Calibration) -> Floats | None:
    """The error of each joint's angles as the uncertainty model of held-out anchors gives it.

    Args:
        estimator: the estimator of the readings.
        readings: readings from a data set.
        line: the line from coordinates to radians.

    Returns:
        Root mean squared error of each joint, radians, (d,); None if the run has no standard deviations.
    """
    if readings.deviation is None or estimator.trust is None or estimator.trust.scores is None:
        return None
    errors = np.sqrt((readings.deviation**2).mean(axis=0) * np.nanmean(estimator.trust.scores**2, axis=0))
    return np.asarray(np.abs(line.slope) * errors)


def _starts(observational: Mapping[int, Floats], commanded: Sequence[Commanded]) -> list[tuple[Floats, Floats]] | None:
    """The line's angles of each joint in the poses from which chains start, and their distribution.

    None with too few chains, or where a distribution is not known, with a line on standard error that says so.
    """
    distributions = [joint.marginal for joint in commanded if joint.marginal is not None]
    starts = min(map(len, observational.values()), default=0)
    known = len(distributions) == len(observational) == len(commanded)
    if not known or starts < _FEWEST_STARTS:
        why = f"{starts} chains are fewer than {_FEWEST_STARTS}"
        if not known:
            why = "observational distributions are not known"
        print(f"ropes: angles of hard joints will be far off: {why} (docs/chains.md)", file=sys.stderr)
        return None
    return [(observational[k], each.quantile(_SHARES)) for k, each in enumerate(distributions)]


def _bends(angles: Floats, commanded: Sequence[Commanded]) -> tuple[Floats, Floats]:
    """Each joint's bend, (d, 2, k), and how much narrower its posterior means are than its angles, (d,)."""
    knots, shrinkage = [], []
    for column, joint in zip(angles.T, commanded, strict=True):
        drawn = np.concatenate([policy.quantile(_SHARES) for policy in joint.policies])
        narrower = posterior_shrinkage(column, drawn)
        knots.append(matched_means(column, drawn.mean() + narrower * (drawn - drawn.mean())))
        shrinkage.append(narrower)
    return np.stack(knots), np.array(shrinkage)


def read_policies(
    estimator: Estimator, dataset: Dataset, commanded: Sequence[Commanded], *, seed: int = 0
) -> PolicyReadings:
    """Read equally many training poses under each policy, and without intervention if an observational mean is known.

    Args:
        estimator: estimator of a run on this data set, or on one with the same arm and cameras.
        dataset: a data set with images and regimes; poses that the fit did not use come first.  Of the fit's own data
            set only the anchors or chains that its recipe chooses are read.
        commanded: commanded distributions of each joint of the run.
        seed: seed of the choice of poses.

    Raises:
        UserError: too few poses under a regime.
    """
    joints = estimator.run.joints
    policies = [[Regime(joint, policy) for joint in joints] for policy in (1, 2)]
    checked = [k for k, joint in enumerate(commanded) if joint.observational_mean is not None]
    regimes = [*policies[0], *policies[1], *([Regime()] if checked else [])]
    not_used = held_out_frames(estimator.run, dataset)
    rows = _rows_by_regime(estimator, dataset, regimes, not_used, seed)
    readings = {regime: estimator.read(images_of(estimator.run, dataset, chosen)) for regime, chosen in rows.items()}
    (first, one), (second, two) = (_columns([readings[regime] for regime in of_policy]) for of_policy in policies)
    others = dataset.frames("train").index[not_used]
    unused = [np.stack([np.isin(rows[regime], others) for regime in of_policy], axis=1) for of_policy in policies]
    return PolicyReadings(
        first,
        second,
        {k: readings[Regime()].coordinates[:, k] for k in checked},
        None if one is None or two is None else np.concatenate([one, two]),
        has_chains(dataset),
        np.stack(unused),
    )


def _rows_by_regime(
    estimator: Estimator, dataset: Dataset, regimes: Sequence[Regime], unused: Bools, seed: int
) -> dict[Regime, NDArray[np.int64]]:
    """As many rows of the data set for each regime; those that the fit did not use, bool (n,), come first."""
    frames = dataset.frames("train")
    known = np.ones(len(frames), dtype=bool)
    if estimator.run.data_checksum == dataset.checksum:  # a fit on few anchors knows no policy of the others
        known = fitted_frames(estimator.run, dataset)
    ranked = {}
    for regime in regimes:
        number = dataset.regimes.index(regime) if regime in dataset.regimes else -1
        rows = generator(seed, "commanded", regime.name).permutation(np.flatnonzero(known & (frames.regime == number)))
        if len(rows) < FEWEST:
            whose = f"{dataset.path} has" if known.all() else f"the run learnt from anchors of {dataset.path} that have"
            raise UserError(
                f"{whose} {len(rows)} training images under {regime.name}; commanded distributions need {FEWEST} or "
                "more for a reliable mean"
            )
        ranked[regime] = rows[np.argsort(~unused[rows], kind="stable")]
    # Chains start with an observational pose, so these are few.
    counted = [rows for regime, rows in ranked.items() if regime.policy or not has_chains(dataset)]
    count = min(MAX_POSES, *map(len, counted))
    return {regime: np.sort(frames.index[rows[:count]]) for regime, rows in ranked.items()}


def _columns(readings: Sequence[Reading]) -> tuple[Floats, Floats | None]:
    """Coordinate k of the k-th reading, and its standard deviation where known; (n, d) each."""
    coordinates = np.stack([reading.coordinates[:, k] for k, reading in enumerate(readings)], axis=1)
    deviations = [reading.deviation[:, k] for k, reading in enumerate(readings) if reading.deviation is not None]
    return coordinates, np.stack(deviations, axis=1) if len(deviations) == len(readings) else None
