"""Numbers in messages: angles in degrees for the reader, and in radians, the unit of files; shares in percent."""

import math
from collections.abc import Sequence

import numpy as np

from ropes.common.arrays import Floats

#: A full turn, radians.
TURN = 2 * math.pi
#: What to do where angles in degrees were given in place of radians.
GIVE_RADIANS = "give radians, not degrees"


def in_both_units(angle: float) -> str:
    """An angle, radians, in degrees and in radians."""
    return f"{math.degrees(angle):.1f}° ({angle:.2f} rad)"


def speed_in_both_units(speed: float) -> str:
    """A speed, rad/s, in degrees and in radians a second."""
    return f"{math.degrees(speed):.1f} °/s ({speed:.2f} rad/s)"


def percent(share: float) -> str:
    """A share of 1 in percent with all its digits: 0.995 is 99.5%, which two digits would round to 100%."""
    return f"{100 * share:.9g}%"


def require_radians(joints: Sequence[str], sizes: Floats, words: str) -> None:
    """Check that sizes of angles are at most a full turn.

    Args:
        joints: names, (d,).
        sizes: of each joint, (d,), radians.
        words: what they are, for the message: "has a median of".

    Raises:
        ValueError: a size is larger, so the angles are probably in degrees.
    """
    for joint, size in zip(joints, sizes.tolist(), strict=True):
        if size > TURN:
            raise ValueError(f"{joint} {words} {size:.3g}, above a full turn; {GIVE_RADIANS}")


def require_angles_in_radians(joints: Sequence[str], angles: Floats) -> None:
    """Check that the angles of each joint span at most a full turn, and that their median size is at most one.

    Args:
        joints: names, (d,).
        angles: (n, d), radians.

    Raises:
        ValueError: they do not, so the angles are probably in degrees.
    """
    require_radians(joints, np.ptp(angles, axis=0), "spans")
    require_radians(joints, np.median(np.abs(angles), axis=0), "has a median of")
