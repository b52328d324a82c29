"""True joint angles of a video, from a CSV file with the angles at some times."""

from pathlib import Path

import numpy as np

from ropes.common.arrays import Floats
from ropes.errors import UserError
from ropes.inference.sources import csv_rows
from ropes.methods.run import Run

_TIME = "time"


class Truth:
    """Angles that are interpolated linearly between their times.

    Args:
        times: (n,) ascending, seconds from the first frame of the video.
        angles: (n, d) radians.
    """

    def __init__(self, times: Floats, angles: Floats) -> None:
        self._times, self._angles = times, angles

    def at(self, seconds: float) -> Floats | None:
        """Angles (d,) at a time; None before the first and after the last one."""
        if not self._times[0] <= seconds <= self._times[-1]:
            return None
        return np.array([np.interp(seconds, self._times, column) for column in self._angles.T])


def read_truth(run: Run, path: Path) -> Truth:
    """Read a CSV file with the column `time` in seconds from the first frame, and one of radians for each joint.

    Raises:
        UserError: the file or a column is missing, a value is not a finite number, or times do not ascend.
    """
    names = (_TIME, *run.joints)
    rows = csv_rows(path, names, "angles")
    values = np.empty((len(rows), len(names)))
    for number, row in enumerate(rows):
        try:
            values[number] = [float(row[name]) for name in names]
        except (TypeError, ValueError) as error:
            raise UserError(f"{path}, line {number + 2}: a value is not a number") from error
    if not np.isfinite(values).all() or (np.diff(values[:, 0]) <= 0).any():
        raise UserError(f"{path}: times must ascend, and all values must be finite")
    return Truth(values[:, 0], values[:, 1:])
