"""Markdown table of errors without labels against the time in which so many anchors are recorded."""

import math

from ropes.errors import UserError
from ropes.evaluation.results import Results
from ropes.evaluation.summary import over_seeds, without_labels
from ropes.methods.registry import method_of
from ropes.report.table import Table, grouped
from ropes.report.words import fixed, joint_label, rms

#: Robot time of an anchor of the simulated Panda with six joints, at 1 rad/s, seconds (docs/recording.md).
SECONDS = 17.2


def robot_time_markdown(found: Results) -> str:
    """A line for each number of anchors: robot time, and RMS errors in distribution, degrees.

    Args:
        found: of fits of method anchored that differ in their anchors; those on the largest images count.

    Raises:
        UserError: there are none.
    """
    measured = [
        cell
        for cell in without_labels(over_seeds(found.rows))
        if (method_of(cell.method), cell.split, cell.occlusion) == ("anchored", "id", 0) and cell.anchors is not None
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
        hours = anchors * SECONDS / 3600
        time = f"{fixed(hours, 1 if hours < 10 else 0)} h"
        lines.append([f"{anchors:,}", time, *map(rms, errors), rms(math.fsum(errors) / len(errors))])
    joints = dict.fromkeys(cell.joint for cell in kept)
    columns = ["anchors", "robot time, 1 rad/s", *(f"{joint_label(joint)}, °" for joint in joints), "all joints, °"]
    return Table(columns, lines, texts=()).markdown()
