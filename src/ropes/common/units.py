"""Angles in messages: degrees for the reader, and radians, the unit of files and arrays."""

import math


def in_both_units(angle: float) -> str:
    """An angle, radians, in degrees and in radians."""
    return f"{math.degrees(angle):.1f}° ({angle:.2f} rad)"
