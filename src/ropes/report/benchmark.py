"""Markdown tables of the benchmark's entries, by budget and track, beside the paper's published figures."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ropes.errors import UserError
from ropes.evaluation.benchmark.entry import Entry, read_entries
from ropes.evaluation.benchmark.task import ANCHOR_SECONDS, HOURS, TASKS, TRACKS, Task, budget_of, task_named
from ropes.evaluation.paper import ALL_LABELS, ANCHORS, CALIBRATION_LABELS, mse_comparable, published
from ropes.report.table import Table, paragraphs
from ropes.report.words import degrees, fixed, joint_label

#: Name of a test split in published figures.
_SPLITS_OF_PAPER = {"test-id": "id", "test-ood": "ood"}
_SPLITS = {"test-id": "in distribution", "test-ood": "shifted"}
_MARK = "†"
_PUBLISHED = (
    f"{_MARK} Published, on the paper's own images and test poses; the paper gives no robot time, its {ANCHORS:,} "
    "anchors are counted as ours. Its lines to radians for shifted poses may be fitted on shifted poses."
)


class _Line(NamedTuple):
    """A line of the table: budget in hours (None: open), track, and the entries of the other columns."""

    budget: int | None
    track: str
    cells: Sequence[object]


def benchmark_markdown(folder: Path, name: str) -> str:
    """The table of a task: a line for each entry and test split.

    RMS errors are means over training seeds.

    Args:
        folder: folder of the entries.
        name: name of the task.

    Raises:
        UserError: no such task, or a wrong entry.
    """
    if name not in TASKS:
        raise UserError(f"table:benchmark/{name} names no task; choose one of {', '.join(TASKS)}")
    task, entries = task_named(name), [entry for entry in read_entries(folder) if entry.task == name]
    lines = [line for entry in entries for line in _of_entry(entry, task)] + list(_of_paper(task))
    lines.sort(key=lambda line: (line.budget is None, line.budget or 0, list(TRACKS).index(line.track)))
    heads = ["budget", "track", "entry", "robot time, h", "labels", "test poses"]
    columns = [*heads, *map(joint_label, task.joints), "all", "MCC", "covered"]
    rows = [[_budget(line.budget), line.track, *line.cells] for line in lines]
    of_paper = _PUBLISHED if any(_MARK in str(line.cells[0]) for line in lines) else ""
    notes = [f"- {entry.about.name}: {entry.about.note}" for entry in entries if entry.about.note]
    about = (
        "RMS errors in degrees; all: root of the mean squared error over joints; MCC and the share of angles within "
        "their intervals: means over joints."
    )
    return paragraphs(Table(columns, rows, texts=(0, 1, 2, 5)).markdown(), about, of_paper, "\n".join(notes))


def _of_entry(entry: Entry, task: Task) -> Iterator[_Line]:
    """A line for each test split."""
    about, level = entry.about, entry.about.level
    for split in task.splits:
        figures = [[scores[split][joint] for joint in task.joints] for scores in entry.scores]
        mse = np.array([[each.mse for each in joints] for joints in figures])
        mcc = np.mean([[each.mcc for each in joints] for joints in figures])
        covered = np.mean([[each.coverage or 0.0 for each in joints] for joints in figures])
        share = "–" if level is None else f"{covered:.0%} of {level:.0%}"
        errors = [degrees(float(angle)) for angle in np.sqrt(mse).mean(axis=0)]
        every = degrees(float(np.sqrt(mse.mean(axis=1)).mean()))
        hours = f"{about.robot_hours:.1f}" if about.robot_hours else "0"
        cells = [f"[{about.name}]({about.link})", hours, f"{about.labels:,}", _SPLITS[split], *errors, every]
        yield _Line(about.budget, about.track, [*cells, fixed(float(mcc)), share])


def _of_paper(task: Task) -> Iterator[_Line]:
    """Lines of the paper's ROPES and of its RoboPEPP on all labels, where their test angles vary as ours do."""
    hours = ANCHORS * ANCHOR_SECONDS[task.name] / 3600
    for split in task.splits:
        for method, words, track, labels, images in (
            ("ropes", "the paper's ROPES", "1000-labels", CALIBRATION_LABELS, 0),
            ("robopepp", "the paper's RoboPEPP", "supervised", ALL_LABELS // 2, ALL_LABELS),
        ):
            found = [
                published(setup=task.name, joint=joint, method=method, split=_SPLITS_OF_PAPER[split], labels=images)
                for joint in task.joints
            ]
            cells = [cell for cell in found if cell is not None]
            if len(cells) < len(found):
                continue
            if mse_comparable(task.name, _SPLITS_OF_PAPER[split]):
                mse = [cell.mse for cell in cells]
                errors = [*(degrees(each**0.5) for each in mse), degrees(float(np.mean(mse)) ** 0.5)]
            else:
                errors = ["–"] * (len(cells) + 1)
            mcc = [cell.mcc for cell in cells if cell.mcc is not None]
            of_all = fixed(float(np.mean(mcc))) if len(mcc) == len(cells) else "–"
            first = [f"{words} {_MARK}", f"{hours:.0f}", f"{labels:,}", _SPLITS[split]]
            yield _Line(budget_of(hours), track, [*first, *errors, of_all, "–"])


def _budget(hours: int | None) -> str:
    return "open" if hours is None else f"{hours} h"
