"""The page about one's own arm: every command on it runs in order, as it is typed, and leaves what the page says."""

import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.common import files
from ropes.data.layout import open_dataset
from ropes.data.recorder import record as recorder
from ropes.data.recorder.record import RecordOptions
from ropes.data.recorder.registry import kind_named
from ropes.data.validate import validate
from ropes.inference.calibration import read_calibration
from ropes.methods.run import Run

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tutorial-own-arm.md").read_text(encoding="utf-8")
ARM = ROOT / "examples" / "arm"
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex")
#: Few anchors and a small network, enough to learn a little.
ANCHORS = 60
RECORD = f"--anchors {ANCHORS} --image-size 32"
FIT = (
    "--encoder.image-size 32 --encoder.stem 2 --encoder.widths 8 16 --encoder.blocks 1 1 --encoder.hidden 16 "
    "--encoder.window 16 --encoder.window-widths 8 8 --encoder.window-blocks 1 1 --foreign 0 --val-fraction 0.1 "
    "--training.epochs 12 --training.min-samples 1 --training.batch 28"
)
WATCH = "--no-page --publish - --rate 40 --seconds 4"


def commands() -> list[str]:
    """The command lines of the page, in order; of a fence or indented, and continued by a backslash."""
    text = PAGE.replace("\\\n", " ")
    return [" ".join(line.split()) for line in re.findall(r"^ *(ropes [^\n|]*)$", text, flags=re.MULTILINE)]


def run(command: str, more: str = "") -> None:
    """Run a command as typed, with options that make it quick."""
    assert cli.main([*shlex.split(command)[1:], *more.split()]) == 0


def replacements() -> list[str]:
    """What the page writes in the place of `--robot simulated`."""
    return re.findall(r"`(--robot (?!simulated)[^`]*)`", PAGE)


def test_the_page_has_six_commands_and_two_that_measure() -> None:
    plan, record, *others = commands()
    names = ["record", "record", "inspect", "fit", "calibrate", "watch", "record", "check"]
    assert [line.split()[1] for line in (plan, record, *others)] == names
    assert plan == f"{record} --plan"
    again = record.replace("--anchors 1000 --out data/arm", "--anchors 30 --seed 1 --out data/second")
    assert others[-2] == again
    # None stands in the prose, where the test below would not see it.
    assert not re.findall(r"`ropes\s+\w+\s[^`]*(?:runs|data)/[^`]*`", PAGE)


def test_the_page_shows_the_limits_of_the_example() -> None:
    shown = PAGE.partition("```toml\n")[2].partition("```")[0]
    assert shown == (ARM / "limits.toml").read_text(encoding="utf-8")
    assert tuple(tomllib.loads(shown)["joints"]) == JOINTS


def test_the_page_names_extras_that_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    [named] = re.findall(r"pip install -e '\.\[([\w,]+)\]'", PAGE)
    assert set(named.split(",")) <= extras.keys()


def test_page_quotes_inspect_output_correctly() -> None:
    source = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src/ropes/evaluation/inspection").glob("*.py")
    )
    table = PAGE.partition("| `ropes inspect` says |")[2].partition("\n\n")[0]
    quoted = re.findall(r"^\| `([^`]+)` \|", table, flags=re.MULTILINE)
    assert len(quoted) == 12
    assert [text for text in quoted if text not in source] == []


@pytest.fixture
def beside_the_arm(tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the arm's two files."""
    for path in ARM.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_robot_kinds_on_the_page_are_valid_options(beside_the_arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[RecordOptions] = []
    monkeypatch.setattr(recorder, "record_data", lambda options, out: passed.append(options))
    for words in replacements():
        run(commands()[1].replace("--robot simulated", words), "--yes")
    assert [options.kind for options in passed] == ["lerobot", "ros2", "python", "python"]
    assert [options.state for options in passed] == [True, True, True, False]
    for options in passed:
        kind_named(options.kind)  # refuses unknown kinds
        assert options.cameras == {"left": "0", "right": "2"}
        assert options.model.joints == JOINTS
        assert options.robot_options


@pytest.mark.slow
def test_every_command_of_the_page_runs(beside_the_arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, record, inspect, fit, calibrate, watch, again, check = commands()

    run(plan, RECORD)
    printed = capsys.readouterr().out
    assert f"plan: {ANCHORS} anchors of 7 poses, joints {', '.join(JOINTS)}\n" in printed
    assert "robot time: about " in printed
    assert not Path("data").exists()

    run(record, RECORD)
    assert "wrote data/arm" in capsys.readouterr().out
    found = validate("data/arm", progress=False)
    assert f"in {7 * ANCHORS} frames" in found
    assert f"cameras cam45, cam135; joints {', '.join(JOINTS)}" in found

    run(inspect)
    assert "data/arm can work, but every joint will be weak" in capsys.readouterr().out
    assert Path("inspection/inspection.png").is_file()

    run(fit, FIT)
    capsys.readouterr()
    fitted = Run.read(Path("runs/arm"))
    assert (fitted.method, fitted.joints) == ("anchored", JOINTS)
    assert read_calibration(Path("runs/arm"), fitted) is None

    run(calibrate)
    assert "ropes predict now gives radians" in capsys.readouterr().out
    calibration = read_calibration(Path("runs/arm"), fitted)
    assert calibration is not None
    assert calibration.origin is not None
    assert (calibration.origin.source, calibration.samples) == ("commanded", 0)
    assert calibration.intervals is not None

    run(watch, WATCH)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) > 10
    assert all(line["unit"] == "rad" for line in lines)
    assert all(tuple(line["joints"]) == tuple(line["truth"]) == JOINTS for line in lines)
    # Scale and sign of the angles are known without a label.
    read, true = (np.array([[line[key][joint] for joint in JOINTS] for line in lines]) for key in ("joints", "truth"))
    assert min(np.corrcoef(read[:, joint], true[:, joint])[0, 1] for joint in (0, 1)) > 0.5

    run(again, "--image-size 32")
    assert f"in {7 * 30} frames" in validate("data/second", progress=False)
    capsys.readouterr()
    assert cli.main(shlex.split(check)[1:]) in (0, 1)  # so small a network may find a drift
    printed = capsys.readouterr().out
    assert all(printed.count(f"{joint} ") >= 2 for joint in JOINTS)  # offsets, and RMS errors


@pytest.mark.slow
def test_small_recording_can_be_extended(beside_the_arm: Path) -> None:
    _, record, *_ = commands()
    run(record, "--anchors 2 --image-size 32")
    first = open_dataset("data/arm").states("train")
    run(record, "--anchors 3 --image-size 32")
    grown = open_dataset("data/arm").states("train")
    assert len(files.read_json(Path("data/arm/meta/recording.json"))["anchors"]) == 3
    np.testing.assert_array_equal(grown[: len(first)], first)
