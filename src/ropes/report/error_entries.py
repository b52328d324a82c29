"""Entries of tables of errors: ours and the paper's of each joint, MSE in rad² or RMS in degrees."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ropes.evaluation.paper import mse_comparable
from ropes.evaluation.summary import JointErrors, reaches
from ropes.report.table import Entry, mse_entry
from ropes.report.words import fixed, rms

#: A fit's cells by joint.
Fit = Mapping[str, JointErrors]
#: The entries of a line after the name of its condition.
Line = list[object]


def of_paper(fits: Iterable[Fit], joints: Sequence[str], name: str) -> list[float | None]:
    """The paper's number for each joint, from any cell that has it."""
    numbers = {joint: getattr(cell, name) for at in fits for joint, cell in at.items() if getattr(cell, name)}
    return [numbers.get(joint) for joint in joints]


def published_line(words: Sequence[str], values: Sequence[float | None], in_degrees: bool = False) -> list[Line]:
    """A line of the paper's numbers, or of RMS in degrees of its MSE, last that of all joints; none without numbers."""
    shown = ["" if value is None else rms(value) if in_degrees else fixed(value) for value in values]
    return [[*words, *shown, *([_overall(values)] if in_degrees else ())]] if any(shown) else []


def our_entries(at: Fit, joints: Sequence[str], bars: Sequence[float | None], in_degrees: bool) -> list[str | Entry]:
    """Our MSE of each joint, or its RMS in degrees and that of all joints.

    An error reaches the bar if the MSE does so rounded like the paper's.
    """
    cells, entries, compared = [at.get(joint) for joint in joints], list[str | Entry](), list[float | None]()
    for cell, bar in zip(cells, bars, strict=True):
        compared.append(bar if cell is not None and mse_comparable(cell.setup, cell.split) else None)
        if cell is None or cell.mse is None:
            entries.append("")
            continue
        reached = compared[-1] is not None and reaches(cell.mse, compared[-1])
        entries.append(replace(Entry(rms(cell.mse)) if in_degrees else mse_entry(cell), reached=reached))
    errors = [None if cell is None else cell.mse for cell in cells]
    return [*entries, *([_overall(errors, compared)] if in_degrees else ())]


def _overall(errors: Sequence[float | None], bars: Sequence[float | None] = ()) -> Entry:
    """RMS in degrees over all joints that have an MSE; empty without one.

    It reaches the bars where these are of the same joints and their mean is reached.
    """
    known, theirs = ([each for each in values if each is not None] for values in (errors, bars))
    if not known:
        return Entry("")
    alike = [each is None for each in errors] == [each is None for each in bars]
    mean = math.fsum(known) / len(known)
    return Entry(rms(mean), reached=alike and reaches(mean, round(math.fsum(theirs) / len(theirs), 3)))
