"""Backgrounds and lamps for MuJoCo: a room with furniture at random places, or white and boxes as in PyBullet."""

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ropes.common.arrays import Floats
from ropes.simulation.backdrop import BASE, BOXES, Box, Point

#: The bodies of a room.  The block fills the table and casts its shadow.
ROOM, _BLOCK = "room", "room block"
#: Side of a texture in pixels.
TEXTURE = 256
#: Share of the distance of the cameras: the floor's depth below the table, half a room, and its height.
_FLOOR, _REACH, _HEIGHT = 0.29, 2.2, 2.2
#: Strips of half the floor.  Light is computed at their corners, so few would blur it, and many take time.
_STRIPS = 8
#: PyBullet's default light: the direction towards it, and its shares from everywhere and from there.
_LIGHT, _AMBIENT, _DIFFUSE = np.array([-50.0, 30.0, 100.0]) / np.hypot(50, np.hypot(30, 100)), 0.6, 0.35
#: PyBullet takes the table's top for shadowed: level of the slab that covers it, and its height, as shares of the
#: table's.
_TABLE_TOP, _THIN = 0.96, 0.002


def add_room(mujoco: ModuleType, spec: Any, scale: float, rng: np.random.Generator, top: float = 0.0) -> None:
    """Add floor, four walls, a table and three lights to a model.

    Walls and floor cast no shadow.

    Args:
        mujoco: the library.
        spec: the model, an `mjSpec`.
        scale: distance of the cameras, to which all lengths are proportional, metres.
        rng: draws colours, textures, the table's size and place, and the lights.
        top: height of the table's top, metres.
    """
    box, plane = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_PLANE
    for name, repeat in (("floor", 6), ("wall", 2), ("table", 2)):
        add_material(mujoco, spec, name, pattern(rng), repeat)
    body, block = (spec.worldbody.add_body(name=name, pos=[0, 0, top]) for name in (ROOM, _BLOCK))
    floor, reach, tall = -_FLOOR * scale, _REACH * scale, _HEIGHT * scale
    body.add_geom(type=plane, size=[reach, reach, reach / _STRIPS], pos=[0, 0, floor], material="floor")
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        size = [0.01 * scale if x else reach, 0.01 * scale if y else reach, tall / 2]
        body.add_geom(type=box, size=size, pos=[x * reach, y * reach, floor + tall / 2], material="wall")
    half = np.array([rng.uniform(0.3, 0.45), rng.uniform(0.25, 0.4)]) * scale
    place = np.array([rng.uniform(0, 0.5) * half[0], rng.uniform(-0.3, 0.3) * half[1]])
    body.add_geom(type=box, size=[*half, -floor / 2], pos=[*place, floor / 2], material="table")
    # A shape shadows itself in spots where the map of shadows is coarse; the block is hidden, so nobody sees its spots.
    inside = 0.97 * np.array([*half, -floor / 2])
    block.add_geom(type=box, size=inside, pos=[*place, floor / 2], material="table")
    add_lights(mujoco, spec, scale, rng)


def add_lights(mujoco: ModuleType, spec: Any, scale: float, rng: np.random.Generator) -> None:
    """Add the light from everywhere and three lamps, the first and brightest of which casts shadows."""
    light = spec.visual.headlight
    light.ambient, light.diffuse, light.specular = [0.3] * 3, [0.15] * 3, [0.0] * 3
    for number in range(3):
        angle = 2 * math.pi * (number + rng.random()) / 3
        position = scale * np.array([math.cos(angle), math.sin(angle), rng.uniform(1.2, 1.6)])
        aim = np.array([0, 0, 0.3 * scale]) - position
        spec.worldbody.add_light(
            pos=position,
            dir=aim / np.linalg.norm(aim),
            diffuse=np.array([0.55, 0.25, 0.2])[number] * rng.uniform(0.85, 1.15, 3),
            specular=[0.2] * 3,
            type=mujoco.mjtLightType.mjLIGHT_SPOT,
            cutoff=60,
            exponent=1,
            castshadow=number == 0,
        )


