"""Markdown table of interval coverage, by number of labels and split."""

from collections.abc import Iterable

from ropes.evaluation.results import Results
from ropes.evaluation.rows.trust import INTERVALS, TrustRow
from ropes.report.markdown_tables import table
from ropes.report.naming import joint_label
from ropes.report.trust import KINDS
from ropes.report.verdict import in_words


def coverage_markdown(found: Results) -> str:
    """The table of the experiment "coverage", and a line on its origin, ending in a newline.

    Args:
        found: with `trust_rows`.
    """
    joints = sorted({row.joint for row in found.trust_rows})
    groups: dict[tuple[str, str, int, str, int], list[TrustRow]] = {}
    for row in found.trust_rows:
        key = (row.setup, row.split, row.occlusion, row.intervals, row.calibration_labels)
        groups.setdefault(key, []).append(row)
    lines, before = [], None
    for key in sorted(groups, key=lambda key: (*key[:3], key[4], INTERVALS.index(key[3]))):
        setup, split, occlusion, kind, labels = key
        name = in_words(setup, occlusion, split)
        cells = [_percent(row.coverage for row in groups[key] if row.joint == joint) for joint in joints]
        lines.append(["" if name == before else name, KINDS[kind], f"{labels:,}", *cells])
        before = name
    written = table(["tested on", "intervals"], ["labels", *(joint_label(joint) for joint in joints)], lines)
    levels = sorted({row.level for row in found.trust_rows})
    scene = "" if found.scene is None else f"Scene {found.scene}. "
    seeds = len({row.seed for row in found.trust_rows})
    return (
        f"{written}\n\nShare of the true angles within {' and '.join(f'{level:.0%}' for level in levels)} intervals, "
        f"percent: mean over {seeds} training seed{'s' * (seeds > 1)}, in brackets the least and the greatest. Labels: "
        "poses that the calibration took, of anchors that no weight was fitted on. "
        f"{scene}Preset {found.preset}, {found.device}, {found.seconds / 60:.0f} minutes.\n"
    )


def _percent(shares: Iterable[float]) -> str:
    """Mean, least and greatest of some shares, in percent; empty without any."""
    values = [100 * share for share in shares]
    if not values:
        return ""
    return f"{sum(values) / len(values):.1f} ({min(values):.1f} to {max(values):.1f})"
