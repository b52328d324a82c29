"""Error against the number of anchors and the image size."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ropes.evaluation.paper import CALIBRATION_LABELS
from ropes.evaluation.summary import JointErrors, rendered_alike
from ropes.methods.registry import method_of
from ropes.report.elements import plot, tag
from ropes.report.figures import DASHED, FLOOR, INK, OURS, PAPER, as_number, shared_legend, styled, titled_panels
from ropes.report.page import Section, Source, explained
from ropes.report.table import grouped
from ropes.report.words import heading_of, joint_label

Axis = Literal["anchors", "image_size"]
AXES: dict[Axis, str] = {"anchors": "anchors", "image_size": "side of the images, px"}


def learning_curves(source: Source) -> Iterator[Section]:
    """A figure for each series of fits that differ in anchors or in image size."""
    content: list[Markup] = []
    for axis, words in AXES.items():
        for key, cells in series(source.cells, axis).items():
            heading = heading_of(*key)
            figure = error_curves(cells, axis)
            content += [tag("h3", f"{heading}: {words}"), plot(figure, f"MSE against {words}, {heading}")]
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
        and cell.calibration_labels in (0, CALIBRATION_LABELS)
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
    """MSE against `axis`, one panel a joint, both axes logarithmic, with the paper's ROPES and its baseline.

    Solid lines are with lines to radians fitted on the paper's number of labels, dotted ones with the map without
    labels.

    Args:
        cells: of one series, see `series`.
        axis: the varied property.
    """
    joints, ticks = sorted({cell.joint for cell in cells}), _values(cells, axis)
    figure, panels = titled_panels(map(joint_label, joints), height=2.5, ylabel="MSE, rad²")
    for panel, joint in zip(panels, joints, strict=True):
        own = [cell for cell in cells if cell.joint == joint]
        for colour, split, word in ((OURS, "id", "ours, in distribution"), (FLOOR, "ood", "ours, shifted poses")):
            fitted = [cell for cell in own if cell.split == split and cell.calibration_labels]
            free = [cell for cell in own if cell.split == split and not cell.calibration_labels]
            _draw(panel, axis, fitted, label=word, color=colour, marker="o", markersize=4)
            _draw(panel, axis, free, label=f"{word}, no label", color=colour, linestyle=":")
        compared = next((cell for cell in own if cell.split == "id" and cell.calibration_labels), None)
        for name, colour, word in (
            ("paper_mse", PAPER, "paper's ROPES, in distribution"),
            ("all_labels_mse", INK, "RoboPEPP, all labels, in distribution"),
        ):
            if (value := getattr(compared, name, None)) is not None:
                panel.axhline(value, color=colour, linestyle=DASHED, linewidth=1.2, label=word)
        panel.set(xscale="log", yscale="log", xlabel=AXES[axis])
        panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize=7.5)
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.yaxis.set_minor_formatter(NullFormatter())
    return shared_legend(figure, panels)


def _draw(panel: Any, axis: Axis, cells: Sequence[JointErrors], **style: Any) -> None:
    """Draw errors against `axis`, if there are any."""
    if cells:
        panel.plot([getattr(cell, axis) for cell in cells], [as_number(cell.mse) for cell in cells], **style)


def described(cell: JointErrors) -> str:
    """The training data of a fit, in words."""
    parts = [f"{cell.anchors:,} anchors" if cell.anchors is not None else cell.method]
    if cell.image_size is not None:
        parts.append(f"{cell.image_size} px")
    if cell.erased:
        parts.append(f"squares in {cell.erased:.0%} of the training images")
    return ", ".join(parts)
