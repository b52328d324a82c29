"""Scenes of PyBullet look alike when MuJoCo draws them."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.simulation import settings
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.mujoco_scene import MujocoScene
from ropes.simulation.scene import Mesh, Scene
from ropes.simulation.settings import Setting, default_renderer
from tests.simulation.test_mujoco_scene import JOINTS, POSES, SETTING, needs_egl


@needs_egl
@pytest.mark.parametrize(("scene", "levels"), [("white", {255}), ("panda-gym", {255, 210, 35})])
def test_background_levels_match_pybullet(scene: SceneName, levels: set[int]) -> None:
    with MujocoScene(SETTING.robot, SETTING.cameras, 64, joints=JOINTS, scene=scene) as drawn:
        images, arms = next(drawn.render_with_arms(POSES[:1]))
    found, counts = np.unique(images[~arms], return_counts=True)
    common = {int(level) for level in found[counts > 0.05 * counts.sum()]}
    # Table and plane also have sides; their tops and the sky fill more than a twentieth of the picture.
    assert {min(common, key=lambda level: abs(level - wanted)) - wanted for wanted in levels} <= {-1, 0, 1}
    assert 0.02 < arms.mean() < 0.3


@pytest.mark.pybullet
@pytest.mark.slow
@needs_egl
@pytest.mark.parametrize("scene", ["white", "panda-gym"])
def test_arm_and_background_match_pybullet(scene: SceneName) -> None:
    full: Mesh = "full"
    given = SETTING.robot, SETTING.cameras, 128, full, JOINTS, scene
    with MujocoScene(*given) as ours, Scene(*given) as theirs:
        drawn = zip(ours.render_with_arms(POSES), theirs.render_all(POSES), strict=True)
        apart = [(np.abs(one.astype(int) - other), arm) for (one, arm), other in drawn]
    for difference, arm in apart:
        # Edges lie a quarter of a pixel apart: TinyRenderer looks at corners of pixels, OpenGL at their centres.
        assert np.median(difference[arm]) < 8
        assert np.median(difference[~arm]) == 0
        assert (difference[~arm] > 3).mean() < 0.06


def test_mujoco_is_the_default_renderer_without_pybullet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(settings, "find_spec", lambda name: None)
    assert [default_renderer(scene) for scene in ("room", "white", "panda-gym")] == ["mujoco"] * 3
    assert capsys.readouterr().err == ""  # the command says it
    assert replace(SETTING, requested_renderer="pybullet").renderer == "pybullet"
    monkeypatch.setattr(settings, "find_spec", lambda name: object())
    assert [default_renderer(scene) for scene in ("room", "white", "panda-gym")] == ["mujoco", "pybullet", "pybullet"]
    assert capsys.readouterr().err == ""


def test_setting_stores_an_unusual_renderer() -> None:
    usual = replace(SETTING, scene="room", requested_renderer="mujoco")
    assert "renderer" not in {**SETTING.to_dict(), **usual.to_dict()}
    unusual = replace(SETTING, requested_renderer="mujoco")
    assert Setting.from_dict(json.loads(json.dumps(unusual.to_dict()))) == unusual


def test_missing_pybullet_data_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pybullet_data", None)
    from ropes.simulation.availability import locate

    assert locate("franka_panda/panda.urdf").is_file()  # which is part of ropes
    with pytest.raises(UserError, match=r"no URDF file at kuka_iiwa/model\.urdf.*data need PyBullet: pip install"):
        locate("kuka_iiwa/model.urdf")


@pytest.mark.slow
@needs_egl
def test_torch_can_be_imported_after_rendering() -> None:
    script = "from ropes.simulation.off_screen import graphics\ngraphics()\nimport torch._dynamo\nprint('imported')\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "imported\n", done.stderr[-2000:]
