"""The static background and the lamp of an arm's scene for MuJoCo as PyBullet draws them: white, or boxes on white."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ropes.simulation.backdrop import BASE, BOXES, Box, Point
from ropes.simulation.room import ROOM

#: PyBullet's default light: the direction towards it, and its shares from everywhere and from there.
_LIGHT, _AMBIENT, _DIFFUSE = np.array([-50.0, 30.0, 100.0]) / np.hypot(50, np.hypot(30, 100)), 0.6, 0.35
#: PyBullet takes the table's top for shadowed: level of the slab that covers it, and its height, as shares of the
#: table's.
_TABLE_TOP, _THIN = 0.96, 0.002


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
