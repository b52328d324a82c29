"""The style of all figures: colours, panels, legends and heat maps; SVG for pages, PNG for files.

In SVG, the ink is CSS `currentColor` and the grid the page's `--rule`, for light and dark pages.
"""

import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.report.words import fixed, joint_label

INK, RULE = "#1b1f24", "#d5dae1"
#: Ink on cells of heat maps, which are as light on dark pages; not `INK`, which is light there.
_CELL_INK = "#1b1f25"
# Okabe and Ito's palette: distinct for any colour vision, and in lightness.
# The blue is a little lighter than theirs, for dark pages.
OURS, PAPER, FLOOR = "#2a86c7", "#d55e00", "#009e73"
PALETTE = (OURS, PAPER, FLOOR, "#cc79a7", "#e69f00", "#8c8c8c")
#: Where a method uses labels.
Labels = Literal["none", "map", "training"]
#: Dashes of the paper's numbers and of diagonals.
DASHED: Any = (0, (4, 3))
# Marks that change each time the palette repeats.
_MARKERS, _DASHES = "os^Dv", ("-", (0, (6, 2)), (0, (2, 1)), (0, (6, 2, 1, 2)))
#: Strength of the colours of heat maps, on white.
_SHADE = 0.75
#: Width of a legend's entry, inches.
_LEGEND_INCHES = 2.4
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": RULE,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    # Names of joints and files are no formulas.
    "text.parse_math": False,
    "figure.constrained_layout.h_pad": 0.09,
    "figure.constrained_layout.w_pad": 0.06,
    # Text stays text: it takes the page's font, and can be searched and read aloud.
    "svg.fonttype": "none",
}
# Each figure is drawn under its own copy of the style; no global setting changes.
styled = matplotlib.rc_context(STYLE)


def to_svg(figure: Figure, label: str) -> str:
    """Inline SVG in the page's colours.

    Args:
        figure: the figure.
        label: its description for screen readers.
    """
    stream = io.StringIO()
    # The label salts the ids: they are unique on the page, and the same figure gives the same bytes.
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": label}):
        figure.savefig(stream, format="svg", transparent=True, dpi=200, metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)
    text = text.replace(INK, "currentColor").replace(RULE, "var(--rule)")
    width = re.search(r'width="([\d.]+)pt"', text)
    shown = f' style="width: min(100%, {float(width[1]) * 4 / 3:.0f}px)"' if width else ""
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
    escaped = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg", f'<svg role="img" aria-label="{escaped}"{shown}', 1)


def to_png(figure: Figure) -> bytes:
    """PNG on white, for pages that show files only."""
    stream = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(stream, format="png", dpi=110, facecolor="white", metadata={"Software": None})
    return stream.getvalue()


