"""The page about the SO-101: every command of ropes on it runs in order, as it is typed, with a simulated arm."""

import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

from ropes.cli import entry as cli
from ropes.data.recorder import record as recorder
from ropes.data.recorder.record import RecordOptions
from ropes.data.recorder.registry import kind_named
from ropes.data.validate import validate
from ropes.inference import policy_calibration
from ropes.inference.calibration import read_calibration
from ropes.inference.live import session
from ropes.inference.live.session import WatchOptions
from ropes.methods.run import Run
from ropes.simulation.availability import locate
from ropes.simulation.so101 import GRIPPER, OPENING, RANGES
from ropes.simulation.urdf import read_urdf
from tests.command_line import Stub
from tests.data.recordings.conftest import FIXTURES
from tests.data.recordings.so101_files import of_policies, so101

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "so101.md").read_text(encoding="utf-8")
LIMITS = ROOT / "examples" / "so101" / "limits.toml"
JOINTS = tuple(RANGES)
ANCHORS = 6
FIT = (
    "--encoder.image-size 32 --encoder.stem 2 --encoder.widths 4 8 --encoder.blocks 1 1 --encoder.hidden 8 "
    "--encoder.window 16 --encoder.window-widths 4 4 --encoder.window-blocks 1 1 --foreign 0 --val-fraction 0.1 "
    "--training.epochs 1 --training.min-samples 1 --training.batch 44"
)
RECORD = f"--anchors {ANCHORS} --image-size 32"
#: Options that make a command quick; a webcam's passers-by would take a network of its own.
QUICK = {
    "simulate": f"--anchors {ANCHORS} --test-anchors 4 --workers 1 --camera clean",
    "record": RECORD,
    "fit": FIT,
    "watch": "--no-page --publish - --rate 40 --seconds 1",
}


def commands() -> list[str]:
    """The command lines of the page, in order; indented, continued by a backslash, and joined by &&."""
    text = PAGE.replace("\\\n", " ").replace("&&", "\n")
    return [" ".join(line.split()) for line in re.findall(r"^ +(ropes [^\n|]*)$", text, flags=re.MULTILINE)]


def of_the_real_arm() -> list[str]:
    """The command lines for the real arm, with the variables of the shell in place, without comments."""
    block = PAGE.partition("## With the real arm")[2].split("```")[1]
    values = dict(re.findall(r'^(\w+)="([^"]*)"$', block, flags=re.MULTILINE))
    assert set(values) == {"ARM", "CAMERAS"}
    lines = re.sub(r"\$(\w+)", lambda match: values[match[1]], block).splitlines()
    return [line.partition("#")[0].strip() for line in lines if line.startswith("ropes ")]


def run(command: str) -> None:
    """Run a command as typed, with options that make it quick."""
    words = shlex.split(command)[1:]
    assert cli.main([*words, *QUICK.get(words[0], "").split()]) == 0


def test_the_page_has_twelve_commands() -> None:
    simulated, recorded, imported = ["simulate", "fit", "calibrate", "watch"], ["record", "record"], ["import"] * 2
    names = [line.split()[1] for line in commands()]
    assert names == [*simulated, *recorded, "inspect", *simulated[1:], *imported]


def test_the_page_shows_the_limits_of_the_example() -> None:
    shown = PAGE.partition("```toml\n")[2].partition("```")[0]
    assert shown == LIMITS.read_text(encoding="utf-8")
    joints = tomllib.loads(shown)["joints"]
    assert {name: (each["low"], each["high"]) for name, each in joints.items()} == RANGES


def test_the_page_shows_the_ranges_of_the_setting() -> None:
    arm = read_urdf(locate("so101"))
    rows = re.findall(r"^\| `(\w+)` \| ([−\d]+) to (\d+) \| ([−\d]+) to (\d+)", PAGE, flags=re.MULTILINE)
    degrees = 180 / 3.141592653589793
    assert [row[0] for row in rows] == [*JOINTS, GRIPPER]
    for name, *shown in rows:
        bounds = arm.joint(name).low, arm.joint(name).high, *(OPENING if name == GRIPPER else RANGES[name])
        assert [int(text.replace("−", "-")) for text in shown] == [round(bound * degrees) for bound in bounds]


