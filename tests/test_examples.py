"""Every example runs."""

import runpy
import sys
from pathlib import Path

import pytest

from ropes.data.layout import open_dataset
from ropes.methods.ropes import fit
from tests import tiny

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_every_example_has_a_test() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{path.name}"' in here for path in EXAMPLES.glob("*.py"))


def test_own_arm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(monkeypatch, "own_arm.py", tmp_path / "kuka", "--anchors", 2, "--test-anchors", 1)
    assert open_dataset(tmp_path / "kuka").joints == ("lbr_iiwa_joint_2", "lbr_iiwa_joint_4")
    assert str(tmp_path / "kuka") in capsys.readouterr().out


def test_read_angles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=16, tests=20)
    fit(data, tmp_path / "run", tiny.recipe(), show=False)
    run(monkeypatch, "read_angles.py", tmp_path / "run", data)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(tiny.JOINTS)
    assert all("degrees off" in line for line in lines)
