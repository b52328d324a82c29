"""Tables of calibration error by number of labels."""

from collections.abc import Iterable
from typing import Any

from ropes.evaluation.summary import Cell
from ropes.report.verdict import in_words


def label_tables(cells: Iterable[Cell], not_shifted: Iterable[Cell] = ()) -> list[dict[str, Any]]:
    """A table for each setup, method and split whose error was measured with more than one number of labels.

    Args:
        cells: of all conditions; those with white squares do not count.
        not_shifted: of shifted poses, after lines fitted on poses that are not shifted.

    Returns:
        "heading", "split", "counts" in ascending order, "not_shifted" (how many labels such lines had; None without)
        and "lines": a joint each, with its "cells", that of `not_shifted` last, None where missing.
    """
    usual = {(each.setup, each.method, each.split, each.joint): each for each in not_shifted if each.occlusion == 0}
    tables: dict[tuple[str, str, str], dict[str, dict[int, Cell]]] = {}
    for cell in cells:
        if cell.occlusion == 0:
            lines = tables.setdefault((cell.setup, cell.method, cell.split), {})
            lines.setdefault(cell.joint, {})[cell.calibration_labels] = cell
    found = []
    for (setup, method, split), lines in tables.items():
        counts = sorted({count for line in lines.values() for count in line})
        if len(counts) > 1:
            beside = {joint: usual.get((setup, method, split, joint)) for joint in sorted(lines)}
            fitted = next((cell.calibration_labels for cell in beside.values() if cell), None)
            rows = [
                {"joint": joint, "cells": [*map(lines[joint].get, counts), *([other] if fitted else [])]}
                for joint, other in beside.items()
            ]
            found.append(
                {
                    "heading": f"{in_words(setup, 0)} · {method}",
                    "split": split,
                    "counts": counts,
                    "not_shifted": fitted,
                    "lines": rows,
                }
            )
    return found