def test_the_page_names_extras_that_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = ",".join(re.findall(r"pip install\s+-e '\.\[([\w,]+)\]'", PAGE)).split(",")
    assert len(named) > 3
    assert set(named) <= extras.keys()


@pytest.fixture
def beside_the_arm(tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the limits, and a recording by LeRobot with its table and calibration."""
    shutil.copy(LIMITS, tmp_path)
    source = so101(shutil.copytree(FIXTURES / "lerobot-v2.1-video", tmp_path / "recordings" / "so101"), [[50.0] * 3])
    of_policies(source).rename(tmp_path / "policies.csv")
    motor = {"id": 1, "drive_mode": 0, "homing_offset": 0, "range_min": 1024, "range_max": 3072}
    (tmp_path / "mine.json").write_text(json.dumps(dict.fromkeys((*JOINTS, GRIPPER), motor)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(policy_calibration, "FEWEST", ANCHORS - 2)  # images of each policy; some are held out
    return tmp_path


def test_the_words_for_the_real_arm_are_options_of_the_command(
    beside_the_arm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[RecordOptions] = []
    monkeypatch.setattr(recorder, "record_data", lambda options, out: passed.append(options))
    first, further = (line for line in of_the_real_arm() if line.startswith("ropes record"))
    assert further.replace("1000", "10") == first
    assert cli.main([*shlex.split(further)[1:], "--yes"]) == 0
    [options] = passed
    kind_named(options.kind)  # refuses unknown kinds
    assert options.cameras == {"front": "0@640x480@30", "side": "2@640x480@30"}
    assert options.model.joints == JOINTS
    assert options.robot_options == {"type": "so101_follower", "port": "/dev/ttyACM0", "id": "mine"}


def test_the_words_for_live_cameras_are_options_of_the_command(tmp_path: Path, stub: Stub) -> None:
    calls = stub("ropes.models.registry.find_run", result=tmp_path)
    words = of_the_real_arm()[-1]
    with pytest.MonkeyPatch.context() as patch:
        passed: list[WatchOptions] = []
        patch.setattr(session, "watch", lambda run, options: passed.append(options))
        assert cli.main(shlex.split(words)[1:]) == 0
    assert calls
    assert passed[0].cameras == ("front=0@640x480@30", "side=2@640x480@30")
    assert passed[0].urdf is not None


@pytest.mark.slow
def test_the_commands_in_simulation_run(beside_the_arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate, fit, calibrate, watch = commands()[:4]
    run(simulate)
    assert f"cameras front, side; joints {', '.join(JOINTS)}" in validate("data/so101", progress=False)
    run(fit)
    assert Run.read(Path("runs/so101")).joints == JOINTS
    run(calibrate)
    assert "ropes predict now gives radians" in capsys.readouterr().out
    run(watch)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines
    assert all(tuple(line["joints"]) == JOINTS and line["unit"] == "rad" for line in lines)


@pytest.mark.slow
def test_the_commands_with_a_recorded_arm_run(beside_the_arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, record, inspect, fit, calibrate, watch = commands()[4:10]
    run(plan)
    assert f"plan: {ANCHORS} anchors of 11 poses, joints {', '.join(JOINTS)}\n" in capsys.readouterr().out
    assert not Path("data").exists()
    run(record)
    assert f"in {11 * ANCHORS} frames" in validate("data/arm", progress=False)
    run(inspect)
    assert Path("inspection/inspection.png").is_file()
    run(fit)
    run(calibrate)
    calibration = read_calibration(Path("runs/arm"), Run.read(Path("runs/arm")))
    assert calibration is not None
    assert calibration.samples == 0
    capsys.readouterr()
    run(watch)
    assert all(tuple(json.loads(line)["joints"]) == JOINTS for line in capsys.readouterr().out.splitlines())


@pytest.mark.slow
def test_the_imports_run(beside_the_arm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands()[10:]:
        run(command)
    assert capsys.readouterr().out.count("wrote data/mine") == 2
    assert "joints shoulder_pan, wrist_roll" in validate("data/mine-percent", progress=False)
