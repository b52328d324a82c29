"""Watches an arm on its way to a pose: its ranges, the straight line that was checked for collisions, and its speed.

The speed is that of the encoders' readings q at times t.  With the largest speed v of a joint, all readings i < j of a
move must satisfy

    |q_j − q_i| ≤ 1.5 v (t_j − t_i) + off + 0.1 s · v.

A joint at twice its limit is found after 0.2 s + 2 off / v.  The margins:

- 1.5: a controller that joins two poses by one cubic spline is 1.5 times as fast in the middle as on average.
- off: the distance of a joint from the straight line that is allowed too, so that noisy encoders pass both checks.
- 0.1 s: one reading may be older than another.  The time in which the robot answers counts as time of the move.  A
  value that comes again exactly may be an old one, of a topic that hesitates: it counts from when it came first.
"""

import numpy as np

from ropes.common.arrays import Floats
from ropes.data.recorder.travel import beside
from ropes.errors import UserError

#: How far beyond its limits a joint may be, radians: encoders and controllers are inexact.
_OVERSHOOT = 0.05
#: How much faster than its limit a joint may be, and the difference between the ages of two readings, seconds.
_FASTER, _AGES = 1.5, 0.1


class MoveWatch:
    """Checks what the encoders read during one move.

    Args:
        joints: names, for messages.
        ranges: lowest and highest angles, (joints,) radians each.
        speed: largest speed of each joint, (joints,) rad/s.
        off: largest distance of a joint from the straight line, radians.
        start: where the move begins, (joints,) radians.
        goal: where it ends, (joints,).
        began: when it was commanded, seconds.
    """

    def __init__(
        self,
        joints: tuple[str, ...],
        ranges: tuple[Floats, Floats],
        speed: Floats,
        off: float,
        *,
        start: Floats,
        goal: Floats,
        began: float,
    ) -> None:
        self._joints, self._ranges, self._speed, self._off = joints, ranges, speed, off
        self._start, self._goal = start, goal
        #: What was read, and since when it may be so.
        self._read, self._since = [start], [np.full(len(joints), began)]

    def check(self, now: Floats, asked: float, answered: float) -> None:
        """Check a reading.

        Args:
            now: angles, (joints,) radians.
            asked: when the robot was asked, seconds.
            answered: when it answered.

        Raises:
            UserError: a joint leaves its range or the straight line, or is too fast.
        """
        self._require_inside(now)
        self._require_on_line(now)
        self._require_slow(now, answered)
        self._since.append(np.where(now == self._read[-1], self._since[-1], asked))
        self._read.append(now)

    def _require_inside(self, now: Floats) -> None:
        """Check that no joint leaves its range; one that starts outside must not go farther out."""
        low, high = self._ranges
        out = (now < np.minimum(low, self._start) - _OVERSHOOT) | (now > np.maximum(high, self._start) + _OVERSHOOT)
        if out.any():
            joint = int(np.flatnonzero(out)[0])
            place = f"joint {self._joints[joint]} is at {now[joint]:.3f}"
            raise UserError(
                f"{place}, outside [{low[joint]:g}, {high[joint]:g}]; bring the arm into its ranges by hand"
            )

    def _require_on_line(self, now: Floats) -> None:
        """Check that the arm keeps to the straight line, which alone was checked for collisions."""
        off = np.abs(beside(self._start, self._goal, now))
        if off.max() > self._off:
            joint = int(off.argmax())
            raise UserError(
                f"joint {self._joints[joint]} is at {now[joint]:.3f}, {off[joint]:.2f} off the straight way to "
                f"{self._goal[joint]:.3f}; all joints must start and arrive together, or give a larger --tolerance"
            )

    def _require_slow(self, now: Floats, answered: float) -> None:
        """Check that no joint is faster than its limit."""
        gone, seconds = np.abs(now - np.array(self._read)), answered - np.array(self._since)
        over = gone - self._speed * (_FASTER * seconds + _AGES) - self._off
        reading, joint = np.unravel_index(int(over.argmax()), over.shape)
        if over[reading, joint] > 0:
            way = f"{gone[reading, joint]:.2f} in {seconds[reading, joint]:.2f} s"
            raise UserError(
                f"joint {self._joints[joint]} went {way}, faster than its limit of {self._speed[joint]:g} a second; "
                "make its controller slower, or give a higher limit"
            )
