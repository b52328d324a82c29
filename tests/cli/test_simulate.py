"""`ropes simulate` passes its options on, and refuses those that do not go together."""

from pathlib import Path

import pytest

from ropes.cli import entry as cli
from tests.command_line import Stub, refusal


def test_simulate_passes_its_options_on(stub: Stub) -> None:
    calls = stub("ropes.data.generate.simulate")
    words = "simulate --setting panda-1c-independent --anchors 7 --seed 3 --out D --workers 2 --mesh full --no-state"
    assert cli.main(words.split()) == 0
    [((setting,), options)] = calls
    assert setting.name == "panda-1c-independent"
    assert options == {
        "out": Path("D"),
        "anchors": 7,
        "test_anchors": 2000,
        "seed": 3,
        "workers": 2,
        "mesh": "full",
        "state": False,
    }


def test_simulate_takes_a_level_of_camera_faults(stub: Stub) -> None:
    calls = stub("ropes.data.generate.simulate")
    arms = stub("ropes.simulation.arm.arm_setting", result="an arm")
    words = "simulate --setting panda-1c-independent --camera webcam --anchors 7 --out D"
    assert cli.main(words.split()) == 0
    assert calls[0][0][0].camera_level == "webcam"
    words = "simulate --urdf arm.urdf --joints a --ranges -1:1 --anchors 7 --out D"
    assert cli.main([*words.split(), "--camera", "harsh", "c:target=0/0/1,distance=2,yaw=9"]) == 0
    assert arms[0][1]["camera_level"] == "harsh"
    assert [camera.name for camera in arms[0][1]["cameras"]] == ["c"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            "--setting panda-1c-independent --camera webcan --anchors 7",
            "level 'webcan': choose one of clean, webcam, harsh",
        ),
        ("--setting panda-1c-independent --camera webcam harsh --anchors 7", "two levels, webcam and harsh"),
        ("--setting panda-1c-independent --camera c:yaw=3 --anchors 7", "views by --camera"),
        ("--setting finger-cube --camera webcam --samples 7", "not with --setting finger-cube"),
    ],
)
def test_wrong_camera_faults_are_refused(
    words: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line in refusal(capsys, "simulate", *words.split(), "--out", str(tmp_path / "D"))
    assert not (tmp_path / "D").exists()


def test_simulate_builds_any_arm(stub: Stub) -> None:
    arms = stub("ropes.simulation.arm.arm_setting", result="an arm")
    calls = stub("ropes.data.generate.simulate")
    words = "simulate --urdf arm.urdf --joints a b --ranges -1:1 0:2.5 --anchors 7 --out D"
    words += " --camera c:target=0/0/1,distance=2,yaw=9"
    assert cli.main(words.split()) == 0
    [((), arm)] = arms
    assert (arm["urdf"], arm["joints"], arm["name"]) == ("arm.urdf", ("a", "b"), None)
    assert arm["ranges"] == ((-1.0, 1.0), (0.0, 2.5))
    assert [(camera.name, camera.yaw, camera.pitch) for camera in arm["cameras"]] == [("c", 9.0, -30.0)]
    assert calls[0][0] == ("an arm",)
    assert cli.main([*words.split(), "--name", "mine"]) == 0
    assert (arms[1][1]["name"], arms[1][1]["scene"]) == ("mine", "white")
