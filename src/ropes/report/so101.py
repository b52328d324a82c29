"""Markdown table of experiment so101: RMS errors of the SO-101's joints in degrees."""

from collections.abc import Sequence
from statistics import fmean

from ropes.evaluation.paper import CALIBRATION_LABELS
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.report.table import Table, grouped, named_once, paragraphs
from ropes.report.words import counted, in_words, joint_label, origin, rms

NAME = "so101"


def so101_markdown(found: Results) -> str:
    """A line for each split, method and number of labels, first without labels, and the origin of the numbers.

    An entry is the root of the mean squared error over test draws and training seeds, and the least and the greatest of
    the seeds' own.  A seed whose map to radians failed leaves the entry empty, as in every table without labels.

    Args:
        found: with rows of joint angles.
    """
    rows = [row for row in found.rows if row.occlusion == 0 and row.calibration_labels in (0, CALIBRATION_LABELS)]
    joints = list(dict.fromkeys(row.joint for row in rows))
    lines: list[tuple[str, Sequence[object]]] = []
    order = sorted(rows, key=lambda row: (row.split, row.method, row.calibration_labels))
    for (setup, split, method, labels), own in grouped(
        order, lambda row: (row.setup, row.split, row.method, row.calibration_labels)
    ).items():
        used = f"{own[0].labels + labels:,}"
        entries = (_entry([row for row in own if row.joint == joint]) for joint in joints)
        lines.append((in_words(setup, 0, split), [method, used, *entries]))
    seeds = counted(len({row.seed for row in rows}), "training seed")
    note = (
        f"RMS error in degrees of {seeds}; with several, the least and the greatest of a seed in brackets. With "
        f"{CALIBRATION_LABELS:,} labels a line gives radians; with none, the commanded distributions do. The gripper "
        f"moves and is not learnt, so it has no column. {origin(found)}"
    )
    columns = ["test data", "method", "labels", *map(joint_label, joints)]
    return paragraphs(Table(columns, named_once(lines), texts=(0, 1)).markdown(), note)


def _entry(rows: Sequence[Row]) -> str:
    """The RMS error of a joint over training seeds, and its range; a dash where a seed has none."""
    errors = [row.mse_mean for row in rows if row.mse_mean is not None]
    if not errors or len(errors) < len(rows):
        return "–"
    pooled = rms(fmean(errors))
    return pooled if len(errors) == 1 else f"{pooled} ({rms(min(errors))} to {rms(max(errors))})"
