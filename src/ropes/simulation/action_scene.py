"""Renders objects before and after an action, with jitter in everything else.

Each pair depends on the seed and on its own number alone, not on the pairs rendered before it.
"""

import colorsys
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.common.arrays import Images
from ropes.common.seeds import generator
from ropes.simulation.actions import ACTIONS, EFFECTS, NOUNS, THINGS, VARIABLES, Action, PairsSetting
from ropes.simulation.appearance import Appearance
from ropes.simulation.bullet import SUPERSAMPLING, BulletScene, downsample
from ropes.simulation.cameras import projection_matrix, view_matrix
from ropes.simulation.context import ClosesAtExit
from ropes.simulation.objects import parts_of
from ropes.simulation.parts import Colour, Part, transform
from ropes.simulation.settings import Camera

CAMERA = Camera(name="front", target=(0.0, 0.0, 0.35), distance=3.3, yaw=0.0, pitch=-28.0, roll=0.0, fov=30.0)
#: Half the sides of floor and wall, and the wall's place, metres.
FLOOR, WALL, WALL_PLACE = (9.0, 9.0, 0.05), (9.0, 0.05, 5.0), (0.0, 4.0, 0.0)
#: With several objects: factor of the camera's distance, and the candidate positions.
_FAR = 2.1
_PLACES = ((-1.15, 0.55), (0.0, 0.75), (1.15, 0.55), (-0.65, -0.75), (0.65, -0.75))


@dataclass(frozen=True, kw_only=True)
class _Placement:
    """One object in a scene."""

    noun: str
    look: Appearance
    state: dict[str, float]
    place: tuple[float, float]
    turn: float
    size: float


@dataclass(frozen=True, kw_only=True)
class Shot:
    """What an image shows: pair number, shapes, colours of floor and wall, camera, direction towards the light."""

    number: int
    parts: list[Part]
    room: tuple[Colour, Colour]
    camera: Camera
    light: NDArray[np.float64]


class PairScene(ClosesAtExit):
    """A context manager that renders pairs of images; subclasses draw the parts."""

    setting: PairsSetting
    seed: int

    def render_all(self, states: ArrayLike) -> Iterator[Images]:
        """Render frames (n, 3) = (pair number, 0 before or 1 after, action number), each as uint8 (1, S, S, 3)."""
        for number, after, action in np.asarray(states, dtype=np.int64):
            yield self._draw(int(number), bool(after), ACTIONS[int(action)])[None]

    def _draw(self, number: int, after: bool, action: Action) -> Images:
        rng = generator(self.seed, "pair", number)
        trained_nouns = [noun for noun in NOUNS if noun not in self.setting.held_out.nouns]
        placements = _placements(rng, action, self.setting.objects, trained_nouns)
        floor, wall = (colorsys.hsv_to_rgb(rng.random(), rng.uniform(0, 0.25), rng.uniform(0.5, 0.95)) for _ in "ab")
        yaw, pitch = rng.uniform(-25, 25), CAMERA.pitch + rng.uniform(-6, 6)
        light = np.array([rng.uniform(-0.8, 0.8), -0.7, 1.2])
        if after:
            variable, raised = EFFECTS[action.verb]
            placements[0].state[variable] = float(rng.uniform(0.75, 1.0)) if raised else 0.0
        shift = generator(self.seed, "jitter", number, int(after))
        jitter, distance = self.setting.jitter, CAMERA.distance * (_FAR if self.setting.objects > 1 else 1.0)
        camera = replace(
            CAMERA,
            yaw=yaw + jitter * shift.normal(),
            pitch=pitch + jitter * shift.normal(),
            distance=distance * (1 + 0.01 * jitter * shift.normal()),
        )
        light = light + 0.05 * jitter * shift.normal(size=3)
        parts: list[Part] = []
        for item in placements:
            x, y = np.array(item.place) + 0.01 * jitter * shift.normal(size=2)
            turn = item.turn + np.radians(jitter * shift.normal())
            shapes = parts_of(item.noun, item.look, item.state)
            parts += [transform(part, (float(x), float(y), 0.0), float(turn), item.size) for part in shapes]
        return self._photograph(Shot(number=number, parts=parts, room=(floor, wall), camera=camera, light=light))

    @abstractmethod
    def _photograph(self, shot: Shot) -> Images:
        """Render the objects of a pair, uint8 (S, S, 3)."""


