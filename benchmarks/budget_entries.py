"""Enters the benchmark of docs/benchmark.md with `anchored` and `cnn` at its budgets of robot time.

    python -m benchmarks.budget_entries --work FOLDER --out results/benchmark [--tasks panda-2c-independent]
        [--hours 2 4 8] [--recordings anchors chains] [--methods anchored cnn] [--seeds 0 1 2]

The commands are those of a user. `ropes simulate` renders the benchmark's data, with the anchors or chains of the most
hours, and each fit learns from the first ones that keep its budget. `ropes calibrate --commanded` gives angles without
labels; `cnn` has the labels of all poses. Then follow `ropes predict --predictions` and `ropes score --entry`, with one
file for each seed. The entry is written to OUT, and `ropes tables` adds it to the page. Run the same command again to
resume: predictions in FOLDER are not made again. A fit takes up to an hour of two cores.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.road import ropes
from ropes.common.files import write_json
from ropes.data.layout import open_dataset
from ropes.data.robot_time import robot_seconds
from ropes.errors import UserError
from ropes.evaluation.benchmark import read_predictions, task_named
from ropes.evaluation.benchmark.task import (
    ANCHOR_SECONDS,
    HOURS,
    RENDERER,
    SCENE,
    SEED,
    TASKS,
    TEST_POSES,
    TOLERANCE,
)
from ropes.experiments.variants import SECONDS_OF_CHAIN
from ropes.methods.uncertainty.conformal import LEVEL
from ropes.simulation.settings import setting_named

#: Recording → task → seconds of robot time of an anchor or a chain.
SECONDS: Mapping[str, Mapping[str, float]] = {
    "anchors": ANCHOR_SECONDS,
    "chains": {"panda-1c-independent": 26.3, "panda-2c-independent": SECONDS_OF_CHAIN, "panda-2c-causal": 51.1},
}
#: Method → its page.
PAGES = {"anchored": "anchored.md", "cnn": "supervised.md#cnn"}
#: Least number of training samples of a fit, as in `ropes reproduce robot-hours`.
MIN_SAMPLES = 150_000


@dataclass(frozen=True, kw_only=True)
class Budgeted:
    """An entry to make.

    Attributes:
        task: name of the task.
        recording: "anchors" or "chains".
        method: of `ropes fit`.
        hours: budget of robot time.
    """

    task: str
    recording: str
    method: str
    hours: float

    @property
    def count(self) -> int:
        """Number of anchors or chains that a robot records in the hours."""
        return int(self.hours * 3600 / SECONDS[self.recording][self.task])

    @property
    def name(self) -> str:
        """Name of the entry in the table."""
        return f"{self.method}, {self.hours:g} h of {self.recording}"

    def file(self, folder: Path) -> Path:
        """File of the entry in a folder of entries."""
        return folder / f"{self.method}-{self.recording}-{self.hours:g}h-{self.task}.json"


def simulated(work: Path, task: str, recording: str, count: int) -> Path:
    """The benchmark's data set with so many anchors or chains, simulated where it is not there."""
    data = work / f"{task}-{count}-{recording}"
    words = ("--setting", task, "--scene", SCENE, "--renderer", RENDERER, "--test-anchors", TEST_POSES)
    ropes("simulate", *words, f"--{recording}", count, "--seed", SEED, "--out", data)
    return data


def predicted(entry: Budgeted, data: Path, seed: int) -> Path:
    """The file of predictions of a training seed, made where it is not there."""
    run = data.parent / f"{data.name}-{entry.method}-{entry.count}-seed-{seed}"
    out = run.with_name(f"{run.name}.npz")
    if out.exists():
        return out
    of_method = ["--independent"] if entry.method == "anchored" and setting_named(entry.task).independent else []
    size = ("--anchors", entry.count, "--training.min-samples", MIN_SAMPLES)
    ropes("fit", "--method", entry.method, "--data", data, "--seed", seed, *size, *of_method, "--out", run)
    if entry.method != "cnn":  # whose coordinates are radians
        ropes("calibrate", run, "--data", data, "--commanded")
    ropes("predict", run, "--images", data, "--predictions", out)
    return out


def about(entry: Budgeted, data: Path, files: Sequence[Path], seeds: Sequence[int]) -> dict[str, Any]:
    """What the entry says about itself, see `ropes.evaluation.benchmark.entry.About`.

    Raises:
        UserError: the robot time of its poses exceeds the budget.
    """
    dataset = open_dataset(data)
    hours = robot_seconds(dataset, entry.count) / 3600
    if hours > entry.hours * (1 + TOLERANCE):
        raise UserError(f"{entry.count} {entry.recording} of {data} take {hours:.3g} h, more than {entry.hours:g} h")
    anchor, task = dataset.frames("train").anchor, task_named(entry.task)
    poses = len(anchor) // len(np.unique(anchor)) * entry.count
    with_intervals = read_predictions(files[0], task)[task.splits[0]].lower is not None
    labelled = entry.method == "cnn"
    how = "labels of all their poses" if labelled else "map to radians from the commanded distributions"
    return {
        "name": entry.name,
        "track": "supervised" if labelled else "no-label",
        "robot_hours": round(hours, 2),
        "labels": poses if labelled else 0,
        "seeds": list(seeds),
        "link": PAGES[entry.method],
        **({"level": LEVEL} if with_intervals else {}),
        "note": f"{entry.count:,} {entry.recording}, preset compact, {how}.",
    }


def main() -> None:
    """Make the entries."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder of data, runs and predictions")
    parser.add_argument("--out", type=Path, required=True, help="folder of entries: results/benchmark")
    parser.add_argument("--tasks", nargs="+", default=["panda-2c-independent"], choices=TASKS)
    parser.add_argument("--hours", type=float, nargs="+", default=list(HOURS))
    parser.add_argument("--recordings", nargs="+", default=list(SECONDS), choices=tuple(SECONDS))
    parser.add_argument("--methods", nargs="+", default=list(PAGES), choices=tuple(PAGES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    arguments = parser.parse_args()
    for task in arguments.tasks:
        for recording in arguments.recordings:
            most = int(max(arguments.hours) * 3600 / SECONDS[recording][task])
            data = simulated(arguments.work, task, recording, most)
            for method in arguments.methods:
                for hours in arguments.hours:
                    entry = Budgeted(task=task, recording=recording, method=method, hours=hours)
                    files = [predicted(entry, data, seed) for seed in arguments.seeds]
                    described = arguments.work / f"{entry.file(arguments.work).stem}-about.json"
                    write_json(described, about(entry, data, files, arguments.seeds))
                    out = entry.file(arguments.out)
                    ropes("score", *files, "--task", task, "--entry", described, "--out", out)
                    print(f"wrote {out}; `ropes tables` adds it to the page")


if __name__ == "__main__":
    main()
