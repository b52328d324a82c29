"""How many labels a calibration needs, as tables: a joint a line, a number of labels a column."""

from collections.abc import Iterable
from typing import Any

from ropes.report.verdict import in_words
from ropes.summary import Cell


def label_tables(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """A table for each setup, method and split whose error was measured with more than one number of labels.

    Args:
        cells: of all conditions; those with white squares do not count.

    Returns:
        "heading", "split", "counts" in ascending order and "lines": a joint each, with its "cells", None where missing.
    """
    tables: dict[tuple[str, str, str], dict[str, dict[int, Cell]]] = {}
    for cell in cells:
        if cell.occlusion == 0:
            lines = tables.setdefault((cell.setup, cell.method, cell.split), {})
            lines.setdefault(cell.joint, {})[cell.calibration_labels] = cell
    found = []
    for (setup, method, split), lines in tables.items():
        counts = sorted({count for line in lines.values() for count in line})
        if len(counts) > 1:
            rows = [
                {"joint": joint, "cells": [line.get(count) for count in counts]}
                for joint, line in sorted(lines.items())
            ]
            found.append(
                {"heading": f"{in_words(setup, 0)} · {method}", "split": split, "counts": counts, "lines": rows}
            )
    return found
