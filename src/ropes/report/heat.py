"""Heat maps with numbers."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ropes.report.figures import INK
from ropes.report.numbers import fixed


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
    """A table of figures up to 1, coloured and written out; an empty field where one is not defined.

    Args:
        panel: to draw on.
        values: (rows, columns), NaN where not defined.
        rows: their names.
        columns: their names.
        digits: after the point.
        low: the least that a figure can be.
        colours: matplotlib's colour map, from `low` to 1.
    """
    panel.imshow(values, cmap=colours, vmin=low, vmax=1, aspect="auto", alpha=0.75)
    for (row, place), value in np.ndenumerate(values):
        if np.isfinite(value):
            ink = "white" if abs(value) > 0.8 else INK
            panel.text(place, row, fixed(value, digits), ha="center", va="center", fontsize=8, color=ink)
    panel.set_xticks(range(len(columns)), columns, rotation=35, ha="right")
    panel.set_yticks(range(len(rows)), rows)
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)
