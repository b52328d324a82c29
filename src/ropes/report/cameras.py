"""Errors by renderer and by the faults of cameras: the section of the page, its figures, and the Markdown tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ropes.evaluation.paper import CALIBRATION_LABELS, mse_comparable, published
from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors, calibrated_as_the_paper, over_seeds, reaches, rendered_alike
from ropes.methods.registry import method_of
from ropes.report.elements import plot, tag
from ropes.report.figures import DASHED, INK, as_number, colour_cycle, shared_legend, styled, titled_panels
from ropes.report.numbers import fixed
from ropes.report.page import Section, Source, explained
from ropes.report.table import (
    Column,
    Entry,
    Table,
    grouped,
    mse_entry,
    named_once,
    number_columns,
    paragraphs,
    text_columns,
)
from ropes.report.words import counted, in_words, joint_label, origin
from ropes.simulation.camera_levels import LEVELS

_RENDERERS = {"pybullet": "PyBullet", "mujoco": "MuJoCo"}
#: Renderer and level of the camera's faults.
Images = tuple[str, str]
#: Method and number of anchors.
Fit = tuple[str, int]


def tested_images(cell: JointErrors) -> Images:
    """Renderer and camera level of the test images of a cell."""
    return cell.renderer or "pybullet", cell.camera or "clean"


def training_images(cell: JointErrors) -> Images:
    """Renderer and camera level of the training images of a cell."""
    renderer, camera = tested_images(cell)
    return cell.trained_renderer or renderer, cell.trained_camera or camera


def _fit(cell: JointErrors) -> Fit:
    return method_of(cell.method), cell.anchors or 0


def _place(images: Images) -> tuple[int, int]:
    """Order of images: by renderer, then by the strength of the faults."""
    renderer, camera = images
    return list(_RENDERERS).index(renderer), list(LEVELS).index(camera)


def _words(images: Images) -> str:
    renderer, camera = images
    return f"{_RENDERERS[renderer]}, {camera}"


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

    def paper(self, joint: str) -> float | None:
        """MSE of the paper's ROPES on the same poses, rad²."""
        found = published(setup=self.setup, joint=joint, split=self.split)
        return found.mse if found else None

    @cached_property
    def _clean(self) -> Mapping[tuple[str, Fit, str], JointErrors]:
        """Renderer, fit and joint → cell of clean images, read by the fit on such images."""
        clean = [cell for cell in self.own if tested_images(cell)[1] == "clean"]
        return {(tested_images(cell)[0], _fit(cell), cell.joint): cell for cell in clean}

    def ratio(self, cell: JointErrors) -> float | None:
        """Error relative to that of the fit on clean images of the tested renderer, with the same method and anchors.

        None where there is no such fit, and for that fit itself.
        """
        clean = self._clean.get((tested_images(cell)[0], _fit(cell), cell.joint))
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
    shown = [cell for cell in calibrated_as_the_paper(cells) if cell.occlusion == 0 and cell.mse is not None]
    return sorted(
        shown,
        key=lambda cell: (
            _place(tested_images(cell)),
            _place(training_images(cell)),
            _fit(cell),
            cell.split,
            cell.joint,
        ),
    )


def section(source: Source) -> Iterator[Section]:
    """Figures and tables of all settings and splits."""
    content: list[Markup] = []
    for errors in errors_by_camera(source.results):
        heading = in_words(errors.setup, 0, errors.split)
        content += [tag("h3", heading), plot(figure(errors), f"MSE by camera level, {heading}")]
        content += [element for words, table in tables(errors) for element in (tag("p", words), table.html())]
    if content:
        yield Section("cameras", "Error by renderer and camera", [explained("cameras"), *content])


def tables(errors: CameraErrors) -> Iterator[tuple[str, Table]]:
    """Sentence and table of images like the training images, and of other images."""
    numbers = number_columns("anchors", *map(joint_label, errors.joints))
    theirs = [errors.paper(joint) for joint in errors.joints]
    paper: list[str | Entry] = ["", *("" if value is None else fixed(value) for value in theirs)]
    beside = [("the paper's ROPES", ["", *paper])] if any(theirs) else []
    lines = _lines(errors, errors.own, lambda cell: (tested_images(cell), *_fit(cell)))
    named = [(_words(images), [method, *entries]) for (images, method, _), entries in lines.items()]
    columns: list[Column] = [*text_columns("images", "method"), *numbers]
    yield "Test images like the training images:", Table(columns, named_once([*named, *beside]))
    if errors.transferred:
        lines = _lines(
            errors, errors.transferred, lambda cell: (tested_images(cell), training_images(cell), *_fit(cell))
        )
        named = [
            (_words(tested), [_words(trained), method, *entries])
            for (tested, trained, method, _), entries in lines.items()
        ]
        columns = [*text_columns("test images", "training images", "method"), *numbers]
        yield "Other test images than the training images:", Table(columns, named_once(named))


