"""Draws the recording protocol: the poses of an anchor, and the moments of a pose: docs/images/protocol.svg.

python tools/docs/protocol.py [--check]
"""

import math
from collections.abc import Sequence
from pathlib import Path

from svg import opening, write_or_check

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "protocol.svg"
_WIDTH, _HEIGHT = 980, 430
#: Observational angles of three joints of a planar arm, degrees, and the angle of each joint under its two policies.
_REST, _POLICIES = (0.0, 40.0, 35.0), ((-40.0, 22.0), (-5.0, 85.0), (-35.0, 85.0))
_LINKS = (38.0, 32.0, 26.0)
#: Left, top, width and height of the first card; distance to the next one.
_CARD, _STEP = (15, 56, 126, 168), 137
#: Name, what happens, width, and fill of the moments of a pose.
_MOMENTS = (
    ("Move", "one or two joints turn|within the speed limit", 260, "#e8f0fa"),
    ("Stand still", "encoders are at the goal|and do not change", 250, "#e9f5ea"),
    ("Settle", "frames are dropped|for 0.3 s", 220, "#fdf1e3"),
    ("Frame", "of each camera; it must|equal the one before it", 230, "#f3ecf8"),
)
_INK, _PALE, _MOVED = "#234", "#c3ccd6", "#d9600e"


def drawn() -> str:
    """The picture."""
    heading = 'font-size="15" font-weight="bold" fill="#123"'
    lines = [
        *opening(_WIDTH, _HEIGHT),
        f'<text x="15" y="30" {heading}>One anchor of an arm with three joints: seven poses</text>',
    ]
    poses = [("observational", None, _REST)]
    for joint, angles in enumerate(_POLICIES):
        for policy, angle in enumerate(angles, 1):
            pose = tuple(angle if k == joint else rest for k, rest in enumerate(_REST))
            poses.append((f"joint {joint + 1}, policy {policy}", joint, pose))
    for number, (name, joint, pose) in enumerate(poses):
        lines += _card(_CARD[0] + number * _STEP, name, joint, pose)
    lines.append(
        '<text x="15" y="252" fill="#345">Grey: the observational pose. Orange: the joint that the policy moves; all '
        "others stay. The next anchor has another observational pose.</text>"
    )
    lines.append(f'<text x="15" y="296" {heading}>Each pose</text>')
    left = 15
    for number, (name, what, width, fill) in enumerate(_MOMENTS):
        lines += _moment(left, width - 20, name, what, fill)
        if number:
            lines.append(f'<path d="M{left - 18},350 L{left - 2},350" stroke="#456" marker-end="url(#head)"/>')
        left += width
    lines.append(
        '<text x="15" y="418" fill="#345">The order of the poses makes the moves short: the arm moves directly from '
        "one intervention to the next.</text>"
    )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _card(left: int, name: str, joint: int | None, pose: Sequence[float]) -> list[str]:
    """One pose: the arm, the arm in the observational pose behind it, and the frame."""
    _, top, width, height = _CARD
    foot = (left + width / 2 - 16, top + height - 38.0)
    box = f'x="{left}" y="{top}" width="{width}" height="{height}" rx="6"'
    parts = [
        f'<rect {box} fill="#f7f9fb" stroke="#345"/>',
        f'<text x="{left + width / 2:g}" y="{top + 18}" text-anchor="middle" fill="#123">{name}</text>',
        f'<path d="M{left + 12},{foot[1]:g} H{left + width - 12}" stroke="#889" stroke-width="2"/>',
    ]
    if joint is not None:
        parts.append(_arm(_points(foot, _REST), _PALE))
    points = _points(foot, pose)
    parts.append(_arm(points, _INK))
    for k, (x, y) in enumerate(points[:-1]):
        fill, radius = (_MOVED, 6) if k == joint else (_INK, 4)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}"/>')
    place = f'x="{left + width / 2:g}" y="{top + height - 12}"'
    parts.append(f'<text {place} text-anchor="middle" fill="#345" font-size="12">a frame a camera</text>')
    return parts


def _points(foot: tuple[float, float], pose: Sequence[float]) -> list[tuple[float, float]]:
    """Joints and tip of the arm; angles add up from the vertical."""
    points, angle = [foot], 0.0
    for length, turn in zip(_LINKS, pose, strict=True):
        angle += math.radians(turn)
        x, y = points[-1]
        points.append((x + length * math.sin(angle), y - length * math.cos(angle)))
    return points


def _arm(points: Sequence[tuple[float, float]], colour: str) -> str:
    path = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<path d="M{path}" stroke="{colour}" stroke-width="7" fill="none" stroke-linecap="round" '
        'stroke-linejoin="round"/>'
    )


def _moment(left: int, width: int, name: str, what: str, fill: str) -> list[str]:
    middle = left + width / 2
    first, second = what.split("|")
    return [
        f'<rect x="{left}" y="310" width="{width}" height="80" rx="6" fill="{fill}" stroke="#345"/>',
        f'<text x="{middle:g}" y="335" text-anchor="middle" fill="#123" font-weight="bold">{name}</text>',
        f'<text x="{middle:g}" y="355" text-anchor="middle" fill="#123">{first}</text>',
        f'<text x="{middle:g}" y="373" text-anchor="middle" fill="#123">{second}</text>',
    ]


if __name__ == "__main__":
    write_or_check(PICTURE, drawn)
