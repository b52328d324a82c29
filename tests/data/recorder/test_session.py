"""What a recording notes and says beside its images."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.common import files
from ropes.common.arrays import Images
from ropes.data.recorder.folder import LOG
from ropes.data.recorder.limits import JointLimits, Limits
from ropes.data.validate import validate
from ropes.errors import UserError
from tests.data.recorder.conftest import JOINTS, MakeOptions
from tests.data.recorder.doubles import ScriptedKind, ScriptedRobot, record


def test_camera_that_was_opened_again_is_noted(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def reopened(image: Images, number: int) -> Images:
        if len(kind.robots[-1].goals) == 7:
            kind.cameras[0].interruptions = 1
        return image

    kind.change = reopened
    record(make_options(kind="scripted"), tmp_path / "D")
    assert len(kind.robots[0].goals) == 15
    line = "camera cam gave no frame and was opened again; compare its exposure"
    assert f"{line}; the anchor is recorded again\n" in capsys.readouterr().err
    entries = files.read_json(tmp_path / "D" / LOG)["anchors"]
    assert [entry["faults"] for entry in entries] == [[], [line]]
    assert [entry["unmended"] for entry in entries] == [[], []]  # the second try was whole


@pytest.mark.slow
def test_frequent_fault_does_not_hide_a_rare_one(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each kind the first lines are printed, then ever fewer, and the number in the end."""

    def change(image: Images, number: int) -> Images:
        image = image.copy()
        image[:4] = 255  # clipped in every anchor
        goals = len(kind.robots[-1].goals)
        if goals == 43:
            kind.cameras[0].interruptions = 1
        if goals == 65:
            raise ConnectionError("gone")
        return np.clip(image + np.random.default_rng(number).normal(0, 3, image.shape), 0, 255).astype(np.uint8)

    kind.change = change
    with pytest.raises(UserError, match="the arm is stopped"):
        record(make_options(kind="scripted", anchors=14), tmp_path / "D")
    lines = capsys.readouterr().err.splitlines()
    clipped = [line for line in lines if "pixels are black or white" in line]
    assert [line.endswith("(the 10th time)") for line in clipped] == [False, False, False, True, False]
    reopened = "camera cam gave no frame and was opened again; compare its exposure; the anchor is recorded again"
    assert any(line.endswith(reopened) for line in lines)
    assert lines[-2:] == [
        "camera cam: many pixels are black or white: 11 times",
        "meta/recording.json lists what is wrong with each anchor",
    ]


def test_data_set_is_finished_though_the_last_stop_fails(
    kind: ScriptedKind,
    make_options: MakeOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def gone(robot: ScriptedRobot) -> None:
        raise ConnectionError("gone")

    monkeypatch.setattr(ScriptedRobot, "stop", gone)
    record(make_options(kind="scripted"), tmp_path / "D")
    expected = "THE ARM MAY STILL MOVE, PRESS THE EMERGENCY STOP (ConnectionError: gone)\n"
    assert capsys.readouterr().err == expected
    assert "in 10 frames" in validate(tmp_path / "D", progress=False)


def test_log_has_limits_and_versions_of_each_session(
    kind: ScriptedKind, make_options: MakeOptions, limits: Limits, tmp_path: Path
) -> None:
    slow = replace(limits, joints=dict.fromkeys(JOINTS, JointLimits(-1.2, 1.2, 0.5)))
    record(make_options(kind="scripted", anchors=1), tmp_path / "D")
    record(make_options(kind="scripted", anchors=2, limits=slow), tmp_path / "D")
    record(make_options(kind="scripted", anchors=2), tmp_path / "D")  # nothing is left: no session
    log = files.read_json(tmp_path / "D" / LOG)
    assert [session["limits"]["joints"]["elbow"] for session in log["sessions"]] == [[-1.2, 1.2, 2.0], [-1.2, 1.2, 0.5]]
    assert all(session["version"] and session["libraries"] for session in log["sessions"])
    first, second = (session["began"] for session in log["sessions"])
    assert first <= log["anchors"][0]["began"] <= second <= log["anchors"][1]["began"]
