"""Renders images of an arm from joint angles with PyBullet.

PyBullet's TinyRenderer runs on the CPU and needs no display, no OpenGL and no system package.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.errors import UserError
from ropes.simulation.availability import locate
from ropes.simulation.backdrop import WHITE, Backdrop
from ropes.simulation.backgrounds import Background, SceneName, background_of
from ropes.simulation.bullet import SUPERSAMPLING, BulletScene, downsample
from ropes.simulation.cameras import crop, extrinsics, intrinsics, projection_matrix, view_matrix, windows_around
from ropes.simulation.context import ClosesAtExit
from ropes.simulation.kinematics import outline, visible_points
from ropes.simulation.mesh import KEPT_FRACTION, simplified_urdf
from ropes.simulation.settings import Camera, Robot
from ropes.simulation.urdf import Urdf, read_urdf

Mesh = Literal["simplified", "full"]
#: For each pose the images of all cameras, and a function that gives the masks of the arm in them.
ArmFrames = Iterator[tuple[NDArray[np.uint8], Callable[[], NDArray[np.bool_]]]]
_Window = tuple[slice, slice]
#: Rows and columns of an image, and the supersampled mask of the arm there.
_Mask = tuple[slice, slice, NDArray[np.bool_]]
_SLACK = 1e-6


def resolve_urdf(robot: Robot, mesh: Mesh, fraction: float = KEPT_FRACTION) -> Path:
    """The URDF file to render: the robot's own ("full"), or its copy with a fraction of its triangles ("simplified").

    Raises:
        UserError: no such kind of mesh, or the URDF or one of its meshes is missing.
    """
    if mesh not in get_args(Mesh):
        raise UserError(f"mesh {mesh!r} is neither simplified nor full")
    path = locate(robot.urdf)
    return simplified_urdf(path, fraction=fraction) if mesh == "simplified" else path


def check_poses(robot: Robot, urdf: Urdf, joints: Sequence[str], angles: ArrayLike) -> NDArray[np.float64]:
    """Check that `angles` are poses of `robot`; return them as float64, (n, len(joints)).

    Raises:
        UserError: wrong shape, a joint that the robot does not set, NaN, or an angle outside the URDF's limits.
    """
    poses = np.asarray(angles, dtype=np.float64)
    if poses.ndim != 2 or poses.shape[1] != len(joints):
        raise UserError(f"angles of shape {poses.shape} do not fit the {len(joints)} joints {', '.join(joints)}")
    for column, name in enumerate(joints):
        joint = urdf.joint(name)
        if name not in robot.joints:
            raise UserError(f"joint {name} is not among those that the robot sets: {', '.join(robot.joints)}")
        values = poses[:, column]
        if rows := np.flatnonzero(~np.isfinite(values)).tolist():
            raise UserError(f"pose {rows[0]} has no finite angle for joint {name}")
        outside = (values < joint.low - _SLACK) | (values > joint.high + _SLACK)
        if robot.check_limits and (rows := np.flatnonzero(outside).tolist()):
            raise UserError(
                f"pose {rows[0]} sets joint {name} to {values[rows[0]]:.4f}, outside its limits "
                f"[{joint.low:.4f}, {joint.high:.4f}] in {urdf.path.name}"
            )
    return poses


class ArmScene(ClosesAtExit):
    """A context manager that renders poses of one robot.

    Args:
        robot: the robot.
        cameras: the cameras, in the order of the images.
        image_size: side of the square images, pixels.
        joints: the order of the angles in poses; None for that of the robot.
        colour: give RGB images instead of grey ones.

    Raises:
        UserError: a file is missing or not a URDF, or no such joint.
    """

    def __init__(
        self, robot: Robot, cameras: Sequence[Camera], image_size: int, joints: Sequence[str] | None, colour: bool
    ) -> None:
        self.robot, self.cameras, self.image_size, self.colour = robot, tuple(cameras), image_size, colour
        self.urdf, self.joints = read_urdf(locate(robot.urdf)), tuple(robot.joints if joints is None else joints)
        for name in (*robot.joints, *robot.neutral, *self.joints):
            self.urdf.joint(name)

    def render_all(self, poses: ArrayLike) -> Iterator[NDArray[np.uint8]]:
        """Render poses (n, len(joints)) radians: for each the images of all cameras, (cameras, S, S) or (…, S, S, 3).

        Grey images have BT.601 weights.  All other joints are at their neutral values.

        Raises:
            UserError: see `check_poses`; raised before the first image.
        """
        return (images for images, _ in self._frames(check_poses(self.robot, self.urdf, self.joints, poses)))

    def render_with_arms(self, poses: ArrayLike) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.bool_]]]:
        """As `render_all`, and the masks of the arm, (cameras, S, S): True where it covers half a pixel or more."""
        frames = self._frames(check_poses(self.robot, self.urdf, self.joints, poses))
        return ((images, masks()) for images, masks in frames)

    @abstractmethod
    def _frames(self, poses: NDArray[np.float64]) -> ArmFrames:
        """Bring the arm into each pose in turn."""


class Scene(ArmScene, BulletScene):
    """Renders an arm with PyBullet.

    The light is PyBullet's default.

    Deviation: images are rendered at twice their side and averaged over 2 × 2 pixels.  Why: TinyRenderer omits
    triangles of less than 1/200 pixel², which at 128 × 128 erodes the outline of the full meshes.  Effect: edges of the
    arm are smooth; the paper does not say whether those of its images are.

    Deviation: no shadows fall from or on the arm, and a white background has neither table nor plane.  Why: the
    background is rendered once, and only the arm for each pose.  Effect: parts of the arm are up to 8% lighter than in
    panda-gym; on a white background a white square cannot be seen beside the arm, so occluded rows there are another
    test than the paper's.

    Args:
        robot, cameras, image_size, joints, colour: see `ArmScene`.
        mesh: "simplified" (see `mesh`) or "full".
        scene: the background.

    Raises:
        UserError: see `ArmScene`, or no such kind of mesh or scene.
    """

    def __init__(
        self,
        robot: Robot,
        cameras: Sequence[Camera],
        image_size: int = 128,
        mesh: Mesh = "simplified",
        joints: Sequence[str] | None = None,
        scene: SceneName = "white",
        colour: bool = False,
    ) -> None:
        path, background = resolve_urdf(robot, mesh), background_of(scene, "pybullet")
        ArmScene.__init__(self, robot, cameras, image_size, joints, colour)
        BulletScene.__init__(self)
        self._body, infos = self._load(path)
        self._index = {info[1].decode(): info[0] for info in infos}
        self._side = image_size * SUPERSAMPLING
        self._averaged = partial(downsample, colour=colour)
        self._views = [_View(camera, self._side, background) for camera in self.cameras]
        shape = len(self.cameras), image_size, image_size, *([3] if colour else [])
        self._empty = np.array([self._averaged(view.empty) for view in self._views], dtype=np.uint8).reshape(shape)
        # Only a window around the arm is rendered, which saves a quarter of the time.  Full meshes are rendered in
        # whole images, because their hulls take seconds to compute.
        self._drawn_urdf = read_urdf(path)
        self._hulls = outline(self._drawn_urdf) if mesh == "simplified" else {}

    def _complete(self, poses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Angles of all joints of the robot, (n, robot.joints); neutral where `joints` omits one."""
        neutral = [self.robot.neutral.get(joint, 0.0) for joint in self.robot.joints]
        complete = np.tile(neutral, (len(poses), 1))
        complete[:, [self.robot.joints.index(joint) for joint in self.joints]] = poses
        return complete

    def _windows(self, poses: NDArray[np.float64]) -> Iterator[list[_Window]]:
        """Set the arm to each pose in turn; yield the rows and columns around the arm in each view."""
        count = len(poses)
        if self._hulls:
            points = visible_points(self._drawn_urdf, self._hulls, self.robot.joints, poses, self.robot.neutral)
            windows = [view.windows(points) for view in self._views]
        else:
            windows = [[(slice(0, self._side), slice(0, self._side))] * count for _ in self._views]
        values = self.urdf.positions(self.robot.joints, poses, self.robot.neutral)
        joints = tuple(dict.fromkeys((*self.robot.joints, *self.robot.neutral, *self.urdf.followers)))
        rows = np.array([values[joint] for joint in joints]).reshape(len(joints), count).T
        for pose, *views in zip(rows.tolist(), *windows, strict=True):
            for joint, angle in zip(joints, pose, strict=True):
                self._bullet.resetJointState(self._body, self._index[joint], angle, physicsClientId=self._client)
            yield views

    def _frames(self, poses: NDArray[np.float64]) -> ArmFrames:
        for windows in self._windows(self._complete(poses)):
            images, masks = self._empty.copy(), []
            for image, view, window in zip(images, self._views, windows, strict=True):
                rows, columns = (slice(s.start // SUPERSAMPLING, s.stop // SUPERSAMPLING) for s in window)
                colours, mask = self._draw(view, *window)
                image[rows, columns] = self._averaged(colours)
                masks.append((rows, columns, mask))
            yield images, partial(self._arms, masks)

    def _arms(self, masks: Sequence[_Mask]) -> NDArray[np.bool_]:
        """The masks of whole images."""
        arms = np.zeros(self._empty.shape[:3], dtype=bool)
        for arm, (rows, columns, mask) in zip(arms, masks, strict=True):
            blocks = mask.reshape(len(mask) // SUPERSAMPLING, SUPERSAMPLING, -1, SUPERSAMPLING)
            arm[rows, columns] = blocks.mean(axis=(1, 3)) >= 0.5
        return arms

    def _draw(self, view: "_View", rows: slice, columns: slice) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Colours (rows, columns, 3) of a window, and the mask of the arm in it."""
        height, width = rows.stop - rows.start, columns.stop - columns.start
        projection = crop(view.projection, self._side, rows, columns)
        colours, depth, bodies = self._render(view.view, projection, height, width)
        arm = np.asarray(bodies, dtype=np.int32).reshape(height, width) >= 0
        if view.backdrop is None:
            return colours, arm
        arm &= np.asarray(depth, dtype=np.float32).reshape(height, width) < view.backdrop.depth[rows, columns]
        return np.where(arm[..., None], colours, view.backdrop.colours[rows, columns]), arm


class _View:
    """Background and matrices of a camera, computed once for all images."""

    def __init__(self, camera: Camera, side: int, background: Background) -> None:
        self.side = side
        self.backdrop: Backdrop | None = background.load("pybullet")(camera, side)
        white = np.full((side, side, 3), WHITE, dtype=np.uint8)
        self.empty = white if self.backdrop is None else self.backdrop.colours
        self.view = view_matrix(camera)
        self.projection = projection_matrix(camera)
        self.to_pixels = intrinsics(camera, side) @ extrinsics(camera)[:3]

    def windows(self, points: NDArray[np.float64]) -> list[_Window]:
        """Rows and columns around `points` (n, points, 3), for each of n poses."""
        return windows_around(points @ self.to_pixels[:, :3].T + self.to_pixels[:, 3], self.side, SUPERSAMPLING)
