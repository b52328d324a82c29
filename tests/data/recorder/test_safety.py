"""Nothing moves that was not checked and agreed to, and whatever ends a recording stops the arm."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.common.arrays import Images
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.simulation.collisions import Collision, CollisionChecker, Workspace
from tests.data.recorder.conftest import MakeOptions
from tests.data.recorder.doubles import ScriptedKind, ScriptedRobot, record


def test_failed_stop_raises_an_emergency_warning(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*given: object) -> None:
        raise ConnectionError("gone")

    kind.fault = lambda goals: gone() if goals == 3 else None
    monkeypatch.setattr(ScriptedRobot, "stop", gone)
    with pytest.raises(UserError, match=r"THE ARM MAY STILL MOVE, PRESS THE EMERGENCY STOP \(ConnectionError: gone\)$"):
        record(make_options(kind="scripted"), tmp_path / "D")


def test_second_ctrl_c_does_not_prevent_the_stop(
    kind: ScriptedKind,
    make_options: MakeOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupt(goals: int) -> None:
        if goals == 3:
            raise KeyboardInterrupt

    def stop(robot: ScriptedRobot) -> None:
        robot.stops += 1
        if robot.stops == 1:
            raise KeyboardInterrupt
        if robot.stops == 2:
            raise ConnectionError("half a message")

    kind.fault = interrupt
    monkeypatch.setattr(ScriptedRobot, "stop", stop)
    with pytest.raises(KeyboardInterrupt):
        record(make_options(kind="scripted"), tmp_path / "D")
    assert kind.robots[0].stops == 3
    assert capsys.readouterr().err == "the arm is stopped\n"


def test_robot_without_encoders_requires_state_none(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    kind.robot = {"encoders": False}
    with pytest.raises(UserError, match="the robot has no encoders; give --state none"):
        record(make_options(kind="scripted"), tmp_path / "D")
    assert not (tmp_path / "D").exists()
    agreed: list[int] = []
    options = make_options(kind="scripted", state=False, ask=lambda question: agreed.append(len(kind.robots[1].goals)))
    lines = record(options, tmp_path / "D")
    assert "without angles" in validate(tmp_path / "D", progress=False)
    assert agreed == [0]
    [line] = [line for line in lines if line.startswith("no encoders: the first move")]
    first = kind.robots[1].goals[0]
    goal = ", ".join(
        f"{joint} {math.degrees(angle):.1f}° ({angle:.2f} rad)"
        for joint, angle in zip(("shoulder", "elbow"), first, strict=True)
    )
    assert line.endswith(f"bring the arm near its goal first: {goal}")


def test_joint_away_from_its_simulated_position_is_reported(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agreed: list[int] = []
    options = make_options(kind="scripted", ask=lambda question: agreed.append(len(kind.robots[0].goals)))
    assert {"shoulder": 0.0, "elbow": 0.0}.items() <= options.setting.robot.neutral.items()
    others = {"elbow": 0.5, "shoulder": 0.02, "light": 7.0}  # the shoulder is near enough; the light is no joint
    monkeypatch.setattr(ScriptedRobot, "others", lambda self: others, raising=False)
    lines = record(options, tmp_path / "D")
    assert agreed == [0]
    line = "joint elbow stands at 28.6° (0.50 rad); the plan was simulated with it at 0.0° (0.00 rad): move it there"
    assert [each for each in lines if "stands at" in each] == [line]
    with pytest.raises(UserError, match=f"^{re.escape(line)}; or leave --yes out, to be asked$"):
        record(make_options(kind="scripted"), tmp_path / "E")
    assert kind.robots[-1].goals == []


def test_the_way_to_the_first_pose_is_checked_from_where_the_arm_is_after_the_answer(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody moves before the answer is read again, and a new doubt is told before a second question."""
    others, questions = dict[str, float](), list[str]()

    def answer(question: str) -> None:
        questions.append(question)
        kind.robots[0].start_at(np.array([0.0, 3.0]))  # folded
        others["elbow"] = 0.5

    monkeypatch.setattr(ScriptedRobot, "others", lambda self: others, raising=False)
    with pytest.raises(UserError, match="from where the arm stands to the first pose is not free: lower touches upper"):
        record(make_options(kind="scripted", ask=answer), tmp_path / "D")
    assert len(questions) == 2
    assert kind.robots[0].goals == []


def test_return_path_to_the_first_pose_is_collision_free(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An anchor that is recorded again begins where it ended, and no plan has the direct move."""
    first = CollisionChecker.first

    def blocked(self: CollisionChecker, poses: NDArray[np.float64]) -> Collision | None:
        back = bool(kind.robots and kind.robots[0].goals) and np.allclose(poses[-1], kind.robots[0].goals[0])
        return Collision(0, "it touches") if back else first(self, poses)

    def blurred(image: Images, number: int) -> Images:
        return image // 8 + 100 if len(kind.robots[-1].goals) == 3 else image

    kind.change = blurred
    monkeypatch.setattr(CollisionChecker, "first", blocked)
    record(make_options(kind="scripted"), tmp_path / "D")
    goals = np.array(kind.robots[0].goals)
    assert len(goals) == 5 + 3 + 5 + 5
    assert np.array_equal(goals[5:8], goals[3:0:-1])
    assert np.array_equal(goals[8:13], goals[:5])


def test_arm_does_not_move_before_the_plan_is_checked(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    limits = replace(make_options().limits, workspace=Workspace((-0.2, -0.3, -0.1), (0.2, 0.3, 1.2), 0.0))
    with pytest.raises(UserError, match=r"the plan is not free: middle leaves the workspace by .* of anchor \d+"):
        record(make_options(kind="scripted", anchors=30, limits=limits), tmp_path / "D")
    assert [robot.goals for robot in kind.robots] == [[]]
    assert [camera.closed for camera in kind.cameras] == [True]
    assert not (tmp_path / "D").exists()


def test_arm_does_not_move_without_confirmation(kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path) -> None:
    def no(question: str) -> None:
        raise UserError("nothing was moved")

    with pytest.raises(UserError, match="nothing was moved"):
        record(make_options(kind="scripted", ask=no), tmp_path / "D")
    assert [robot.goals for robot in kind.robots] == [[]]
    assert [camera.closed for camera in kind.cameras] == [True]


def test_unresponsive_devices_are_reported_before_planning(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simulated(*given: object) -> None:
        raise AssertionError("the plan is simulated")

    def gone(*given: object) -> NoReturn:
        raise ConnectionError("gone")

    monkeypatch.setattr(CollisionChecker, "first", simulated)
    kind.change = gone
    with pytest.raises(UserError, match=r"^camera cam does not answer: ConnectionError: gone$"):
        record(make_options(kind="scripted"), tmp_path / "D")
    kind.fault = gone
    with pytest.raises(UserError, match=r"^the robot does not answer: ConnectionError: gone$"):
        record(make_options(kind="scripted"), tmp_path / "D")
    connected = len(kind.robots)
    with pytest.raises(AssertionError, match="the plan is simulated"):
        record(make_options(kind="scripted", only_plan=True), tmp_path / "D")
    assert len(kind.robots) == connected  # --plan needs no robot
