"""Frames are taken when the arm stands still; an arm or a camera that does not answer is named."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.common.arrays import Images
from ropes.data.recorder.stillness import Noise, Poser, Settling, measure_noise, read_positions, take
from ropes.errors import UserError
from tests import tiny
from tests.data.recorder.doubles import DrawnCamera, ScriptedRobot

SPEED, GOAL = np.full(2, 1.0), np.array([0.7, -0.4])


def poser(robot: ScriptedRobot, camera: DrawnCamera, **settling: Any) -> Poser:
    noise = {"cam": measure_noise("cam", camera)}
    ranges = np.full(2, -1.5), np.full(2, 1.5)
    return Poser(robot, {"cam": camera}, noise, {"cam": (32, 32)}, SPEED, ranges, Settling(**settling))


@pytest.mark.parametrize("encoders", [True, False])
@pytest.mark.parametrize("delay", [0.0, 0.25])
def test_frame_shows_the_goal_pose(encoders: bool, delay: float) -> None:
    robot = ScriptedRobot(encoders=encoders)
    camera = DrawnCamera(robot, delay)
    taken = poser(robot, camera).take(GOAL)
    assert np.array_equal(taken.frames["cam"], np.maximum(tiny.draw(GOAL, 32)[0], 20))
    assert taken.still
    assert (taken.positions is None) == (not encoders)
    assert 0.9 < taken.seconds < (2.0 if encoders else 3.5)


def test_camera_with_longer_latency_than_expected_is_waited_for() -> None:
    robot = ScriptedRobot()
    taken = poser(robot, DrawnCamera(robot, 0.5), settle=0.1).take(GOAL)
    assert np.abs(taken.frames["cam"].astype(int) - np.maximum(tiny.draw(GOAL, 32)[0], 20)).max() <= 8


def test_passing_person_makes_the_pose_not_still() -> None:
    robot = ScriptedRobot()

    def passing(image: Images, number: int) -> Images:
        image = image.copy()
        if number > 16:  # the noise is measured by then
            image[:, 8 * (number % 4) :][:, :8] = 255
        return image

    assert not poser(robot, DrawnCamera(robot, change=passing)).take(GOAL).still


def test_noise_does_not_count_as_motion() -> None:
    robot, rng = ScriptedRobot(), np.random.default_rng(0)

    def noisy(image: Images, number: int) -> Images:
        return np.clip(image + rng.normal(0, 6, image.shape).round(), 0, 255).astype(np.uint8)

    camera = DrawnCamera(robot, change=noisy)
    assert measure_noise("cam", camera).pixel == pytest.approx(6, rel=0.15)
    assert poser(robot, camera).take(GOAL).still


def test_motion_during_noise_measurement_is_forgotten() -> None:
    noise = Noise([60.0] * 15, 2.0)
    assert noise.moved == pytest.approx(121.5)
    for _ in range(6):
        noise.add(3.0)
    assert noise.moved == pytest.approx(7.5)


def test_arm_that_does_not_arrive_is_reported() -> None:
    robot = ScriptedRobot(stuck=0.5)
    with pytest.raises(UserError, match=r"does not arrive: joint elbow is at 0.500, not at 0.700; free the arm"):
        poser(robot, DrawnCamera(robot)).take(GOAL)


def test_arm_outside_its_range_is_reported() -> None:
    robot = ScriptedRobot()
    with pytest.raises(UserError, match=r"joint elbow is at 1.\d+, outside \[-1.5, 1.5\]"):
        poser(robot, DrawnCamera(robot)).take(np.array([2.0, 0.0]))


class InTurn(ScriptedRobot):
    """Moves one joint after the other, from zero."""

    def at(self, time: float) -> NDArray[np.float64]:
        straight = super().at(time)
        if not self.goals:
            return straight
        done = 2 * straight[0] / self.goals[-1][0]
        return np.clip([done, done - 1], 0, 1) * self.goals[-1]


def test_arm_that_leaves_the_straight_line_is_reported() -> None:
    robot = InTurn()
    line = r"joint \w+ is at 0.\d+, 0.1\d off the straight way to \d.\d+; all joints must start and arrive together"
    with pytest.raises(UserError, match=line):
        poser(robot, DrawnCamera(robot)).take(np.array([1.2, 0.9]))
    assert robot.at(robot.clock.now())[1] < 0.1


@pytest.mark.parametrize("blocking", [True, False])
def test_late_or_trembling_arm_at_its_goal_has_arrived(blocking: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = ScriptedRobot(jitter=0.0 if blocking else 0.01)
    ready, move_to = poser(robot, DrawnCamera(robot)), robot.move_to

    def slowly(*given: Any) -> None:
        move_to(*given)
        robot.clock.sleep(30.0)

    if blocking:
        monkeypatch.setattr(robot, "move_to", slowly)
    assert ready.take(GOAL).positions == pytest.approx(GOAL, abs=0.02)


def test_arm_that_starts_outside_its_range_comes_in() -> None:
    robot = ScriptedRobot(latency=0.2, jitter=1e-5)
    robot.start_at(np.array([1.7, -1.6]))
    assert poser(robot, DrawnCamera(robot)).take(GOAL).positions == pytest.approx(GOAL, abs=1e-4)
    assert robot.read[1][0] > robot.read[0][0] == 1.7  # as if it moved away


def test_arm_that_does_not_move_at_all_is_reported() -> None:
    robot = ScriptedRobot(stuck=0.0)
    with pytest.raises(UserError, match=r"does not move: joint elbow is at 0.000, not at 0.700; is the arm enabled"):
        poser(robot, DrawnCamera(robot)).take(np.array([0.7, 0.0]))


def breaking() -> None:
    raise ConnectionError("no reply\nfrom motor 3")


@pytest.mark.parametrize("method", ["positions", "move_to"])
def test_unresponsive_robot_is_reported(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = ScriptedRobot()
    ready = poser(robot, DrawnCamera(robot))
    monkeypatch.setattr(robot, method, lambda *given: breaking())
    with pytest.raises(UserError, match=r"^the robot does not answer: ConnectionError: no reply from motor 3$"):
        ready.take(GOAL)


@pytest.mark.parametrize("values", [[0.0], [0.0, np.nan], [[0.0, 0.0]]])
def test_invalid_positions_are_refused(values: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    robot = ScriptedRobot()
    monkeypatch.setattr(robot, "positions", lambda: np.array(values))
    with pytest.raises(UserError, match="not 2 finite angles in radians"):
        read_positions(robot)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda image, number: image[:16], r"gives images of \(16, 32\), and gave \(32, 32\) before; was it unplugged"),
        (lambda image, number: image.astype(float), "gives no image of uint8"),
        (lambda image, number: np.stack([image] * 4, axis=2), "images of 4 channels"),
        (lambda image, number: None, "gives no image of uint8"),
    ],
)
def test_frames_of_another_shape_or_type_are_refused(change: Callable[[Images, int], Images], line: str) -> None:
    with pytest.raises(UserError, match=line):
        take("cam", DrawnCamera(ScriptedRobot(), change=change), (32, 32))


def test_images_whose_size_changes_while_the_noise_is_measured_are_refused() -> None:
    camera = DrawnCamera(ScriptedRobot(), change=lambda image, number: image if number < 4 else image[:16])
    with pytest.raises(UserError, match=r"camera cam gives images of \(16, 32\), and gave \(32, 32\) before"):
        measure_noise("cam", camera)
