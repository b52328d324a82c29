"""A PyBullet scene before and after an action, with jitter of everything else.

A pair is drawn from its number alone, so that the same seed gives the same pair whatever is drawn before it.
"""

import colorsys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.common.seeds import generator
from ropes.simulation.actions import ACTIONS, EFFECTS, NOUNS, THINGS, VARIABLES, Action, PairsSetting
from ropes.simulation.appearance import Look
from ropes.simulation.bullet import SUPERSAMPLING, BulletScene
from ropes.simulation.cameras import projection_matrix, view_matrix
from ropes.simulation.objects import parts_of
from ropes.simulation.parts import Part, moved
from ropes.simulation.pictures import averaged
from ropes.simulation.settings import Camera

Images = NDArray[np.uint8]
CAMERA = Camera(name="front", target=(0.0, 0.0, 0.35), distance=3.3, yaw=0.0, pitch=-28.0, roll=0.0, fov=30.0)
#: A scene of several things is seen from further away; their places, of which some are taken.
_FAR = 2.1
_PLACES = ((-1.15, 0.55), (0.0, 0.75), (1.15, 0.55), (-0.65, -0.75), (0.65, -0.75))


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """A thing in a scene."""

    noun: str
    look: Look
    state: dict[str, float]
    place: tuple[float, float]
    turn: float
    size: float


class ActionScene(BulletScene):
    """A context manager that draws pairs.

    Args:
        setting: what is filmed.
        seed: of all pairs.
    """

    def __init__(self, setting: PairsSetting, seed: int) -> None:
        self.setting, self.seed = setting, seed
        self._side = setting.image_size * SUPERSAMPLING
        super().__init__()
        self._bodies: list[int] = []

    def render_all(self, states: ArrayLike) -> Iterator[Images]:
        """Draw frames (n, 3): number of the pair, 0 or 1 for before or after, number of the action: (1, S, S, 3)."""
        for number, after, action in np.asarray(states, dtype=np.int64):
            yield self._draw(int(number), bool(after), ACTIONS[int(action)])[None]

    def _draw(self, number: int, after: bool, action: Action) -> Images:
        rng = generator(self.seed, "pair", number)
        known = [noun for noun in NOUNS if noun not in self.setting.held_out.nouns]
        things = _scene(rng, action, self.setting.things, known)
        floor, wall = (colorsys.hsv_to_rgb(rng.random(), rng.uniform(0, 0.25), rng.uniform(0.5, 0.95)) for _ in "ab")
        yaw, pitch = rng.uniform(-25, 25), CAMERA.pitch + rng.uniform(-6, 6)
        light = np.array([rng.uniform(-0.8, 0.8), -0.7, 1.2])
        if after:
            things[0].state.update(_effect(rng, action))
        shift = generator(self.seed, "jitter", number, int(after))
        jitter, distance = self.setting.jitter, CAMERA.distance * (_FAR if self.setting.things > 1 else 1.0)
        camera = replace(
            CAMERA,
            yaw=yaw + jitter * shift.normal(),
            pitch=pitch + jitter * shift.normal(),
            distance=distance * (1 + 0.01 * jitter * shift.normal()),
        )
        light = light + 0.05 * jitter * shift.normal(size=3)
        parts = [Part("box", (9, 9, 0.05), (0, 0, -0.05), floor), Part("box", (9, 0.05, 5), (0, 4, 0), wall)]
        for thing in things:
            x, y = np.array(thing.place) + 0.01 * jitter * shift.normal(size=2)
            turn = thing.turn + np.radians(jitter * shift.normal())
            own = parts_of(thing.noun, thing.look, thing.state)
            parts += [moved(part, (float(x), float(y), 0.0), float(turn), thing.size) for part in own]
        return self._photograph(parts, camera, light)

    def _photograph(self, parts: list[Part], camera: Camera, light: NDArray[np.float64]) -> Images:
        bullet, client = self._bullet, self._client
        for body in self._bodies:
            bullet.removeBody(body, physicsClientId=client)
        self._bodies = [self._add(part) for part in parts]
        colours = bullet.getCameraImage(
            self._side,
            self._side,
            viewMatrix=view_matrix(camera).T.ravel().tolist(),
            projectionMatrix=projection_matrix(camera).T.ravel().tolist(),
            shadow=0,
            lightDirection=light.tolist(),
            lightAmbientCoeff=0.55,
            lightDiffuseCoeff=0.5,
            lightSpecularCoeff=0.02,
            renderer=bullet.ER_TINY_RENDERER,
            physicsClientId=client,
        )[2]
        drawn = np.asarray(colours, dtype=np.uint8).reshape(self._side, self._side, 4)[..., :3]
        return averaged(drawn)

    def _add(self, part: Part) -> int:
        bullet, client = self._bullet, self._client
        given = {"rgbaColor": [*part.colour, 1], "specularColor": [0, 0, 0], "physicsClientId": client}
        if part.shape == "box":
            visual = bullet.createVisualShape(bullet.GEOM_BOX, halfExtents=part.size, **given)
        elif part.shape == "cylinder":
            length = 2 * part.size[2]
            visual = bullet.createVisualShape(bullet.GEOM_CYLINDER, radius=part.size[0], length=length, **given)
        else:
            visual = bullet.createVisualShape(bullet.GEOM_SPHERE, radius=part.size[0], **given)
        turn = [0.0, 0.0, 0.0, 1.0] if part.turn is None else _quaternion(part.turn)
        body: int = bullet.createMultiBody(
            0, -1, visual, basePosition=part.place, baseOrientation=turn, physicsClientId=client
        )
        return body


def _scene(rng: np.random.Generator, action: Action, count: int, known: list[str]) -> list[_Placed]:
    """The thing that is acted upon as it is before, and clutter out of the nouns that training knows."""
    places = [_PLACES[k] for k in rng.permutation(len(_PLACES))] if count > 1 else [(0.0, 0.0)]
    nouns = [action.noun, *rng.choice([noun for noun in known if noun != action.noun], count - 1, replace=False)]
    placed = []
    for noun, place in zip(nouns, places, strict=False):
        look, state = Look.drawn(rng), dict.fromkeys(VARIABLES, 0.0)
        state |= {name: float(rng.random() < 0.5) for name in THINGS[str(noun)].variables if name != "broken"}
        placed.append(
            _Placed(
                noun=str(noun),
                look=look,
                state=state,
                place=place,
                turn=float(np.radians(rng.uniform(-20, 20))),
                size=float(rng.uniform(0.8, 1.1)),
            )
        )
    changed, raised = EFFECTS[action.verb]
    placed[0].state[changed] = 0.0 if raised else float(rng.uniform(0.75, 1.0))
    if changed == "lit" and "opened" in THINGS[action.noun].variables:
        placed[0].state["opened"] = float(rng.uniform(0.75, 1.0))  # a laptop's screen, an oven's light
    return placed


def _effect(rng: np.random.Generator, action: Action) -> dict[str, float]:
    """What an action makes of the thing."""
    changed, raised = EFFECTS[action.verb]
    return {changed: float(rng.uniform(0.75, 1.0)) if raised else 0.0}


def _quaternion(turn: NDArray[np.float64]) -> list[float]:
    from scipy.spatial.transform import Rotation

    found: list[float] = Rotation.from_matrix(turn).as_quat().tolist()
    return found
