"""Error against properties of the training data: numbers of anchors, image sizes, numbers of labelled images."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ropes.errors import UserError
from ropes.evaluation import paper
from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors, least_labelled, over_seeds, rendered_alike
from ropes.methods.registry import method_of
from ropes.report import robot_hours
from ropes.report.figures import (
    DASHED,
    FLOOR,
    INK,
    OURS,
    PAPER,
    as_degrees,
    as_number,
    error_bars,
    error_level,
    error_line,
    error_panels,
    marks,
    styled,
)
from ropes.report.page import Section, Source, explained, plot, tag
from ropes.report.table import Table, grouped, named_once, paragraphs
from ropes.report.words import heading_of, in_words, joint_label, labels_used

Axis = Literal["anchors", "image_size"]
AXES: dict[Axis, str] = {"anchors": "anchors", "image_size": "side of the images, px"}


def learning_curves(source: Source) -> Iterator[Section]:
    """A figure for each series of fits that differ in anchors or in image size; none where some anchors are chains."""
    if source.results.name == robot_hours.NAME:
        return
    content: list[Markup] = []
    for axis, words in AXES.items():
        for key, cells in series(source.cells, axis).items():
            heading = heading_of(*key)
            figure = error_curves(cells, axis)
            content += [tag("h3", f"{heading}: {words}"), plot(figure, f"RMS error against {words}, {heading}")]
    if content:
        yield Section("curves", "Error by training data", [explained("learning_curves"), *content])


def series(cells: Sequence[JointErrors], axis: Axis) -> dict[tuple[str, str], tuple[JointErrors, ...]]:
    """(setup, method) → cells of at least two fits that differ in `axis` alone, ascending; the longest such series.

    Test images are without squares.  Maps to radians are those without a label and lines on the paper's number of
    labels.

    Args:
        cells: of any conditions; methods that learn from labels are left out.  Where images differ in renderer or
            camera, there is no series.
        axis: the varied property.
    """
    if not rendered_alike(cells):
        return {}
    fixed = [name for name in ("anchors", "image_size", "erased") if name != axis]
    measured = [
        cell
        for cell in cells
        if cell.occlusion == 0
        and cell.mse is not None
        and cell.calibration_labels in (0, paper.CALIBRATION_LABELS)
        and cell.label_share is None
        and getattr(cell, axis) is not None
    ]
    found = {}
    for key, own in grouped(measured, lambda cell: (cell.setup, method_of(cell.method))).items():
        alike = grouped(own, lambda cell: tuple(getattr(cell, name) for name in fixed)).values()
        longest = max(alike, key=lambda group: len(_values(group, axis)))
        if len(_values(longest, axis)) > 1:
            found[key] = tuple(sorted(longest, key=lambda cell: (getattr(cell, axis), cell.joint, cell.split)))
    return found


def _values(cells: Sequence[JointErrors], axis: Axis) -> list[int]:
    return sorted({getattr(cell, axis) for cell in cells})


@styled
def error_curves(cells: Sequence[JointErrors], axis: Axis) -> Figure:
    """RMS error against `axis`, one panel a joint, both axes logarithmic, with the paper's ROPES and its baseline.

    Args:
        cells: of one series, see `series`.
        axis: the varied property.
    """

    def draw(panel: Axes, joint: str) -> None:
        own = sorted((cell for cell in cells if cell.joint == joint), key=lambda cell: cell.calibration_labels)
        for colour, split, word in ((OURS, "id", "in distribution"), (FLOOR, "ood", "shifted poses")):
            alike = grouped((cell for cell in own if cell.split == split), lambda cell: cell.calibration_labels)
            for count, line in alike.items():
                style: Any = {"color": colour, "label": f"{word}, {labels_used(count)}"}
                across, errors = [getattr(cell, axis) for cell in line], [cell.mse for cell in line]
                error_line(panel, across, errors, labels="map" if count else "none", **style)
        compared = next((cell for cell in own if cell.split == "id" and cell.calibration_labels), None)
        for name, colour, word in (
            ("paper_mse", PAPER, "paper's ROPES, in distribution"),
            ("all_labels_mse", INK, "RoboPEPP, all labels, in distribution"),
        ):
            if (value := getattr(compared, name, None)) is not None:
                error_level(panel, value, word, colour)

    joints = sorted({cell.joint for cell in cells})
    return error_panels(joints, draw, xlabel=AXES[axis], ticks=_values(cells, axis))


def described(cell: JointErrors) -> str:
    """The training data of a fit, in words."""
    parts = [f"{cell.anchors:,} anchors" if cell.anchors is not None else cell.method]
    if cell.image_size is not None:
        parts.append(f"{cell.image_size} px")
    if cell.erased:
        parts.append(f"squares in {cell.erased:.0%} of the training images")
    return ", ".join(parts)


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
    if source.results.name == robot_hours.NAME:
        return
    content: list[Markup] = []
    for curves in label_curves(source.cells):
        heading = in_words(curves.setup, 0, curves.split)
        drawn = plot(efficiency_figure(curves), f"RMS error against labelled images, {heading}")
        content += [tag("h3", heading), drawn, overtaken_table(curves).html()]
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
    """RMS error against labelled images, one panel a joint, both axes logarithmic; level lines: no label (Table 2)."""
    methods = [*curves.supervised, *curves.unlabelled]
    mark_of = dict(zip(methods, marks(len(methods)), strict=True))

    def draw(panel: Axes, joint: str) -> None:
        for method, lines in curves.supervised.items():
            own = lines.get(joint, ())
            images, errors = [cell.labels for cell in own], [cell.mse for cell in own]
            mark = mark_of[method]
            style: Any = {"color": mark.colour, "marker": mark.marker, "markersize": 4, "capsize": 2, "label": method}
            bars = error_bars(errors, [cell.mse_std for cell in own])
            panel.errorbar(images, [as_degrees(each) for each in errors], yerr=bars, **style)
        for method, at in curves.unlabelled.items():
            if joint in at:
                mark = mark_of[method]
                count = at[joint].calibration_labels
                style = {"color": mark.colour, "linewidth": 1.4, "label": f"{method}, {labels_used(count)}"}
                panel.axhline(as_degrees(at[joint].mse), linestyle=":" if count else mark.dashes, **style)
        _draw_paper(panel, curves, joint)
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter("{x:,.0f}")
        panel.xaxis.set_minor_formatter("")

    return error_panels(curves.joints, draw, xlabel="labelled images")


def _draw_paper(panel: Any, curves: LabelCurves, joint: str) -> None:
    """Draw the paper's RoboPEPP at its own numbers of labels, and its ROPES."""
    setup, split = curves.setup, curves.split
    baseline = {
        images: as_degrees(cell.mse)
        for share, images in paper.LABELLED_IMAGES.items()
        if (cell := paper.supervised_with(share, setup=setup, joint=joint, split=split, occlusion=0)) is not None
    }
    style = {"color": INK, "linewidth": 1.1, "linestyle": DASHED, "alpha": 0.8}
    if baseline:
        panel.plot(list(baseline), list(baseline.values()), marker="D", markersize=3, label="paper's RoboPEPP", **style)
    if (ropes := paper.published(setup=setup, joint=joint, split=split)) is not None:
        panel.axhline(as_degrees(ropes.mse), label="paper's ROPES", **(style | {"linestyle": ":"}))


