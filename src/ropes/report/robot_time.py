"""Markdown table of errors without labels against the time in which so many anchors are recorded."""

import math

from ropes.errors import UserError
from ropes.evaluation.benchmark.task import ANCHOR_SECONDS
from ropes.evaluation.results import Results
from ropes.evaluation.summary import over_seeds, without_labels
from ropes.methods.registry import method_of
from ropes.report.table import Table, grouped
from ropes.report.words import fixed, joint_label, rms


def robot_time_markdown(found: Results) -> str:
    """A line for each number of anchors: robot time by `ANCHOR_SECONDS`, and RMS errors in distribution, degrees.

    Args:
        found: of fits of method anchored that differ in their anchors, on a task of the benchmark; those on the
            largest images count.

    Raises:
        UserError: there are none.
    """
    measured = [
        cell
        for cell in without_labels(over_seeds(found.rows))
        if (method_of(cell.method), cell.split, cell.occlusion) == ("anchored", "id", 0)
        and cell.anchors is not None
        and cell.setup in ANCHOR_SECONDS
    ]
    if not measured:
        raise UserError(f"{found.name} has no errors of method anchored without labels; leave /robot-time out")
    largest = max(cell.image_size or 0 for cell in measured)
    kept = sorted(
        (cell for cell in measured if (cell.image_size or 0) == largest), key=lambda cell: (cell.anchors, cell.joint)
    )
    lines = []
    for anchors, cells in grouped(kept, lambda cell: cell.anchors or 0).items():
        errors = [cell.mse for cell in cells if cell.mse is not None]
        hours = anchors * ANCHOR_SECONDS[cells[0].setup] / 3600
        time = f"{fixed(hours, 1 if hours < 10 else 0)} h"
        lines.append([f"{anchors:,}", time, *map(rms, errors), rms(math.fsum(errors) / len(errors))])
    joints = dict.fromkeys(cell.joint for cell in kept)
    columns = ["anchors", "robot time, 1 rad/s", *(f"{joint_label(joint)}, °" for joint in joints), "all joints, °"]
    return Table(columns, lines, texts=()).markdown()
