"""Draws the method, from images of an anchor to angles with intervals: docs/images/method.svg.

python tools/docs/method_diagram.py [--check]
"""

from pathlib import Path

from svg import opening, write_or_check

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "method.svg"
_WIDTH, _HEIGHT = 980, 520
_LINE = 17
#: Name → left, top, width, height, fill, lines of text; the first line is bold.
BOXES: dict[str, tuple[int, int, int, int, str, tuple[str, ...]]] = {
    "data": (
        15,
        60,
        176,
        110,
        "#e8f0fa",
        ("Anchor", "one pose, again under", "each intervention", "known: regime", "unknown: angles"),
    ),
    "encoder": (
        225,
        60,
        176,
        110,
        "#e9f5ea",
        ("Encoder (teacher)", "whole images", "+ glimpse at the hand,", "placed by attention"),
    ),
    "coordinates": (435, 80, 140, 70, "#ffffff", ("Coordinates ẑ", "one per joint")),
    "regimes": (
        640,
        30,
        320,
        52,
        "#fdf1e3",
        ("Classification of regimes and policies", "ẑᵢ becomes the policies' log density ratio"),
    ),
    "anchors": (640, 98, 320, 52, "#fdf1e3", ("Variance within anchors", "ẑⱼ stays where nothing reaches joint j")),
    "graph": (640, 166, 320, 52, "#fdf1e3", ("Causal graph, unmixing", "responses of descendants are excluded")),
    "foreign": (15, 272, 176, 70, "#e8f0fa", ("Foreign objects", "synthetic, at known", "places in the images")),
    "student": (
        225,
        262,
        176,
        90,
        "#e9f5ea",
        ("Student", "starts from the teacher;", "detects and masks", "foreign objects"),
    ),
    "mean": (435, 272, 176, 70, "#ffffff", ("Coordinates ẑ", "mean where student", "and teacher agree")),
    "calibration": (
        650,
        262,
        180,
        90,
        "#f3ecf8",
        ("Calibration", "monotone map to known", "policy distributions;", "no label"),
    ),
    "angles": (870, 280, 90, 54, "#ffffff", ("Angles", "radians")),
    "residuals": (15, 420, 176, 70, "#e8f0fa", ("Held-out anchors", "residuals within", "anchors; no label")),
    "variance": (225, 420, 176, 70, "#f3ecf8", ("σ(image)", "heteroscedastic", "variance")),
    "conformal": (435, 420, 176, 70, "#f3ecf8", ("Conformal quantile", "of |residual| / σ")),
    "interval": (650, 420, 180, 70, "#ffffff", ("Interval", "± q σ through the", "same map")),
    "flag": (870, 420, 90, 70, "#ffffff", ("Flag", "out of", "distribution")),
}
#: From, to, and whether the line is dashed: supervision instead of data.
ARROWS = (
    ("data", "encoder", False),
    ("encoder", "coordinates", False),
    ("coordinates", "regimes", False),
    ("coordinates", "anchors", False),
    ("coordinates", "graph", False),
    ("graph", "anchors", True),
    ("encoder", "student", True),
    ("foreign", "student", False),
    ("student", "mean", False),
    ("mean", "calibration", False),
    ("calibration", "angles", False),
    ("residuals", "variance", False),
    ("variance", "conformal", False),
    ("conformal", "interval", False),
    ("calibration", "interval", True),
)
HEADINGS = (
    (20, 24, "1. First training"),
    (20, 244, "2. Student and calibration"),
    (20, 404, "3. Uncertainty"),
)


def drawn() -> str:
    """The picture."""
    lines = opening(_WIDTH, _HEIGHT)
    heading = 'font-size="15" font-weight="bold" fill="#123"'
    lines += [f'<text x="{x}" y="{y}" {heading}>{text}</text>' for x, y, text in HEADINGS]
    lines += [_arrow(*ends) for ends in ARROWS]
    lines += [part for box in BOXES.values() for part in _box(*box)]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _box(left: int, top: int, width: int, height: int, fill: str, words: tuple[str, ...]) -> list[str]:
    first = top + (height - _LINE * len(words)) / 2 + 13
    parts = [f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="#345"/>']
    for k, text in enumerate(words):
        weight = ' font-weight="bold"' if k == 0 else ""
        place = f'x="{left + width / 2:g}" y="{first + _LINE * k:g}"'
        parts.append(f'<text {place} text-anchor="middle" fill="#123"{weight}>{text}</text>')
    return parts


def _arrow(source: str, target: str, dashed: bool) -> str:
    """From the right edge to the left one; between boxes in one column from edge to edge, up or down."""
    left, top, width, height, *_ = BOXES[source]
    to_left, to_top, _, to_height, *_ = BOXES[target]
    if left == to_left:
        x = to_x = left + width / 2
        y, to_y = (top + height, to_top) if to_top > top else (top, to_top + to_height)
    else:
        x, y, to_x, to_y = left + width, top + height / 2, to_left, to_top + to_height / 2
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<path d="M{x:g},{y:g} L{to_x:g},{to_y:g}" stroke="#456" fill="none" marker-end="url(#head)"{dash}/>'


if __name__ == "__main__":
    write_or_check(PICTURE, drawn)
