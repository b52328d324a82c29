"""The frozen benchmark: stored test poses, files of predictions, scores and entries. Scores need NumPy alone."""

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
