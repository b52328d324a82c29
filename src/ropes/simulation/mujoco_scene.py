"""Renders an arm in a furnished room with MuJoCo: colour, textures, several lights, shadows.

MuJoCo draws with OpenGL, off-screen through EGL.  Without a graphics card Mesa's software renderer does the work.
"""

import math
import os
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from ropes.common.seeds import generator
from ropes.errors import UserError
from ropes.simulation.cameras import axes, eye
from ropes.simulation.context import ClosesAtExit
from ropes.simulation.kinematics import link_poses
from ropes.simulation.scene import Mesh, arm_and_joints, check_poses, resolve_urdf
from ropes.simulation.settings import Camera, Robot
from ropes.simulation.surface import read_surface
from ropes.simulation.urdf import Urdf, Visual, read_urdf

Floats = NDArray[np.float64]
#: Samples of a pixel, and side of the map of shadows in pixels.
_SAMPLES, _SHADOW_MAP = 4, 512
_TEXTURE = 256
_LIGHT_GREY = np.array([0.8, 0.8, 0.8, 1.0])


def import_mujoco() -> ModuleType:
    """MuJoCo, set up to draw off-screen through EGL.

    Raises:
        UserError: MuJoCo or EGL is not installed; the message names what to install.
    """
    os.environ.setdefault("MUJOCO_GL", "egl")
    os.environ.setdefault("PYOPENGL_PLATFORM", os.environ["MUJOCO_GL"])
    try:
        import mujoco
        import mujoco.renderer  # which loads OpenGL
    except ModuleNotFoundError as error:
        raise UserError("MujocoScene needs MuJoCo: pip install 'ropes[mujoco]'") from error
    except (ImportError, AttributeError, OSError) as error:  # PyOpenGL finds no library
        raise _egl_missing() from error
    return mujoco


def _egl_missing() -> UserError:
    return UserError("MuJoCo cannot draw off-screen: EGL is missing; sudo apt install libegl1 libgl1-mesa-dri")


