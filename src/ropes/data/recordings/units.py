"""Units of joint positions: converted to radians, or refused where their size contradicts the unit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ropes.common.arrays import Floats
from ropes.common.units import TURN
from ropes.data.recordings.source import Scale, StateUnit
from ropes.data.recordings.synchronise import Views
from ropes.errors import UserError

#: A joint of an arm hardly ever turns by more, radians.
_MOST_RADIANS = 2 * TURN
#: Most joints of an arm turn by less: a full turn to each side, with a margin for noise, radians.
_A_TURN = 1.01 * TURN
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
    views: Views, unit: StateUnit | None, scales: Mapping[str, Scale], where: str, *, needed: bool = False
) -> Views:
    """The views with finite joint positions in radians.

    Args:
        views: of an episode.
        unit: of its positions; None is radians, and positions that look like degrees are refused: more than half of the
            joints reach more than a turn, or a joint reaches more than two.
        scales: joint → its own unit, which counts unless the positions are in radians.
        where: name of the episode, for messages.
        needed: whether positions cannot be left out; the message then does not propose it.

    Raises:
        UserError: a position is not finite, too large for its unit or probably in degrees, or a joint has no scale for
            percent.
    """
    if views.positions is None or not views.positions.size:
        return views
    positions = radians_of(views.positions, views.joints, unit or "radians", scales)
    if not np.isfinite(positions).all():
        row = int(np.flatnonzero(~np.isfinite(positions).all(axis=1))[0])
        raise UserError(f"{where}: a joint position at {views.times[row]:.3f} s is not a finite number; mend the log")
    largest = dict(zip(views.joints, np.abs(views.positions).max(axis=0).tolist(), strict=True))
    if unit == "percent":
        _require_percent(largest, scales, where)
    reach = np.abs(positions).max(axis=0)
    column = int(reach.argmax())
    joint, row = views.joints[column], int(np.abs(positions[:, column]).argmax())
    what = f"{where}, {views.times[row]:.3f} s: joint {joint} reaches {views.positions[row, column]:.1f}"
    hints = ["--state percent if LeRobot recorded without use_degrees"] if scales else []
    leave_out = [] if needed else ["--state none to leave joint positions out"]
    if unit is None and (reach[column] > _MOST_RADIANS or 2 * np.sum(reach > _A_TURN) > len(reach)):
        first = "give --state degrees" if np.radians(reach[column]) <= _MOST_RADIANS else "mend the log"
        turns = f"--state radians if {'it turns' if len(reach) == 1 else 'joints turn'} so far"
        raise UserError(f"{what}, which is no likely angle in radians; {_listed([first, *hints, turns, *leave_out])}")
    if unit not in (None, "radians") and reach[column] > _MOST_RADIANS:
        raise UserError(f"{what}, which is no angle in {unit}; {_listed(['mend the log', *hints, *leave_out])}")
    return replace(views, positions=positions)


def beyond_a_turn(episodes: Sequence[Views]) -> list[str]:
    """A line on joints, of all episodes, that reach more than a turn in radians; none where there are none."""
    reached: dict[str, float] = {}
    for views in episodes:
        if views.positions is not None and views.positions.size:
            for joint, reach in zip(views.joints, np.abs(views.positions).max(axis=0).tolist(), strict=True):
                reached[joint] = max(reach, reached.get(joint, 0.0))
    far = [f"{joint} {reach:.1f} rad" for joint, reach in reached.items() if reach > _A_TURN]
    if not far:
        return []
    return [f"joints reach more than a turn ({', '.join(far)}); if positions are in degrees, give --state degrees"]


def _listed(parts: Sequence[str]) -> str:
    *others, last = parts
    return f"{', '.join(others)}, or {last}" if others else last


def _require_percent(largest: Mapping[str, float], scales: Mapping[str, Scale], where: str) -> None:
    """Check that all joints have a scale, and positions of at most 100."""
    for joint, value in largest.items():
        if joint not in scales:
            known = f"joint {joint} is none of {', '.join(scales)}" if scales else "it is not one of LeRobot"
            raise UserError(f"{where}: --state percent does not fit the recording: {known}")
        if value > _MOST_PERCENT:
            raise UserError(f"{where}: joint {joint} reaches {value:.1f}, beyond 100 percent; give --state degrees")
