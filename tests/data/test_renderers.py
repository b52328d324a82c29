"""Data sets name the renderer that drew them, also where nobody asked for one; runs warn of another renderer."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.common import files
from ropes.data import build as building
from ropes.data import schema
from ropes.errors import UserError
from ropes.methods.run import Run, warn_if_other_scene
from ropes.simulation import settings, workers
from ropes.simulation.scene import ArmScene
from ropes.simulation.settings import Camera, Setting
from tests import tiny
from tests.fake_renderer import SMALL, FakeRenderer, make, renderer

__all__ = ["renderer"]


@pytest.fixture
def without_pybullet(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setattr(building, "graphics", lambda: "a driver")
    with monkeypatch.context() as patch:
        patch.setattr(settings, "find_spec", lambda name: None)
        yield patch


def test_data_set_resumes_with_its_recorded_renderer(
    renderer: FakeRenderer, tmp_path: Path, without_pybullet: pytest.MonkeyPatch
) -> None:
    dataset = make(tmp_path / "D")
    drawn, provenance = renderer.drawn, dataset.provenance or {}
    stored = Setting.from_dict(provenance["setting"])
    assert (stored.requested_renderer, provenance["renderer"]["name"]) == ("mujoco", "mujoco")
    make(tmp_path / "D", replace(SMALL, requested_renderer="mujoco"))
    assert renderer.drawn == drawn
    without_pybullet.undo()
    # Once PyBullet is installed the same command goes on with MuJoCo, as it does after another version of PyBullet.
    for libraries in ({"pybullet": "0.1"}, {}):
        record = files.read_json(tmp_path / "D" / schema.PROVENANCE)
        record["libraries"] = {k: v for k, v in record["libraries"].items() if k != "pybullet"} | libraries
        files.write_json(tmp_path / "D" / schema.PROVENANCE, record)
        assert make(tmp_path / "D").provenance == record
    assert renderer.drawn == drawn
    if SMALL.renderer == "pybullet":
        with pytest.raises(UserError, match="holds something else, a data set with another setting"):
            make(tmp_path / "D", replace(SMALL, requested_renderer="pybullet"))


@pytest.mark.pybullet
def test_resuming_pybullet_data_requires_the_same_version(renderer: FakeRenderer, tmp_path: Path) -> None:
    make(tmp_path / "D")
    record = files.read_json(tmp_path / "D" / schema.PROVENANCE)
    assert building.begun_renderer(tmp_path / "D") == "pybullet"
    record["libraries"]["pybullet"] = "0.1"
    files.write_json(tmp_path / "D" / schema.PROVENANCE, record)
    with pytest.raises(UserError, match="a data set with another libraries"):
        make(tmp_path / "D")


def test_a_run_warns_of_images_of_another_renderer(
    renderer: FakeRenderer, tmp_path: Path, without_pybullet: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = make(tmp_path / "D")
    run = Run.of(dataset, method="ropes", recipe=tiny.recipe(), seed=0)
    capsys.readouterr()
    for fitted in (run, replace(run, renderer=None), replace(run, renderer=None, scene=None)):
        warn_if_other_scene(fitted, dataset)
    assert capsys.readouterr().err == ""
    warn_if_other_scene(replace(run, renderer="pybullet"), dataset)
    warn_if_other_scene(replace(run, renderer="pybullet", scene="room"), dataset)
    lines = capsys.readouterr().err.splitlines()
    assert [line.removeprefix(f"ropes: warning: {tmp_path / 'D'} ") for line in lines] == [
        "is drawn by the renderer mujoco, and the run was fitted on pybullet",
        "shows the scene white, and the run was fitted on room",
    ]


def test_simulated_recording_uses_the_requested_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    class Drawn:
        def __init__(self, robot: object, cameras: list[Camera], size: int, mesh: str, *options: object) -> None:
            given["options"] = options

    monkeypatch.setattr(workers, "MujocoScene", Drawn)
    setting = replace(SMALL, scene="panda-gym", requested_renderer="mujoco", colour=True)
    made: ArmScene = workers.arm_scene(setting, cameras=setting.cameras[:1], seed=3)
    assert isinstance(made, Drawn)
    assert given == {"options": (None, "panda-gym", True, 3)}
