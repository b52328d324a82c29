"""The simulated arm keeps its speed, and its cameras show the past."""

from collections.abc import Iterator

import numpy as np
import pytest

from ropes.data.recorder.kinds.simulation import FRAME_RATE, SimulatedRobot, open_robot
from ropes.data.recorder.registry import RobotRequest
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.scene import Scene
from tests.data.recorder.conftest import JOINTS, MakeOptions

pytestmark = pytest.mark.pybullet

GOAL, SPEED = np.array([0.6, -0.5]), np.array([0.5, 1.0])


@pytest.fixture
def robot(make_options: MakeOptions) -> Iterator[SimulatedRobot]:
    options = make_options()
    given = {"camera-delay": "0.5", "command-delay": "0.1"}
    made = open_robot(
        RobotRequest(joints=JOINTS, setting=options.setting, limits=options.limits, options=given, frames=10)
    )
    yield made
    made.close()


def test_the_arm_keeps_its_speed_and_arrives(robot: SimulatedRobot) -> None:
    began = robot.clock.now()
    robot.move_to(GOAL, SPEED)
    trace = [robot.positions()]
    for _ in range(100):
        robot.clock.sleep(0.02)
        trace.append(robot.positions())
    assert robot.clock.now() - began == pytest.approx(2.0, abs=0.25)
    speeds = np.abs(np.diff(trace, axis=0)) / 0.02
    assert (speeds.max(axis=0) <= 1.1 * SPEED).all()
    # Joint 1 is the slower one; both arrive together.
    assert speeds[:, 0].max() == pytest.approx(0.5, rel=0.1)
    assert trace[-1] == pytest.approx(GOAL, abs=3e-3)
    assert np.abs(trace[5]) == pytest.approx(np.zeros(2), abs=0.03)


def test_simulated_camera_has_latency(robot: SimulatedRobot, make_options: MakeOptions) -> None:
    setting = make_options().setting
    [(name, camera)] = robot.cameras().items()
    assert name == "side"
    pinhole = camera.pinhole()
    assert pinhole is not None
    assert pinhole.to_record() == Pinhole.of(setting.cameras[0], 32).to_record()
    robot.move_to(GOAL, SPEED)
    robot.clock.sleep(0.8)
    before = robot.positions()
    robot.clock.sleep(0.5)
    image, now = camera.frame(), robot.positions()
    with Scene(setting.robot, setting.cameras, 32, joints=JOINTS) as scene:
        [then], [late] = scene.render_all(np.array([before, now]))
    assert np.abs(before - now).max() > 0.2
    assert np.abs(image.astype(int) - then).mean() < 0.1 * np.abs(image.astype(int) - late).mean()
    began = robot.clock.now()
    camera.frame()
    assert robot.clock.now() - began == pytest.approx(1 / FRAME_RATE, abs=1 / 200)
    camera.close()
