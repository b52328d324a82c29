"""`ropes record` passes its options on, and refuses in one line what would be unsafe or contradicts itself."""

import types
from pathlib import Path

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.data import schema
from ropes.data.recorder import record as recorder
from ropes.data.recorder import registry
from ropes.data.recorder.limits import JointLimits
from ropes.data.recorder.record import RecordOptions
from ropes.data.recorder.registry import RobotRequest
from ropes.data.recordings.views import View
from ropes.simulation.collisions import Workspace
from tests.command_line import refusal
from tests.data.recorder.conftest import ARM
from tests.data.recorder.doubles import DrawnCamera, ScriptedKind, ScriptedRobot

LIMITS = """
[joints.shoulder]
low = -0.5
high = 0.5
speed = 1.0
[joints.elbow]
low = -1.0
high = 0.8
speed = 1.5
[workspace]
low = [-0.9, -0.3, -0.1]
high = [0.9, 0.3, 1.2]
table = 0.0
"""


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> list[RecordOptions]:
    """The options that the command passes on."""
    passed: list[RecordOptions] = []

    def record_data(given: RecordOptions, out: Path) -> None:
        assert out == Path("D")
        passed.append(given)

    monkeypatch.setattr(recorder, "record_data", record_data)
    return passed


@pytest.fixture(autouse=True)
def _files(_beside_a_run: None) -> None:
    Path("arm.urdf").write_text(ARM)
    Path("limits.toml").write_text(LIMITS)


VIEW = "side:target=0/0/0.45,distance=1.8,yaw=0,pitch=0"


def record(*words: str) -> int:
    return cli.main(["record", *words, "--anchors", "3", "--out", "D"])


def test_simulated_panda_needs_no_other_options(options: list[RecordOptions], cache_home: Path) -> None:
    assert record("--robot", "simulated") == 0
    [given] = options
    assert (given.anchors, given.chains) == (3, None)
    assert [camera.name for camera in given.setting.cameras] == ["cam45", "cam135"]
    assert given.model.joints == tuple(f"panda_joint{k}" for k in range(1, 7))
    assert given.setting.robot.check_limits
    assert given.limits.speeds(given.model.joints).tolist() == [1.0] * 6
    assert given.limits.workspace.table == 0
    assert given.ask is None
    for joint, (first, second) in given.model.interventions.items():
        limits = given.limits.joints[joint]
        assert limits.low <= min(first.low, second.low)
        assert limits.high >= max(first.high, second.high)


