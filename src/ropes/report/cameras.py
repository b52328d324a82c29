"""Errors by renderer and by the faults of cameras: the section of the report, its figures and tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ropes.evaluation.paper import mse_comparable, published
from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors, calibrated_as_the_paper, over_seeds, reaches, rendered_alike
from ropes.methods.registry import method_of
from ropes.report.figures import (
    Labels,
    error_level,
    error_line,
    error_panels,
    marks,
    styled,
)
from ropes.report.page import Section, Source, explained, plot, tag
from ropes.report.table import Entry, Table, grouped, mse_entry, named_once
from ropes.report.words import RENDERERS, fixed, in_words, joint_label, rms
from ropes.simulation.camera_levels import LEVELS

#: Renderer and level of the camera's faults.
Images = tuple[str, str]
#: Opacity of lines of fewer anchors.
_PALE = 0.5
#: Method and number of anchors.
Fit = tuple[str, int]


def tested_images(cell: JointErrors) -> Images:
    """Renderer and camera level of the test images of a cell."""
    return cell.renderer or "pybullet", cell.camera or "clean"


def training_images(cell: JointErrors) -> Images:
    """Renderer and camera level of the training images of a cell."""
    renderer, camera = tested_images(cell)
    return cell.trained_renderer or renderer, cell.trained_camera or camera


def fit_of(cell: JointErrors) -> Fit:
    """Method and number of anchors of a cell."""
    return method_of(cell.method), cell.anchors or 0


def _place(images: Images) -> tuple[int, int]:
    """Order of images: by renderer, then by the strength of the faults."""
    return list(RENDERERS).index(images[0]), list(LEVELS).index(images[1])


@dataclass(frozen=True, kw_only=True)
class CameraErrors:
    """Errors of one setting and split of test poses, without squares, with one map to radians for each method.

    Attributes:
        setup: name of the setting.
        split: "id" or "ood".
        joints: names, sorted.
        own: cells of fits that read images like their training images, sorted.
        transferred: cells of fits that read other images, sorted.
    """

    setup: str
    split: str
    joints: tuple[str, ...]
    own: tuple[JointErrors, ...]
    transferred: tuple[JointErrors, ...]

    @property
    def kind(self) -> str:
        """The rest of the name of the figure's file."""
        return f"{self.setup}-cameras{'-shifted' if self.split == 'ood' else ''}"

    def paper(self, joint: str) -> float | None:
        """MSE of the paper's ROPES on the same poses, rad²."""
        found = published(setup=self.setup, joint=joint, split=self.split)
        return found.mse if found else None

    def ratio(self, cell: JointErrors) -> float | None:
        """Error relative to that of the fit on clean images of the tested renderer, with the same method and anchors.

        None where there is no such fit, and for that fit itself.
        """
        sought = (tested_images(cell)[0], "clean"), fit_of(cell), cell.joint
        clean = next((each for each in self.own if (tested_images(each), fit_of(each), each.joint) == sought), None)
        if cell.mse is None or clean is None or clean is cell or not clean.mse:
            return None
        return cell.mse / clean.mse


def errors_by_camera(found: Results) -> tuple[CameraErrors, ...]:
    """The errors of each setting and split; empty where all images come from one renderer and one camera level."""
    own, transferred = (_comparable(over_seeds(rows)) for rows in (found.rows, found.transfer_rows))
    if rendered_alike([*own, *transferred]):
        return ()
    moved = grouped(transferred, lambda cell: (cell.setup, cell.split))
    return tuple(
        CameraErrors(
            setup=setup,
            split=split,
            joints=tuple(sorted({cell.joint for cell in cells})),
            own=tuple(cells),
            transferred=tuple(moved.get((setup, split), ())),
        )
        for (setup, split), cells in grouped(own, lambda cell: (cell.setup, cell.split)).items()
    )


def _comparable(cells: Sequence[JointErrors]) -> list[JointErrors]:
    """Measured cells without squares, calibrated as the paper's, in the order of tables."""
    return in_order(cell for cell in calibrated_as_the_paper(cells) if cell.occlusion == 0 and cell.mse is not None)


def in_order(cells: Iterable[JointErrors]) -> list[JointErrors]:
    """The cells in the order of tables."""
    return sorted(
        cells,
        key=lambda cell: (
            _place(tested_images(cell)),
            _place(training_images(cell)),
            fit_of(cell),
            cell.split,
            cell.joint,
        ),
    )


