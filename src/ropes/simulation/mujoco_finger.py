"""Finger and cube, drawn by MuJoCo in a furnished room."""

import colorsys
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ropes.common.arrays import Images
from ropes.common.seeds import generator
from ropes.simulation.context import ClosesAtExit
from ropes.simulation.finger import HALF_CUBE, JOINTS, STAGE, degraded, finger_urdf
from ropes.simulation.finger_setting import HUE, NAMES, FingerSetting
from ropes.simulation.kinematics import link_poses, outline, visible_points
from ropes.simulation.mujoco_arm import add_arm
from ropes.simulation.off_screen import OffScreen, import_mujoco
from ropes.simulation.parts import Z, about
from ropes.simulation.room import ROOM, add_room
from ropes.simulation.urdf import read_urdf

_CUBE = "cube"
#: The lamps are brighter than PyBullet's light, so colours are darkened by this factor.
_DARKER = 0.8
#: Side of the map of shadows, pixels, and the share of the lamp's cone that the stage takes.
_SHADOW_MAP, _SHADOW_SCALE = 512, 0.3


class MujocoFingerScene(ClosesAtExit):
    """A context manager that renders states of finger and cube; `FingerScene` finds those without collisions.

    Camera, colours, blur and noise of a domain are those of the setting.  Room and lights are drawn for each domain and
    replace the domain's background and light.

    Args:
        setting: the scene; a state's last column is the number of its domain.
        seed: draws the rooms.

    Raises:
        UserError: the meshes are not installed, or MuJoCo or its OpenGL is missing.
    """

    def __init__(self, setting: FingerSetting, seed: int) -> None:
        self.setting = setting
        self._mujoco = import_mujoco()
        self._urdf = read_urdf(finger_urdf())
        low = visible_points(self._urdf, outline(self._urdf), JOINTS, np.zeros((1, len(JOINTS))), {})[..., 2].min()
        self._screens = []
        for number, look in enumerate(setting.domains):
            spec = self._mujoco.MjSpec()
            bodies = add_arm(self._mujoco, spec, self._urdf)
            cube = spec.worldbody.add_body(name=_CUBE, mocap=True)
            cube.add_geom(type=self._mujoco.mjtGeom.mjGEOM_BOX, size=[HALF_CUBE] * 3)
            # The table is a little below the stage, so that the two do not flicker through each other.
            rng = generator(seed, "room", number)
            add_room(self._mujoco, spec, look.camera.distance, rng, top=float(low) - 0.002)
            shadowless = [ROOM, bodies[STAGE]]
            screen = OffScreen(spec, [look.camera], setting.image_size, shadowless, _SHADOW_MAP, _SHADOW_SCALE)
            self._screens.append(screen)
            for link, body in bodies.items():
                red, green, blue = look.stage if link == STAGE else look.finger
                screen.paint(body, (_DARKER * red, _DARKER * green, _DARKER * blue))
            self._bodies = bodies

    def close(self) -> None:
        """Free the renderers; a second call does nothing."""
        for screen in self._screens:
            screen.close()

    def render_all(self, states: ArrayLike) -> Iterator[Images]:
        """Render states (n, 8), seven factors and the number of the domain, each as uint8 (1, S, S, 3)."""
        values = np.asarray(states, dtype=np.float64)
        links = link_poses(self._urdf, JOINTS, values[:, : len(JOINTS)], {})
        for k, state in enumerate(values):
            domain = int(state[len(NAMES)])
            screen = self._screens[domain]
            poses = {body: links[link][k] for link, body in self._bodies.items()}
            poses[_CUBE] = np.eye(4)
            poses[_CUBE][:3, :3], poses[_CUBE][:3, 3] = about(Z, float(state[5])), [state[3], state[4], HALF_CUBE]
            for name, pose in poses.items():
                screen.place(name, pose)
            screen.paint(_CUBE, colorsys.hsv_to_rgb(float(state[HUE]) / (2 * np.pi), 1.0, 1.0))
            screen.update()
            yield degraded(screen.photograph(0), self.setting.domains[domain], state)[None]