def test_chains_take_the_place_of_anchors(options: list[RecordOptions], cache_home: Path) -> None:
    assert cli.main(["record", "--robot", "simulated", "--chains", "4", "--out", "D"]) == 0
    [given] = options
    assert (given.anchors, given.chains) == (None, 4)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", "give either --anchors or --chains"),
        ("--anchors 3 --chains 3", "give either --anchors or --chains"),
        ("--chains 0", "--chains is 0; it must be 1 or more"),
        ("--chains many", "--chains"),
        ("--chains 2 --frames-per-move 2", "--frames-per-move"),
    ],
)
def test_wrong_numbers_of_episodes_are_refused(words: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert line in refusal(capsys, "record", "--robot", "simulated", *words.split(), "--out", "D")
    assert not Path("D").exists()


def test_limits_file_sets_all_joint_limits(options: list[RecordOptions], cache_home: Path) -> None:
    words = ("--robot", "simulated", "--urdf", "arm.urdf", "--limits", "limits.toml", "--cameras", VIEW)
    more = ("--camera-level", "webcam", "--scene", "panda-gym", "--colour", "--image-size", "32", "--seed", "5")
    assert record(*words, *more, "--redraw", "--state", "none", "--settle", "0.2", "--robot-options", "a=1") == 0
    [given] = options
    assert given.limits.joints == {"shoulder": JointLimits(-0.5, 0.5, 1.0), "elbow": JointLimits(-1.0, 0.8, 1.5)}
    elbow = given.model.observational["elbow"]
    assert (elbow.low, elbow.high) == (-1.0, 0.8)
    setting = given.setting
    assert (setting.image_size, setting.scene, setting.camera_level, setting.colour) == (
        32,
        "panda-gym",
        "webcam",
        True,
    )
    assert (given.seed, given.redraw, given.state, given.settling.settle) == (5, True, False, 0.2)
    assert given.robot_options == {"a": "1"}
    assert given.cameras == {}


def test_urdf_limits_need_a_speed_and_a_workspace(options: list[RecordOptions]) -> None:
    words = ("--robot", "mine", "--urdf", "arm.urdf", "--joints", "elbow", "--ranges", "-0.5:0.5", "--yes")
    box = ("--speed", "0.5", "--workspace", "-0.9/-0.3/-0.1:0.9/0.3/1.2")
    assert record(*words, *box, "--cameras", "left=0", "right=/dev/video2", "--grey", "--rotate", "left=90") == 0
    [given] = options
    assert given.limits.joints == {"elbow": JointLimits(-3.1, 3.1, 0.5)}
    assert given.limits.workspace == Workspace((-0.9, -0.3, -0.1), (0.9, 0.3, 1.2), -0.1)
    assert given.cameras == {"left": "0", "right": "/dev/video2"}
    assert given.views == {None: View(grey=True), "left": View(rotate=90, grey=True)}
    assert given.setting.cameras == ()
    assert np.isclose(given.model.observational["elbow"].high, 0.5)


@pytest.mark.parametrize(("crop", "left"), [("none", None), ("1,2,30,40 left=none", None), ("left=1,2,30,40", 1)])
def test_crop_none_keeps_the_whole_image(crop: str, left: int | None, options: list[RecordOptions]) -> None:
    words = ("--robot", "mine", "--urdf", "arm.urdf", "--limits", "limits.toml", "--yes", "--cameras", "left=0")
    assert record(*words, "--crop", *crop.split()) == 0
    views = options[0].views
    box = views.get("left", views[None]).crop
    assert (box if box is None else box[0]) == left


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--robot mine", "give --urdf FILE: the plan is checked for collisions before the arm moves"),
        ("--robot mine --urdf arm.urdf", "give --joints and --ranges, or a file of limits by --limits"),
        ("--robot mine --urdf arm.urdf --joints elbow --ranges -1:1", "this robot needs limits: give --limits FILE"),
        ("--robot mine --urdf arm.urdf --joints elbow --ranges -1:1 --speed 1", "this robot needs limits"),
        ("--robot mine --urdf arm.urdf --limits limits.toml --speed 1", "leave --speed and --workspace out"),
        ("--robot mine --urdf arm.urdf --limits limits.toml --joints elbow --ranges -1:1", "outside its limits"),
        (
            "--robot mine --urdf arm.urdf --limits limits.toml --joints elbow --ranges -90:90",
            "; give radians, not degrees",
        ),
        ("--robot mine --urdf arm.urdf --limits nowhere.toml", "cannot read the limits nowhere.toml"),
        ("--robot mine --urdf arm.urdf --limits limits.toml --joints wrist", "the limits have no joint 'wrist'"),
        ("--robot mine --urdf arm.urdf --limits limits.toml --colour", "go with --robot simulated; leave them out"),
        ("--robot mine --urdf arm.urdf --limits limits.toml --yes", "unknown robot 'mine': choose one of simulated"),
        ("--robot simulated --ranges -1:1", "--ranges LOW:HIGH for each; got 0 joints and 1 ranges"),
        ("--robot simulated --cameras side:yaw=0", "--cameras side: no distance, target"),
        ("--robot simulated --speed 0", "--speed is 0; it must be above 0 and finite"),
        ("--robot simulated --speed 9", "may move at 515.7 °/s (9.00 rad/s), but panda.urdf allows"),
        ("--robot simulated --workspace 0/0/0:1/1", "is not X/Y/Z:X/Y/Z"),
        ("--robot simulated --robot-options camera-delay", "'camera-delay' is not KEY=VALUE"),
        ("--robot simulated --robot-options a=1 a=2", "--robot-options: a is given twice"),
        ("--robot simulated --image-size cam45=64", "leave the camera out"),
        ("--robot simulated --settle -1", "--settle is -1; it must be 0 or more and finite"),
        ("--robot simulated --anchor 3", "--anchor"),
    ],
)
def test_invalid_record_options_are_refused(
    words: str, line: str, capsys: pytest.CaptureFixture[str], cache_home: Path
) -> None:
    assert line in refusal(capsys, "record", *words.split(), "--anchors", "3", "--out", "D")
    assert not Path("D").exists()


