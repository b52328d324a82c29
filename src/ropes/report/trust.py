"""Coverage of intervals and detection of out-of-distribution images: a section of the page, and a Markdown table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import INTERVALS, CoverageRow, FlagRow
from ropes.report.figures import (
    DASHED,
    INK,
    OURS,
    as_number,
    make_panels,
    marks,
    shared_legend,
    styled,
)
from ropes.report.page import Section, Source, details, explained, plot, tag
from ropes.report.table import Table, grouped, named_once, paragraphs
from ropes.report.words import counted, degrees, fixed, in_words, joint_label, origin

#: Intervals in words, by their names in `CoverageRow`.
KINDS = {
    "commanded": "no labels",
    "anchors": "width from held-out anchors",
    "labels": "width from labels",
    "own": "width from held-out labels",
}
#: Name of intervals, and number of labels.
Kind = tuple[str, int]


class Coverage(NamedTuple):
    """Intervals of one setup and method: kinds of intervals, intended level, and rows.

    `at` is split, occlusion and joint → kind → its row, with means over training seeds: None where any
    seed has None.
    """

    setup: str
    method: str
    kinds: Sequence[Kind]
    level: float
    at: Mapping[tuple[str, int, str], Mapping[Kind, CoverageRow]]


def coverages(rows: Sequence[CoverageRow]) -> list[Coverage]:
    """Means over training seeds, for each setup and method."""
    found = []
    for (setup, method), own in grouped(rows, lambda row: (row.setup, row.method)).items():
        kinds = sorted({_kind(row) for row in own}, key=lambda kind: (INTERVALS.index(kind[0]), kind[1]))
        at: dict[tuple[str, int, str], dict[Kind, CoverageRow]] = {}
        for place, here in sorted(grouped(own, lambda row: (row.split, row.occlusion, row.joint)).items()):
            by_kind = grouped(here, _kind)
            at[place] = {kind: _mean_row(by_kind[kind]) for kind in kinds if kind in by_kind}
        found.append(Coverage(setup, method, kinds, own[0].level, at))
    return found


def _kind(row: CoverageRow) -> Kind:
    return row.intervals, row.calibration_labels


def _mean_row(rows: Sequence[CoverageRow]) -> CoverageRow:
    means: dict[str, Any] = {}
    for name in ("coverage", "width", "auroc", "flagged"):
        values = [getattr(row, name) for row in rows]
        means[name] = None if None in values else float(np.mean(values))
    return replace(rows[0], **means)


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
            lines = [[images, fixed(auroc), fixed(flagged)] for images, auroc, flagged in flag_means(flags)]
            content.append(Table(["out-of-distribution images", "AUROC", "flagged"], lines).html())
    yield Section("trust", "Uncertainty and out-of-distribution detection", content)


def coverage_table(coverage: Coverage) -> Table:
    """A line for each condition and joint; coverage and width of each kind of interval, AUROC and share flagged."""
    kinds = [heading for kind in coverage.kinds for heading in (f"coverage, {kind_label(*kind)}", "width, °")]
    lines = []
    for (split, occlusion, joint), rows in coverage.at.items():
        shown = [rows.get(kind) for kind in coverage.kinds]
        pairs = [text for row in shown for text in ((fixed(row.coverage), degrees(row.width)) if row else ("–", "–"))]
        first = next(iter(rows.values()))
        lines.append([split, str(occlusion), joint_label(joint), *pairs, fixed(first.auroc), fixed(first.flagged)])
    return Table(["split", "px", "joint", *kinds, "AUROC", "flagged"], lines, texts=(0, 2))


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
    kinds = coverage.kinds
    splits = dict.fromkeys(split for split, _, _ in coverage.at)
    joints = dict.fromkeys(joint for _, _, joint in coverage.at)
    figure, panels = make_panels(3 * len(splits), height=2.4)
    for number, split in enumerate(splits):
        own = {place[1:]: rows for place, rows in coverage.at.items() if place[0] == split}
        pixels = sorted({size for size, _ in own})
        held, width, flag = panels[3 * number : 3 * number + 3]
        for mark, joint in zip(marks(len(joints)), joints, strict=True):
            for place in dict.fromkeys((0, len(kinds) - 1)):
                rows = [own.get((size, joint), {}).get(kinds[place]) for size in pixels]
                dashes = DASHED if kinds[place][0] in ("labels", "own") else "-"
                style: Any = {"color": mark.colour, "marker": mark.marker, "ms": 3, "linestyle": dashes}
                style |= {"label": joint_label(joint) if place == 0 else None}
                held.plot(pixels, [row.coverage if row else np.nan for row in rows], **style)
                width.plot(pixels, [np.degrees(row.width) if row else np.nan for row in rows], **style)
        held.axhline(coverage.level, color=INK, linestyle=":", linewidth=1)
        auroc = {size: as_number(next(iter(rows.values())).auroc) for (size, _), rows in own.items()}
        flag.plot(pixels, [auroc[size] for size in pixels], marker="o", color=OURS)
        held.set(title=f"{split}: coverage", ylim=(0, 1.02))
        width.set(title=f"{split}: mean width, °")
        width.set_ylim(bottom=0)
        flag.set(title=f"{split}: AUROC of the flag", ylim=(0.4, 1.02))
        for panel in (held, width, flag):
            panel.set(xlabel="white square, px", xticks=pixels)
    return shared_legend(figure, panels)


def coverage_markdown(found: Results) -> str:
    """Coverage by number of labels and split as Markdown, with the origin of the numbers.

    Args:
        found: of the experiment "coverage".
    """
    rows = found.trust_rows
    joints = sorted({row.joint for row in rows})
    several = len({row.method for row in rows}) > 1
    groups = grouped(
        rows, lambda row: (row.setup, row.split, row.occlusion, row.calibration_labels, row.intervals, row.method)
    )
    lines = []
    for key in sorted(groups, key=lambda key: (*key[:4], INTERVALS.index(key[4]), key[5])):
        setup, split, occlusion, labels, kind, method = key
        fit = [method] if several else []
        shares = [[100 * row.coverage for row in groups[key] if row.joint == joint] for joint in joints]
        texts = [f"{sum(own) / len(own):.1f} ({min(own):.1f} to {max(own):.1f})" if own else "" for own in shares]
        lines.append((in_words(setup, occlusion, split), [*fit, KINDS[kind], f"{labels:,}", *texts]))
    heads = ["test data", *(["method"] if several else []), "intervals", "labels", *map(joint_label, joints)]
    levels = " and ".join(f"{level:.0%}" for level in sorted({row.level for row in rows}))
    seeds = counted(len({row.seed for row in rows}), "training seed")
    return paragraphs(
        Table(heads, named_once(lines), texts=range(heads.index("labels"))).markdown(),
        f"Share of true angles inside {levels} intervals, in percent: mean over {seeds} (minimum to maximum). Labels: "
        f"poses of anchors without training images, used by the calibration. {origin(found)}",
    )