def _lines(errors: CameraErrors, cells: Sequence[JointErrors], key: Any) -> Mapping[Any, list[str | Entry]]:
    """Key of a line → its number of anchors, and the error of each joint."""
    lines: dict[Any, list[str | Entry]] = {}
    for of_line, own in grouped(cells, key).items():
        at = {cell.joint: cell for cell in own}
        entries = [_entry(errors, at.get(joint)) for joint in errors.joints]
        lines[of_line] = [f"{own[0].anchors:,}" if own[0].anchors else "", *entries]
    return lines


def _entry(errors: CameraErrors, cell: JointErrors | None) -> Entry:
    """The error of a cell, whether it reaches the paper's ROPES, and its ratio to clean images."""
    if cell is None or cell.mse is None:
        return Entry("–")
    bar = errors.paper(cell.joint) if mse_comparable(errors.setup, errors.split) else None
    entry = mse_entry(cell, None if bar is None else reaches(cell.mse, bar))
    ratio = errors.ratio(cell)
    return entry if ratio is None else replace(entry, beside=f"{fixed(ratio, 2)}×")


@styled
def figure(errors: CameraErrors) -> Figure:
    """MSE against the strength of the camera's faults, one panel a joint, errors logarithmic.

    Colours are renderers and methods, dotted lines have fewer anchors than solid ones.
    """
    levels = sorted({tested_images(cell)[1] for cell in errors.own}, key=list(LEVELS).index)
    series = grouped(errors.own, lambda cell: (tested_images(cell)[0], *_fit(cell)))
    kinds = list(dict.fromkeys((renderer, method) for renderer, method, _ in series))
    colours = dict(zip(kinds, colour_cycle(len(kinds)), strict=True))
    most = max(anchors for *_, anchors in series)
    drawn, panels = titled_panels(map(joint_label, errors.joints), height=2.6, ylabel="MSE, rad²")
    for panel, joint in zip(panels, errors.joints, strict=True):
        if (paper := errors.paper(joint)) is not None:
            panel.axhline(paper, color=INK, linestyle=DASHED, linewidth=1.2, label="the paper's ROPES")
        for (renderer, method, anchors), cells in series.items():
            own = [cell for cell in cells if cell.joint == joint]
            places = [levels.index(tested_images(cell)[1]) for cell in own]
            style: Any = {"color": colours[renderer, method], "linestyle": "-" if anchors == most else ":"}
            label = f"{_RENDERERS[renderer]}, {method}, {anchors:,}"
            panel.plot(places, [as_number(cell.mse) for cell in own], marker="o", markersize=4, label=label, **style)
        panel.set(yscale="log", xlim=(-0.2, len(levels) - 0.8))
        panel.set_xticks(range(len(levels)), levels)
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.yaxis.set_minor_formatter(NullFormatter())
    return shared_legend(drawn, panels)


def figures(found: Results) -> Iterator[tuple[str, Figure]]:
    """The rest of a file's name, and its figure."""
    for errors in errors_by_camera(found):
        yield _file(errors), figure(errors)


def _file(errors: CameraErrors) -> str:
    return f"{errors.setup}-cameras{'-shifted' if errors.split == 'ood' else ''}"


def cameras_markdown(found: Results) -> str:
    """Figures and tables of all settings and splits, for a page in docs/, and the origin of the numbers."""
    parts = []
    for errors in errors_by_camera(found):
        heading = in_words(errors.setup, 0, errors.split)
        picture = f"../results/{found.name}-{found.preset}-{_file(errors)}.png"
        parts += [f"**{heading}**", f"![Error by camera level]({picture})"]
        parts += [text for words, table in tables(errors) for text in (words, table.markdown())]
    seeds = counted(len({row.seed for row in found.rows}), "training seed")
    note = (
        f"MSE in rad², ± over test draws of {seeds}, bold where it reaches the paper's ROPES. In brackets: the ratio "
        "to the fit on clean images of the tested renderer, with the same method and number of anchors. Coordinates of "
        f"methods without labels become radians by a line fitted on {CALIBRATION_LABELS:,} labels of the test images. "
    )
    return paragraphs(*parts, note + origin(found))
