"""Page sections over all methods: the paper's table, curves, labels, occlusion."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from ropes.evaluation.paper import TABLE1, mse_comparable
from ropes.evaluation.results import Results
from ropes.evaluation.rows.action import ActionRow
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.model import ModelRow
from ropes.evaluation.summary import Cell, calibrated_as_the_paper, without_labels
from ropes.methods.registry import method_of
from ropes.report import figures
from ropes.report.curves import AXES, error_curves, series
from ropes.report.label_efficiency import efficiency_figure, label_curves, overtaken_table
from ropes.report.naming import method_label
from ropes.report.verdict import AS_READ, FITTED, UNLABELLED, in_words, map_of
from ropes.simulation.corruption import IN_WORDS


def inline(figure: Figure, label: str) -> Markup:
    """A figure for the page, see `ropes.report.figures.to_svg`."""
    return Markup(figures.to_svg(figure, label))


def heading_of(setup: str, method: str, occlusion: int = 0) -> str:
    """A line of Table 1 in words, with the method."""
    return f"{in_words(setup, occlusion)} · {method_label(method)}"


def provenance(found: Results, rows: Iterable[Row | ModelRow | ActionRow]) -> list[tuple[str, str]]:
    """What the page says of where its figures come from; the training seeds are those of `rows`."""
    return [
        ("experiment", found.name),
        ("preset", found.preset),
        *((("scene", found.scene),) if found.scene else ()),
        *((("occluded by", IN_WORDS[found.hiding]),) if found.hiding else ()),
        ("device", found.device),
        ("version", found.version),
        ("wall time", f"{found.seconds:,.0f} s"),
        ("training seeds", ", ".join(map(str, sorted({row.seed for row in rows}))) or "none"),
    ]


def paper_table(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Blocks of in-distribution cells: the lines of the paper's Table 1 first, then every other arm.

    Args:
        cells: of all conditions.

    Returns:
        "heading", "all_labels" (whether the paper's baseline has such figures), "variances" where squared errors do
        not compare (see `_variances`), "maps" to radians in words, those without a label first, and "lines": a joint
        each, with its "cells" by these maps, None where missing.
    """
    cells = list(cells)
    methods = list(dict.fromkeys(cell.method for cell in cells))
    shown = sorted(
        (*without_labels(cells), *calibrated_as_the_paper(cells)), key=lambda cell: methods.index(cell.method)
    )
    order = {(setup, occlusion): place for place, (setup, occlusion, _) in enumerate(TABLE1)}
    known = {setup for setup, _ in order}
    blocks: dict[tuple[str, int, str], list[Cell]] = {}
    for cell in shown:
        line = (cell.setup, cell.occlusion)
        if cell.split == "id" and (line in order or (cell.setup not in known and cell.occlusion == 0)):
            blocks.setdefault((*line, cell.method), []).append(cell)
    ordered = sorted(blocks.items(), key=lambda block: (order.get(block[0][:2], len(order)), _by_share(block[1][0])))
    return [
        {
            "heading": heading_of(setup, method, occlusion),
            "all_labels": any(cell.all_labels_mse is not None for cell in group),
            "variances": None if mse_comparable(setup, "id") else _variances(group),
            **_by_map(group),
        }
        for (setup, occlusion, method), group in ordered
    ]


def _variances(group: Sequence[Cell]) -> tuple[list[float], list[float]] | None:
    """Variances of the true angles by joint, rad², ours and the paper's; None without both of every joint."""
    fitted = sorted((cell for cell in group if cell.variance is not None), key=lambda cell: cell.joint)
    ours = [cell.variance for cell in fitted if cell.variance is not None]
    theirs = [cell.paper_variance for cell in fitted if cell.paper_variance is not None]
    return (ours, theirs) if ours and len(ours) == len(theirs) else None


def _by_map(group: Sequence[Cell]) -> dict[str, Any]:
    """The maps to radians of a block, and a line for each joint with a cell for each of them."""
    lines: dict[str, dict[str, Cell]] = {}
    for cell in group:
        lines.setdefault(cell.joint, {})[map_of(cell)] = cell
    maps = [words for words in (UNLABELLED, FITTED, AS_READ) if any(words in line for line in lines.values())]
    return {
        "maps": maps,
        "lines": [{"cells": [line.get(words) for words in maps]} for _, line in sorted(lines.items())],
    }


def _by_share(cell: Cell) -> tuple[str, float]:
    """Variants of a method by the share of the labels."""
    return (method_of(cell.method), cell.label_share) if cell.label_share is not None else ("", 0.0)


def curve_parts(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """A figure for every series of fits that differ in anchors, or in pixels."""
    return [
        {
            "heading": f"{heading_of(*key)}: {word}",
            "svg": inline(error_curves(group, axis), f"MSE against {word}, {heading_of(*key)}"),
        }
        for axis, word in AXES.items()
        for key, group in series(cells, axis).items()
    ]


def efficiency_parts(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The label-efficiency curve of every setup and split, and where supervision overtakes."""
    parts = []
    for found in label_curves(cells):
        heading = in_words(found.setup, 0, found.split)
        parts.append(
            {
                "heading": heading,
                "svg": inline(efficiency_figure(found), f"MSE against labelled images, {heading}"),
                "joints": found.joints,
                "lines": overtaken_table(found),
            }
        )
    return parts


def robustness_parts(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """A figure for every setup and method that was tested on more than one size of square or split."""
    parts = []
    for setup, method in dict.fromkeys((cell.setup, cell.method) for cell in cells):
        own = [cell for cell in cells if (cell.setup, cell.method) == (setup, method) and cell.mse is not None]
        pixels = sorted({cell.occlusion for cell in own})
        if len(pixels) < 2:
            continue
        heading = heading_of(setup, method)
        joints = sorted({cell.joint for cell in own})
        lines = {}
        for split in dict.fromkeys(cell.split for cell in own):
            line = {name: np.full((len(joints), len(pixels)), np.nan) for name in ("ours", "std", "paper")}
            for cell in own:
                if cell.split == split:
                    at = joints.index(cell.joint), pixels.index(cell.occlusion)
                    line["ours"][at] = cell.mse
                    line["std"][at] = cell.mse_std
                    compared = cell.paper_mse is not None and mse_comparable(setup, split)
                    line["paper"][at] = cell.paper_mse if compared else np.nan
            lines[split] = {"pixels": pixels, **line}
        parts.append({"heading": heading, "svg": inline(figures.occlusions(joints, lines), f"MSE, {heading}")})
    return parts
