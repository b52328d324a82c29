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
    lines = angles_read(monkeypatch, tmp_path / "run", data, capsys)
    assert [line.partition(":")[0] for line in lines] == list(tiny.JOINTS)
    assert all("degrees off" in line for line in lines)
    exchanged = exchange_cameras(data, tmp_path / "exchanged")
    assert open_dataset(exchanged).cameras == tiny.CAMERAS[::-1]
    assert angles_read(monkeypatch, tmp_path / "run", exchanged, capsys) == lines


def angles_read(
    monkeypatch: pytest.MonkeyPatch, fitted: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    run(monkeypatch, "read_angles.py", fitted, data)
    return capsys.readouterr().out.splitlines()


def exchange_cameras(data: Path, out: Path) -> Path:
    """The same images under the same names, the second camera first."""
    dataset = open_dataset(data)
    shapes = {split: (len(span), -1) for split, span in dataset.splits.items()}
    images = {name: dataset.read_images(dataset.frames(name).index)[:, ::-1] for name in shapes}
    states = {name: dataset.states(name).reshape(*shape, 2) for name, shape in shapes.items()}
    return tiny.write_data(
        out,
        images={name: pixels.reshape(*shapes[name], *pixels.shape[1:]) for name, pixels in images.items()},
        states=states,
        cameras=dataset.cameras[::-1],
    )
