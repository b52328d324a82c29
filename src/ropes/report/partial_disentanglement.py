"""Tables of partial disentanglement, for the page and in Markdown."""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from ropes.evaluation.results import Results
from ropes.evaluation.rows.partial import FreedRow
from ropes.report.markdown_tables import table
from ropes.report.naming import joint_label
from ropes.report.numbers import fixed
from ropes.report.verdict import in_words

_SHARES = ("own joint explains", "all joints explain")


def freed_tables(rows: Iterable[FreedRow]) -> list[dict[str, Any]]:
    """A table for each setup, means over training seeds.

    Returns:
        For each setup its "heading", the "joints" that vary, and "lines": method, joint of the coordinate, correlation
        with each joint, then the shares of its variance that its own and all joints explain; all as printed.
    """
    setups: dict[str, list[FreedRow]] = {}
    for row in rows:
        setups.setdefault(row.setup, []).append(row)
    return [
        {
            "heading": in_words(setup, 0),
            "joints": [joint_label(joint) for joint in own[0].correlations],
            "lines": [_line(group) for group in _groups(own)],
        }
        for setup, own in setups.items()
    ]


def freed_markdown(found: Results) -> str:
    """The same tables in Markdown, and a line on their origin.

    Args:
        found: with `freed_rows`.
    """
    parts = []
    for each in freed_tables(found.freed_rows):
        heads = [*each["joints"], *_SHARES]
        lines = [[f"{method}, coordinate of {joint}", *figures] for method, joint, *figures in each["lines"]]
        parts.append(f"**{each['heading']}**\n\n{table(['coordinate'], heads, lines)}")
    seeds = {row.seed for row in found.freed_rows}
    scene = "" if found.scene is None else f"Scene {found.scene}. "
    parts.append(
        "Absolute correlation of each coordinate with the angle of every joint that varies, and the share of its "
        "variance (R² of boosted trees on other test poses) that its own joint's angle explains, and all angles. "
        f"Training seeds: {len(seeds)}. {scene}Preset {found.preset}, {found.device}, {found.seconds / 60:.0f} minutes."
    )
    return "\n\n".join(parts) + "\n"


def _groups(rows: Sequence[FreedRow]) -> Iterable[list[FreedRow]]:
    """Rows that differ in the training seed alone."""
    groups: dict[object, list[FreedRow]] = {}
    for row in rows:
        groups.setdefault(row.conditions, []).append(row)
    return groups.values()


def _line(group: Sequence[FreedRow]) -> list[str]:
    first = group[0]
    correlations = [fmean(row.correlations[joint] for row in group) for joint in first.correlations]
    shares = [fmean(getattr(row, name) for row in group) for name in ("own", "every")]
    return [first.method, joint_label(first.joint), *map(fixed, (*correlations, *shares))]
