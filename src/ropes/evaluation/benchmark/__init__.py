"""The frozen benchmark: test poses fixed by a seed, files of predictions, scores and entries. Needs NumPy and SciPy."""

from ropes.evaluation.benchmark.predictions import Predictions, read_predictions, write_predictions
from ropes.evaluation.benchmark.scores import JointScore, score
from ropes.evaluation.benchmark.task import TASKS, Task, task_named

__all__ = [
    "TASKS",
    "JointScore",
    "Predictions",
    "Task",
    "read_predictions",
    "score",
    "task_named",
    "write_predictions",
]
