"""A serial line that is unplugged is told as a robot that does not answer."""

import termios
import types

import numpy as np
import pytest

from ropes.data.recorder.kinds.lerobot import LeRobotRobot
from ropes.data.recorder.stillness import asked
from ropes.errors import UserError
from tests.data.recorder.doubles import HandClock
from tests.data.recorder.test_lerobot_kind import DEGREE, Configuration, Follower


class Unplugged(Follower):
    """Its line can be pulled: pyserial then raises what is no OSError."""

    pulled = False

    def get_observation(self) -> dict[str, object]:
        self.answer()
        return super().get_observation()

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        self.answer()
        return super().send_action(action)

    def answer(self) -> None:
        if self.pulled:
            raise termios.error(5, "Input/output error")


def test_an_unplugged_line_is_no_answer() -> None:
    arm = Unplugged(Configuration("port"))
    robot = LeRobotRobot(arm, ("elbow",), DEGREE, HandClock())
    robot.move_to(np.array([0.1]), np.array([1.0]))
    arm.pulled = True
    line = r"^the robot does not answer: ConnectionError: the serial line is gone \(Input/output error\)$"
    for ask in (robot.positions, lambda: robot.move_to(np.array([0.2]), np.array([1.0]))):
        with pytest.raises(UserError, match=line):
            asked("the robot", ask)
    with pytest.raises(ConnectionError, match="the serial line is gone"):
        robot.stop()


class BusyPort:
    """As the port of the motors' SDK: a transaction that a fault ended stays open until the port is cleared."""

    def __init__(self, arm: "Transacting") -> None:
        self.arm, self.is_using = arm, False

    def clearPort(self) -> None:
        self.arm.answer()


class Transacting(Unplugged):
    """Refuses to be asked within a transaction; `hiccups` counts down faults of the line that pass."""

    hiccups = 0

    def __init__(self, config: Configuration) -> None:
        super().__init__(config)
        self.bus = types.SimpleNamespace(port_handler=BusyPort(self))

    def get_observation(self) -> dict[str, object]:
        port = self.bus.port_handler
        if port.is_using:
            raise ConnectionError("[TxRxResult] Port is in use!")
        port.is_using = True
        if self.hiccups:
            self.hiccups -= 1
            raise OSError("device reports readiness to read but returned no data")
        found = super().get_observation()
        port.is_using = False
        return found


def test_what_failed_is_told_instead_of_a_busy_port() -> None:
    arm = Transacting(Configuration("port"))
    robot = LeRobotRobot(arm, ("elbow",), DEGREE, HandClock())
    arm.hiccups = 2
    assert robot.positions() == pytest.approx([-20 * DEGREE])
    arm.pulled = True
    with pytest.raises(UserError, match=r"^the robot does not answer: ConnectionError: the serial line is gone"):
        asked("the robot", robot.positions)


def test_a_line_that_ends_while_it_is_freed_is_no_answer() -> None:
    arm = Unplugged(Configuration("port"))
    robot = LeRobotRobot(arm, ("elbow",), DEGREE, HandClock())
    arm.pulled = True
    arm.bus = types.SimpleNamespace(  # type: ignore[attr-defined]
        port_handler=types.SimpleNamespace(is_using=True, clearPort=arm.answer)
    )
    with pytest.raises(ConnectionError, match="the serial line is gone"):
        robot.stop()
