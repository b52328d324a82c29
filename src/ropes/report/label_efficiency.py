"""Error against the number of labelled training images, with methods without labels beside."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, ScalarFormatter

from ropes.evaluation import paper
from ropes.evaluation.summary import JointErrors, least_labelled, rendered_alike
from ropes.methods.registry import method_of
from ropes.report.elements import plot, tag
from ropes.report.figures import DASHED, INK, as_number, colour_cycle, shared_legend, styled, titled_panels
from ropes.report.page import Section, Source, explained
from ropes.report.table import Table, grouped, number_columns, text_columns
from ropes.report.words import in_words, joint_label


class LabelCurves(NamedTuple):
    """Errors of one setup on test poses of one split, without squares.

    `supervised` is method → joint → cells, by labels ascending; `unlabelled` is method → joint → its cell, with the map
    without labels where there is one.
    """

    setup: str
    split: str
    joints: tuple[str, ...]
    supervised: Mapping[str, Mapping[str, Sequence[JointErrors]]]
    unlabelled: Mapping[str, Mapping[str, JointErrors]]


def efficiency(source: Source) -> Iterator[Section]:
    """The curves of every setup and split, and the numbers of labels from which on supervision errs less."""
    content: list[Markup] = []
    for curves in label_curves(source.cells):
        heading = in_words(curves.setup, 0, curves.split)
        content += [
            tag("h3", heading),
            plot(efficiency_figure(curves), f"MSE against labelled images, {heading}"),
            overtaken_table(curves).html(),
        ]
    if content:
        yield Section("efficiency", "Error by number of training labels", [explained("efficiency"), *content])


def label_curves(cells: Iterable[JointErrors]) -> tuple[LabelCurves, ...]:
    """Curves of each setup and split with a method on several numbers of labels and a method without labels.

    Args:
        cells: of all conditions.  Where images differ in renderer or camera, there are no curves.
    """
    cells = list(cells)
    if not rendered_alike(cells):
        return ()
    measured = [cell for cell in cells if cell.occlusion == 0 and cell.mse is not None]
    found = []
    for (setup, split), group in grouped(measured, lambda cell: (cell.setup, cell.split)).items():
        labelled = sorted((cell for cell in group if cell.label_share is not None), key=lambda cell: cell.labels)
        supervised = {
            method: grouped(own, lambda cell: cell.joint)
            for method, own in grouped(labelled, lambda cell: method_of(cell.method)).items()
        }
        several = {method: lines for method, lines in supervised.items() if max(map(len, lines.values())) > 1}
        free = {
            method: {cell.joint: cell for cell in own}
            for method, own in grouped(least_labelled(group), lambda cell: cell.method).items()
        }
        if several and free:
            joints = tuple(sorted({cell.joint for cell in group}))
            found.append(LabelCurves(setup, split, joints, several, free))
    return tuple(found)


@styled
def efficiency_figure(curves: LabelCurves) -> Figure:
    """MSE against labelled images, one panel a joint, both axes logarithmic; level lines use no label (Table 2)."""
    figure, panels = titled_panels(map(joint_label, curves.joints), height=2.5, ylabel="MSE, rad²")
    methods = [*curves.supervised, *curves.unlabelled]
    colours = dict(zip(methods, colour_cycle(len(methods)), strict=True))
    for panel, joint in zip(panels, curves.joints, strict=True):
        for method, lines in curves.supervised.items():
            own = lines.get(joint, ())
            images, errors = [cell.labels for cell in own], [as_number(cell.mse) for cell in own]
            style: Any = {"color": colours[method], "marker": "o", "markersize": 4, "capsize": 2, "label": method}
            panel.errorbar(images, errors, yerr=[cell.mse_std or 0.0 for cell in own], **style)
        for method, at in curves.unlabelled.items():
            if joint in at:
                labels = f"{at[joint].calibration_labels:,} labels" if at[joint].calibration_labels else "no label"
                style = {"color": colours[method], "linewidth": 1.4, "label": f"{method}, {labels}"}
                panel.axhline(as_number(at[joint].mse), **style)
        _draw_paper(panel, curves, joint)
        panel.set(xscale="log", yscale="log", xlabel="labelled images")
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_formatter(ScalarFormatter())
        panel.yaxis.set_minor_formatter(NullFormatter())
    return shared_legend(figure, panels)


def _draw_paper(panel: Any, curves: LabelCurves, joint: str) -> None:
    """Draw the paper's RoboPEPP at its own numbers of labels, and its ROPES."""
    setup, split = curves.setup, curves.split
    baseline = {
        images: cell.mse
        for share, images in paper.LABELLED_IMAGES.items()
        if (cell := paper.supervised_with(share, setup=setup, joint=joint, split=split, occlusion=0)) is not None
    }
    style = {"color": INK, "linewidth": 1.1, "linestyle": DASHED, "alpha": 0.8}
    if baseline:
        panel.plot(list(baseline), list(baseline.values()), marker="D", markersize=3, label="paper's RoboPEPP", **style)
    if (ropes := paper.published(setup=setup, joint=joint, split=split)) is not None:
        panel.axhline(ropes.mse, label="paper's ROPES", **(style | {"linestyle": ":"}))


def overtaken(supervised: Sequence[JointErrors], mse: float) -> tuple[str, float | None]:
    """Number of labelled images from which on a supervised method errs less than `mse`, the last crossing.

    Between two measured numbers, the error is interpolated as a power of the number (a straight line in the figure).

    Args:
        supervised: one joint's cells, by labels ascending.
        mse: of the method without labels, rad².

    Returns:
        In words, and the number; None where it lies outside the measured range.
    """
    points = [(cell.labels, cell.mse) for cell in supervised if cell.mse is not None]
    if not points:
        return "–", None
    if points[-1][1] >= mse:
        return f"more than {points[-1][0]:,}", None
    for (fewer, worse), (more, better) in reversed(list(pairwise(points))):
        if worse >= mse:
            part = math.log(worse / mse) / math.log(worse / better)
            number = fewer * (more / fewer) ** part
            return f"{_two_digits(number):,}", number
    return f"fewer than {points[0][0]:,}", None


def _two_digits(number: float) -> int:
    return int(round(number, 1 - math.floor(math.log10(number))))


def overtaken_table(curves: LabelCurves) -> Table:
    """A line for each method without labels and each supervised one: where the latter overtakes, by joint."""
    lines = []
    for method, at in curves.unlabelled.items():
        labels = max((cell.calibration_labels for cell in at.values()), default=0)
        for against, supervised in curves.supervised.items():
            numbers = [
                overtaken(supervised.get(joint, ()), as_number(at[joint].mse))[0] if joint in at else "–"
                for joint in curves.joints
            ]
            lines.append([method + (f" ({labels:,} after training)" if labels else ""), against, *numbers])
    columns = [*text_columns("without labels", "supervised"), *number_columns(*map(joint_label, curves.joints))]
    return Table(columns, lines)