def overtaken_table(curves: LabelCurves) -> Table:
    """A line for each method without labels and each supervised one: where the latter overtakes, by joint."""
    lines = []
    for method, at in curves.unlabelled.items():
        labels = max((cell.calibration_labels for cell in at.values()), default=0)
        for against, supervised in curves.supervised.items():
            numbers = [
                overtaken(supervised.get(joint, ()), as_number(at[joint].mse)) if joint in at else "–"
                for joint in curves.joints
            ]
            lines.append([method + (f" ({labels:,} after training)" if labels else ""), against, *numbers])
    return Table(["without labels", "supervised", *map(joint_label, curves.joints)], lines, texts=(0, 1))


def overtaken_markdown(found: Results) -> str:
    """The lines of `overtaken_table` for poses in distribution and for shifted poses, as Markdown.

    Raises:
        UserError: no method was fitted on several numbers of labels, or none without labels.
    """
    several = label_curves(over_seeds(found.rows))
    if not several:
        raise UserError(f"{found.name} has no errors by the number of labels; leave /labels out")
    lines = named_once(
        (in_words(curves.setup, 0, curves.split), line) for curves in several for line in overtaken_table(curves).lines
    )
    columns = ["test data", "without labels", "supervised", *map(joint_label, several[0].joints)]
    note = "Labelled images in training from which on the supervised method has the smaller error."
    return paragraphs(Table(columns, lines, texts=(0, 1, 2)).markdown(), note)


def overtaken(supervised: Sequence[JointErrors], mse: float) -> str:
    """Number of labelled images from which on a supervised method errs less than `mse`, in words: the last crossing.

    Between two measured numbers, the error is interpolated as a power of the number (a straight line in the figure).

    Args:
        supervised: one joint's cells, by labels ascending.
        mse: of the method without labels, rad².
    """
    points = [(cell.labels, cell.mse) for cell in supervised if cell.mse is not None]
    if not points:
        return "–"
    if points[-1][1] >= mse:
        return f"more than {points[-1][0]:,}"
    for (fewer, worse), (more, better) in reversed(list(pairwise(points))):
        if worse >= mse:
            number = fewer * (more / fewer) ** (math.log(worse / mse) / math.log(worse / better))
            return f"{round(number, 1 - math.floor(math.log10(number))):,.0f}"
    return f"fewer than {points[0][0]:,}"
