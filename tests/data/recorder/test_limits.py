"""Limits that are missing, or contradict each other, the arm or the plan, are refused in one line."""

import json
from pathlib import Path

import pytest

from ropes.data.recorder.limits import (
    JointLimits,
    Limits,
    checked,
    parse_workspace,
    read_limits,
    require_ranges,
    urdf_limits,
)
from ropes.errors import UserError
from ropes.simulation.collisions import Workspace
from ropes.simulation.urdf import read_urdf
from tests.data.recorder.conftest import WORKSPACE

GOOD = """
[joints.shoulder]
low = -1
high = 1.0
speed = 0.5
[joints.elbow]
low = -1.5
high = 1.5
speed = 0.8
[workspace]
low = [-0.5, -0.5, 0.0]
high = [0.5, 0.5, 0.9]
"""


def test_limits_file_is_parsed(urdf: Path, tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text(GOOD + "table = -0.1\n")
    limits = read_limits(path, read_urdf(urdf))
    assert limits.joints == {"shoulder": JointLimits(-1, 1, 0.5), "elbow": JointLimits(-1.5, 1.5, 0.8)}
    assert limits.workspace == Workspace((-0.5, -0.5, 0), (0.5, 0.5, 0.9), -0.1)
    assert limits.speeds(("elbow", "shoulder")).tolist() == [0.8, 0.5]
    assert [side.tolist() for side in limits.ranges(("elbow",))] == [[-1.5], [1.5]]
    content = limits.to_dict()
    joints = {"shoulder": {"low": -1, "high": 1, "speed": 0.5}, "elbow": {"low": -1.5, "high": 1.5, "speed": 0.8}}
    other = tmp_path / "limits.json"
    other.write_text(json.dumps({"joints": joints, "workspace": content["workspace"]}))
    assert read_limits(other, read_urdf(urdf)) == limits


def test_table_height_defaults_to_the_workspace_floor(urdf: Path, tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text(GOOD)
    assert read_limits(path, read_urdf(urdf)).workspace.table == 0


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("low = -1\n", "", "joint shoulder has no low; all of low, high, speed are needed"),
        ("speed = 0.5\n", "", "joint shoulder has no speed"),
        ("[workspace]", "[workplace]", "has no workspace"),
        ("[joints.shoulder]", "[joints.sholder]", "no movable joint 'sholder': did you mean shoulder?"),
        ("high = 1.0", "high = -1.0", "joint shoulder: low is -1, which is not below high, -1"),
        ("high = 1.0", "high = 1.7", "may move from -1 to 1.7, but small.urdf allows -1.6000 to 1.6000"),
        ("high = 1.0", "high = 90", "allows -1.6000 to 1.6000; give radians, not degrees"),
        ("speed = 0.5", "speed = 0", "speed is 0; it must be above 0"),
        ("speed = 0.5", "speed = 4", "may move at 229.2 °/s (4.00 rad/s), but small.urdf allows 171.9 °/s (3.00"),
        ("speed = 0.5", 'speed = "fast"', "joint shoulder: speed is 'fast', which is no finite number"),
        ("speed = 0.5", "speed = nan", "which is no finite number"),
        ("high = [0.5, 0.5, 0.9]", "high = [0.5, -0.6, 0.9]", "lowest y is -0.5, which is not below -0.6"),
        ("high = [0.5, 0.5, 0.9]", "high = [0.5, 0.9]", "workspace: high is not a list of x, y and z"),
        ("high = [0.5, 0.5, 0.9]", "high = [0.5, 0.5, 0.9]\ntable = 1", "the table, at 1 m, is above the workspace"),
        ("[joints.elbow]", "[joints.elbow", "is not valid TOML"),
    ],
)
def test_invalid_limits_are_refused(urdf: Path, tmp_path: Path, old: str, new: str, line: str) -> None:
    path = tmp_path / "limits.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(UserError) as error:
        read_limits(path, read_urdf(urdf))
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_hold_no_limits_are_refused(urdf: Path, tmp_path: Path) -> None:
    arm = read_urdf(urdf)
    (tmp_path / "a.json").write_text("[1]")
    (tmp_path / "b.json").write_text('{"joints": {"elbow": 3}, "workspace": {}}')
    (tmp_path / "c.toml").write_bytes(b"\xff\xfe")
    cases = {
        "a.json": "not an object",
        "b.json": "joint elbow is not a table",
        "c.toml": "no text",
        "d": "No such file",
    }
    for name, line in cases.items():
        with pytest.raises(UserError, match=line):
            read_limits(tmp_path / name, arm)


def test_urdf_limits_require_a_joint_range(urdf: Path) -> None:
    limits = urdf_limits(read_urdf(urdf), ("elbow",), 0.7, WORKSPACE)
    assert limits.joints == {"elbow": JointLimits(-3.1, 3.1, 0.7)}
    urdf.write_text(urdf.read_text().replace('"elbow" type="revolute"', '"elbow" type="continuous"'))
    with pytest.raises(UserError, match="no limits of joint elbow; give a file of limits"):
        urdf_limits(read_urdf(urdf), ("elbow",), 0.7, WORKSPACE)


def test_workspace_is_parsed_from_two_corners() -> None:
    assert parse_workspace("-1/-2/0:1/2/0.5") == Workspace((-1, -2, 0), (1, 2, 0.5), 0)
    for text in ("", "1/2/3", "1/2:3/4", "a/b/c:1/2/3", "0/0/0:1/1/inf", "0/0/0:1/1/1:2/2/2"):
        with pytest.raises(UserError, match="is not X/Y/Z:X/Y/Z"):
            parse_workspace(text)


def test_ranges_must_stay_within_the_limits(urdf: Path) -> None:
    limits = checked(Limits({"elbow": JointLimits(-1, 1, 1)}, WORKSPACE), read_urdf(urdf), "here")
    require_ranges(limits, {"elbow": (-1, 1)})
    with pytest.raises(UserError, match=r"range \[-1, 1.2\] of joint elbow is outside its limits \[-1, 1\]"):
        require_ranges(limits, {"elbow": (-1, 1.2)})
    with pytest.raises(UserError, match="the limits have no joint 'elbo': did you mean elbow"):
        require_ranges(limits, {"elbo": (0, 1)})


@pytest.mark.parametrize(
    ("element", "low"),
    [
        ('type="continuous"', -90),
        ('type="continuous"', -7),
        ('type="revolute"', -90),
    ],
)
def test_limits_in_degrees_of_a_joint_that_may_turn_are_refused(urdf: Path, element: str, low: float) -> None:
    text = urdf.read_text().replace('"elbow" type="revolute"', f'"elbow" {element}').replace('="-3.1"', '="-360"')
    urdf.write_text(text.replace('="3.1"', '="360"'))
    with pytest.raises(UserError) as error:
        checked(Limits({"elbow": JointLimits(low, 1, 1)}, WORKSPACE), read_urdf(urdf), "limits.toml")
    line = f"limits.toml: the range [{low}, 1] of joint elbow is above a full turn; give radians, not degrees"
    assert str(error.value) == line
