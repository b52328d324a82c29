"""`ropes check`: exit codes, output for people and for machines, files, and bad input in one line."""

import json
from pathlib import Path

import numpy as np
import pytest

import ropes
from ropes.cli import entry as cli
from ropes.evaluation.drift import Check
from tests import tiny
from tests.command_line import Stub, refusal
from tests.estimators import run_of
from tests.evaluation.drift.recorded import FRAMES, calibrated, poses, write_recording


def answer(folder: Path, change: float) -> Check:
    late = np.outer(np.arange(FRAMES) >= FRAMES // 2, [0, change])
    return ropes.check(calibrated(), write_recording(folder, change=late))


@pytest.mark.slow
def test_exit_codes_and_files(tmp_path: Path, stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    stub("ropes.evaluation.drift.check.check", result=answer(tmp_path / "fine", 0.0))
    assert cli.main(["check", "R", "--recording", "D"]) == 0
    assert "No joint drifted." in capsys.readouterr().out

    run_of().write(Path("R"))
    drifted, out = answer(tmp_path / "drifted", np.radians(5)), tmp_path / "out"
    stub("ropes.evaluation.drift.check.check", result=drifted)
    assert cli.main(["check", "R", "--recording", "D", "--json", "--out", str(out)]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == drifted.lines()
    assert {path.name for path in out.iterdir()} == {"check.html", "check.jsonl", "options.yaml"}
    assert [json.loads(line) for line in (out / "check.jsonl").read_text().splitlines()] == lines
    assert cli.main(["check", "R", "--recording", "D", "--out", str(out)]) == 1  # again, in the same folder
    assert f"wrote {out / 'check.html'}" in capsys.readouterr().out


def test_options_reach_the_check(tmp_path: Path, stub: Stub) -> None:
    calls = stub("ropes.evaluation.drift.check.check", result=answer(tmp_path / "fine", 0.0))
    words = "--reference B --state percent --lerobot-calibration C --frames 50 --crop left=0,0,8,8 --rotate 90"
    words += " --offset 0.5 --joint-columns a b"
    assert cli.main(["check", "R", "--recording", "D", *words.split()]) == 0
    ((run, recording), given) = calls[0]
    assert (run, recording, given["reference"]) == (Path("R"), Path("D"), Path("B"))
    assert (given["state"], given["frames"]) == ("percent", 50)
    options = given["options"]
    assert (options.crop, options.rotate) == ({"left": (0, 0, 8, 8)}, {None: 90})
    assert (options.streams.offset, options.streams.joint_columns) == (0.5, ("a", "b"))
    assert options.streams.calibration == Path("C")


def test_a_wrong_arm_or_camera_is_refused_before_the_check(
    tmp_path: Path, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    run_of().write(Path("R"))
    calls = stub("ropes.evaluation.drift.check.check", result=None)
    for words in ("--urdf arm.urdf", "--camera-file cameras.json"):
        said = refusal(capsys, "check", "R", "--recording", "D", "--out", str(tmp_path / "out"), *words.split())
        assert words.split()[1] in said
    assert calls == []
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_run_is_checked_from_end_to_end(
    own_run: Path, tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = write_recording(tmp_path / "today", images=tiny.draw(poses()))
    refused = refusal(capsys, "check", str(own_run), "--recording", str(recording), "--out", str(tmp_path / "out"))
    assert refused.startswith(f"{own_run} is not calibrated, and a check needs radians: run ropes calibrate")
    assert not (tmp_path / "out").exists()
    ropes.calibrate(own_run, data=tiny_data, samples=20)
    words = ["check", str(own_run), "--recording", str(tiny_data), "--reference", str(tiny_data), "--frames", "60"]
    assert cli.main([*words, "--json"]) == 0
    *joints, _, _, whole = map(json.loads, capsys.readouterr().out.splitlines())
    assert [line["joint"] for line in joints] == list(tiny.JOINTS)
    assert not any(line["drifted"] for line in joints)
    assert (whole["drifted"], whole["frames"]) == (False, 60)
    assert whole["joints_compared_with"] == whole["cameras_compared_with"] == tiny_data.name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--frames 10", "--frames is 10; it must be 30 or more"),
        ("--frames 5001", "--frames is 5001; it must be at most 5000: more take too much memory"),
        ("--urdf arm.urdf", "--urdf needs --out, whose page shows the arm"),
        ("--camera-file cameras.json", "--camera-file needs --out, whose page shows the arm"),
        ("--offset nan", "--offset is nan; it must be finite"),
        ("--crop left=1", "--crop: '1' is not LEFT,TOP,WIDTH,HEIGHT in pixels"),
    ],
)
def test_bad_options_are_refused(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refusal(capsys, "check", "panda-2c", "--recording", "D", *words.split())


def test_a_recording_that_is_missing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "gone"
    assert f"{missing} does not exist" in refusal(capsys, "check", "panda-2c", "--recording", str(missing))
