"""Markdown tables of the benchmark's entries, by budget and track, beside the paper's published figures."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ropes.common.arrays import Floats
from ropes.common.units import percent
from ropes.errors import UserError
from ropes.evaluation.benchmark.entry import Entry, read_entries
from ropes.evaluation.benchmark.task import ANCHOR_SECONDS, TASKS, TRACKS, Task, budget_of, task_named
from ropes.evaluation.paper import ALL_LABELS, ANCHORS, CALIBRATION_LABELS, mse_comparable, published
from ropes.report.table import Table, paragraphs
from ropes.report.words import degrees, fixed, joint_label

#: Test split → its name in published figures; its words in the table.
_OF_PAPER = {"test-id": "id", "test-ood": "ood"}
_WORDS = {"test-id": "in distribution", "test-ood": "shifted"}
_COLUMNS = ("budget", "track", "entry", "robot time, h", "labels", "test poses")
_ABOUT = (
    "RMS errors in degrees; all: over all joints. MCC, and the share of angles within their intervals, are means over "
    "joints. Within a budget and a track, the smallest error in distribution comes first."
)
_PUBLISHED = (
    f"† Published, on the paper's own images and test poses. Labels are counted in poses; RoboPEPP's {ALL_LABELS:,} "
    f"labelled images show {ALL_LABELS // 2:,} poses. The paper gives no robot time; its {ANCHORS:,} anchors "
    "count as ours do. Its lines to radians for shifted poses may be fitted on shifted poses."
)


@dataclass(frozen=True, kw_only=True)
class _Figures:
    """Figures on one test split.

    Attributes:
        mse: mean squared error of each file of predictions and joint, (files, joints) rad²; None where not comparable.
        mcc: mean over joints; None if not published.
        covered: in words.
    """

    mse: Floats | None
    mcc: float | None
    covered: str = "–"

    @property
    def overall(self) -> float | None:
        """Root mean square error over all joints, radians, mean over the files."""
        return None if self.mse is None else float(np.sqrt(self.mse.mean(axis=1)).mean())


@dataclass(frozen=True, kw_only=True)
class _Line:
    """An entry, or a method of the paper, with its figures by test split."""

    name: str
    track: str
    robot_hours: float
    labels: int
    figures: Mapping[str, _Figures]

    @property
    def place(self) -> tuple[float, int, float]:
        """By budget, then track, then error on the first test split."""
        error = next(iter(self.figures.values())).overall
        budget = budget_of(self.robot_hours) or math.inf
        return budget, list(TRACKS).index(self.track), math.inf if error is None else error

    def rows(self, joints: int) -> Iterator[list[object]]:
        """A row of the table for each test split."""
        budget = budget_of(self.robot_hours)
        hours = f"{self.robot_hours:.1f}" if self.robot_hours else "0"
        for split, each in self.figures.items():
            errors: list[float | None] = [None] * joints
            if each.mse is not None:
                errors = [float(angle) for angle in np.sqrt(each.mse).mean(axis=0)]
            yield [
                "open" if budget is None else f"{budget} h",
                self.track,
                self.name,
                hours,
                f"{self.labels:,}",
                _WORDS[split],
                *map(degrees, errors),
                degrees(each.overall),
                fixed(each.mcc),
                each.covered,
            ]


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
    lines = sorted([*(_of_entry(entry, task) for entry in entries), *_of_paper(task)], key=lambda line: line.place)
    table = Table(
        [*_COLUMNS, *map(joint_label, task.joints), "all", "MCC", "covered"],
        [row for line in lines for row in line.rows(len(task.joints))],
        texts=(0, 1, 2, 5),
    )
    notes = [f"- {entry.about.name}: {entry.about.note}" for entry in entries if entry.about.note]
    return paragraphs(table.markdown(), _ABOUT, _PUBLISHED, "\n".join(notes))


def _of_entry(entry: Entry, task: Task) -> _Line:
    about, figures = entry.about, {}
    for split in task.splits:
        joints = [scores[split][joint] for scores in entry.scores for joint in task.joints]
        mse = np.array([each.mse for each in joints]).reshape(len(entry.scores), -1)
        covered = [each.coverage for each in joints if each.coverage is not None]
        words = {} if about.level is None else {"covered": f"{np.mean(covered):.0%} of {percent(about.level)}"}
        figures[split] = _Figures(mse=mse, mcc=float(np.mean([each.mcc for each in joints])), **words)
    return _Line(
        name=f"[{about.name}]({about.link})",
        track=about.track,
        robot_hours=about.robot_hours,
        labels=about.labels,
        figures=figures,
    )


def _of_paper(task: Task) -> Iterator[_Line]:
    """The paper's ROPES, and its RoboPEPP on all labels; errors only where its test angles vary as ours do."""
    for method, words, track, labels, images in (
        ("ropes", "the paper's ROPES", "1000-labels", CALIBRATION_LABELS, 0),
        ("robopepp", "the paper's RoboPEPP", "supervised", ALL_LABELS // 2, ALL_LABELS),
    ):
        figures = {}
        for split in task.splits:
            where: dict[str, Any] = {"setup": task.name, "method": method, "split": _OF_PAPER[split]}
            found = [published(**where, joint=joint, labels=images) for joint in task.joints]
            cells = [cell for cell in found if cell is not None]
            if cells:
                mse = np.array([[cell.mse for cell in cells]]) if mse_comparable(task.name, _OF_PAPER[split]) else None
                mcc = [cell.mcc for cell in cells if cell.mcc is not None]
                figures[split] = _Figures(mse=mse, mcc=float(np.mean(mcc)) if mcc else None)
        if figures:
            hours = ANCHORS * ANCHOR_SECONDS[task.name] / 3600
            yield _Line(name=f"{words} †", track=track, robot_hours=hours, labels=labels, figures=figures)
