"""A stepped arm carries itself, follows its target late, and remembers where it was."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ropes.simulation.arm import arm_robot
from ropes.simulation.arm_dynamics import MovingArm
from ropes.simulation.physics import RATE
from ropes.simulation.urdf import read_urdf
from tests.data.recorder.conftest import ARM, JOINTS

pytestmark = pytest.mark.usefixtures("engine")

START, GOAL = np.array([0.3, -0.2]), np.array([0.8, 0.4])


@pytest.fixture
def arm(engine: str, tmp_path: Path) -> Iterator[MovingArm]:
    path = tmp_path / "small.urdf"
    path.write_text(ARM)
    with MovingArm(arm_robot(path, read_urdf(path)), JOINTS, START, delay=0.1) as made:
        yield made


def test_motors_hold_the_arm_against_gravity(arm: MovingArm) -> None:
    assert arm.positions == pytest.approx(START)
    arm.advance(1.0)
    assert arm.now == pytest.approx(1.0)
    assert arm.positions == pytest.approx(START, abs=1e-3)


def test_command_takes_effect_after_the_delay(arm: MovingArm) -> None:
    arm.follow(lambda now: GOAL)
    arm.advance(0.1)
    assert arm.positions == pytest.approx(START, abs=2e-3)
    arm.advance(1 / RATE)
    early = arm.positions
    arm.advance(1.5)
    assert np.abs(early - START).max() > 1e-3
    assert arm.positions == pytest.approx(GOAL, abs=2e-3)


def test_past_poses_are_stored(arm: MovingArm) -> None:
    seen = [arm.pose(0.0)]
    arm.follow(lambda now: START + min(1.0, now) * (GOAL - START))
    for _ in range(12):
        arm.advance(5 / RATE)
        seen.append(arm.pose(0.0))
    for back in range(13):
        assert np.array_equal(arm.pose(5 * back / RATE), seen[-1 - back])
    assert np.array_equal(arm.pose(0.9), seen[0])


def test_stop_takes_effect_immediately(arm: MovingArm) -> None:
    arm.follow(lambda now: START + min(1.0, now) * (GOAL - START))
    arm.advance(0.5)
    before = arm.positions
    arm.hold()
    arm.advance(1.0)
    assert np.abs(before - START).max() > 0.1
    assert arm.positions == pytest.approx(before, abs=0.05)
    assert np.abs(arm.positions - GOAL).max() > 0.2
