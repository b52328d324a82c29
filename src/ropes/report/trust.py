"""Coverage of intervals and detection of out-of-distribution images: a section of the page, and a Markdown table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import INTERVALS, CoverageRow, FlagRow
from ropes.report.elements import details, plot, tag
from ropes.report.figures import DASHED, INK, OURS, as_number, colour_cycle, make_panels, shared_legend, styled
from ropes.report.numbers import degrees, fixed
from ropes.report.page import Section, Source, explained
from ropes.report.table import Table, grouped, named_once, number_columns, paragraphs, text_columns
from ropes.report.words import counted, in_words, joint_label, origin

#: Intervals in words, by their names in `CoverageRow`.
KINDS = {
    "commanded": "no labels",
    "anchors": "width from held-out anchors",
    "labels": "width from labels",
    "own": "width from held-out labels",
}
#: Name of intervals, and number of labels.
Kind = tuple[str, int]


class Line(NamedTuple):
    """Means over training seeds of one joint under one condition, as in `CoverageRow`; None where undefined.

    `pairs` has coverage and width (rad) of each kind of interval.
    """

    split: str
    occlusion: int
    joint: str
    pairs: Sequence[tuple[float | None, float | None]]
    auroc: float | None
    flagged: float | None


class Coverage(NamedTuple):
    """Intervals of one setup and method: kinds of intervals, intended level, and lines."""

    setup: str
    method: str
    kinds: Sequence[Kind]
    level: float
    lines: Sequence[Line]


def coverages(rows: Sequence[CoverageRow]) -> list[Coverage]:
    """Means over training seeds, for each setup and method."""
    found = []
    for (setup, method), own in grouped(rows, lambda row: (row.setup, row.method)).items():
        kinds = sorted({_kind(row) for row in own}, key=lambda kind: (INTERVALS.index(kind[0]), kind[1]))
        lines = []
        for place, here in sorted(grouped(own, lambda row: (row.split, row.occlusion, row.joint)).items()):
            split, occlusion, joint = place
            means = {
                kind: [_mean(getattr(row, name) for row in group) for name in ("coverage", "width", "auroc", "flagged")]
                for kind, group in grouped(here, _kind).items()
            }
            pairs = [(means[kind][0], means[kind][1]) if kind in means else (None, None) for kind in kinds]
            first = next(means[kind] for kind in kinds if kind in means)
            lines.append(Line(split, occlusion, joint, pairs, first[2], first[3]))
        found.append(Coverage(setup, method, kinds, own[0].level, lines))
    return found


def _kind(row: CoverageRow) -> Kind:
    return row.intervals, row.calibration_labels


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean; None where a value is None."""
    values = list(values)
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if len(numbers) == len(values) else None


def intervals_and_flags(source: Source) -> Iterator[Section]:
    """Coverage, width and AUROC, as a figure and as tables."""
    rows = source.results.trust_rows
    if not rows:
        return
    content = [explained("intervals_and_flags")]
    several = len({row.method for row in rows}) > 1
    for coverage in coverages(rows):
        heading = in_words(coverage.setup, 0) + (f" · {coverage.method}" if several else "")
        figure = trust_figure(coverage)
        content += [
            tag("h3", heading),
            plot(figure, f"Coverage, width and AUROC, {heading}"),
            details(f"Table: {heading}", coverage_table(coverage).html()),
        ]
        flags = [
            row for row in source.results.flag_rows if (row.setup, row.method) == (coverage.setup, coverage.method)
        ]
        if flags:
            columns = [*text_columns("out-of-distribution images"), *number_columns("AUROC", "flagged")]
            lines = [[images, fixed(auroc), fixed(flagged)] for images, auroc, flagged in flag_means(flags)]
            content.append(Table(columns, lines).html())
    yield Section("trust", "Uncertainty and out-of-distribution detection", content)


def coverage_table(coverage: Coverage) -> Table:
    """A line for each condition and joint; coverage and width of each kind of interval, AUROC and share flagged."""
    kinds = [heading for kind in coverage.kinds for heading in (f"coverage, {kind_label(*kind)}", "width, °")]
    columns = [*text_columns("split"), *number_columns("px"), *text_columns("joint")]
    columns += number_columns(*kinds, "AUROC", "flagged")
    lines = []
    for line in coverage.lines:
        pairs = [text for held, width in line.pairs for text in (fixed(held), degrees(width))]
        place = [line.split, str(line.occlusion), joint_label(line.joint)]
        lines.append([*place, *pairs, fixed(line.auroc), fixed(line.flagged)])
    return Table(columns, lines)


