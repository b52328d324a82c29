"""The SO-101 that benchmarks.lerobot_arm plays has the angles of ropes and LeRobot, and the page its figures."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks import lerobot_arm
from ropes.common.arrays import Floats
from ropes.common.files import read_json
from ropes.data.recordings.lerobot_units import scales_of
from ropes.report.table import wrapped
from ropes.simulation.so101 import GRIPPER, RANGES

ROOT = Path(__file__).parents[1]


def test_the_arm_stands_in_the_middle_of_its_ranges() -> None:
    for servo, joint in zip(lerobot_arm.servos().values(), lerobot_arm.JOINTS, strict=True):
        middle = sum(RANGES[joint]) / 2 if joint in RANGES else 0.0
        assert lerobot_arm.angle(joint, servo.position()) == pytest.approx(middle, abs=2e-3)


def test_positions_are_those_of_the_calibration(tmp_path: Path) -> None:
    lerobot_arm.write_calibration(tmp_path)
    [path] = tmp_path.iterdir()
    scales = scales_of("so101_follower", path)
    for joint in lerobot_arm.JOINTS:
        low, high = lerobot_arm.limits_of(joint)
        percent = (0, 100) if joint == GRIPPER else (-100, 100)
        read = [scales[joint].zero + scales[joint].unit * value for value in percent]
        assert [lerobot_arm.angle(joint, position) for position in (low, high)] == pytest.approx(read)


def test_the_page_has_the_published_figures() -> None:
    found = read_json(ROOT / "results" / "lerobot-arm.json")
    page = lerobot_arm.PAGE.read_text(encoding="utf-8")
    assert f"<!-- figures:lerobot-arm -->\n{wrapped(lerobot_arm.written(found))}<!-- /figures -->" in page
    assert lerobot_arm.wrong(found) == []
    found |= {"interrupted": {"code": 1, "turned": 0.1}, "unplugged": {"code": 0}, "frames": {"own": 5, "frames": 6}}
    assert lerobot_arm.wrong(found) == [
        "the exit code after Ctrl-C is 1",
        "the arm did not stop",
        "the exit code without a serial line is 0",
        "frames show other poses",
    ]


class Moving:
    """An arm that moves for .3 s, stands for .6 s, and moves again."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    def gone(self) -> float:
        return time.monotonic() - self.began

    def pose(self) -> Floats:
        gone = self.gone()
        return np.array([min(gone, 0.3) + max(0.0, gone - 0.9)])


@pytest.mark.slow
def test_a_command_is_interrupted_in_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lerobot_arm, "MOVING", 0.5)
    monkeypatch.setattr(lerobot_arm, "ENDING", 0.2)
    arm = Moving()
    process = lerobot_arm.begun(arm, [sys.executable, "-c", "import time; time.sleep(60)"])  # type: ignore[arg-type]
    assert arm.gone() > 0.9
    with pytest.raises(subprocess.TimeoutExpired):
        lerobot_arm.last_line(process)
    assert process.poll() is not None
    with pytest.raises(RuntimeError, match="no arm"):
        lerobot_arm.begun(arm, [sys.executable, "-c", "raise SystemExit('no arm')"])  # type: ignore[arg-type]
