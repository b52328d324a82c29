"""The simulated arm keeps its speed, and its cameras show the past."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.data.recorder.kinds import simulation
from ropes.data.recorder.kinds.simulation import FRAME_RATE, SimulatedRobot, camera_faults, open_robot
from ropes.data.recorder.registry import RobotRequest
from ropes.simulation.camera_levels import LEVELS
from ropes.simulation.camera_model import CameraModel
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


@pytest.fixture
def request_of(make_options: MakeOptions) -> Callable[..., RobotRequest]:
    """A request for a simulated arm with webcams, for two frames of which faults are drawn."""

    def make(**changes: Any) -> RobotRequest:
        options = make_options()
        setting = replace(options.setting, camera_level="webcam")
        given: dict[str, Any] = {"joints": JOINTS, "setting": setting, "limits": options.limits, "frames": 2} | changes
        return RobotRequest(**given)

    return make


def test_faults_go_on_where_more_frames_are_taken_than_faults_are_drawn_for(
    request_of: Callable[..., RobotRequest],
) -> None:
    made = open_robot(request_of())
    [camera] = made.cameras().values()
    frames = [camera.frame() for _ in range(9)]
    assert all((one != other).any() for one, other in itertools.combinations(frames, 2))
    camera.close()
    made.close()


@pytest.mark.parametrize(("share", "first"), [(0.25, 15), (1.0, 59)])
def test_mount_of_a_recording_that_goes_on_is_where_it_stopped(
    share: float, first: int, request_of: Callable[..., RobotRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without vibration, the view follows the line of the recording without a stop; light and noise differ."""
    calm = replace(LEVELS["webcam"], vibration=0.0)
    monkeypatch.setitem(LEVELS, "webcam", calm)

    def models(**changes: Any) -> list[tuple[CameraModel, int]]:
        faults = camera_faults(request_of(frames=60, **changes), "side")
        found = []
        for each in itertools.islice(faults, 60):
            assert isinstance(each, partial)
            assert isinstance(each.func, CameraModel)
            found.append((each.func, int(each.keywords["frame"])))
        return found

    def path(found: list[tuple[CameraModel, int]]) -> NDArray[np.float64]:
        return np.array([[*model.shift[frame], model.angle[frame]] for model, frame in found])

    whole, goes_on = models(), models(held=frozenset({0, 1}), held_share=share)
    left = 60 - first
    np.testing.assert_allclose(path(goes_on)[:left], path(whole)[first:], atol=1e-12)
    steps = np.abs(np.diff(path(goes_on), axis=0))
    assert (steps[left - 1] < 1e-12).all()  # nor does it jump where more frames are taken
    assert np.abs(path(whole)[-1]).min() > 0.0
    gains = [np.array([model.gain[frame, 1] for model, frame in each]) for each in (whole, goes_on)]
    assert (gains[0][first:] != gains[1][:left]).all()


def test_of_the_recording_before_a_stop_nothing_but_the_creep_is_drawn(
    request_of: Callable[..., RobotRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = list[int]()

    def counted(level: str, shape: tuple[int, ...], frames: int, **given: Any) -> CameraModel:
        drawn.append(frames)
        return CameraModel(level, shape, frames, **given)

    monkeypatch.setattr(simulation, "CameraModel", counted)
    next(camera_faults(request_of(frames=60, held=frozenset({0}), held_share=0.25), "side"))
    assert drawn == [45]


def test_faults_are_drawn_by_the_seed_and_differ_when_a_recording_goes_on(
    request_of: Callable[..., RobotRequest],
) -> None:
    grey, arm = np.full((32, 32), 100, np.uint8), np.zeros((32, 32), bool)

    def five(**changes: Any) -> NDArray[np.uint8]:
        faults = camera_faults(request_of(**changes), "side")
        return np.stack([next(faults)(grey, arm=arm) for _ in range(5)])

    assert (five() == five()).all()
    assert (five(held=frozenset({0, 1})) == five(held=frozenset({1, 0}))).all()
    others = [five(), five(seed=1), five(held=frozenset({0})), five(held=frozenset({1}))]
    assert all(
        (one != other).any() for each in itertools.combinations(others, 2) for one, other in zip(*each, strict=True)
    )
