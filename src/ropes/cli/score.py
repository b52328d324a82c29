"""`ropes score`: scores predictions for the benchmark's test poses, and writes entries."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ropes.cli.config import options_beside, write_options
from ropes.cli.options import DataLocation
from ropes.common.stores import Location
from ropes.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Score:
    """Score predictions for the test poses of the benchmark, and write an entry for its table.

    The true angles come with ropes; no images are needed. With several files, one for each training seed, the command
    prints the scores of each.

    Example:
      ropes score mine.npz --task panda-2c-independent
      ropes score mine.npz --task panda-2c-independent --entry mine.json --out results/benchmark/mine.json
      ropes score --task panda-2c-independent --data data/benchmark
    """

    predictions: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[PREDICTIONS ...]")] = ()
    """Files of predictions, .npz or .csv (docs/benchmark.md), one for each training seed."""
    task: str
    """panda-1c-independent, panda-2c-independent or panda-2c-causal."""
    split: str | None = None
    """Score this test split only, test-id or test-ood; all splits of the task if omitted."""
    entry: Path | None = None
    """JSON file that describes the entry: name, track, robot_hours, labels, seeds, link; optionally level and note."""
    out: Path | None = None
    """With --entry: JSON file of the entry with its scores."""
    data: DataLocation | None = None
    """Data set to check: its test poses must be those of the task; prints the robot time of its training poses."""

    def __post_init__(self) -> None:
        if not self.predictions and self.data is None:
            raise UserError("ropes score needs a file of predictions, or --data to check a data set")
        if not self.predictions and self.split is not None:
            raise UserError("--split is of predictions, and --data is checked whole; leave it out, or give predictions")
        if (self.entry is None) != (self.out is None):
            raise UserError("--entry and --out go together; give both or neither")
        if self.entry is not None and (self.split is not None or not self.predictions):
            raise UserError("an entry has predictions for all test splits; leave --split out, or --entry and --out")

    def execute(self) -> None:
        """Check the data set, print the scores, and write the entry."""
        from ropes.errors import require_name
        from ropes.evaluation.benchmark import read_predictions, score, task_named
        from ropes.evaluation.benchmark.entry import make_entry, write_entry
        from ropes.report.scores import print_scores

        task = task_named(self.task)
        if self.split is not None:
            require_name(self.split, task.splits, "split")
        if self.data is not None:
            self._check(self.data)
        if self.entry is not None and self.out is not None:
            entry = make_entry(self.entry, self.task, self.predictions)
            for scores in entry.scores:
                print_scores(scores)
            write_entry(self.out, entry)
            write_options(self, options_beside(self.out))
            budget = "an open budget" if entry.about.budget is None else f"a budget of {entry.about.budget} hours"
            print(f"wrote {self.out}: {entry.about.name}, track {entry.about.track}, {budget}")
            return
        splits = None if self.split is None else [self.split]
        for path, scores in [(path, score(task, read_predictions(path, task, splits))) for path in self.predictions]:
            if len(self.predictions) > 1:
                print(path)
            print_scores(scores)

    def _check(self, data: Location) -> None:
        """Check the test poses of a data set and print its robot time."""
        from ropes.data.layout import open_dataset
        from ropes.data.robot_time import robot_seconds
        from ropes.evaluation.benchmark import task_named
        from ropes.evaluation.benchmark.test_data import require_test_poses

        dataset = open_dataset(data)
        require_test_poses(dataset, task_named(self.task))
        seconds = robot_seconds(dataset)
        print(f"{data}: test poses of {self.task}; robot time of the training poses {seconds / 3600:.3g} h")
