"""Figures and tables of error against labelled images."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, ScalarFormatter

from ropes.evaluation import paper
from ropes.evaluation.summary import Cell, least_labelled
from ropes.methods.registry import method_of
from ropes.report.figures import INK, PALETTE, as_number, make_panels, shared_legend, styled
from ropes.report.naming import joint_label


@dataclass(frozen=True)
class LabelCurves:
    """Errors of one setup on test poses of one split, without squares.

    Attributes:
        setup, split: as in `ropes.evaluation.rows.joint.Row`.
        joints: names, in order.
        supervised: method → joint → cells, by labels ascending.
        unlabelled: method → joint → its cell, by the map that takes no label where there is one.
    """

    setup: str
    split: str
    joints: tuple[str, ...]
    supervised: Mapping[str, Mapping[str, tuple[Cell, ...]]]
    unlabelled: Mapping[str, Mapping[str, Cell]]


def label_curves(cells: Iterable[Cell]) -> tuple[LabelCurves, ...]:
    """One for each setup and split with a method on at least two numbers of labels, and another that reads none.

    Args:
        cells: of all conditions, over training seeds.
    """
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.occlusion == 0 and cell.mse is not None:
            groups.setdefault((cell.setup, cell.split), []).append(cell)
    found = []
    for (setup, split), group in groups.items():
        supervised: dict[str, dict[str, list[Cell]]] = {}
        unlabelled: dict[str, dict[str, Cell]] = {}
        for cell in sorted(group, key=lambda cell: cell.labels):
            if cell.label_share is not None:
                supervised.setdefault(method_of(cell.method), {}).setdefault(cell.joint, []).append(cell)
        for cell in least_labelled(group):
            unlabelled.setdefault(cell.method, {})[cell.joint] = cell
        several = {
            method: {joint: tuple(own) for joint, own in lines.items()}
            for method, lines in supervised.items()
            if max(map(len, lines.values())) > 1
        }
        if several and unlabelled:
            joints = tuple(sorted({cell.joint for cell in group}))
            found.append(LabelCurves(setup, split, joints, several, unlabelled))
    return tuple(found)


@styled
def efficiency_figure(curves: LabelCurves) -> Figure:
    """MSE against labelled images, one panel a joint, both axes logarithmic; lines across read no label (Table 2)."""
    figure, panels = make_panels(len(curves.joints), height=2.5)
    methods = [*curves.supervised, *curves.unlabelled]
    colours = dict(zip(methods, PALETTE * (len(methods) // len(PALETTE) + 1), strict=False))
    for index, (panel, joint) in enumerate(zip(panels, curves.joints, strict=True)):
        for method, lines in curves.supervised.items():
            own = lines.get(joint, ())
            panel.errorbar(
                [cell.labels for cell in own],
                [as_number(cell.mse) for cell in own],
                yerr=[cell.mse_std or 0.0 for cell in own],
                color=colours[method],
                marker="o",
                markersize=4,
                capsize=2,
                label=method,
            )
        for method, at in curves.unlabelled.items():
            if joint in at:
                labels = f"{at[joint].calibration_labels:,} labels" if at[joint].calibration_labels else "no label"
                panel.axhline(
                    as_number(at[joint].mse), color=colours[method], linewidth=1.4, label=f"{method}, {labels}"
                )
        _draw_paper(panel, curves, joint)
        panel.set(xscale="log", yscale="log", xlabel="labelled images", title=joint_label(joint))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_formatter(ScalarFormatter())
        panel.yaxis.set_minor_formatter(NullFormatter())
        if index % 3 == 0:
            panel.set_ylabel("MSE, rad²")
    shared_legend(figure, panels)
    return figure


def _draw_paper(panel: Any, curves: LabelCurves, joint: str) -> None:
    """The paper's RoboPEPP, by its own numbers of labels, and its ROPES."""
    setup, split = curves.setup, curves.split
    known = {
        images: cell
        for share, images in paper.LABELLED_IMAGES.items()
        if (cell := paper.supervised_with(share, setup=setup, joint=joint, split=split, occlusion=0)) is not None
    }
    style = {"color": INK, "linewidth": 1.1, "linestyle": (0, (4, 3)), "alpha": 0.8}
    if known:
        mse = [cell.mse for cell in known.values()]
        panel.plot(list(known), mse, marker="D", markersize=3, label="paper's RoboPEPP", **style)
    if (ropes := paper.published(setup=setup, joint=joint, split=split)) is not None:
        panel.axhline(ropes.mse, label="paper's ROPES", **(style | {"linestyle": ":"}))


def overtaken(supervised: Sequence[Cell], mse: float) -> tuple[str, float | None]:
    """From how many labelled images on a supervised method errs less than `mse`, whatever is measured with more.

    Between two measured numbers of labels the error is taken to fall as a power of the number (a line in the figure).

    Args:
        supervised: one joint's cells, by labels ascending.
        mse: of the method without labels, rad².

    Returns:
        In words, and the number; None where it lies beyond what was measured.
    """
    known = [(cell.labels, cell.mse) for cell in supervised if cell.mse is not None]
    if not known:
        return "–", None
    if known[-1][1] >= mse:
        return f"more than {known[-1][0]:,}", None
    for (fewer, worse), (more, better) in reversed(list(pairwise(known))):
        if worse >= mse:
            part = math.log(worse / mse) / math.log(worse / better)
            number = fewer * (more / fewer) ** part
            return f"{_two_digits(number):,}", number
    return f"fewer than {known[0][0]:,}", None


def _two_digits(number: float) -> int:
    return int(round(number, 1 - math.floor(math.log10(number))))


def overtaken_table(curves: LabelCurves) -> list[dict[str, Any]]:
    """A line for each method without labels against each that reads them: its words, a joint each, see `overtaken`."""
    lines = []
    for method, at in curves.unlabelled.items():
        for against, supervised in curves.supervised.items():
            words = [
                overtaken(supervised.get(joint, ()), as_number(at[joint].mse))[0] if joint in at else "–"
                for joint in curves.joints
            ]
            labels = max((cell.calibration_labels for cell in at.values()), default=0)
            lines.append({"method": method, "labels": labels, "against": against, "words": words})
    return lines