def section(source: Source) -> Iterator[Section]:
    """Figures and tables of all settings and splits."""
    content: list[Markup] = []
    for errors in errors_by_camera(source.results):
        heading = in_words(errors.setup, 0, errors.split)
        content += [tag("h3", heading), plot(figure(errors), f"RMS error by camera level, {heading}")]
        content += [element for words, table in tables(errors) for element in (tag("p", words), table.html())]
    if content:
        yield Section("cameras", "Error by renderer and camera", [explained("cameras"), *content])


def tables(errors: CameraErrors) -> Iterator[tuple[str, Table]]:
    """Sentence and table of images like the training images, and of other images: RMS in degrees, then MSE in rad²."""
    numbers = ["anchors", *map(joint_label, errors.joints)]
    theirs = [errors.paper(joint) for joint in errors.joints]
    like = "test images like the training images", ("images",), errors.own, any(theirs)
    other = "other test images than the training images", ("test images", "training images"), errors.transferred, False
    for in_degrees, (words, headings, cells, beside) in product((True, False), (like, other)):
        paper = ["", "", *("" if value is None else rms(value) if in_degrees else fixed(value) for value in theirs)]
        lines: list[tuple[str, Sequence[object]]] = []
        for (tested, trained, (method, anchors)), own in grouped(
            cells, lambda cell: (tested_images(cell), training_images(cell), fit_of(cell))
        ).items():
            at = {cell.joint: cell for cell in own}
            images = [f"{RENDERERS[renderer]}, {camera}" for renderer, camera in (tested, trained)]
            entries = (_entry(errors, at.get(joint), in_degrees) for joint in errors.joints)
            count = f"{anchors:,}" if anchors else ""
            lines.append((images[0], [*images[1 : len(headings)], method, count, *entries]))
        if lines:
            lines += [("the paper's ROPES", paper)] if beside else []
            table = Table([*headings, "method", *numbers], named_once(lines), texts=range(len(headings) + 1))
            yield f"{'RMS error, °' if in_degrees else 'MSE, rad²'}, {words}:", table


def _entry(errors: CameraErrors, cell: JointErrors | None, in_degrees: bool) -> Entry:
    """The error of a cell, whether it reaches the paper's ROPES, and its ratio to clean images."""
    if cell is None or cell.mse is None:
        return Entry("–")
    bar = errors.paper(cell.joint) if mse_comparable(errors.setup, errors.split) else None
    reached, ratio = None if bar is None else reaches(cell.mse, bar), errors.ratio(cell)
    entry = Entry(rms(cell.mse)) if in_degrees else mse_entry(cell)
    return replace(entry, reached=reached, beside="" if ratio is None else f"{fixed(ratio, 2)}×")


@styled
def figure(errors: CameraErrors) -> Figure:
    """RMS error against the strength of the camera's faults, one panel a joint, errors logarithmic.

    Colours are renderers and methods; lines of fewer anchors are paler.
    """
    levels = sorted({tested_images(cell)[1] for cell in errors.own}, key=list(LEVELS).index)
    series = grouped(errors.own, lambda cell: (tested_images(cell)[0], *fit_of(cell)))
    kinds = list(dict.fromkeys((renderer, method) for renderer, method, _ in series))
    mark_of = dict(zip(kinds, marks(len(kinds)), strict=True))
    most = max(anchors for *_, anchors in series)

    def draw(panel: Axes, joint: str) -> None:
        if (paper := errors.paper(joint)) is not None:
            error_level(panel, paper, "the paper's ROPES")
        for (renderer, method, anchors), cells in series.items():
            own = [cell for cell in cells if cell.joint == joint]
            places = [levels.index(tested_images(cell)[1]) for cell in own]
            mark = mark_of[renderer, method]
            style: Any = {"color": mark.colour, "marker": mark.marker, "alpha": 1.0 if anchors == most else _PALE}
            style |= {"label": f"{RENDERERS[renderer]}, {method}, {anchors:,}"}
            labels: Labels = "map" if cells[0].label_share is None else "training"
            error_line(panel, places, [cell.mse for cell in own], labels=labels, **style)
        panel.set(xlim=(-0.2, len(levels) - 0.8))
        panel.set_xticks(range(len(levels)), levels)

    return error_panels(errors.joints, draw, height=2.6)