def make_panels(count: int, *, height: float, width: float = 9.6, columns: int = 3) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels in rows of `columns`, with `width` inches for a full row and `height` for each row."""
    # An incomplete row keeps the size of its panels; the figure is narrower.
    wide = width * min(columns, count) / columns
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(wide, height * rows), layout="constrained")
    panels = [figure.add_subplot(rows, columns, index + 1) for index in range(count)]
    return figure, panels


def titled_panels(titles: Iterable[str], *, height: float, ylabel: str = "", **size: Any) -> tuple[Figure, list[Axes]]:
    """One panel a title, as `make_panels`; the first of each row has `ylabel`."""
    titles = list(titles)
    figure, panels = make_panels(len(titles), height=height, **size)
    for index, (panel, title) in enumerate(zip(panels, titles, strict=True)):
        panel.set(title=title, ylabel="" if index % size.get("columns", 3) else ylabel)
    return figure, panels


def heat(
    panel: Axes,
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    digits: int = 2,
    low: float = -1.0,
    colours: str = "RdBu",
) -> None:
    """Draw a heat map with its numbers; NaN leaves an empty field.

    Args:
        panel: to draw on.
        values: (rows, columns), at most 1.
        rows: their names.
        columns: their names.
        digits: decimals.
        low: smallest value of the colour map; the largest is 1.
        colours: name of the colour map.
    """
    shades = matplotlib.colormaps[colours](Normalize(low, 1)(np.ma.masked_invalid(values)))
    shades[..., :3] = 1 - _SHADE * (1 - shades[..., :3])
    panel.imshow(shades, aspect="auto")
    for (row, place), value in np.ndenumerate(values):
        if np.isfinite(value):
            ink = "white" if abs(value) > 0.8 else _CELL_INK
            panel.text(place, row, fixed(value, digits), ha="center", va="center", fontsize=8, color=ink)
    panel.set_xticks(range(len(columns)), columns, rotation=35, ha="right")
    panel.set_yticks(range(len(rows)), rows)
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)


def as_number(value: float | None) -> float:
    """The value as a number; NaN, which plots leave out, for None."""
    return float("nan") if value is None else float(value)


def as_degrees(mse: float | None) -> float:
    """The root of a mean squared error, rad², in degrees; NaN, which plots leave out, for None."""
    return float(np.degrees(np.sqrt(as_number(mse))))


def error_bars(means: Sequence[float | None], stds: Sequence[float | None]) -> Floats:
    """Lengths of the bars below and above root mean squared errors, degrees, (2, n), from rad²; 0 without a deviation.

    The ends are the roots of mean ± standard deviation of the squared error; the lower one is at least 0.
    """
    both = [(as_number(mean), std or 0.0) for mean, std in zip(means, stds, strict=True)]
    low = [as_degrees(mean) - as_degrees(max(0.0, mean - std)) for mean, std in both]
    high = [as_degrees(mean + std) - as_degrees(mean) for mean, std in both]
    return np.array([low, high])


def logarithmic_errors(panel: Axes) -> None:
    """Make the vertical axis logarithmic, with numbers at 1, 2 and 5 of each decade."""
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter("")


def error_panels(
    joints: Iterable[str],
    draw: Callable[[Axes, str], None],
    *,
    xlabel: str = "",
    ticks: Sequence[int] = (),
    height: float = 2.5,
) -> Figure:
    """RMS errors of joints in degrees, logarithmic: one panel a joint, one legend.

    Args:
        joints: their names.
        draw: draws the lines of a joint into its panel.
        xlabel: of the horizontal axes.
        ticks: numbers on the horizontal axes, which they make logarithmic.
        height: of a row of panels, inches.
    """
    joints = list(joints)
    figure, panels = titled_panels(map(joint_label, joints), height=height, ylabel="RMS error, °")
    for panel, joint in zip(panels, joints, strict=True):
        draw(panel, joint)
        panel.set_xlabel(xlabel)
        if ticks:
            panel.set_xscale("log")
            panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize=7.5)
            panel.xaxis.set_minor_formatter("")
        logarithmic_errors(panel)
    return shared_legend(figure, panels)


def error_line(
    panel: Axes,
    across: Sequence[float],
    errors: Iterable[float | None],
    *,
    labels: Labels,
    marker: str = "o",
    **style: Any,
) -> None:
    """Draw RMS errors of squared ones, rad²; solid without labels, dotted with labels in the map to radians alone.

    Lines of methods that learn from labels are dash-dotted.
    """
    dashes = {"none": "-", "map": ":", "training": "-."}[labels]
    panel.plot(across, list(map(as_degrees, errors)), linestyle=dashes, marker=marker, markersize=4, **style)


def error_level(panel: Axes, mse: float, label: str, colour: str = INK) -> None:
    """Draw a published squared error, rad², as a level line."""
    panel.axhline(as_degrees(mse), color=colour, linestyle=DASHED, linewidth=1.2, label=label)


class Mark(NamedTuple):
    """What tells a line from others: its colour, with a marker, or with dashes where it has no markers."""

    colour: str
    marker: str
    dashes: Any


def marks(count: int) -> list[Mark]:
    """Marks of `count` lines; where the palette repeats, markers and dashes differ."""
    turns = [divmod(index, len(PALETTE)) for index in range(count)]
    return [Mark(PALETTE[place], _MARKERS[turn % len(_MARKERS)], _DASHES[turn % len(_DASHES)]) for turn, place in turns]


def shared_legend(figure: Figure, panels: Sequence[Axes]) -> Figure:
    """The figure with one legend above all panels; each label appears once."""
    handles: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    columns = min(len(handles), max(1, round(figure.get_figwidth() / _LEGEND_INCHES)))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=columns)
    return figure
