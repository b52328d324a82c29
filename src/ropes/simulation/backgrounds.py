"""The table of scenes: the background of a simulated arm, and the function of each renderer that draws it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Literal

from ropes.errors import one_of

RendererName = Literal["pybullet", "mujoco"]
#: Name of a scene; each has an entry in `BACKGROUNDS`.
SceneName = Literal["white", "panda-gym", "room"]


@dataclass(frozen=True, kw_only=True)
class Background:
    """The background of an arm in one scene.

    Attributes:
        name: of the scene, for `--scene`.
        summary: a phrase for `ropes simulate --help`.
        functions: renderer → its function as "MODULE:FUNCTION", imported on first use; the usual renderer first.
            PyBullet's maps (camera, side in pixels) to a `ropes.simulation.backdrop.Backdrop`, or to None for white.
            MuJoCo's takes (library, model, distance of the cameras in metres, random generator) and adds background and
            lamps to the model, as `ropes.simulation.room.add_room` does.
        highlights: whether MuJoCo's lamps make highlights on the arm, for which its colours leave room.
    """

    name: SceneName
    summary: str
    functions: Mapping[RendererName, str]
    highlights: bool = False

    @property
    def usual_renderer(self) -> RendererName:
        """The renderer where both are installed; that of the papers' figures."""
        return next(iter(self.functions))

    def load(self, renderer: RendererName) -> Callable[..., Any]:
        """Import the function of a renderer that draws the scene."""
        function: Callable[..., Any] = resolve_name(self.functions[renderer])
        return function


#: Scene → its background.
BACKGROUNDS: Mapping[str, Background] = {
    background.name: background
    for background in (
        Background(
            name="white",
            summary="nothing but white",
            functions={
                "pybullet": "ropes.simulation.backdrop:white",
                "mujoco": "ropes.simulation.room:add_white",
            },
        ),
        Background(
            name="panda-gym",
            summary="its table on a plane, as in the paper",
            functions={
                "pybullet": "ropes.simulation.backdrop:panda_gym",
                "mujoco": "ropes.simulation.room:add_panda_gym",
            },
        ),
        Background(
            name="room",
            summary="a random room that depends on --seed",
            functions={"mujoco": "ropes.simulation.room:add_room"},
            highlights=True,
        ),
    )
}


def background_of(scene: str, renderer: RendererName) -> Background:
    """The background of a scene that a renderer draws.

    Raises:
        UserError: there is no such scene, or the renderer does not draw it.
    """
    drawn = [name for name, background in BACKGROUNDS.items() if renderer in background.functions]
    return BACKGROUNDS[one_of(drawn, scene, "scene of PyBullet" if renderer == "pybullet" else "scene")]


def usual_scene(renderer: RendererName, default: SceneName) -> SceneName:
    """The default scene, or if another renderer usually draws it, the first scene whose usual renderer this is."""
    usual = [background.name for background in BACKGROUNDS.values() if background.usual_renderer == renderer]
    return default if default in usual else usual[0]


def described_scenes() -> str:
    """All scenes with their summaries, for help."""
    described = [
        f"{background.name}: {background.summary}{'' if 'pybullet' in background.functions else ' (mujoco only)'}"
        for background in BACKGROUNDS.values()
    ]
    return "; ".join(described)
