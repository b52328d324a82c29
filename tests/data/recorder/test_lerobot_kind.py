"""An arm with LeRobot's interface is sent goals along the way, in its own unit, no faster than its speed."""

import sys
import types
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from ropes.data.recorder.kinds.lerobot import LeRobotRobot
from ropes.data.recorder.registry import RobotRequest, open_robot
from ropes.errors import UserError
from tests.data.recorder.conftest import MakeOptions
from tests.data.recorder.doubles import HandClock

DEGREE = np.pi / 180


@dataclass
class Configuration:
    """As LeRobot's configuration of SO-101."""

    port: str
    id: str | None = None
    disable_torque_on_disconnect: bool = True
    use_degrees: bool = False
    max_relative_target: float | dict[str, float] | None = None


class Follower:
    """As LeRobot's `Robot`: goals are reached at once."""

    config_class, name = Configuration, "follower"
    made: ClassVar[list["Follower"]] = []

    def __init__(self, config: Configuration) -> None:
        self.config, self.calls = config, list[str]()
        self.at = {"shoulder.pos": 10.0, "elbow.pos": -20.0, "gripper.pos": 55.0}
        self.actions: list[dict[str, float]] = []
        self.made.append(self)

    @property
    def action_features(self) -> dict[str, type]:
        return dict.fromkeys(self.at, float)

    def connect(self, calibrate: bool = True) -> None:
        self.calls.append(f"connect, calibrate {calibrate}")

    def get_observation(self) -> dict[str, object]:
        return {**self.at, "front": np.zeros((4, 4, 3), np.uint8)}

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        self.at = dict(action)
        self.actions.append(action)
        return action

    def disconnect(self) -> None:
        self.calls.append("disconnect")


@pytest.fixture
def request_for(make_options: MakeOptions) -> "RobotRequest":
    options = make_options()
    return RobotRequest(joints=("elbow", "shoulder"), setting=options.setting, limits=options.limits)


class LossyFollower(Follower):
    """Loses some packets, as a bus of cheap motors does; `lost` counts down."""

    lost = 0

    def get_observation(self) -> dict[str, object]:
        if self.lost:
            self.lost -= 1
            raise ConnectionError("[TxRxResult] There is no status packet!")
        return super().get_observation()


def test_a_lost_packet_is_asked_for_again() -> None:
    arm = LossyFollower(Configuration("port"))
    robot = LeRobotRobot(arm, ("elbow",), DEGREE, HandClock())
    arm.lost = 2
    assert robot.positions() == pytest.approx([-20 * DEGREE])
    arm.lost = 3
    with pytest.raises(ConnectionError):
        robot.positions()


def test_the_arm_stops_after_an_interrupted_transaction_and_without_an_answer() -> None:
    cleared: list[bool] = []
    port = types.SimpleNamespace(is_using=True, clearPort=lambda: cleared.append(True))
    arm = LossyFollower(Configuration("port"))
    robot = LeRobotRobot(arm, ("elbow",), DEGREE, HandClock())
    robot.move_to(np.array([0.1]), np.array([1.0]))
    arm.bus = types.SimpleNamespace(port_handler=port)  # type: ignore[attr-defined]
    arm.at["elbow.pos"] = 3.0
    robot.stop()
    assert (cleared, port.is_using) == ([True], False)
    assert arm.actions[-1]["elbow.pos"] == pytest.approx(3.0)
    arm.lost = 100
    robot.stop()  # the last goal again
    assert arm.actions[-1]["elbow.pos"] == pytest.approx(3.0)


def test_goals_follow_the_trajectory_within_the_speed_limit() -> None:
    arm, clock = Follower(Configuration("port")), HandClock()
    robot = LeRobotRobot(arm, ("elbow", "shoulder"), DEGREE, clock)
    assert robot.positions() == pytest.approx(np.array([-20.0, 10.0]) * DEGREE)
    began = clock.now()
    robot.move_to(np.array([0.4, 0.1]), np.array([0.5, 0.5]))
    assert robot.positions() == pytest.approx(np.array([0.4, 0.1]))
    assert clock.now() - began == pytest.approx((0.4 + 20 * DEGREE) / 0.5 + 0.2, abs=0.05)
    goals = np.array([[action["elbow.pos"], action["shoulder.pos"]] for action in arm.actions]) * DEGREE
    assert np.abs(np.diff(goals, axis=0)).max() <= 0.5 / 30 + 1e-9
    assert {action["gripper.pos"] for action in arm.actions} == {55.0}
    arm.at["elbow.pos"] = 12.0
    robot.stop()
    assert arm.actions[-1] == {
        "elbow.pos": pytest.approx(12),
        "shoulder.pos": pytest.approx(0.1 / DEGREE),
        "gripper.pos": 55,
    }
    robot.close()
    assert arm.calls == ["connect, calibrate False", "disconnect"]


