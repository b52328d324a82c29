"""The table of scenes: every scene is drawn, offered by the commands and named in errors."""

import json
from typing import get_args

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.simulation.backgrounds import BACKGROUNDS, RendererName, SceneName, background_of, usual_scene
from ropes.simulation.mujoco_scene import MujocoScene
from ropes.simulation.scene import Scene
from ropes.simulation.settings import setting_named, usual_renderer
from tests.command_line import refusal
from tests.simulation.test_mujoco_scene import needs_egl

SETTING = setting_named("panda-1c-independent")
#: Scene and a renderer that draws it.
DRAWN = [(name, renderer) for name, background in BACKGROUNDS.items() for renderer in background.functions]


def test_every_scene_name_has_an_entry() -> None:
    assert tuple(BACKGROUNDS) == get_args(SceneName)
    assert all(background.summary for background in BACKGROUNDS.values())
    assert all("mujoco" in background.functions for background in BACKGROUNDS.values())  # which every machine has
    assert {scene: usual_renderer(scene) for scene in ("white", "panda-gym", "room")} == {
        "white": "pybullet",
        "panda-gym": "pybullet",
        "room": "mujoco",
    }


@pytest.mark.parametrize(("scene", "renderer"), DRAWN)
def test_every_scene_function_can_be_imported(scene: str, renderer: RendererName) -> None:
    assert callable(background_of(scene, renderer).load(renderer))


@needs_egl
@pytest.mark.pybullet
@pytest.mark.slow
@pytest.mark.parametrize(("scene", "renderer"), DRAWN)
def test_a_scene_is_drawn_around_the_arm(scene: SceneName, renderer: RendererName) -> None:
    kind = MujocoScene if renderer == "mujoco" else Scene
    with kind(SETTING.robot, SETTING.cameras, 64, scene=scene) as drawn:
        images, arms = next(drawn.render_with_arms(np.zeros((1, len(SETTING.robot.joints)))))
    assert 0.02 < arms.mean() < 0.5
    assert ((images[~arms] < 250).mean() > 0.1) == (scene != "white")


def test_unknown_scenes_are_refused() -> None:
    beach = json.loads('{"scene": "beach"}')
    with pytest.raises(UserError, match="unknown scene 'beach': choose one of white, panda-gym, room"):
        MujocoScene(SETTING.robot, SETTING.cameras, **beach)
    with pytest.raises(UserError, match="unknown scene of PyBullet 'room': choose one of white, panda-gym"):
        background_of("room", "pybullet")


def test_usual_scene_depends_on_the_renderer() -> None:
    names: tuple[SceneName, ...] = ("white", "panda-gym", "room")
    assert [usual_scene("pybullet", name) for name in names] == ["white", "panda-gym", "white"]
    assert [usual_scene("mujoco", name) for name in names] == ["room"] * 3


def test_commands_offer_every_scene(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("simulate --setting panda-1c-independent --anchors 1", "record --robot simulated --anchors 1"):
        said = refusal(capsys, *words.split(), "--out", "D", "--scene", "beach")
        assert all(name in said for name in BACKGROUNDS)
