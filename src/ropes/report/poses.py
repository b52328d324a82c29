"""The table of pose errors."""

from collections.abc import Iterable
from typing import Any

from ropes.evaluation.rows.pose import PoseRow
from ropes.evaluation.summary import pool
from ropes.report.numbers import fixed
from ropes.report.verdict import in_words


def pose_table(rows: Iterable[PoseRow]) -> list[dict[str, Any]]:
    """Lines in order of first appearance.

    Returns:
        For each line its "heading", "method", "split", "occlusion", "link", "frame", and "figures": mean and deviation
        (over repeats and seeds) as printed, of position (mm), orientation (degrees), ADD (mm) and its AUC.
    """
    groups: dict[object, list[PoseRow]] = {}
    for row in rows:
        groups.setdefault(row.conditions, []).append(row)
    return [
        {
            "heading": in_words(first.setup, 0),
            "method": first.method,
            "split": first.split,
            "occlusion": first.occlusion,
            "link": first.link,
            "frame": first.frame,
            "figures": [_printed(group, k, digits) for k, digits in enumerate((1, 2, 1, 3))],
        }
        for first, group in ((group[0], group) for group in groups.values())
    ]


def _printed(group: list[PoseRow], figure: int, digits: int) -> tuple[str, str]:
    mean, std = pool([row.figures()[figure] for row in group])
    assert mean is not None
    assert std is not None
    return fixed(mean, digits), fixed(std, digits)
