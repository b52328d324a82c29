"""Draws a MuJoCo model off-screen: OpenGL through EGL, on the graphics card or in software.

Images are drawn at 3/2 of their side and averaged over area.  This smooths edges at less than half the cost of four
samples a pixel.
"""

import importlib
import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Images
from ropes.errors import UserError, install_command
from ropes.simulation.bullet import mean_levels
from ropes.simulation.cameras import axes, eye, frustum
from ropes.simulation.context import ClosesAtExit
from ropes.simulation.parts import Colour, Part
from ropes.simulation.settings import Camera

#: Largest number of shapes in a picture.
_SHAPES = 2_000


def import_mujoco() -> ModuleType:
    """MuJoCo.

    Raises:
        UserError: it is not installed, the message says how to install it; or see `_no_opengl`.
    """
    try:
        return importlib.import_module("mujoco")
    except ModuleNotFoundError as error:
        raise UserError(f"the renderer mujoco needs MuJoCo: {install_command('mujoco')}") from error
    except RuntimeError as error:  # no such MUJOCO_GL
        raise UserError(f"MuJoCo cannot draw off-screen: {' '.join(str(error).split())}") from error
    except (ImportError, AttributeError, OSError) as error:  # MuJoCo itself loads the OpenGL that MUJOCO_GL names
        raise _no_opengl() from error


def _platform() -> str:
    """OSMesa where MUJOCO_GL asks for it, EGL otherwise."""
    return "osmesa" if os.environ.get("MUJOCO_GL", "").lower() == "osmesa" else "egl"


def _no_opengl() -> UserError:
    """PyOpenGL finds no library, or the library no device."""
    name, package = ("OSMesa", "libosmesa6") if _platform() == "osmesa" else ("EGL", "libegl1 libgl1-mesa-dri")
    return UserError(f"MuJoCo cannot draw off-screen: {name} is missing; sudo apt install {package}")


def _new_context(side: int) -> Any:
    """An OpenGL context of its own, of `_platform`.

    Raises:
        UserError: MuJoCo or its OpenGL is missing, or its OpenGL cannot draw.
    """
    import_mujoco()
    # The CUDA builds of torch import triton.  Where Mesa's software renderer loads its LLVM before triton loads its
    # own, the process crashes.
    if find_spec("triton"):
        importlib.import_module("triton")
    # Mesa's software renderer starts a thread a core by default; each rendering process is to use one core.
    os.environ.setdefault("LP_NUM_THREADS", "0")
    platform = _platform()
    if (other := os.environ.setdefault("PYOPENGL_PLATFORM", platform)).lower() != platform:
        raise UserError(f"PYOPENGL_PLATFORM is {other}, and MuJoCo draws off-screen with {platform}; unset it")
    try:
        context = importlib.import_module(f"mujoco.{platform}").GLContext(side, side)
        context.make_current()
    except (RuntimeError, ValueError) as error:  # a wrong MUJOCO_EGL_DEVICE_ID, or a device that cannot draw
        raise UserError(f"MuJoCo cannot draw off-screen: {' '.join(str(error).split())}") from error
    except (ImportError, AttributeError, OSError) as error:
        raise _no_opengl() from error
    return context


@cache
def graphics() -> str:
    """The name of the OpenGL renderer, such as "llvmpipe (LLVM 15.0.6, 256 bits)".

    Raises:
        UserError: MuJoCo or its OpenGL is missing.
    """
    context = _new_context(16)
    try:
        opengl = importlib.import_module("OpenGL.GL")  # which MuJoCo brings
        return str(opengl.glGetString(opengl.GL_RENDERER).decode())
    finally:
        context.free()


