"""Predictions of the benchmark that need no image: the mean of the commanded distribution for every pose.

    python examples/benchmark_prior_mean.py predictions

writes predictions/prior-mean-TASK.npz for each task; `ropes score` scores them.  Every method should err less.  The
intervals are from the 5% to the 95% quantile.  Shifted poses have the same predictions: their distribution is not
known in training.
"""

import argparse
from pathlib import Path

import numpy as np

from ropes.common.seeds import generator
from ropes.evaluation.benchmark import TASKS, Predictions, task_named, write_predictions
from ropes.evaluation.benchmark.task import TEST_POSES


def prior(name: str) -> Predictions:
    """Mean and quantiles of the poses without intervention, for every test pose of a task."""
    drawn = task_named(name).training.sample_observational(generator(0, "prior"), 100_000)
    lower, upper = np.quantile(drawn, [0.05, 0.95], axis=0)
    mean, lower, upper = (np.tile(row, (TEST_POSES, 1)) for row in (drawn.mean(axis=0), lower, upper))
    return Predictions(angles=mean, lower=lower, upper=upper)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes predictions of the benchmark that need no image.")
    parser.add_argument("out", type=Path, help="folder for the files of predictions")
    out: Path = parser.parse_args().out
    for name in TASKS:
        task = task_named(name)
        path = out / f"prior-mean-{name}.npz"
        write_predictions(path, task, dict.fromkeys(task.splits, prior(name)))
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
