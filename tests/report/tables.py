"""Rows and results of tests of Markdown tables."""

from typing import Any

from ropes.evaluation.paper import ONE_CAMERA
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row


def row(joint: int, mcc: float, mse: float, setup: str = ONE_CAMERA, **changes: Any) -> Row:
    conditions: dict[str, Any] = {"split": "id", "occlusion": 0, "seed": 0} | changes
    return Row.measured(setup=setup, joint=f"panda_joint{joint}", mcc=(mcc, 0.004), mse=(mse, 0.002), **conditions)


def found(*rows: Row) -> Results:
    about: dict[str, Any] = {"preset": "compact", "device": "2 cores", "version": "0.1.0", "scene": "panda-gym"}
    return Results(name="demo", seconds=600.0, rows=rows, **about)
