"""A class of one's own drives the arm; what it lacks is named."""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.data.recorder.kinds.python import PythonRobot
from ropes.data.recorder.record import record_data
from ropes.data.recorder.registry import RobotRequest, open_robot
from ropes.data.recorder.stillness import Settling
from ropes.errors import UserError
from tests.data.recorder.conftest import MakeOptions

ARM = """
import threading
import time
import numpy as np
from PIL import Image

class MyArm:
    joints = ("gripper", "elbow", "shoulder")

    def __init__(self, frame, color="red"):
        self.start = self.goal = np.array([0.5, 0.0, 0.0])
        self.began, self.seconds = 0.0, 1.0
        self.frame, self.stopped, self.open = frame, 0, True
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    @property
    def at(self):
        share = min(1.0, (time.monotonic() - self.began) / self.seconds)
        return self.start + share * (self.goal - self.start)

    def watch(self):
        # The camera: a program that writes one image again and again.
        while self.open:
            picture = np.full((32, 32), 40, np.uint8)
            gripper, elbow, shoulder = self.at
            picture[2:12, 12 + int(8 * elbow) :][:, :6] = 200
            picture[18:28, 12 + int(8 * shoulder) :][:, :6] = 120
            Image.fromarray(picture).save(self.frame)
            time.sleep(0.01)

    def positions(self):
        return self.at

    def move_to(self, positions, speed):
        assert (speed > 0).all()
        self.start, self.began, self.goal = self.at, time.monotonic(), np.array(positions)
        self.seconds = max(0.05, (abs(self.goal - self.start) / speed).max())

    def stop(self):
        self.stopped += 1

    def close(self):
        self.open = False
        self.thread.join()

class Half:
    def positions(self):
        return None
"""


@pytest.fixture
def request_for(make_options: MakeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_arm.py").write_text(ARM)
    options = make_options()

    def make(**robot_options: str) -> RobotRequest:
        return RobotRequest(
            joints=("shoulder", "elbow"), setting=options.setting, limits=options.limits, options=robot_options
        )

    return make


def test_joints_outside_the_plan_do_not_move(request_for: Any, tmp_path: Path) -> None:
    options = {"class": f"{tmp_path}/my_arm.py:MyArm", "frame": f"{tmp_path}/frame.png"}
    robot = open_robot("python", request_for(**options))
    robot.move_to(np.array([0.1, 0.2]), np.array([1.0, 2.0]))
    time.sleep(0.25)
    assert robot.positions() == pytest.approx(np.array([0.1, 0.2]))
    assert robot.others() == {"gripper": 0.5}
    assert isinstance(robot, PythonRobot)
    arm: Any = robot.arm
    assert arm.at.tolist() == [0.5, 0.2, 0.1]
    robot.stop()
    assert arm.stopped == 1
    robot.close()
    assert not arm.open


def test_ordinary_modules_are_loaded(request_for: Any, tmp_path: Path) -> None:
    """A dataclass looks its module up, and a driver beside the file may be imported late."""
    (tmp_path / "late_driver.py").write_text("ANGLES = [0.1, 0.2]")
    (tmp_path / "dataclass_arm.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class MyArm:\n"
        "    port: str = 'here'\n"
        "    def positions(self):\n"
        "        import late_driver\n"
        "        return late_driver.ANGLES\n"
        "    def move_to(self, positions, speed): ...\n"
        "    def stop(self): ...\n"
    )
    robot = open_robot("python", request_for(**{"class": f"{tmp_path}/dataclass_arm.py:MyArm"}))
    assert robot.positions() == pytest.approx(np.array([0.1, 0.2]))


def test_fault_of_the_class_itself_is_told(request_for: Any, tmp_path: Path) -> None:
    (tmp_path / "broken_arm.py").write_text("import no_such_driver")
    line = r"^the robot \(python\) failed: ModuleNotFoundError: No module named 'no_such_driver'$"
    with pytest.raises(UserError, match=line):
        open_robot("python", request_for(**{"class": f"{tmp_path}/broken_arm.py:MyArm"}))


@pytest.mark.parametrize(
    ("named", "line"),
    [
        ("", "there is no class; give class=FILE.py:NAME or class=MODULE:NAME"),
        ("{folder}/my_arm.py:MyAm", "has no class 'MyAm': did you mean MyArm"),
        ("{folder}/nowhere.py:MyArm", "no file .*nowhere.py"),
        ("no_such_module:MyArm", "no module 'no_such_module'"),
        ("{folder}/my_arm.py:Half", "Half has no method move_to; it needs positions, move_to, stop"),
        ("{folder}/my_arm.py:MyArm", "missing 1 required positional argument: 'frame'"),
    ],
)
def test_invalid_robot_classes_are_refused(request_for: Any, tmp_path: Path, named: str, line: str) -> None:
    with pytest.raises(UserError, match=line):
        open_robot("python", request_for(**{"class": named.format(folder=tmp_path)}))


@pytest.mark.slow
def test_custom_robot_records_the_images_of_a_folder_camera(
    make_options: MakeOptions, tmp_path: Path, request_for: Any
) -> None:
    options = make_options(
        kind="python",
        anchors=1,
        robot_options={"class": f"{tmp_path}/my_arm.py:MyArm", "frame": f"{tmp_path}/frame.png"},
        settling=Settling(settle=0.05),
    )
    with pytest.raises(UserError, match="this robot has no cameras of its own; give --cameras NAME=SOURCE"):
        record_data(options, tmp_path / "D", progress=False)
    assert not (tmp_path / "D").exists()
    dataset = record_data(replace(options, cameras={"cam": f"{tmp_path}/frame.png"}), tmp_path / "D", progress=False)
    assert dataset is not None
    frames, states = dataset.frames("train"), dataset.states("train")
    [images] = dataset.read_cameras(frames.index)
    for image, (shoulder, elbow) in zip(images, states, strict=True):
        assert np.flatnonzero(image[7] == 200)[0] == 12 + int(8 * elbow)
        assert np.flatnonzero(image[23] == 120)[0] == 12 + int(8 * shoulder)


class Sagging:
    """A class whose gripper stands a little below its goal, as under its own weight."""

    joints: tuple[str, ...] = ("gripper", "shoulder")

    def __init__(self) -> None:
        self.goal = np.array([0.5, 0.0])

    def positions(self) -> np.ndarray:
        return self.goal - [0.01, 0.0]

    def move_to(self, positions: np.ndarray, speed: np.ndarray) -> None:
        self.goal = positions

    def stop(self) -> None:
        return


def test_a_joint_that_sags_does_not_sink_with_every_command() -> None:
    arm = Sagging()
    robot = PythonRobot(arm, ("shoulder",))
    for _ in range(20):
        robot.move_to(np.array([0.3]), np.array([1.0]))
    assert arm.goal == pytest.approx([0.49, 0.3])


def test_a_class_with_angles_of_more_joints_than_it_names_is_refused() -> None:
    class Unnamed(Sagging):
        joints = ()

    line = "Unnamed.positions gives 2 values for the joints shoulder; name all joints of the class"
    with pytest.raises(UserError, match=line):
        PythonRobot(Unnamed(), ("shoulder",)).positions()