def test_a_plan_that_collides_is_refused(capsys: pytest.CaptureFixture[str], cache_home: Path) -> None:
    words = ["--robot", "simulated", "--urdf", "arm.urdf", "--joints", "elbow", "--ranges", "-3.1:3.1"]
    line = refusal(capsys, "record", *words, "--cameras", VIEW, "--anchors", "9", "--out", "D")
    assert line.startswith("the plan is not free: lower touches upper ")
    assert line.endswith(
        "give narrower ranges (--ranges, or low and high in the file of limits), or --redraw to draw such anchors again"
    )
    again = ["record", *words, "--cameras", VIEW, "--anchors", "9", "--out", "D", "--redraw", "--plan"]
    assert cli.main(again) == 0
    assert " drawn again\n" in capsys.readouterr().out
    assert not Path("D").exists()


def test_moving_a_real_arm_requires_confirmation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    robots: list[ScriptedRobot] = []

    def connected(kind: str, request: RobotRequest) -> ScriptedRobot:
        robots.append(ScriptedRobot(joints=request.joints))
        return robots[-1]

    monkeypatch.setattr(recorder, "kind_named", lambda name: None)
    monkeypatch.setattr(recorder, "open_robot", connected)
    monkeypatch.setattr(recorder, "open_camera", lambda name, source: DrawnCamera(ScriptedRobot()))
    words = ["--robot", "mine", "--urdf", "arm.urdf", "--limits", "limits.toml", "--cameras", "left=0"]
    assert cli.main(["record", *words, "--anchors", "3", "--out", "D"]) == 2
    printed = capsys.readouterr()
    assert printed.err == ("ropes: cannot ask whether the arm may move: standard input is no terminal; give --yes\n")
    assert (printed.out, robots) == ("", [])  # told before devices are connected and the plan is simulated
    assert cli.main(["record", *words, "--anchors", "3", "--plan", "--out", "D"]) == 0
    assert "plan: 3 anchors of 5 poses" in capsys.readouterr().out
    assert not Path("D").exists()
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(isatty=lambda: True))
    for answer in ("n", ""):
        monkeypatch.setattr("builtins.input", lambda question, answer=answer: answer)
        assert refusal(capsys, "record", *words, "--anchors", "3", "--out", "D").endswith("nothing was moved")

    def control_d(question: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", control_d)
    assert refusal(capsys, "record", *words, "--anchors", "3", "--out", "D").endswith("nothing was moved")
    assert [robot.goals for robot in robots] == [[]] * 3


def test_nobody_is_asked_where_all_anchors_are_recorded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, cache_home: Path
) -> None:
    kind = ScriptedKind()
    monkeypatch.setattr(registry, "load_plugins", lambda group, fault: ({"scripted": kind}, {}))
    words = ["record", "--robot", "scripted", "--urdf", "arm.urdf", "--limits", "limits.toml", "--settle", "0.15"]
    words += ["--out", "D", "--anchors"]
    assert cli.main([*words, "2", "--yes"]) == 0
    assert cli.main([*words, "2"]) == 0
    assert capsys.readouterr().out.endswith("wrote D\n")
    Path("D", schema.INFO).unlink()  # as after Ctrl-C while the metadata are written
    assert cli.main([*words, "2"]) == 0
    assert Path("D", schema.INFO).exists()
    capsys.readouterr()
    assert "standard input is no terminal; give --yes" in refusal(capsys, *words, "3")
    assert len(kind.robots) == 1
