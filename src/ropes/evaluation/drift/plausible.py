"""Refuses recordings whose angles cannot be those of the images: other units, other clocks, another arm, no motion.

A log that is late by the delay of a camera is shifted.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import stats

from ropes.common.arrays import Bools, Floats
from ropes.data.layout import open_dataset
from ropes.data.recordings.source import StateUnit
from ropes.errors import UserError
from ropes.evaluation.drift.frames import LoggedFrames, is_of_ropes
from ropes.evaluation.drift.statistics import spread_of

#: Joints whose logged angles vary by more than so many standard deviations of the estimator's errors can be compared.
_VARIED = 2.0
#: Rank correlation of read and logged angles below which readings do not follow.
_FOLLOWS = 0.3
#: Ratio of logged to read variation above which radians are degrees; below the inverse, degrees are radians.
_OTHER_UNIT = 20.0
#: Delays of the log that are tried, seconds; the smallest one that counts; the largest that a camera may have.
_LAGS, _LEAST_LAG, _LARGEST_LAG = np.arange(-40, 41) * 0.05, 0.1, 0.3
#: Share of the difference that remains where a delay explains it.
_EXPLAINED = 0.7
#: Readings that vary by less than this share of the estimator's errors come from images that do not change.
_FROZEN = 0.01


def require_plausible(
    frames: LoggedFrames, read: Floats, stds: Floats, path: Path, unit: StateUnit = "radians"
) -> LoggedFrames:
    """The frames, with a log that is at the same time; checks that readings follow it, in the same unit.

    Args:
        frames: with the logged angles.
        read: angles by the estimator, (n, d), radians.
        stds: standard deviations of its errors, (n, d), radians.
        path: of the recording, for messages.
        unit: in which the log was read, for messages.

    Raises:
        UserError: they do not.
    """
    logged, typical = frames.angles, np.median(stds, axis=0)
    moves = spread_of(logged) > _VARIED * typical
    turns = spread_of(read) > typical
    ratio = np.median(spread_of(logged)[turns] / spread_of(read)[turns]) if turns.any() else 1.0
    if ratio > _OTHER_UNIT:
        raise UserError(
            f"{path}: logged angles vary {ratio:.0f} times as much as those read from images: {_too_large(path, unit)}"
        )
    if ratio == 0:
        raise UserError(
            f"{path}: most logged angles stay the same while those read from images vary: the log stopped, or it is of "
            "another recording"
        )
    if ratio < 1 / _OTHER_UNIT:
        raise UserError(
            f"{path}: logged angles vary {1 / ratio:.0f} times less than those read from images: "
            f"{_too_small(path, unit)}"
        )
    if not moves.any():
        return frames
    if (np.ptp(read, axis=0) < _FROZEN * typical).all():
        raise UserError(
            f"{path}: the logged angles change and those read from images do not: the cameras stopped, or all frames "
            "show one pose; record again"
        )
    frames = _at_one_time(frames, read, typical, moves, path)
    if _follows(read[:, moves], frames.angles[:, moves]) < _FOLLOWS:
        raise UserError(
            f"{path}: the angles read from images follow no logged joint: the recording is of another arm, its "
            "cameras are exchanged or show something else, or its joints have other names"
        )
    return frames


def _too_large(path: Path, unit: StateUnit) -> str:
    """What to do where angles are probably in degrees."""
    if not is_of_ropes(path):
        return "give --state degrees" if unit == "radians" else "the images are of another recording"
    if _unit_of_import(path) == "radians":
        return "import its recording again with ropes import --state degrees"
    return "its angles are not those of the images, or not in radians; record or import it again"


def _too_small(path: Path, unit: StateUnit) -> str:
    """What to do where angles in radians were probably read in degrees."""
    of_ropes = is_of_ropes(path)
    if of_ropes and _unit_of_import(path) == "degrees":
        return "import its recording again with ropes import --state radians"
    in_degrees = ", or in radians where --state degrees is given" if unit == "degrees" and not of_ropes else ""
    return f"the log is of another recording{in_degrees}"


def _unit_of_import(path: Path) -> str | None:
    """The --state with which `ropes import` made a data set; None for data sets of other commands."""
    return (open_dataset(path).provenance or {}).get("import", {}).get("state")


def _at_one_time(frames: LoggedFrames, read: Floats, typical: Floats, moves: Bools, path: Path) -> LoggedFrames:
    """The frames, with the log shifted by its delay where that explains the differences much better than none.

    Raises:
        UserError: the delay is longer than a camera's, and the readings follow the log at this delay.
    """
    shifted = frames.shifted
    if shifted is None:
        return frames

    def misfit(lag: float) -> float:
        differences = read - shifted(lag)
        return float(np.abs((differences - np.median(differences, axis=0)) / typical).mean())

    misfits = np.array([misfit(lag) for lag in _LAGS])
    best = float(_LAGS[misfits.argmin()])
    if abs(best) < _LEAST_LAG or misfits.min() >= _EXPLAINED * misfit(0.0):
        return frames
    # Between poses that jump, an interpolated log varies less and fits better, without any clock that is wrong.
    if _follows(read[:, moves], shifted(best)[:, moves]) < _FOLLOWS:
        return frames
    if abs(best) > _LARGEST_LAG + 1e-9:
        raise UserError(
            f"{path}: clocks disagree: by the motion that both show, the log is {abs(best):.2f} s "
            f"{'late' if best > 0 else 'early'} against the images; record with one clock, or "
            + (
                f"shift the log by --offset {-best:.2f}"
                if frames.source == "videos"
                else "correct the times of the log"
            )
        )
    return replace(frames, angles=shifted(best), lag=best)


def _follows(read: Floats, logged: Floats) -> float:
    """Largest rank correlation of read and logged angles, both (n, joints), of any joint; 0 without motion."""
    changing = (np.ptp(read, axis=0) > 0) & (np.ptp(logged, axis=0) > 0)
    return max((float(stats.spearmanr(read[:, k], logged[:, k])[0]) for k in np.flatnonzero(changing)), default=0.0)
