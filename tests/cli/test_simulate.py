"""`ropes simulate` passes its options on, and refuses those that do not go together."""

from dataclasses import replace
from pathlib import Path

import pytest

from ropes.cli import entry as cli
from ropes.common import files
from ropes.data import schema
from ropes.simulation.settings import setting_named
from tests.command_line import Stub, refusal

ARM = setting_named("panda-2c-independent")


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


def test_simulate_passes_the_camera_level_on(stub: Stub) -> None:
    calls = stub("ropes.data.generate.simulate")
    arms = stub("ropes.simulation.arm.arm_setting", result=ARM)
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
        ("--setting panda-1c-independent --camera= --anchors 7", "--camera is empty; give a view, or clean, webcam or"),
        ("--setting panda-1c-independent --camera c:yaw=3 --anchors 7", "views by --camera"),
        ("--setting finger-cube --camera webcam --samples 7", "not with --setting finger-cube"),
        (
            "--setting finger-cube --camera-file c.json --samples 7",
            "--camera-file goes with anchors of an arm, not with",
        ),
    ],
)
def test_invalid_camera_levels_are_refused(
    words: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line in refusal(capsys, "simulate", *words.split(), "--out", str(tmp_path / "D"))
    assert not (tmp_path / "D").exists()


def test_simulate_passes_the_options_of_a_custom_arm_on(stub: Stub) -> None:
    arms = stub("ropes.simulation.arm.arm_setting", result=ARM)
    calls = stub("ropes.data.generate.simulate")
    words = "simulate --urdf arm.urdf --joints a b --ranges -1:1 0:2.5 --anchors 7 --out D"
    words += " --camera c:target=0/0/1,distance=2,yaw=9"
    assert cli.main(words.split()) == 0
    [((), arm)] = arms
    assert (arm["urdf"], arm["joints"], arm["name"]) == ("arm.urdf", ("a", "b"), None)
    assert arm["ranges"] == ((-1.0, 1.0), (0.0, 2.5))
    assert [(camera.name, camera.yaw, camera.pitch) for camera in arm["cameras"]] == [("c", 9.0, -30.0)]
    assert calls[0][0] == (ARM,)
    assert cli.main([*words.split(), "--name", "mine"]) == 0
    assert (arms[1][1]["name"], arms[1][1]["scene"]) == ("mine", "white")


@pytest.mark.parametrize(
    ("words", "scene", "renderer", "colour"),
    [
        ("", "white", None, False),
        ("--renderer pybullet --scene panda-gym --colour", "panda-gym", "pybullet", True),
        ("--renderer mujoco", "room", "mujoco", False),
        ("--renderer mujoco --scene white", "white", "mujoco", False),
        ("--scene room --colour", "room", None, True),
    ],
)
def test_scene_and_colour_defaults_depend_on_the_renderer(
    stub: Stub, words: str, scene: str, renderer: str | None, colour: bool
) -> None:
    theirs = setting_named("panda-2c-independent")
    calls, arms = stub("ropes.data.generate.simulate"), stub("ropes.simulation.arm.arm_setting", result=theirs)
    command = "simulate --setting panda-1c-independent --anchors 7 --out D"
    assert cli.main([*command.split(), *words.split()]) == 0
    setting = calls[0][0][0]
    assert (setting.scene, setting.requested_renderer, setting.colour) == (scene, renderer, colour)
    arm = "simulate --urdf arm.urdf --joints a --ranges -1:1 --anchors 7 --out D"
    assert cli.main([*arm.split(), *words.split()]) == 0
    assert (arms[0][1]["scene"], arms[0][1]["colour"]) == (scene, colour)
    assert calls[1][0][0].requested_renderer == renderer


@pytest.mark.parametrize(
    ("words", "renderer"),
    [("", "mujoco"), ("--renderer pybullet", "pybullet"), ("--scene panda-gym", "mujoco"), ("--scene room", "mujoco")],
)
def test_external_setting_keeps_its_own_renderer_by_default(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, words: str, renderer: str
) -> None:
    calls = stub("ropes.data.generate.simulate")
    theirs = replace(setting_named("panda-1c-independent"), requested_renderer="mujoco")
    monkeypatch.setattr("ropes.simulation.settings.setting_named", lambda name: theirs)
    assert cli.main(["simulate", "--setting", "theirs", "--anchors", "7", "--out", "D", *words.split()]) == 0
    assert calls[0][0][0].requested_renderer == renderer


def test_external_setting_keeps_its_own_scene_by_default(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = stub("ropes.data.generate.simulate")
    theirs = replace(setting_named("panda-1c-independent"), scene="room", colour=True)
    monkeypatch.setattr("ropes.simulation.settings.setting_named", lambda name: theirs)
    command = "simulate --setting theirs --anchors 7 --out D"
    for words, scene in (("", "room"), ("--renderer mujoco", "room"), ("--renderer pybullet", "white")):
        assert cli.main([*command.split(), *words.split()]) == 0
        assert (calls[-1][0][0].scene, calls[-1][0][0].colour) == (scene, True)


def test_simulate_pairs_passes_the_renderer_on(stub: Stub) -> None:
    for name, setting in (("generate_finger.simulate_finger", "finger-cube"), ("generate_actions.simulate_pairs", "")):
        calls = stub(f"ropes.data.{name}")
        words = f"simulate --setting {setting or 'action-pairs'} --samples 8 --out D"
        for renderer in ("pybullet", "mujoco"):
            assert cli.main([*words.split(), "--renderer", renderer]) == 0
            assert calls[-1][0][0].renderer == renderer


def test_fallback_to_mujoco_is_reported_once(
    stub: Stub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = stub("ropes.data.generate.simulate"), stub("ropes.data.generate_actions.simulate_pairs")
    monkeypatch.setattr("ropes.simulation.settings.find_spec", lambda name: None)
    arm, pairs = "--setting panda-1c-independent --anchors 7", "--setting action-pairs --samples 8"
    for words in (arm, pairs):
        for more, said in (("", 1), ("--renderer mujoco", 0)):
            assert cli.main(["simulate", *words.split(), *more.split(), "--out", str(tmp_path / "D")]) == 0
            told = capsys.readouterr().err.splitlines()
            expected = ["ropes: PyBullet is not installed; MuJoCo drew the scene"] * said
            assert [line for line in told if "training poses" not in line] == expected
    # What is begun goes on with its renderer, and nothing is said.
    begun = {"seed": 0, "state": True, "mesh": "simplified", "test_anchors": 2000, "anchors": 7}
    described = {**begun, "setting": {}, "renderer": {"name": "mujoco"}}
    files.write_json(tmp_path / "D" / schema.PROVENANCE, described)
    monkeypatch.setattr("ropes.simulation.settings.find_spec", lambda name: object())
    for words in (arm, pairs):
        assert cli.main(["simulate", *words.split(), "--out", str(tmp_path / "D")]) == 0
    assert "PyBullet" not in capsys.readouterr().err
    assert calls[1][-1][0][0].renderer == "mujoco"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--setting panda-1c-independent --anchors 7 --renderer opengl", "opengl"),
        ("--setting panda-1c-independent --anchors 7 --renderer pybullet --scene room", "mujoco draws --scene room"),
        ("--setting finger-cube --samples 8 --colour", "in colour anyway; leave --colour out"),
    ],
)
def test_invalid_renderer_options_are_refused(
    words: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line in refusal(capsys, "simulate", *words.split(), "--out", str(tmp_path / "D"))
    assert not (tmp_path / "D").exists()


@pytest.mark.parametrize(
    "words", ["panda-1c-independent --anchors 7", "arm-actions --samples 8", "action-pairs --samples 8"]
)
def test_missing_egl_is_refused_without_writing_files(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], without_egl: None
) -> None:
    said = refusal(
        capsys, "simulate", "--setting", *words.split(), "--renderer", "mujoco", "--out", str(tmp_path / "D")
    )
    assert "EGL is missing; sudo apt install libegl1 libgl1-mesa-dri" in said
    assert not (tmp_path / "D").exists()


@pytest.mark.parametrize(
    ("words", "function"),
    [
        ("--setting panda-1c-independent --anchors 2", "ropes.data.generate.simulate"),
        ("--setting finger-cube --samples 2", "ropes.data.generate_finger.simulate_finger"),
        ("--setting action-pairs --samples 2", "ropes.data.generate_actions.simulate_pairs"),
        ("--setting arm-actions --samples 2", "ropes.data.generate_actions.simulate_arm_actions"),
    ],
)
def test_images_have_the_requested_size(words: str, function: str, stub: Stub) -> None:
    calls = stub(function)
    assert cli.main(["simulate", *words.split(), "--image-size", "256", "--out", "D"]) == 0
    assert calls[0][0][0].image_size == 256
    arms = stub("ropes.simulation.arm.arm_setting", result=ARM)
    stub("ropes.data.generate.simulate")
    own = "simulate --urdf arm.urdf --joints a --ranges -1:1 --anchors 7 --image-size 320 --out D"
    assert cli.main(own.split()) == 0
    assert arms[0][1]["image_size"] == 320


@pytest.mark.parametrize(("size", "line"), [("8", "it must be 16 or more"), ("1000000", "it must be 4096 or less")])
def test_images_of_a_few_or_too_many_pixels_are_refused(
    size: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "simulate --setting panda-1c-independent --anchors 2 --out D --image-size"
    assert f"--image-size is {size}; {line}" in refusal(capsys, *words.split(), size)


def test_name_with_a_slash_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("arm.urdf").write_text("<robot name='arm'><link name='base'/></robot>", encoding="utf-8")
    words = "simulate --urdf arm.urdf --joints a --ranges -1:1 --anchors 2 --name a/b --out D"
    assert "would be named 'a/b'" in refusal(capsys, *words.split())