@pytest.mark.parametrize(
    ("joint", "end", "goal", "off", "line"),
    [
        ("elbow", 0.0, (1.5, 0.1), 0.1, r"joint elbow is at 0.000, on the way through 0\.3\d+; .* the limits$"),
        ("shoulder", 15.0, (0.2, 0.45), 0.1, r"joint shoulder is at 0.262, on .* limits, or a larger --tolerance"),
        ("shoulder", 15.0, (0.2, 0.45), 0.2, ""),
    ],
)
def test_an_arm_that_is_held_stops_on_the_way(
    joint: str, end: float, goal: tuple[float, float], off: float, line: str
) -> None:
    class Blocked(Follower):
        def send_action(self, action: dict[str, float]) -> dict[str, float]:
            return super().send_action({**action, f"{joint}.pos": min(end, action[f"{joint}.pos"])})

    robot = LeRobotRobot(Blocked(Configuration("port")), ("elbow", "shoulder"), DEGREE, HandClock(), off=off)
    with pytest.raises(UserError, match="does not follow: " + line) if line else nullcontext():
        robot.move_to(np.array(goal), np.array([0.5, 0.5]))


def test_a_slow_bus_does_not_slow_the_move_down() -> None:
    clock = HandClock()

    class Slow(Follower):
        def get_observation(self) -> dict[str, object]:
            clock.sleep(0.015)
            return super().get_observation()

        def send_action(self, action: dict[str, float]) -> dict[str, float]:
            clock.sleep(0.005)
            return super().send_action(action)

    robot = LeRobotRobot(Slow(Configuration("port")), ("elbow", "shoulder"), DEGREE, clock)
    began = clock.now()
    robot.move_to(np.array([0.4, 0.1]), np.array([0.5, 0.5]))
    assert clock.now() - began == pytest.approx((0.4 + 20 * DEGREE) / 0.5 + 0.2, abs=0.1)


def test_other_joints_are_told_and_held_where_they_are_at_the_first_command() -> None:
    arm = Follower(Configuration("port"))
    robot = LeRobotRobot(arm, ("elbow",), DEGREE, HandClock())
    assert robot.others() == pytest.approx({"shoulder": 10 * DEGREE, "gripper": 55 * DEGREE})
    arm.name = "so101_follower"
    assert robot.others()["gripper"] == pytest.approx((1.1 * 55 - 10) * DEGREE)
    modes = {"shoulder": "range_m100_100", "gripper": "range_0_100"}
    motors = {name: types.SimpleNamespace(norm_mode=mode) for name, mode in modes.items()}
    arm.__dict__["bus"] = types.SimpleNamespace(motors=motors)
    assert robot.others().keys() == {"gripper"}
    arm.at["shoulder.pos"] = 30.0
    robot.move_to(np.array([0.1]), np.array([1.0]))
    assert {action["shoulder.pos"] for action in arm.actions} == {30.0}


def test_arm_with_another_calibration_is_refused() -> None:
    arm = Follower(Configuration("port"))
    arm.__dict__.update(is_calibrated=False, id="mine")
    line = "the motors hold another calibration than id=mine; run lerobot-calibrate with this id"
    with pytest.raises(UserError, match=line):
        LeRobotRobot(arm, ("elbow",), DEGREE)
    assert arm.calls == ["connect, calibrate False", "disconnect"]


class SlowClock(HandClock):
    """A machine that is busy: it wakes up half a second late now and then."""

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds + 0.5 * (self.time % 0.2 < 0.1))


def test_arm_does_not_catch_up_after_a_late_wake_up() -> None:
    arm, clock = Follower(Configuration("port")), SlowClock()
    robot = LeRobotRobot(arm, ("elbow", "shoulder"), DEGREE, clock)
    began = clock.now()
    robot.move_to(np.array([0.4, 0.1]), np.array([0.5, 0.5]))
    assert clock.now() - began > 4
    goals = np.array([[action["elbow.pos"], action["shoulder.pos"]] for action in arm.actions]) * DEGREE
    assert np.abs(np.diff(goals, axis=0)).max() <= 0.5 / 30 + 1e-9
    assert goals[-1] == pytest.approx(np.array([0.4, 0.1]))


def test_robot_without_joint_positions_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Follower(Configuration("port"))
    monkeypatch.setattr(arm, "get_observation", lambda: {"shoulder.pos": 1.0})
    with pytest.raises(UserError, match=r"the robot's observation has no number elbow\.pos"):
        LeRobotRobot(arm, ("elbow", "shoulder"), DEGREE)
    assert arm.calls[-1] == "disconnect"


