"""Renders an arm with MuJoCo: in a furnished room with textures, several lights and shadows, or as PyBullet does."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.common.seeds import generator
from ropes.simulation.backgrounds import SceneName, background_of
from ropes.simulation.context import ClosesAtExit
from ropes.simulation.kinematics import link_poses
from ropes.simulation.mujoco_arm import BRIGHTEST, add_arm
from ropes.simulation.off_screen import OffScreen, import_mujoco
from ropes.simulation.room import ROOM
from ropes.simulation.scene import Mesh, arm_and_joints, check_poses, resolve_urdf
from ropes.simulation.settings import Camera, Robot
from ropes.simulation.urdf import read_urdf

Floats = NDArray[np.float64]
#: Share of the triangles that simplified meshes keep: drawing a triangle takes as long as drawing ten pixels.
KEPT_FRACTION = 0.03


class MujocoScene(ClosesAtExit):
    """A context manager that renders poses of one robot.

    In scene "room" the robot stands on a table in a room with a floor and four walls.  Colours, textures and lights are
    drawn by seed.  All lengths are in proportion to the distance of the cameras, so the room fits any arm.  Scenes
    "white" and "panda-gym" look as PyBullet draws them, up to edges and highlights.

    Deviation: the paper draws with PyBullet, in grey, and without shadows of the arm.  Why: images of real cameras have
    shadows, textures and colours.  Effect: not measured yet.

    Args:
        robot: the robot.
        cameras: the cameras, in the order of the images.
        image_size: side of the square images, pixels.
        mesh: "simplified" or "full" visual meshes.
        joints: the order of the angles in poses; by default that of the robot.
        scene: the background.
        colour: give RGB images instead of grey ones.
        seed: draws the room.

    Raises:
        UserError: a file is missing or not a URDF, no such joint or scene, or MuJoCo or EGL is missing.
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
        self.robot, self.cameras, self.image_size, self.colour = robot, tuple(cameras), image_size, colour
        mujoco, background = import_mujoco(), background_of(scene, "mujoco")
        self.urdf, self.joints = arm_and_joints(robot, joints)
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

    def render_all(self, poses: ArrayLike) -> Iterator[NDArray[np.uint8]]:
        """Render poses (n, len(joints)) radians: for each the images of all cameras, (cameras, S, S) or (…, S, S, 3).

        Raises:
            UserError: see `ropes.simulation.scene.check_poses`; raised before the first image.
        """
        return (self._images() for _ in self._placed(poses))

    def render_with_arms(self, poses: ArrayLike) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.bool_]]]:
        """As `render_all`, and the masks of the arm in the images, see `silhouettes_all`."""
        return ((self._images(), self._masks()) for _ in self._placed(poses))

    def silhouettes_all(self, poses: ArrayLike) -> Iterator[NDArray[np.bool_]]:
        """Masks of the arm, (cameras, S, S): True where it covers half a pixel or more.

        Raises:
            UserError: see `render_all`.
        """
        return (self._masks() for _ in self._placed(poses))

    def _images(self) -> NDArray[np.uint8]:
        return np.stack([self._screen.photograph(k, self.colour) for k in range(len(self.cameras))])

    def _masks(self) -> NDArray[np.bool_]:
        return np.stack([self._screen.mask(k, self._of_arm.__getitem__) for k in range(len(self.cameras))])

    def _placed(self, poses: ArrayLike) -> Iterator[None]:
        """Check the poses, then bring the arm into each in turn."""
        return self._each(check_poses(self.robot, self.urdf, self.joints, poses))

    def _each(self, poses: Floats) -> Iterator[None]:
        links = link_poses(self.urdf, self.joints, poses, self.robot.neutral)
        for k in range(len(poses)):
            for link, body in self._bodies.items():
                self._screen.place(body, links[link][k])
            self._screen.update()
            yield
