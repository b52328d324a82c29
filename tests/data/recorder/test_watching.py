"""A joint that is faster than its limit stops the recording; noise, slow topics and slow buses do not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.data.recorder.interfaces import Robot
from ropes.data.recorder.kinds.lerobot import LeRobotRobot
from ropes.data.recorder.stillness import Poser, Settling
from ropes.data.recorder.watching import MoveWatch
from ropes.errors import UserError
from tests.data.recorder.doubles import ScriptedRobot

Angles = NDArray[np.float64]
RANGES, OFF = (np.full(2, -3.0), np.full(2, 3.0)), 0.1
START, GOAL = np.array([-1.5, 0.0]), np.array([1.5, -0.5])


def watch(speed: float) -> MoveWatch:
    limits = np.full(2, speed)
    return MoveWatch(("shoulder", "elbow"), RANGES, limits, OFF, start=START, goal=GOAL, began=0.0)


def stopped_at(speed: float, factor: float) -> float:
    """How far the first joint comes if it is faster than its limit by a factor; infinite if it may go on."""
    seconds, watching = 3.0 / (speed * factor), watch(speed)
    for time in np.arange(0.05, seconds + 0.05, 0.05):
        share = min(1.0, time / seconds)
        try:
            watching.check(START + share * (GOAL - START), time, time)
        except UserError:
            return float(share * 3.0)
    return np.inf


@pytest.mark.parametrize("speed", [0.2, 0.5, 1.0, 2.0])
def test_excess_is_found_after_a_short_way(speed: float) -> None:
    assert stopped_at(speed, 1.45) == np.inf
    one_reading = 0.05 * 2 * speed
    assert stopped_at(speed, 2.0) <= 2 * speed * (0.2 + 2 * OFF / speed) + one_reading
    assert stopped_at(speed, 50.0) <= OFF + 0.1 * speed + 50 * 0.05 * speed


def cubic(time: float, speed: float) -> Angles:
    """One cubic spline: 1.5 times the limit in the middle."""
    share = min(1.0, time * speed / 3.0)
    return START + (3 * share**2 - 2 * share**3) * (GOAL - START)


def noisy(rng: np.random.Generator, speed: float) -> list[tuple[Angles, float, float]]:
    """A reading every 0.05 s, of encoders with a noise of one degree."""
    times = np.arange(0.05, 3 / speed + 1, 0.05)
    return [(cubic(time, speed) + rng.normal(0, 0.0175, 2), time, time) for time in times]


def topic(rng: np.random.Generator, speed: float) -> list[tuple[Angles, float, float]]:
    """A topic of 10 messages a second, which hesitates for 0.8 s now and then."""
    found, times = [], np.arange(0.05, 3 / speed + 1, 0.05) + rng.uniform(0, 0.01)
    told = 0.0
    pause = -1.0
    for time in times:
        if rng.random() < 0.03:
            pause = time + 0.8
        if time > pause:
            told = np.floor(time * 10) / 10
        found.append((cubic(told, speed), time, time))
    return found


def bus(rng: np.random.Generator, speed: float) -> list[tuple[Angles, float, float]]:
    """A bus that answers after up to 0.3 s, with what it read at some time between."""
    found, time = [], 0.0
    while time < 3 / speed + 1:
        asked = time + 0.05
        time = asked + rng.exponential(0.02) + 0.3 * (rng.random() < 0.05)
        found.append((cubic(rng.uniform(asked, time), speed) + rng.normal(0, 0.003, 2), asked, time))
    return found


@pytest.mark.parametrize("readings", [noisy, topic, bus])
@pytest.mark.parametrize("speed", [0.2, 0.5, 1.0, 2.0])
def test_uncertain_readings_are_no_excess(readings: Callable[..., Any], speed: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(round(20 * speed)):
        watching = watch(speed)
        for reading in readings(rng, speed):
            watching.check(*reading)


def moved(robot: Robot, goal: Angles, speed: float = 1.0) -> None:
    Poser(robot, {}, {}, {}, np.full(2, speed), RANGES, Settling()).move(goal)


class Jumping(ScriptedRobot):
    """Is at its goal at once."""

    def move_to(self, positions: Angles, speed: Angles) -> None:
        super().move_to(positions, speed)
        self._total = 0.0


def test_arm_that_jumps_is_stopped() -> None:
    line = r"^joint elbow went 0.70 in 0.05 s, faster than its limit of 1 a second; make its controller slower, or give"
    with pytest.raises(UserError, match=line):
        moved(Jumping(), np.array([0.7, -0.4]))


class Blocking(ScriptedRobot):
    """Returns when it arrives."""

    def move_to(self, positions: Angles, speed: Angles) -> None:
        super().move_to(positions, speed)
        self.clock.sleep(self._total)


class Checking(Blocking):
    """Checks its own way, as an arm of LeRobot."""

    watching = True


def test_blocking_move_is_told_apart_once(capsys: pytest.CaptureFixture[str]) -> None:
    robot = Blocking()
    poser = Poser(robot, {}, {}, {}, np.full(2, 1.0), RANGES, Settling())
    for side in (1, -1, 1):
        poser.move(np.array([0.7, -0.4]) * side)
    line = "move_to of the robot returns when the arm arrives: nothing checks its limits on the way; see docs/recording"
    assert capsys.readouterr().err.count(line) == 1
    moved(ScriptedRobot(), np.array([0.7, -0.4]))
    moved(Checking(), np.array([0.7, -0.4]))
    assert capsys.readouterr().err == ""
    assert LeRobotRobot.watching
