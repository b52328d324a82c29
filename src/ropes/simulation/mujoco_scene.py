"""Renders an arm with MuJoCo: in a furnished room with textures, several lights and shadows, or as PyBullet does."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.common.seeds import generator
from ropes.simulation.backgrounds import SceneName, background_of
from ropes.simulation.kinematics import link_poses
from ropes.simulation.mujoco_arm import BRIGHTEST, add_arm
from ropes.simulation.off_screen import OffScreen, import_mujoco
from ropes.simulation.room import ROOM
from ropes.simulation.scene import ArmFrames, ArmScene, Mesh, resolve_urdf
from ropes.simulation.settings import Camera, Robot
from ropes.simulation.urdf import read_urdf

#: Share of the triangles that simplified meshes keep: drawing a triangle takes as long as drawing ten pixels.
KEPT_FRACTION = 0.03


class MujocoScene(ArmScene):
    """Renders an arm with MuJoCo.

    In scene "room" the robot stands on a table in a room with a floor and four walls.  Colours, textures and lights are
    drawn by seed.  All lengths are in proportion to the distance of the cameras, so the room fits any arm.  Scenes
    "white" and "panda-gym" look as PyBullet draws them, up to edges and highlights.

    Deviation: scene "room" has textures, several lamps, shadows and, on request, colour; the paper's images are those
    of panda-gym, in grey.  Why: images of real cameras have them.  Effect: not measured yet (experiment "cameras").

    Args:
        robot, cameras, image_size, joints, colour: see `ArmScene`.
        mesh: "simplified" or "full" visual meshes.
        scene: the background.
        seed: draws the room.

    Raises:
        UserError: see `ArmScene`, no such kind of mesh or scene, or MuJoCo or EGL is missing.
    """

    def __init__(
        self,
        robot: Robot,
        cameras: Sequence[Camera],
        image_size: int = 128,
        mesh: Mesh = "simplified",
        joints: Sequence[str] | None = None,
        scene: SceneName = "room",
        colour: bool = False,
        seed: int = 0,
    ) -> None:
        mujoco, background = import_mujoco(), background_of(scene, "mujoco")
        super().__init__(robot, cameras, image_size, joints, colour)
        drawn = read_urdf(resolve_urdf(robot, mesh, KEPT_FRACTION))
        scale = float(np.mean([camera.distance for camera in self.cameras]))
        spec = mujoco.MjSpec()
        self._bodies = add_arm(mujoco, spec, drawn, brightest=BRIGHTEST if background.highlights else 1)
        background.load("mujoco")(mujoco, spec, scale, generator(seed, "room"))
        self._screen = OffScreen(spec, self.cameras, image_size, shadowless=[ROOM])
        # Only the links of the arm are placed by hand.
        self._of_arm = self._screen.model.body_mocapid >= 0

    def close(self) -> None:
        """Free the renderer; a second call does nothing."""
        self._screen.close()

    def _frames(self, poses: Floats) -> ArmFrames:
        links, views = link_poses(self.urdf, self.joints, poses, self.robot.neutral), range(len(self.cameras))
        for k in range(len(poses)):
            for link, body in self._bodies.items():
                self._screen.place(body, links[link][k])
            self._screen.update()
            yield np.stack([self._screen.photograph(view, self.colour) for view in views]), self._masks

    def _masks(self) -> NDArray[np.bool_]:
        return np.stack([self._screen.mask(k, self._of_arm.__getitem__) for k in range(len(self.cameras))])