class ActionScene(PairScene, BulletScene):
    """Renders pairs with PyBullet.

    Args:
        setting: objects, actions and jitter.
        seed: seed of all pairs.
    """

    def __init__(self, setting: PairsSetting, seed: int) -> None:
        self.setting, self.seed = setting, seed
        self._side = setting.image_size * SUPERSAMPLING
        super().__init__()
        self._bodies: list[int] = []

    def _photograph(self, shot: Shot) -> Images:
        """Replace the scene's bodies by floor, wall and the pair's shapes, and render them."""
        floor, wall = shot.room
        parts = [Part("box", FLOOR, (0, 0, -FLOOR[2]), floor), Part("box", WALL, WALL_PLACE, wall), *shot.parts]
        for body in self._bodies:
            self._bullet.removeBody(body, physicsClientId=self._client)
        self._bodies = [self._add(part) for part in parts]
        colours, _, _ = self._render(
            view_matrix(shot.camera),
            projection_matrix(shot.camera),
            self._side,
            self._side,
            lightDirection=shot.light.tolist(),
            lightAmbientCoeff=0.55,
            lightDiffuseCoeff=0.5,
            lightSpecularCoeff=0.02,
        )
        return downsample(colours)

    def _add(self, part: Part) -> int:
        """Add a part to the simulation; its body number."""
        from scipy.spatial.transform import Rotation

        bullet, client = self._bullet, {"physicsClientId": self._client}
        shapes: dict[str, tuple[int, dict[str, Any]]] = {
            "box": (bullet.GEOM_BOX, {"halfExtents": part.size}),
            "cylinder": (bullet.GEOM_CYLINDER, {"radius": part.size[0], "length": 2 * part.size[2]}),
            "sphere": (bullet.GEOM_SPHERE, {"radius": part.size[0]}),
        }
        kind, dimensions = shapes[part.shape]
        colours = {"rgbaColor": [*part.colour, 1], "specularColor": [0, 0, 0]}
        visual = bullet.createVisualShape(kind, **dimensions, **colours, **client)
        turn = [0.0, 0.0, 0.0, 1.0] if part.turn is None else Rotation.from_matrix(part.turn).as_quat().tolist()
        body: int = bullet.createMultiBody(0, -1, visual, basePosition=part.place, baseOrientation=turn, **client)
        return body


def _placements(rng: np.random.Generator, action: Action, count: int, trained_nouns: list[str]) -> list[_Placement]:
    """The manipulated object before its action, and `count` − 1 other objects from the training nouns."""
    places = [_PLACES[k] for k in rng.permutation(len(_PLACES))] if count > 1 else [(0.0, 0.0)]
    others = [noun for noun in trained_nouns if noun != action.noun]
    placements = []
    for noun, place in zip([action.noun, *rng.choice(others, count - 1, replace=False)], places, strict=False):
        look, state = Appearance.sample(rng), dict.fromkeys(VARIABLES, 0.0)
        state |= {name: float(rng.random() < 0.5) for name in THINGS[str(noun)].variables if name != "broken"}
        turn, size = float(np.radians(rng.uniform(-20, 20))), float(rng.uniform(0.8, 1.1))
        placements.append(_Placement(noun=str(noun), look=look, state=state, place=place, turn=turn, size=size))
    variable, raised = EFFECTS[action.verb]
    placements[0].state[variable] = 0.0 if raised else float(rng.uniform(0.75, 1.0))
    if variable == "lit" and "opened" in THINGS[action.noun].variables:
        placements[0].state["opened"] = float(rng.uniform(0.75, 1.0))  # a laptop's screen, an oven's light
    return placements