class OffScreen(ClosesAtExit):
    """A context manager that draws one model from several cameras.

    Args:
        spec: the model, an `mjSpec`; cameras and image quality are added here.
        cameras: the cameras; `move_camera` changes them.
        image_size: side of the square images, pixels.
        shadowless: names of the bodies that cast no shadow.  They still show the shadows of others.
        shadow_map: side of the map of shadows, pixels.
        shadow_scale: share of the light's cone that the map covers.

    Raises:
        UserError: MuJoCo or its OpenGL is missing, or MuJoCo refuses the model: a mesh needs four vertices.
    """

    def __init__(
        self,
        spec: Any,
        cameras: Sequence[Camera],
        image_size: int,
        shadowless: Iterable[str] = (),
        shadow_map: int = 256,
        shadow_scale: float = 0.35,
    ) -> None:
        self._context: Any = None
        self._mujoco = import_mujoco()
        self.image_size = image_size
        self._side = side = image_size * 3 // 2 if image_size % 2 == 0 else 2 * image_size
        visual = spec.visual
        visual.global_.offwidth = visual.global_.offheight = side
        visual.quality.offsamples, visual.quality.shadowsize = 0, shadow_map
        visual.map.shadowscale = shadow_scale
        for k, _ in enumerate(cameras):
            spec.worldbody.add_camera(name=f"camera {k}")
        try:
            self.model = spec.compile()
        except ValueError as error:
            raise UserError(f"MuJoCo cannot draw this scene: {' '.join(str(error).split())}") from error
        self.data = self._mujoco.MjData(self.model)
        self._cameras = list(cameras)
        for k, camera in enumerate(cameras):
            self.move_camera(k, camera)
        self._views = [self._mujoco.MjvCamera() for _ in cameras]
        for k, view in enumerate(self._views):
            view.type, view.fixedcamid = self._mujoco.mjtCamera.mjCAMERA_FIXED, k
        self.scene = self._mujoco.MjvScene(self.model, _SHAPES)
        self._options, self._area = self._mujoco.MjvOption(), self._mujoco.MjrRect(0, 0, side, side)
        bodies = (self.model.body(number) for number in range(self.model.nbody))
        self._mocap = {body.name: int(body.mocapid[0]) for body in bodies if body.mocapid[0] >= 0}
        self._shadowless = {self.model.body(name).id for name in shadowless}
        self._context = _new_context(side)
        self._drawing = self._mujoco.MjrContext(self.model, self._mujoco.mjtFontScale.mjFONTSCALE_50)
        self._mujoco.mjr_setBuffer(self._mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._drawing)
        self._sample_textures_once()

    def close(self) -> None:
        """Free the OpenGL context; a second call does nothing."""
        if self._context is not None:
            self._context.make_current()
            self._drawing.free()
            self._context.free()
            self._context = None

    def move_camera(self, number: int, camera: Camera) -> None:
        """Place a camera."""
        self._cameras[number] = camera
        right, up, forward = axes(camera)
        self.model.cam_pos[number], self.model.cam_fovy[number] = eye(camera), camera.fov
        self._mujoco.mju_mat2Quat(self.model.cam_quat[number], np.stack([right, up, -forward], axis=1).ravel())

    def place(self, body: str, pose: NDArray[np.float64]) -> None:
        """Bring a body that is placed by hand into a pose, (4, 4), at the next `update`."""
        number = self._mocap[body]
        self.data.mocap_pos[number] = pose[:3, 3]
        self._mujoco.mju_mat2Quat(self.data.mocap_quat[number], np.ascontiguousarray(pose[:3, :3]).ravel())

    def paint(self, body: str, colour: Colour) -> None:
        """Give all shapes of a body a colour, at the next `update`."""
        self.model.geom_rgba[self.model.geom_bodyid == self.model.body(body).id, :3] = colour

    def update(self) -> None:
        """Bring bodies, cameras and lights to where `data` and `model` put them."""
        mujoco, model, data = self._mujoco, self.model, self.data
        mujoco.mj_kinematics(model, data)
        mujoco.mj_camlight(model, data)
        catmask = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(model, data, self._options, None, self._views[0], catmask, self.scene)
        for k in range(self.scene.ngeom):
            shape = self.scene.geoms[k]
            if model.geom_bodyid[shape.objid] in self._shadowless:
                shape.category = mujoco.mjtCatBit.mjCAT_DECOR  # such shapes are left out of the map of shadows

    def add_part(self, part: Part) -> None:
        """Add a part to the picture, until the next `update`."""
        kinds, size = self._mujoco.mjtGeom, np.array(part.size)
        kind = {"box": kinds.mjGEOM_BOX, "cylinder": kinds.mjGEOM_CYLINDER, "sphere": kinds.mjGEOM_SPHERE}[part.shape]
        if part.shape == "cylinder":
            size = size[[0, 2, 1]]  # MuJoCo takes the radius once
        turn = np.eye(3) if part.turn is None else part.turn
        rgba = np.array([*part.colour, 1], dtype=np.float32)
        shape = self.scene.geoms[self.scene.ngeom]
        self._mujoco.mjv_initGeom(shape, kind, size, np.array(part.place), turn.ravel(), rgba)
        shape.category, shape.specular = self._mujoco.mjtCatBit.mjCAT_DYNAMIC, 0.1
        self.scene.ngeom += 1

    def photograph(self, number: int, colour: bool = True) -> Images:
        """The image of a camera, uint8 (S, S, 3), or BT.601 luma (S, S)."""
        return mean_levels(*pooled(self._draw(number), self.image_size), colour=colour)

    def mask(self, number: int, shown: Callable[[NDArray[np.int64]], NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Where the bodies for which `shown` holds cover half a pixel or more, bool (S, S).

        Args:
            number: of the camera.
            shown: numbers of bodies → whether they count.
        """
        flags, kinds = self.scene.flags, self._mujoco.mjtRndFlag
        flags[kinds.mjRND_SEGMENT] = flags[kinds.mjRND_IDCOLOR] = 1
        try:
            found = self._draw(number).astype(np.int64) @ np.array([1, 1 << 8, 1 << 16])  # 0 where there is nothing
        finally:
            flags[kinds.mjRND_SEGMENT] = flags[kinds.mjRND_IDCOLOR] = 0
        shapes = [self.scene.geoms[k] for k in range(self.scene.ngeom)]
        bodies = np.zeros(1 + max(shape.segid + 1 for shape in shapes), np.int64)
        for shape in shapes:
            bodies[shape.segid + 1] = self.model.geom_bodyid[shape.objid]
        inside = (shown(bodies[found]) & (found > 0)).astype(np.uint8)
        sums, area = pooled(inside, self.image_size)
        return np.asarray(2 * sums >= area)

    def _sample_textures_once(self) -> None:
        """Read textures at one scale a pixel instead of mixing two: images take a tenth less time."""
        opengl = importlib.import_module("OpenGL.GL")
        target, scale = opengl.GL_TEXTURE_2D, opengl.GL_TEXTURE_MIN_FILTER
        flat = self.model.tex_type == self._mujoco.mjtTexture.mjTEXTURE_2D
        for texture in self._drawing.texture[: self._drawing.ntexture][flat].tolist():
            opengl.glBindTexture(target, texture)
            opengl.glTexParameteri(target, scale, opengl.GL_LINEAR_MIPMAP_NEAREST)

    def _shift(self, camera: Camera) -> None:
        """Bring the principal point of a camera to its place; MuJoCo's own is the middle of the image."""
        if camera.centre == (0.0, 0.0) and camera.stretch == 1:
            return
        left, right, bottom, top = frustum(camera)
        for view in self.scene.camera:  # one for each eye, of which the mean is drawn
            near = view.frustum_near
            view.frustum_center, view.frustum_width = near * (left + right) / 2, near * (right - left) / 2
            view.frustum_bottom, view.frustum_top = near * bottom, near * top

    def _draw(self, number: int) -> Images:
        """The picture of a camera at full resolution, uint8 (side, side, 3)."""
        self._context.make_current()
        self._mujoco.mjv_updateCamera(self.model, self.data, self._views[number], self.scene)
        self._shift(self._cameras[number])
        self._mujoco.mjr_render(self._area, self.scene, self._drawing)
        pixels = np.empty((self._side, self._side, 3), np.uint8)
        self._mujoco.mjr_readPixels(pixels, None, self._area, self._drawing)
        return pixels[::-1]  # OpenGL's first row is the lowest


def pooled(pixels: Images, size: int) -> tuple[NDArray[np.uint16], int]:
    """Sums over the area of each of size × size pixels, from an image of 3/2 or twice that side.

    Returns:
        Sums (size, size, ...), and the weight of a pixel, by which to divide them.
    """
    rows, weight = _pooled(pixels.astype(np.uint16), size)
    columns, _ = _pooled(rows.swapaxes(0, 1), size)
    return columns.swapaxes(0, 1), weight * weight


def _pooled(values: NDArray[np.uint16], size: int) -> tuple[NDArray[np.uint16], int]:
    """As `pooled`, along the first axis."""
    if len(values) == 2 * size:
        return values[::2] + values[1::2], 2
    found = np.empty((size, *values.shape[1:]), np.uint16)
    middle = values[1::3]
    found[::2], found[1::2] = 2 * values[::3] + middle, middle + 2 * values[2::3]
    return found, 3
