"""Objects before and after an action, drawn by MuJoCo on a textured floor before a textured wall."""

from dataclasses import replace

import numpy as np

from ropes.common.arrays import Images
from ropes.common.seeds import generator
from ropes.simulation.action_scene import CAMERA, FLOOR, WALL, WALL_PLACE, PairScene, Shot
from ropes.simulation.actions import PairsSetting
from ropes.simulation.off_screen import OffScreen, import_mujoco
from ropes.simulation.room import ROOM, add_lights, add_material, pattern

#: Number of textures each of floor and wall, their mean grey, and how often a texture repeats along a surface.
_TEXTURES, _GREY, _REPEAT = 4, 0.8, 8
#: Distance of the lamp, metres; the map of shadows, and the share of the lamp's cone that one object and several take.
_LAMP, _SHADOW_MAP, _ONE, _SEVERAL = 5.0, 512, 0.16, 0.3
#: Share by which the parts of an object shrink one after the other.
_SHRINKAGE = 0.002


class MujocoActionScene(PairScene):
    """Renders pairs with MuJoCo.

    Objects, colours, cameras and the direction of the light are those of `ActionScene`.  Floor and wall have textures,
    and objects cast shadows.

    Args:
        setting: objects, actions and jitter.
        seed: seed of all pairs.

    Raises:
        UserError: MuJoCo or its OpenGL is missing.
    """

    def __init__(self, setting: PairsSetting, seed: int) -> None:
        self.setting, self.seed = setting, seed
        mujoco = import_mujoco()
        spec, rng = mujoco.MjSpec(), generator(seed, "room")
        for number in range(2 * _TEXTURES):
            add_material(mujoco, spec, f"pattern {number}", pattern(rng, np.full(3, _GREY)), _REPEAT)
        body = spec.worldbody.add_body(name=ROOM)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=FLOOR, pos=[0, 0, -FLOOR[2]], material="pattern 0")
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=WALL, pos=WALL_PLACE, material="pattern 0")
        add_lights(mujoco, spec, CAMERA.distance, rng)
        share = _SEVERAL if setting.objects > 1 else _ONE
        self._screen = OffScreen(spec, [CAMERA], setting.image_size, [ROOM], _SHADOW_MAP, share)

    def close(self) -> None:
        """Free the renderer; a second call does nothing."""
        self._screen.close()

    def _photograph(self, shot: Shot) -> Images:
        model, direction = self._screen.model, shot.light / np.linalg.norm(shot.light)
        rng = generator(self.seed, "pair room", shot.number)
        model.geom_matid[:] = rng.integers(_TEXTURES), _TEXTURES + rng.integers(_TEXTURES)
        model.geom_rgba[:, :3] = np.array(shot.room) / _GREY
        model.light_pos[0], model.light_dir[0] = _LAMP * direction, -direction
        self._screen.move_camera(0, shot.camera)
        self._screen.update()
        for k, part in enumerate(shot.parts):
            # Two faces in one plane would flicker through each other, and take the light of the lamp twice.
            width, depth, height = (length * (1 - _SHRINKAGE * (k % 5)) for length in part.size)
            self._screen.add_part(replace(part, size=(width, depth, height)))
        return self._screen.photograph(0)