def kind_label(kind: str, labels: int) -> str:
    """A kind of interval in words, with its number of labels."""
    return KINDS[kind] + (f", {labels:,} labels" if labels else "")


def flag_means(rows: Iterable[FlagRow]) -> list[tuple[str, float, float]]:
    """Kind of out-of-distribution images, AUROC of the flag and share flagged, averaged over training seeds."""
    return [
        (images, float(np.mean([row.auroc for row in group])), float(np.mean([row.flagged for row in group])))
        for images, group in grouped(rows, lambda row: row.images).items()
    ]


@styled
def trust_figure(coverage: Coverage) -> Figure:
    """Coverage and width of every joint, and AUROC, against the side of the white square; a row for each split.

    Of the kinds of intervals the first and the last are drawn: those without labels, and those with the most labels.
    Intervals whose width rests on labels are dashed.
    """
    kinds, lines = coverage.kinds, coverage.lines
    splits, joints = ({getattr(line, name): None for line in lines} for name in ("split", "joint"))
    figure, panels = make_panels(3 * len(splits), height=2.4)
    for row, split in enumerate(splits):
        own = [line for line in lines if line.split == split]
        pixels = sorted({line.occlusion for line in own})
        held, width, flag = panels[3 * row : 3 * row + 3]
        for colour, joint in zip(colour_cycle(len(joints)), joints, strict=True):
            pairs = {line.occlusion: line.pairs for line in own if line.joint == joint}
            for place in dict.fromkeys((0, len(kinds) - 1)):
                style = {"color": colour, "linestyle": DASHED if kinds[place][0] in ("labels", "own") else "-"}
                label = joint_label(joint) if place == 0 else None
                shares = {size: pair[place][0] for size, pair in pairs.items()}
                widths = {size: np.degrees(as_number(pair[place][1])) for size, pair in pairs.items()}
                for panel, values in ((held, shares), (width, widths)):
                    _draw(panel, pixels, values, label=label, ms=3, **style)
        held.axhline(coverage.level, color=INK, linestyle=":", linewidth=1)
        _draw(flag, pixels, {line.occlusion: line.auroc for line in own}, color=OURS)
        held.set(title=f"{split}: coverage", ylim=(0, 1.02))
        width.set(title=f"{split}: mean width, °")
        width.set_ylim(bottom=0)
        flag.set(title=f"{split}: AUROC of the flag", ylim=(0.4, 1.02))
        for panel in (held, width, flag):
            panel.set(xlabel="white square, px", xticks=pixels)
    return shared_legend(figure, panels)


def _draw(panel: Axes, pixels: Sequence[int], values: Mapping[int, float | None], **style: Any) -> None:
    panel.plot(pixels, [as_number(values.get(size)) for size in pixels], marker="o", **style)


def coverage_markdown(found: Results) -> str:
    """Coverage by number of labels and split as Markdown, with the origin of the numbers.

    Args:
        found: of the experiment "coverage".
    """
    rows = found.trust_rows
    joints = sorted({row.joint for row in rows})
    groups = grouped(rows, lambda row: (row.setup, row.split, row.occlusion, row.calibration_labels, row.intervals))
    lines = []
    for key in sorted(groups, key=lambda key: (*key[:4], INTERVALS.index(key[4]))):
        setup, split, occlusion, labels, kind = key
        shares = [_percent(row.coverage for row in groups[key] if row.joint == joint) for joint in joints]
        lines.append((in_words(setup, occlusion, split), [KINDS[kind], f"{labels:,}", *shares]))
    columns = [*text_columns("test data", "intervals"), *number_columns("labels", *map(joint_label, joints))]
    levels = " and ".join(f"{level:.0%}" for level in sorted({row.level for row in rows}))
    seeds = counted(len({row.seed for row in rows}), "training seed")
    return paragraphs(
        Table(columns, named_once(lines)).markdown(),
        f"Share of true angles inside {levels} intervals, in percent: mean over {seeds} (minimum to maximum). Labels: "
        f"poses of anchors without training images, used by the calibration. {origin(found)}",
    )


def _percent(shares: Iterable[float]) -> str:
    """Mean (minimum to maximum) in percent; empty without shares."""
    values = [100 * share for share in shares]
    if not values:
        return ""
    return f"{sum(values) / len(values):.1f} ({min(values):.1f} to {max(values):.1f})"