def test_custom_class_is_constructed_from_its_configuration(
    request_for: RobotRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("my_lerobot")
    module.__dict__["Follower"] = Follower
    monkeypatch.setitem(sys.modules, "my_lerobot", module)
    options = {"class": "my_lerobot:Follower", "port": "/dev/ttyACM0", "id": "mine"}
    robot = open_robot("lerobot", given(request_for, options))
    assert robot.joints == ("elbow", "shoulder")
    # The arm holds its pose when the recording ends.
    assert Follower.made[-1].config == Configuration("/dev/ttyACM0", "mine", False, True)
    open_robot("lerobot", given(request_for, {**options, "unit": "radians"}))
    asked: list[str] = []

    def refuse(question: str) -> None:
        asked.append(question)
        raise UserError("nothing was moved")

    with pytest.raises(UserError, match=r"^nothing was moved$"):
        open_robot("lerobot", replace(given(request_for, options), ask=refuse))
    assert "switch their motors off for a moment when they are connected" in asked[0]
    assert Follower.made[-1].calls == []
    open_robot("lerobot", given(request_for, {**options, "unit": "radians"}))
    assert not Follower.made[-1].config.use_degrees
    for text, value in (("5", 5), ("{elbow: 2.5}", {"elbow": 2.5}), ("null", None)):
        open_robot("lerobot", given(request_for, {**options, "id": "007", "max_relative_target": text}))
        assert Follower.made[-1].config == Configuration("/dev/ttyACM0", "007", False, True, value)
    for changes, line in (
        ({"unit": "turns"}, "unit is 'turns', not degrees or radians"),
        ({"type": "so101_follower"}, "give type=NAME"),
        ({"class": "my_lerobot:Leader"}, "no robot in 'my_lerobot:Leader'"),
        ({"speed": "1"}, "unexpected keyword argument 'speed'"),
        ({"max_relative_target": "five"}, "max_relative_target is 'five', not float or dict or NoneType"),
        ({"use_degrees": "true"}, "leave use_degrees out; unit=degrees or unit=radians sets it"),
        ({"disable_torque_on_disconnect": "true"}, "leave disable_torque_on_disconnect out; it is false, so that"),
    ):
        with pytest.raises(UserError, match=line):
            open_robot("lerobot", given(request_for, {**options, **changes}))


def test_motors_that_do_not_report_degrees_are_refused() -> None:
    arm = Follower(Configuration("port"))
    modes = {"elbow": "degrees", "shoulder": "degrees", "gripper": "range_0_100"}
    motors = {name: types.SimpleNamespace(norm_mode=types.SimpleNamespace(value=mode)) for name, mode in modes.items()}
    arm.__dict__["bus"] = types.SimpleNamespace(motors=motors)
    LeRobotRobot(arm, ("elbow", "shoulder"), DEGREE)
    with pytest.raises(
        UserError, match="reports the position of joint gripper as range_0_100, not in degrees; leave it"
    ):
        LeRobotRobot(arm, ("elbow", "gripper"), DEGREE)
    with pytest.raises(UserError, match="this robot reports degrees; leave unit=radians out"):
        LeRobotRobot(arm, ("elbow", "shoulder"), 1.0)
    assert arm.calls == ["connect, calibrate False"]


def given(request: RobotRequest, options: dict[str, str]) -> RobotRequest:
    return RobotRequest(joints=request.joints, setting=request.setting, limits=request.limits, options=options)


def test_lerobot_constructs_a_registered_robot_type(request_for: RobotRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    lerobot, robots, utils, package = (
        types.ModuleType(name)
        for name in ("lerobot", "lerobot.robots", "lerobot.robots.utils", "lerobot.robots.so_follower")
    )
    choices = {"so101_follower": Configuration}
    robots.__dict__["RobotConfig"] = types.SimpleNamespace(get_known_choices=lambda: choices)
    utils.__dict__["make_robot_from_config"] = Follower
    robots.__dict__["__path__"] = lerobot.__dict__["__path__"] = []
    for module in (lerobot, robots, utils, package):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    open_robot("lerobot", given(request_for, {"type": "so101_follower", "port": "here"}))
    assert Follower.made[-1].config == Configuration("here", None, False, True)
    with pytest.raises(UserError, match="LeRobot has no robot 'so101_folower': did you mean so101_follower"):
        open_robot("lerobot", given(request_for, {"type": "so101_folower", "port": "here"}))


def test_missing_joint_or_package_is_reported(request_for: RobotRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="the robot has no joint 'elbo': did you mean elbow"):
        LeRobotRobot(Follower(Configuration("port")), ("elbo",), DEGREE)
    monkeypatch.setitem(sys.modules, "lerobot", None)
    with pytest.raises(UserError, match=r"needs LeRobot .*: pip install -e '\.\[lerobot\]'"):
        open_robot("lerobot", given(request_for, {"type": "so101_follower"}))
