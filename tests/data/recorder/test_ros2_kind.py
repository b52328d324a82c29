"""An arm behind a rosbridge."""

import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ropes.data.recorder.interfaces import Robot
from ropes.data.recorder.registry import RobotRequest, open_robot
from ropes.errors import UserError
from tests.bridge import Bridge
from tests.data.recorder.conftest import MakeOptions

pytest.importorskip("roslibpy")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    made = Bridge()
    yield made
    made.close()


def opened(options: Any, **given: str) -> Robot:
    named = {name.replace("_", "-"): value for name, value in given.items()}
    return open_robot(
        "ros2",
        RobotRequest(joints=("shoulder", "elbow"), setting=options.setting, limits=options.limits, options=named),
    )


def test_further_joints_of_the_controller_are_held(bridge: Bridge, make_options: MakeOptions) -> None:
    robot = opened(make_options(), port=str(bridge.port), controller_joints="gripper,shoulder,elbow")
    try:
        bridge.at["gripper"] = 0.9  # as the recorder asks for, before the first move
        wait_until(lambda: robot.others()["gripper"] == 0.9)
        robot.move_to(np.array([0.3, -0.2]), np.array([1.0, 1.0]))
        robot.stop()
    finally:
        robot.close()
    for trajectory in bridge.trajectories:
        assert trajectory["joint_names"] == ["shoulder", "elbow", "gripper"]
        for point in trajectory["points"]:
            assert point["positions"][2] == 0.9
            assert point["velocities"][2] == 0
    with pytest.raises(UserError, match="gives no position of joint wrist"):
        opened(make_options(), port=str(bridge.port), controller_joints="wrist")


def wait_until(what: Any) -> None:
    end = time.monotonic() + 5
    while not what() and time.monotonic() < end:
        time.sleep(0.01)
    assert what()


@pytest.mark.slow
def test_rosbridge_arm_reports_states_and_executes_trajectories(bridge: Bridge, make_options: MakeOptions) -> None:
    robot = opened(make_options(), host="127.0.0.1", port=str(bridge.port))
    try:
        assert robot.positions() == pytest.approx(np.array([0.1, 0.0]))
        assert robot.others() == {"gripper": 0.5}
        robot.move_to(np.array([0.6, -0.3]), np.array([0.4, 0.4]))
        wait_until(lambda: near(robot, [0.6, -0.3]))
        [trajectory] = bridge.trajectories
        assert trajectory["joint_names"] == ["shoulder", "elbow"]
        first, second, point = trajectory["points"]
        # .5 rad at .4 rad/s, and the time to speed up.
        assert point["time_from_start"] == {"sec": 1, "nanosec": pytest.approx(450_000_000, abs=1e6)}
        assert point["velocities"] == [0, 0]
        # A cubic spline through these points is nowhere faster.
        for each in (first, second):
            assert each["velocities"] == pytest.approx([0.4, -0.24])
        assert first["positions"] == pytest.approx([0.14, -0.024])
        assert second["positions"] == pytest.approx([0.56, -0.276])
        assert first["time_from_start"] == {"sec": 0, "nanosec": 200_000_000}
        bridge.at |= {"shoulder": 0.3}
        wait_until(lambda: near(robot, [0.3, -0.3]))
        robot.stop()
        wait_until(lambda: len(bridge.trajectories) == 2)
        assert bridge.trajectories[-1]["points"][0]["positions"] == pytest.approx([0.3, -0.3])
        assert bridge.at["gripper"] == 0.5
        bridge.silent = True
        time.sleep(1.1)
        with pytest.raises(UserError, match=r"no position of its joints on /joint_states for 1\.\d s"):
            robot.positions()
        # An arm that goes back to where it was a second ago takes a second.
        with pytest.raises(UserError, match=r"no position of its joints on /joint_states for 1\.\d s"):
            robot.stop()
        wait_until(lambda: len(bridge.trajectories) == 3)
        assert bridge.trajectories[-1]["points"][0]["time_from_start"]["sec"] == 1
    finally:
        robot.close()
    with pytest.raises(UserError, match="the connection to the rosbridge is lost"):
        robot.stop()
    kinds = [(each["op"], each.get("type")) for each in bridge.received]
    assert ("advertise", "trajectory_msgs/JointTrajectory") in kinds


@pytest.mark.slow
def test_messages_of_other_publishers_do_not_count_for_the_arm(bridge: Bridge, make_options: MakeOptions) -> None:
    robot = opened(make_options(), port=str(bridge.port))
    try:
        bridge.others = {"name": ["gripper"], "position": [0.7]}
        wait_until(lambda: robot.others()["gripper"] == 0.7)
        assert near(robot, [0.1, 0.0])
        time.sleep(1.1)
        with pytest.raises(UserError, match="no position of its joints on /joint_states for 1"):
            robot.positions()
    finally:
        robot.close()


def near(robot: Robot, goal: list[float]) -> bool:
    found = robot.positions()
    return found is not None and bool(np.allclose(found, goal))


@pytest.mark.slow
def test_joint_without_a_state_is_reported(
    bridge: Bridge, make_options: MakeOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropes.data.recorder.kinds.ros2.TIMEOUT", 0.5)
    bridge.names = ["gripper", "elbow"]
    with pytest.raises(UserError, match=r"gives no position of joint shoulder in 0.5 s; it has gripper, elbow"):
        opened(make_options(), port=str(bridge.port))


def test_invalid_ros2_options_are_refused(make_options: MakeOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="port is '70000', which is no number of a port"):
        opened(make_options(), port="70000")
    monkeypatch.setitem(sys.modules, "roslibpy", None)
    with pytest.raises(UserError, match=r"needs the package roslibpy: pip install -e '\.\[record\]'"):
        opened(make_options())


@pytest.mark.slow
def test_unreachable_rosbridge_is_reported(make_options: MakeOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ropes.data.recorder.kinds.ros2.TIMEOUT", 0.5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"no rosbridge answers at 127.0.0.1:{port}"):
            opened(make_options(), port=str(port))
