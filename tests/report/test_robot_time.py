"""The table of errors against robot time."""

import math
from dataclasses import replace
from typing import Any

import pytest

from ropes.errors import UserError
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.report.robot_time import robot_time_markdown

JOINTS = ("panda_joint1", "panda_joint2")


def row(joint: str, anchors: int, error: float, **changes: Any) -> Row:
    """A row of an RMS error in degrees, without labels."""
    mse = math.radians(error) ** 2
    measured = Row.measured(
        setup="panda-2c-independent",
        joint=joint,
        split="id",
        occlusion=0,
        seed=0,
        mcc=(0.9, 0.01),
        mse=(mse, 0.0),
        method=f"anchored@{anchors}-anchors",
        anchors=anchors,
        image_size=128,
        calibration_labels=0,
    )
    return replace(measured, **changes)


def found(*rows: Row) -> Results:
    return Results(name="curves", preset="compact", device="d", version="0", seconds=1, rows=rows)


def test_errors_stand_beside_the_time_in_which_the_anchors_are_recorded() -> None:
    rows = [row(joint, anchors, error) for anchors, error in ((5000, 3.0), (250, 10.0)) for joint in JOINTS]
    smaller = [row(joint, 5000, 50.0, image_size=64, method="anchored@64-pixels") for joint in JOINTS]
    shifted = [row(joint, 5000, 60.0, split="ood") for joint in JOINTS]
    labelled = [row(joint, 5000, 1.0, calibration_labels=1000) for joint in JOINTS]
    lines = robot_time_markdown(found(*rows, *smaller, *shifted, *labelled)).splitlines()
    assert lines[0] == "| anchors | robot time, 1 rad/s | joint 1, ° | joint 2, ° | all joints, ° |"
    assert lines[2] == "| 250 | 1.3 h | 10.0 | 10.0 | 10.0 |"  # 19.2 s an anchor, as the benchmark counts
    assert lines[3] == "| 5,000 | 27 h | 3.0 | 3.0 | 3.0 |"
    assert len(lines) == 4


def test_results_without_such_errors_are_refused() -> None:
    with pytest.raises(UserError, match="curves has no errors of method anchored without labels; leave /robot-time"):
        robot_time_markdown(found(row("panda_joint1", 250, 3.0, method="ldr")))
