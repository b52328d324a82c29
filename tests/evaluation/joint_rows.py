"""A row of a joint as tests want it: that of the paper's two cameras, with what they change."""

from typing import Any

from ropes.evaluation.rows.joint import Row


def a_row(**changes: Any) -> Row:
    base: dict[str, Any] = {
        "setup": "panda-2c-independent",
        "joint": "panda_joint1",
        "split": "id",
        "occlusion": 0,
        "seed": 0,
        "mcc": (0.9, 0.01),
        "mse": (0.05, 0.002),
    }
    return Row.measured(**(base | changes))