def add_material(mujoco: ModuleType, spec: Any, name: str, pixels: NDArray[np.uint8], repeat: int = 1) -> None:
    """Add a material whose texture has the given pixels, (height, width, 3)."""
    height, width = pixels.shape[:2]
    texture = spec.add_texture(name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=width, height=height, nchannel=3)
    texture.data = pixels.tobytes()
    material = spec.add_material(name=name, texrepeat=[repeat, repeat], specular=0.1, shininess=0.2)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name


def pattern(rng: np.random.Generator, base: Floats | None = None) -> NDArray[np.uint8]:
    """The pixels of a surface of one hue, (TEXTURE, TEXTURE, 3): a coarse and a fine grain, on tiles or not.

    Args:
        rng: draws the pattern.
        base: mean colour, RGB in [0, 1]; drawn where left out.
    """
    if base is None:
        base = np.clip(rng.uniform(0.25, 0.75) * rng.uniform(0.75, 1.25, 3), 0, 1)
    grain = _grain(rng)
    if rng.random() < 0.5:
        rows, columns = np.indices((TEXTURE, TEXTURE)) * 4 // TEXTURE
        grain = grain + rng.uniform(0.05, 0.15) * np.where((rows + columns) % 2, 1, -1)
    return np.clip(255 * (base + grain[..., None]), 0, 255).astype(np.uint8)


def _grain(rng: np.random.Generator) -> Floats:
    """A tileable pattern of mean 0 and standard deviation .06, (TEXTURE, TEXTURE)."""
    stretch = rng.uniform(1, 8)
    grain = np.zeros((TEXTURE, TEXTURE))
    for width in (1.0, 3.0, 10.0):
        noise = ndimage.gaussian_filter(rng.standard_normal(grain.shape), (width, width * stretch), mode="wrap")
        grain += noise / noise.std()
    return 0.06 * grain / grain.std()


def add_white(mujoco: ModuleType, spec: Any, scale: float, rng: np.random.Generator) -> None:
    """Add white and a lamp, see `add_boxes`; nothing is random."""
    add_boxes(mujoco, spec, scale, ())


def add_panda_gym(mujoco: ModuleType, spec: Any, scale: float, rng: np.random.Generator) -> None:
    """Add panda-gym's table on its plane, see `add_boxes`; nothing is random."""
    table = BOXES[-1]
    cover = Box(
        half=(table.half[0], table.half[1], _THIN * table.half[2]),
        centre=(table.centre[0], table.centre[1], table.centre[2] + table.half[2]),
        grey=_TABLE_TOP * table.grey,
    )
    add_boxes(mujoco, spec, scale, (*BOXES, cover), BASE)


def add_boxes(mujoco: ModuleType, spec: Any, scale: float, boxes: Sequence[Box], base: Point = (0.0, 0.0, 0.0)) -> None:
    """Add boxes on white as the body `ROOM`, and PyBullet's lamp.

    Deviation: with renderer mujoco, scenes white and panda-gym lack PyBullet's shadow of the table on the plane, which
    darkens by at most 7%, and its highlights of at most 5%; edges lie a quarter of a pixel apart.  Why: MuJoCo has no
    equal of them.  Effect: grey levels differ by .5 on white and 2.0 on panda-gym's scene in the mean, on the arm by
    12; the packaged estimator flags such images.

    Args:
        mujoco: the library.
        spec: the model, an `mjSpec`.
        scale: distance of the cameras, metres.
        boxes: the boxes.
        base: position of the arm's base in the frame of the boxes, metres.
    """
    flat, sky = mujoco.mjtBuiltin.mjBUILTIN_FLAT, mujoco.mjtTexture.mjTEXTURE_SKYBOX
    spec.add_texture(name="white", type=sky, builtin=flat, rgb1=[1] * 3, rgb2=[1] * 3, width=8, height=8)
    light = spec.visual.headlight
    light.ambient, light.diffuse, light.specular = [_AMBIENT] * 3, [0.0] * 3, [0.0] * 3
    spec.worldbody.add_light(
        pos=scale * _LIGHT,
        dir=-_LIGHT,
        diffuse=[_DIFFUSE] * 3,
        ambient=[0.0] * 3,
        specular=[0.0] * 3,
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        castshadow=False,
    )
    body = spec.worldbody.add_body(name=ROOM)
    for box in boxes:
        place = np.array(box.centre) - np.array(base)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=box.half, pos=place, rgba=[box.grey] * 3 + [1])