class MujocoScene(ClosesAtExit):
    """A context manager that draws poses of one robot in a room.

    The robot stands on a table in a room with a floor and four walls.  Colours, textures and lights are drawn by seed.
    All lengths are in proportion to the distance of the cameras, so the room fits any arm.

    Deviation: the paper draws with PyBullet, in grey, and without shadows of the arm.  Why: images of real cameras have
    shadows, textures and colours.  Effect: not measured yet.

    Args:
        robot: what to draw.
        cameras: from where; their order is that of the images.
        image_size: side of the square images, pixels.
        mesh: "simplified" or "full" visual meshes.
        joints: the order of the angles in poses; all of the robot's where left out.
        seed: of the room.

    Raises:
        UserError: a file is missing or is no URDF, no such joint, or MuJoCo or EGL is missing.
    """

    def __init__(
        self,
        robot: Robot,
        cameras: Sequence[Camera],
        image_size: int = 128,
        mesh: Mesh = "simplified",
        joints: Sequence[str] | None = None,
        seed: int = 0,
    ) -> None:
        self.robot, self.cameras, self.image_size = robot, tuple(cameras), image_size
        self._mujoco = import_mujoco()
        self.urdf, self.joints = arm_and_joints(robot, joints)
        drawn = read_urdf(resolve_urdf(robot, mesh))
        scale = float(np.mean([camera.distance for camera in self.cameras]))
        spec = self._mujoco.MjSpec()
        _set_quality(spec, image_size)
        _furnish(self._mujoco, spec, scale, generator(seed, "room"))
        self._links = _add_arm(self._mujoco, spec, drawn)
        for camera in self.cameras:
            right, up, _ = axes(camera)
            spec.worldbody.add_camera(name=camera.name, pos=eye(camera), xyaxes=[*right, *up], fovy=camera.fov)
        self._model = spec.compile()
        self._data = self._mujoco.MjData(self._model)
        # Geometries of the room belong to the world, those of the arm to its links.
        self._of_arm = self._model.geom_bodyid != 0
        try:
            self._renderer: Any = self._mujoco.Renderer(self._model, image_size, image_size)
        except (RuntimeError, AttributeError) as error:  # no EGL device, or a library without it
            raise _egl_missing() from error

    def close(self) -> None:
        """Free the renderer; more than once does no harm."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def render_all(self, poses: ArrayLike) -> Iterator[NDArray[np.uint8]]:
        """Draw poses (n, len(joints)) radians: for each the images of all cameras, uint8 (cameras, S, S, 3).

        Raises:
            UserError: see `ropes.simulation.scene.check_poses`; at once, before anything is drawn.
        """
        return (self._images() for _ in self._placed(check_poses(self.robot, self.urdf, self.joints, poses)))

    def silhouettes_all(self, poses: ArrayLike) -> Iterator[NDArray[np.bool_]]:
        """Where the arm is in each image, bool (cameras, S, S), for poses (n, len(joints)) radians.

        Raises:
            UserError: see `render_all`.
        """
        return (self.silhouettes() for _ in self._placed(check_poses(self.robot, self.urdf, self.joints, poses)))

    def silhouettes(self) -> NDArray[np.bool_]:
        """Where the arm is in the images of the pose that was drawn last, bool (cameras, S, S)."""
        self._renderer.enable_segmentation_rendering()
        try:
            found = self._images()
        finally:
            self._renderer.disable_segmentation_rendering()
        geometry = found[..., 0]  # −1 where there is nothing
        return (geometry >= 0) & self._of_arm[geometry]

    def _images(self) -> NDArray[Any]:
        drawn = []
        for camera in self.cameras:
            self._renderer.update_scene(self._data, camera=camera.name)
            drawn.append(self._renderer.render().copy())
        return np.stack(drawn)

    def _placed(self, poses: Floats) -> Iterator[None]:
        """Bring the arm into each pose in turn."""
        links = link_poses(self.urdf, self.joints, poses, self.robot.neutral)
        for k in range(len(poses)):
            for link, body in self._links.items():
                pose = links[link][k]
                self._data.mocap_pos[body] = pose[:3, 3]
                self._mujoco.mju_mat2Quat(self._data.mocap_quat[body], np.ascontiguousarray(pose[:3, :3]).ravel())
            self._mujoco.mj_kinematics(self._model, self._data)
            self._mujoco.mj_camlight(self._model, self._data)
            yield


def _set_quality(spec: Any, image_size: int) -> None:
    visual = spec.visual
    visual.global_.offwidth = visual.global_.offheight = image_size
    visual.quality.offsamples, visual.quality.shadowsize = _SAMPLES, _SHADOW_MAP
    visual.headlight.ambient, visual.headlight.diffuse, visual.headlight.specular = [0.3] * 3, [0.15] * 3, [0.0] * 3
    visual.map.znear, visual.map.zfar = 0.01, 30.0


def _furnish(mujoco: ModuleType, spec: Any, scale: float, rng: np.random.Generator) -> None:
    """Add floor, walls, table and lights to the world."""
    box, plane = mujoco.mjtGeom.mjGEOM_BOX, mujoco.mjtGeom.mjGEOM_PLANE
    for name, repeat in (("floor", 6), ("wall", 2), ("table", 2)):
        _add_material(mujoco, spec, name, repeat, rng)
    world, floor = spec.worldbody, -0.4 * scale / 1.4
    reach, tall = 2.2 * scale, 2.2 * scale
    world.add_geom(type=plane, size=[reach, reach, 0.1], pos=[0, 0, floor], material="floor")
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        size = [0.02 if x else reach, 0.02 if y else reach, tall / 2]
        world.add_geom(type=box, size=size, pos=[x * reach, y * reach, floor + tall / 2], material="wall")
    half = np.array([rng.uniform(0.3, 0.45), rng.uniform(0.25, 0.4)]) * scale
    place = np.array([rng.uniform(0, 0.5) * half[0], rng.uniform(-0.3, 0.3) * half[1]])
    world.add_geom(type=box, size=[*half, -floor / 2], pos=[*place, floor / 2], material="table")
    for number in range(3):
        angle = 2 * math.pi * (number + rng.random()) / 3
        position = scale * np.array([math.cos(angle), math.sin(angle), rng.uniform(1.2, 1.6)])
        aim = np.array([0, 0, 0.3 * scale]) - position
        world.add_light(
            pos=position,
            dir=aim / np.linalg.norm(aim),
            diffuse=np.array([0.55, 0.25, 0.2])[number] * rng.uniform(0.85, 1.15, 3),
            specular=[0.2] * 3,
            type=mujoco.mjtLightType.mjLIGHT_SPOT,
            cutoff=60,
            exponent=1,
            castshadow=number == 0,
        )


def _add_material(mujoco: ModuleType, spec: Any, name: str, repeat: int, rng: np.random.Generator) -> None:
    """A material with a pattern of one hue: tiles, or a coarse and a fine grain."""
    base = np.clip(rng.uniform(0.25, 0.75) * rng.uniform(0.75, 1.25, 3), 0, 1)
    grain = _grain(rng)
    if rng.random() < 0.5:
        rows, columns = np.indices((_TEXTURE, _TEXTURE)) * 4 // _TEXTURE
        grain = grain + rng.uniform(0.05, 0.15) * np.where((rows + columns) % 2, 1, -1)
    pixels = np.clip(255 * (base + grain[..., None]), 0, 255).astype(np.uint8)
    texture = spec.add_texture(
        name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=_TEXTURE, height=_TEXTURE, nchannel=3
    )
    texture.data = pixels.tobytes()
    material = spec.add_material(name=name, texrepeat=[repeat, repeat], specular=0.1, shininess=0.2)
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name


def _grain(rng: np.random.Generator) -> Floats:
    """A tileable pattern of mean 0 and standard deviation .06, (_TEXTURE, _TEXTURE)."""
    stretch = rng.uniform(1, 8)
    grain = np.zeros((_TEXTURE, _TEXTURE))
    for width in (1.0, 3.0, 10.0):
        noise = ndimage.gaussian_filter(rng.standard_normal(grain.shape), (width, width * stretch), mode="wrap")
        grain += noise / noise.std()
    return 0.06 * grain / grain.std()


def _add_arm(mujoco: ModuleType, spec: Any, urdf: Urdf) -> dict[str, int]:
    """Add each visible link as a body that is placed by hand; link → its number among such bodies."""
    meshes: dict[Any, str] = {}
    bodies: dict[str, int] = {}
    for link in urdf.links:
        shapes = [visual for visual in urdf.visuals if visual.link == link]
        if not shapes:
            continue
        bodies[link] = len(bodies)
        body = spec.worldbody.add_body(name=link, mocap=True)
        for visual in shapes:
            body.add_geom(**_geometry(mujoco, spec, visual, meshes))
    return bodies


def _geometry(mujoco: ModuleType, spec: Any, visual: Visual, meshes: dict[Any, str]) -> dict[str, Any]:
    """One shape of a link as the arguments of `add_geom`."""
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(visual.origin[:3, :3]).ravel())
    colour = _LIGHT_GREY if visual.colour is None else np.clip(visual.colour, 0, 1)
    # Pure white leaves no room for a highlight.
    shape: dict[str, Any] = {"pos": visual.origin[:3, 3], "quat": quaternion, "rgba": [*(0.9 * colour[:3]), colour[3]]}
    kinds = mujoco.mjtGeom
    if visual.mesh is None:
        half = visual.corners.max(axis=0)
        sizes = {
            "box": (kinds.mjGEOM_BOX, half),
            "sphere": (kinds.mjGEOM_SPHERE, half),
            "cylinder": (kinds.mjGEOM_CYLINDER, [half[0], half[2], 0]),
            "capsule": (kinds.mjGEOM_CAPSULE, [half[0], half[2] - half[0], 0]),
        }
        return shape | dict(zip(("type", "size"), sizes[visual.kind], strict=True))
    key = (visual.mesh, *visual.scale)
    if key not in meshes:
        meshes[key] = f"{len(meshes)}-{visual.mesh.stem}"
        surface = read_surface(visual.mesh)
        # Welded vertices share their normals, so curved parts look smooth.
        points, index = np.unique((surface.points * visual.scale).round(7), axis=0, return_inverse=True)
        spec.add_mesh(
            name=meshes[key],
            uservert=points.ravel(),
            userface=index.reshape(-1)[surface.faces].ravel(),
            inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
        )
    return shape | {"type": kinds.mjGEOM_MESH, "meshname": meshes[key]}
