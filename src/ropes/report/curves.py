"""Figures of error against anchors, image size or occlusion."""

from collections.abc import Sequence
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ropes.evaluation.paper import CALIBRATION_LABELS
from ropes.evaluation.summary import Cell
from ropes.methods.registry import method_of
from ropes.report.figures import FLOOR, INK, OURS, PAPER, as_number, make_panels, shared_legend, styled
from ropes.report.naming import joint_label

Axis = Literal["anchors", "image_size"]
AXES: dict[Axis, str] = {"anchors": "anchors", "image_size": "side of the images, px"}


def series(cells: Sequence[Cell], axis: Axis) -> dict[tuple[str, str], tuple[Cell, ...]]:
    """The fits that differ in one thing alone, where there are at least two: (setup, method) → their cells, ascending.

    Test images are without squares; of several such series the longest.  Cells by the map that takes no label are among
    them, those by lines on fewer labels than the paper's are not.

    Args:
        cells: of any conditions; those of methods that learn from labels do not count.
        axis: what the fits differ in.
    """
    others = [name for name in ("anchors", "image_size", "erased") if name != axis]
    groups: dict[tuple[str, str], dict[tuple[Any, ...], list[Cell]]] = {}
    for cell in cells:
        measured = cell.occlusion == 0 and cell.mse is not None and cell.calibration_labels in (0, CALIBRATION_LABELS)
        if measured and cell.label_share is None and getattr(cell, axis) is not None:
            alike = groups.setdefault((cell.setup, method_of(cell.method)), {})
            alike.setdefault(tuple(getattr(cell, name) for name in others), []).append(cell)
    longest = {key: max(alike.values(), key=lambda group: len(_values(group, axis))) for key, alike in groups.items()}
    return {
        key: tuple(sorted(group, key=lambda cell: (getattr(cell, axis), cell.joint, cell.split)))
        for key, group in longest.items()
        if len(_values(group, axis)) > 1
    }


def _values(cells: Sequence[Cell], axis: Axis) -> list[int]:
    return sorted({getattr(cell, axis) for cell in cells})


@styled
def error_curves(cells: Sequence[Cell], axis: Axis) -> Figure:
    """MSE against `axis`, one panel a joint, both axes logarithmic, beside the paper's ROPES and its baseline.

    After a line on the paper's number of labels, and dotted by the map that takes none.

    Args:
        cells: one series of `series`.
        axis: what it is a series in.
    """
    joints, ticks = sorted({cell.joint for cell in cells}), _values(cells, axis)
    figure, panels = make_panels(len(joints), height=2.5)
    for index, (panel, joint) in enumerate(zip(panels, joints, strict=True)):
        for colour, split, word in ((OURS, "id", "ours, in distribution"), (FLOOR, "ood", "ours, shifted poses")):
            own = [cell for cell in cells if cell.joint == joint and cell.split == split]
            fitted = [cell for cell in own if cell.calibration_labels]
            unlabelled = [cell for cell in own if not cell.calibration_labels]
            _draw(panel, axis, fitted, label=word, color=colour, marker="o", markersize=4)
            _draw(panel, axis, unlabelled, label=f"{word}, no label", color=colour, linestyle=":")
        usual = next(
            (cell for cell in cells if (cell.joint, cell.split) == (joint, "id") and cell.calibration_labels), None
        )
        for name, colour, word in (
            ("paper_mse", PAPER, "paper's ROPES"),
            ("all_labels_mse", INK, "RoboPEPP, all labels"),
        ):
            value = getattr(usual, name, None)
            if value is not None:
                label = f"{word}, in distribution"
                panel.axhline(value, color=colour, linestyle=(0, (4, 3)), linewidth=1.2, label=label)
        panel.set(xscale="log", yscale="log", xlabel=AXES[axis], title=joint_label(joint))
        panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks], fontsize=7.5)
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.yaxis.set_minor_formatter(NullFormatter())
        if index % 3 == 0:
            panel.set_ylabel("MSE, rad²")
    shared_legend(figure, panels)
    return figure


def _draw(panel: Any, axis: Axis, cells: Sequence[Cell], **style: Any) -> None:
    """Errors against what the fits differ in; nothing where there are none."""
    if cells:
        panel.plot([getattr(cell, axis) for cell in cells], [as_number(cell.mse) for cell in cells], **style)


def described(cell: Cell) -> str:
    """What a fit had to learn from, in words."""
    parts = [f"{cell.anchors:,} anchors" if cell.anchors is not None else cell.method]
    if cell.image_size is not None:
        parts.append(f"{cell.image_size} px")
    if cell.erased:
        parts.append(f"squares in {cell.erased:.0%} of the training images")
    return ", ".join(parts)
