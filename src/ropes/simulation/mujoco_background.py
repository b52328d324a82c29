"""The static background and the lamps of an arm's scene for MuJoCo: white, panda-gym's table on a plane, or a room."""

from types import ModuleType
from typing import Any

import numpy as np

from ropes.simulation.backdrop import BASE, BOXES
from ropes.simulation.room import ROOM, add_room
from ropes.simulation.settings import SceneName

#: PyBullet's default light: the direction towards it, and its shares from everywhere and from there.
_LIGHT, _AMBIENT, _DIFFUSE = np.array([-50.0, 30.0, 100.0]) / np.hypot(50, np.hypot(30, 100)), 0.6, 0.35
#: PyBullet takes the table's top for shadowed: level of the slab that covers it, and its height, as shares of the
#: table's.
_TABLE_TOP, _THIN = 0.96, 0.002


def add_background(mujoco: ModuleType, spec: Any, scene: SceneName, scale: float, rng: np.random.Generator) -> None:
    """Add the background of an arm, as the body `ROOM`, and the lamps.

    Deviation: with renderer mujoco, scenes white and panda-gym lack PyBullet's shadow of the table on the plane, which
    darkens by at most 7%, and its highlights of at most 5%; edges lie a quarter of a pixel apart.  Why: MuJoCo has no
    equal of them.  Effect: grey levels differ by .5 on white and 2.0 on panda-gym's scene in the mean, on the arm by
    12; the packaged estimator flags such images.

    Args:
        mujoco: the library.
        spec: the model, an `mjSpec`.
        scene: white, panda-gym or room.
        scale: distance of the cameras, metres; a room is in proportion to it.
        rng: draws the room.
    """
    if scene == "room":
        add_room(mujoco, spec, scale, rng)
        return
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
    if scene == "panda-gym":
        shapes = [(np.array(box.half), np.array(box.centre) - np.array(BASE), box.grey) for box in BOXES]
        half, centre, grey = shapes[-1]
        top = centre + np.array([0, 0, half[2]])
        shapes.append((half * [1, 1, _THIN], top, _TABLE_TOP * grey))
        for half, centre, grey in shapes:
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=half, pos=centre, rgba=[grey] * 3 + [1])
