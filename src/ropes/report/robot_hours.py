"""Error against robot time, from anchors and chains of moves: a section of the page, a figure, Markdown tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ropes.evaluation.paper import (
    ALL_LABELS,
    ANCHORS,
    CALIBRATION_LABELS,
    Published,
    mse_comparable,
    published,
    supervised_with,
)
from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors, over_seeds, reaches
from ropes.methods.registry import method_of
from ropes.report.figures import (
    FLOOR,
    OURS,
    PALETTE,
    Labels,
    as_degrees,
    error_bars,
    error_level,
    error_line,
    error_panels,
    styled,
)
from ropes.report.page import Section, Source, explained, plot, tag
from ropes.report.table import Entry, Table, grouped, named_once, paragraphs
from ropes.report.words import counted, joint_label, labels_used, origin, rms, rms_and_deviation

#: Name of the experiment, whose variants are METHOD@2-hours, METHOD@chains-2-hours, and so on.
NAME = "robot-hours"
#: Prefix of a variant → what was recorded; and the suffix of all.
_KINDS = {
    "": "anchors",
    "longer-": "anchors, as many training steps as chains",
    "filmed-": "anchors with filmed moves",
    "chains-": "chains",
}
_HOURS = "-hours"
#: The paper's methods without and with training labels.
_PAPER = {False: f"ROPES, {CALIBRATION_LABELS:,} labels", True: f"RoboPEPP, {ALL_LABELS:,} labels"}
_COLOURS = dict(zip(_KINDS.values(), (OURS, PALETTE[5], PALETTE[3], FLOOR), strict=True))


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """The error of a joint from a recording of so many hours.

    Attributes:
        kind: what was recorded, see `_KINDS`.
        labels: of training and of the map to radians, in words.
        hours: of robot time.
        cell: the error.
    """

    kind: str
    labels: str
    hours: int
    cell: JointErrors


def recorded(found: Results) -> tuple[Recorded, ...]:
    """The errors by robot time; without a label and on the paper's number of labels.

    Empty for other experiments.
    """
    if found.name != NAME:
        return ()
    cells = [
        cell
        for cell in over_seeds(found.rows)
        if cell.mse is not None and cell.calibration_labels in (0, CALIBRATION_LABELS)
    ]
    cells.sort(
        key=lambda cell: (
            cell.split,
            cell.occlusion,
            cell.label_share is not None,
            cell.calibration_labels,
            cell.joint,
        )
    )
    return tuple(sorted(map(_recorded, cells), key=lambda each: (list(_COLOURS).index(each.kind), each.hours)))


def _recorded(cell: JointErrors) -> Recorded:
    variant = cell.method.partition("@")[2].removesuffix(_HOURS)
    prefix = next(each for each in reversed(_KINDS) if variant.startswith(each))
    hours = int(variant.removeprefix(prefix))
    labels = labels_used(cell.calibration_labels)
    if cell.label_share is not None:
        labels = f"{method_of(cell.method)}, all labels"
    return Recorded(kind=_KINDS[prefix], labels=labels, hours=hours, cell=cell)


@styled
def figure(errors: Sequence[Recorded]) -> Figure:
    """RMS error against robot time, one panel a joint, both axes logarithmic; bars are ± a deviation over the seeds.

    Args:
        errors: of one split, on images without squares.
    """

    def draw(panel: Axes, joint: str) -> None:
        own = [each for each in errors if each.cell.joint == joint]
        for (kind, labels), line in grouped(own, lambda each: (each.kind, each.labels)).items():
            across, up, first = [each.hours for each in line], [each.cell.mse for each in line], line[0].cell
            use: Labels = "training" if first.label_share is not None else "map" if first.calibration_labels else "none"
            error_line(panel, across, up, labels=use, color=_COLOURS[kind], label=f"{kind}, {labels}")
            if any(each.cell.mse_seeds for each in line):
                bars = error_bars(up, [each.cell.mse_seeds for each in line])
                middle = list(map(as_degrees, up))
                panel.errorbar(across, middle, yerr=bars, fmt="none", ecolor=_COLOURS[kind], capsize=2, linewidth=0.8)
        first = own[0].cell
        if (paper := published(setup=first.setup, joint=joint, split=first.split)) is not None:
            error_level(panel, paper.mse, "paper's ROPES, 1,000 labels")

    joints, hours = sorted({each.cell.joint for each in errors}), sorted({each.hours for each in errors})
    return error_panels(joints, draw, xlabel="robot time, hours", ticks=hours)


def tables(errors: Iterable[Recorded]) -> Iterator[tuple[str, Table]]:
    """Sentence and table of each split, square and number of labels: RMS errors in degrees, ± over the seeds.

    The last line is the paper's ROPES, or its RoboPEPP beside methods that learn from labels.
    """
    for (split, square, labels), own in grouped(
        errors, lambda each: (each.cell.split, each.cell.occlusion, each.labels)
    ).items():
        joints = sorted({each.cell.joint for each in own})
        lines = []
        for (kind, hours), fit in grouped(own, lambda each: (each.kind, each.hours)).items():
            at = {each.cell.joint: each.cell for each in fit}
            number = at[min(at)].anchors
            values = [_rms_over_seeds(at[joint]) if joint in at else Entry("–") for joint in joints]
            lines.append((kind, [f"{hours} h", "" if number is None else f"{number:,}", *values]))
        theirs = [next((_of_paper(each.cell) for each in own if each.cell.joint == joint), None) for joint in joints]
        if any(theirs):
            paper = f"the paper's {_PAPER[own[0].cell.label_share is not None]}"
            lines.append((paper, ["", f"{ANCHORS:,}", *(rms(bar and bar.mse) for bar in theirs)]))
        where = "Shifted poses" if split == "ood" else "Poses in distribution"
        hidden = f", {square} px occluded" if square else ""
        words = f"{where}{hidden}, {labels}:"
        heads = ["recorded", "robot time", "number", *map(joint_label, joints)]
        yield words, Table(heads, named_once(lines), texts=(0, 1))


def _of_paper(cell: JointErrors) -> Published | None:
    """The paper's figures beside a cell: of its ROPES, or of its RoboPEPP with as many of the labels."""
    if cell.label_share is None:
        return published(setup=cell.setup, joint=cell.joint, split=cell.split, occlusion=cell.occlusion)
    return supervised_with(
        cell.label_share, setup=cell.setup, joint=cell.joint, split=cell.split, occlusion=cell.occlusion
    )


