"""Units of joint positions: converted to radians, or refused where their size contradicts the unit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ropes.common.arrays import Floats
from ropes.data.recordings.source import Scale, StateUnit
from ropes.data.recordings.synchronise import Views
from ropes.errors import UserError

#: No joint of an arm turns by more, radians.
_MOST_RADIANS = 4 * np.pi
#: The largest position in percent, with a margin for rounding.
_MOST_PERCENT = 100.5


def radians_of(positions: Floats, joints: Sequence[str], unit: StateUnit, scales: Mapping[str, Scale]) -> Floats:
    """Joint positions in radians, (n, joints), without any check.

    Args:
        positions: in their unit, (n, joints).
        joints: names of the columns.
        unit: of the positions.
        scales: joint → its own unit, which counts unless the positions are in radians.
    """
    radians = np.deg2rad(positions) if unit == "degrees" else positions.copy()
    for column, name in enumerate(joints):
        if name in scales and unit != "radians":
            radians[:, column] = scales[name].zero + scales[name].unit * positions[:, column]
    return radians


def in_radians(
    views: Views, unit: StateUnit, scales: Mapping[str, Scale], where: str, *, needed: bool = False
) -> Views:
    """The views with finite joint positions in radians.

    Args:
        views: of an episode.
        unit: of its positions.
        scales: joint → its own unit, which counts unless the positions are in radians.
        where: name of the episode, for messages.
        needed: whether positions cannot be left out; the message then does not propose it.

    Raises:
        UserError: a position is not finite, or too large for its unit; or a joint has no scale for percent.
    """
    if views.positions is None or not views.positions.size:
        return views
    positions = radians_of(views.positions, views.joints, unit, scales)
    if not np.isfinite(positions).all():
        row = int(np.flatnonzero(~np.isfinite(positions).all(axis=1))[0])
        raise UserError(f"{where}: a joint position at {views.times[row]:.3f} s is not a finite number; mend the log")
    largest = dict(zip(views.joints, np.abs(views.positions).max(axis=0).tolist(), strict=True))
    if unit == "percent":
        _require_percent(largest, scales, where)
    if np.abs(positions).max() > _MOST_RADIANS:
        column = int(np.abs(positions).max(axis=0).argmax())
        joint, row = views.joints[column], int(np.abs(positions[:, column]).argmax())
        fits = unit == "radians" and np.radians(np.abs(positions).max()) <= _MOST_RADIANS
        hints = ["give --state degrees" if fits else "mend the log"]
        hints += ["--state percent if LeRobot recorded without use_degrees"] if scales else []
        hints += [] if needed else ["--state none to leave joint positions out"]
        raise UserError(
            f"{where}, {views.times[row]:.3f} s: joint {joint} reaches {views.positions[row, column]:.1f}, which is no "
            f"angle in {unit}; "
            f"{', '.join(hints[:-1])}{', or ' if hints[1:] else ''}{hints[-1]}"
        )
    return replace(views, positions=positions)


def _require_percent(largest: Mapping[str, float], scales: Mapping[str, Scale], where: str) -> None:
    """Check that all joints have a scale, and positions of at most 100."""
    for joint, value in largest.items():
        if joint not in scales:
            known = f"joint {joint} is none of {', '.join(scales)}" if scales else "it is not one of LeRobot"
            raise UserError(f"{where}: --state percent does not fit the recording: {known}")
        if value > _MOST_PERCENT:
            raise UserError(f"{where}: joint {joint} reaches {value:.1f}, beyond 100 percent; give --state degrees")
