"""The page's section on intervals and flags."""

from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from ropes.evaluation.rows.flag import FlagRow
from ropes.evaluation.rows.trust import INTERVALS, TrustRow
from ropes.report import figures
from ropes.report.naming import joint_label
from ropes.report.verdict import in_words

KINDS = {
    "commanded": "no label at all",
    "anchors": "width without labels",
    "labels": "with labels",
    "own": "with labels held out of its training",
}
#: Of intervals: their name in a `TrustRow`, and the number of labels.
Kind = tuple[str, int]
_DASHES: dict[str, Any] = {"commanded": "-", "anchors": "-", "labels": (0, (4, 3)), "own": (0, (4, 3))}


def trust_sections(rows: Sequence[TrustRow], flags: Sequence[FlagRow] = ()) -> list[dict[str, Any]]:
    """What the template shows of each setup and method, figures averaged over training seeds; empty without rows."""
    sections = []
    several = len({row.method for row in rows}) > 1
    for setup, method in dict.fromkeys((row.setup, row.method) for row in rows):
        means = _over_seeds([row for row in rows if (row.setup, row.method) == (setup, method)])
        heading = in_words(setup, 0) + (f" · {method}" if several else "")
        kinds = sorted({key[-1] for key in means}, key=lambda kind: (INTERVALS.index(kind[0]), kind[1]))
        places = dict.fromkeys(key[:-1] for key in means)
        lines = []
        for split, occlusion, joint in sorted(places):
            found = [means.get((split, occlusion, joint, kind)) for kind in kinds]
            one = next(figure for figure in found if figure is not None)
            lines.append(
                {
                    "split": split,
                    "occlusion": occlusion,
                    "joint": joint,
                    "pairs": [(None, None) if figure is None else (figure[0], figure[1]) for figure in found],
                    "auroc": one[2],
                    "flagged": one[3],
                }
            )
        level = next(row.level for row in rows if (row.setup, row.method) == (setup, method))
        svg = figures.to_svg(trust_figure(lines, kinds, level), f"Coverage, width and AUROC, {heading}")
        sections.append(
            {
                "heading": heading,
                "svg": Markup(svg),
                "lines": lines,
                "kinds": [kind_label(kind, labels) for kind, labels in kinds],
                "flags": flag_lines(flag for flag in flags if (flag.setup, flag.method) == (setup, method)),
            }
        )
    return sections


def kind_label(kind: str, labels: int) -> str:
    """What a kind of intervals took, with the number of labels."""
    return KINDS[kind] + (f", {labels:,} labels" if labels else "")


def flag_lines(rows: Iterable[FlagRow]) -> list[dict[str, Any]]:
    """A line for each kind of unusual images: what they are, AUROC and share flagged, averaged over training seeds."""
    groups: dict[str, list[FlagRow]] = {}
    for row in rows:
        groups.setdefault(row.images, []).append(row)
    return [
        {
            "images": images,
            "auroc": float(np.mean([row.auroc for row in group])),
            "flagged": float(np.mean([row.flagged for row in group])),
        }
        for images, group in groups.items()
    ]


def _over_seeds(rows: Sequence[TrustRow]) -> dict[tuple[str, int, str, Kind], tuple[float | None, ...]]:
    """(split, occlusion, joint, kind) → means of coverage, width, AUROC and share flagged."""
    groups: dict[tuple[str, int, str, Kind], list[TrustRow]] = {}
    for row in rows:
        kind = row.intervals, row.calibration_labels
        groups.setdefault((row.split, row.occlusion, row.joint, kind), []).append(row)
    return {key: tuple(map(_mean, zip(*map(_figures, group), strict=True))) for key, group in groups.items()}


def _figures(row: TrustRow) -> tuple[float | None, ...]:
    return row.coverage, row.width, row.auroc, row.flagged


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def trust_figure(lines: Sequence[dict[str, Any]], kinds: Sequence[Kind], level: float) -> Figure:
    """Coverage and width of every joint, and AUROC, against the side of the white square; a row for each split.

    Args:
        lines: as in `trust_sections`.
        kinds: of intervals, in the order of each line's pairs; the first is drawn, solid where its width took no
            label, and the last, dashed.
        level: that the intervals are meant to have.
    """
    # All kinds at once are a thicket, and the table has them: those without labels, and of those with labels the most.
    drawn = [kinds[0], *(kinds[-1:] if kinds[-1] != kinds[0] else [])]
    with matplotlib.rc_context(figures.STYLE):
        splits = list(dict.fromkeys(line["split"] for line in lines))
        joints = list(dict.fromkeys(line["joint"] for line in lines))
        figure, panels = figures.make_panels(3 * len(splits), height=2.4)
        for row, split in enumerate(splits):
            own = [line for line in lines if line["split"] == split]
            pixels = sorted({line["occlusion"] for line in own})
            held, width, told = panels[3 * row : 3 * row + 3]
            for colour, joint in zip(figures.colour_cycle(len(joints)), joints, strict=True):
                by_size = {line["occlusion"]: line["pairs"] for line in own if line["joint"] == joint}
                for k, kind in enumerate(kinds):
                    if kind not in drawn:
                        continue
                    label = joint_label(joint) if kind == kinds[0] else None
                    for panel, which in ((held, 0), (width, 1)):
                        values = [
                            figures.as_number(by_size[size][k][which]) if size in by_size else np.nan for size in pixels
                        ]
                        panel.plot(
                            pixels, values, color=colour, linestyle=_DASHES[kind[0]], marker="o", ms=3, label=label
                        )
            held.axhline(level, color=figures.INK, linestyle=":", linewidth=1)
            by_size = {line["occlusion"]: line["auroc"] for line in own}
            told.plot(pixels, [figures.as_number(by_size[size]) for size in pixels], color=figures.OURS, marker="o")
            held.set(title=f"{split}: coverage", ylim=(0, 1.02))
            width.set(title=f"{split}: mean width, rad")
            width.set_ylim(bottom=0)
            told.set(title=f"{split}: AUROC of the flag", ylim=(0.4, 1.02))
            for panel in (held, width, told):
                panel.set(xlabel="white square, px", xticks=pixels)
        figures.shared_legend(figure, panels)
        return figure
