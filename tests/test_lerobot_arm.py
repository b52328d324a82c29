"""The SO-101 that benchmarks.lerobot_arm plays has the angles of ropes and LeRobot, and the page its figures."""

import math
from pathlib import Path

import pytest

from benchmarks import lerobot_arm
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
    assert found["frames"]["own"] == found["frames"]["frames"] > 0
    assert (found["interrupted"]["code"], found["unplugged"]["code"]) == (130, 2)
    assert math.degrees(found["interrupted"]["turned"]) < 0.2