def _rms_over_seeds(cell: JointErrors) -> Entry:
    """The root of the mean squared error, ± its standard deviation over the training seeds, to first order.

    It counts as reached where the squared error is at most the paper's.
    """
    assert cell.mse is not None  # `recorded` leaves cells without an error out
    shown, deviation = rms_and_deviation(cell.mse, cell.mse_seeds)
    bar = _of_paper(cell) if mse_comparable(cell.setup, cell.split) else None
    over = () if cell.mse_seeds is None else (deviation,)
    return Entry(shown, over, bar is not None and reaches(cell.mse, bar.mse))


def section(source: Source) -> Iterator[Section]:
    """A figure of each split, and the tables."""
    errors = recorded(source.results)
    content: list[Markup] = []
    for split, own in _without_squares(errors).items():
        content.append(plot(figure(own), f"RMS error against robot time, {split}"))
    content += [element for words, table in tables(errors) for element in (tag("p", words), table.html())]
    if content:
        yield Section("robot-hours", "Error by robot time", [explained("robot_hours"), *content])


def stills(found: Results) -> Iterator[tuple[str, Figure]]:
    """Name and figure of each split, for files."""
    for split, own in _without_squares(recorded(found)).items():
        yield _kind(split), figure(own)


def _without_squares(errors: Iterable[Recorded]) -> dict[str, list[Recorded]]:
    """Split → its errors on images without squares."""
    return grouped([each for each in errors if each.cell.occlusion == 0], lambda each: each.cell.split)


def _kind(split: str) -> str:
    return f"hours{'-shifted' if split == 'ood' else ''}"


def robot_hours_markdown(found: Results) -> str:
    """Figures and tables for a page in docs/, and the origin of the numbers."""
    errors = recorded(found)
    pictures = [
        f"![Error against robot time](../results/{found.name}-{found.preset}-{_kind(split)}.png)"
        for split in _without_squares(errors)
    ]
    parts = [text for words, table in tables(errors) for text in (words, table.markdown())]
    seeds = len({row.seed for row in found.rows})
    spread = " ± standard deviation over them" if seeds > 1 else ""
    paper = f"Bold where the squared error is at most the paper's ({ANCHORS:,} anchors, no known robot time)."
    sentence = f"RMS errors in degrees, mean over {counted(seeds, 'training seed')}{spread}. {paper} {origin(found)}"
    return paragraphs(*pictures, *parts, sentence)
