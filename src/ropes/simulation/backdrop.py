"""The static background of an arm: white, or panda-gym's table on a plane."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.simulation.bullet import BulletScene, quiet
from ropes.simulation.cameras import projection_matrix, view_matrix
from ropes.simulation.settings import Camera

WHITE = 255


@dataclass(frozen=True)
class Box:
    """A box along the axes: half its sides and its centre, metres, and its grey level in [0, 1]."""

    half: tuple[float, float, float]
    centre: tuple[float, float, float]
    grey: float


#: panda-gym 3.0.7, `PyBullet.create_plane` and `create_table` as its tasks call them, in panda-gym's world.
_BOXES = (
    Box(half=(3.0, 3.0, 0.01), centre=(0.0, 0.0, -0.41), grey=0.15),
    Box(half=(0.55, 0.35, 0.2), centre=(-0.3, 0.0, -0.2), grey=0.95),
)
#: Where the arm's base is in that world; ours has it at the origin.
_BASE = (-0.6, 0.0, 0.0)


@dataclass(frozen=True)
class Backdrop:
    """A camera's still picture.

    Attributes:
        colours: uint8 (side, side, 3).
        depth: float32 (side, side), of the depth buffer: 1 where there is nothing.
    """

    colours: NDArray[np.uint8]
    depth: NDArray[np.float32]


def panda_gym(camera: Camera, side: int) -> Backdrop:
    """The table and the plane of panda-gym, drawn as its `render()` draws them, with shadows.

    PyBullet's light looks at the origin of the world, so the boxes stand where panda-gym has them, and the camera is
    moved.  Its software renderer darkens whole faces by 6 to 8% instead of drawing the shadow of the arm, whose pose
    changes less than one pixel in a hundred of table and plane.
    """
    moved = np.eye(4)
    moved[:3, 3] = -np.array(_BASE)
    with _Boxes() as scene:
        colours, depth = scene.picture(view_matrix(camera) @ moved, projection_matrix(camera), side)
    return Backdrop(colours, depth)


class _Boxes(BulletScene):
    """panda-gym's boxes in a simulator of their own."""

    def __init__(self) -> None:
        super().__init__()
        client: dict[str, Any] = {"physicsClientId": self._client}
        with quiet():
            for box in _BOXES:
                colour = [box.grey] * 3 + [1.0]
                shape = self._bullet.createVisualShape(
                    self._bullet.GEOM_BOX, halfExtents=box.half, rgbaColor=colour, specularColor=[0, 0, 0], **client
                )
                self._bullet.createMultiBody(baseVisualShapeIndex=shape, basePosition=box.centre, **client)

    def picture(
        self, view: NDArray[np.float64], projection: NDArray[np.float64], side: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Colours (side, side, 3) and depth buffer (side, side)."""
        _, _, colours, depth, _ = self._bullet.getCameraImage(
            side,
            side,
            viewMatrix=view.T.ravel().tolist(),
            projectionMatrix=projection.T.ravel().tolist(),
            shadow=1,
            renderer=self._bullet.ER_TINY_RENDERER,
            physicsClientId=self._client,
        )
        return (
            np.array(colours, dtype=np.uint8).reshape(side, side, 4)[..., :3].copy(),
            np.array(depth, dtype=np.float32).reshape(side, side),
        )
