"""The static background of an arm for PyBullet: white, or panda-gym's table on a plane."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropes.simulation.bullet import BulletScene, quiet
from ropes.simulation.cameras import projection_matrix, view_matrix
from ropes.simulation.settings import Camera

WHITE = 255
Point = tuple[float, float, float]


@dataclass(frozen=True)
class Box:
    """An axis-aligned box: half its sides and its centre in metres, its grey level in [0, 1]."""

    half: Point
    centre: Point
    grey: float


#: Plane and table of panda-gym 3.0.7 (`PyBullet.create_plane`, `create_table`), in panda-gym's world frame.
BOXES = (
    Box(half=(3.0, 3.0, 0.01), centre=(0.0, 0.0, -0.41), grey=0.15),
    Box(half=(0.55, 0.35, 0.2), centre=(-0.3, 0.0, -0.2), grey=0.95),
)
#: Position of the arm's base in that frame; here the base is at the origin.
BASE = (-0.6, 0.0, 0.0)


@dataclass(frozen=True)
class Backdrop:
    """The background from one camera.

    Attributes:
        colours: uint8 (side, side, 3).
        depth: float32 (side, side) depth buffer; 1 where no object is.
    """

    colours: NDArray[np.uint8]
    depth: NDArray[np.float32]


def white(camera: Camera, side: int) -> None:
    """No backdrop: the image is white wherever the arm is not."""


def panda_gym(camera: Camera, side: int) -> Backdrop:
    """Render panda-gym's table and plane as its `render()` does, with shadows.

    The software renderer draws no shadow of the arm; it darkens whole faces by 6 to 8% instead.  The arm's pose
    changes less than 1% of the pixels of table and plane.
    """
    return draw_boxes(BOXES, camera, side, BASE)


def draw_boxes(boxes: Sequence[Box], camera: Camera, side: int, base: Point = (0.0, 0.0, 0.0)) -> Backdrop:
    """Render boxes on white, with shadows.

    PyBullet's light points at the world's origin.  So the boxes keep their positions and the camera moves.

    Args:
        boxes: the boxes.
        camera: the camera, in the frame of the arm's base.
        side: side of the square image, pixels.
        base: position of the arm's base in the frame of the boxes, metres.
    """
    shift = np.eye(4)
    shift[:3, 3] = -np.array(base)
    with _Boxes(boxes) as scene:
        return scene.render(view_matrix(camera) @ shift, projection_matrix(camera), side)


class _Boxes(BulletScene):
    """Boxes on white."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        super().__init__()
        bullet, client = self._bullet, {"physicsClientId": self._client}
        with quiet():
            for box in boxes:
                colours = {"rgbaColor": [box.grey] * 3 + [1.0], "specularColor": [0, 0, 0]}
                shape = bullet.createVisualShape(bullet.GEOM_BOX, halfExtents=box.half, **colours, **client)
                bullet.createMultiBody(baseVisualShapeIndex=shape, basePosition=box.centre, **client)

    def render(self, view: NDArray[np.float64], projection: NDArray[np.float64], side: int) -> Backdrop:
        """Render a square image of `side` pixels."""
        colours, depth, _ = self._render(view, projection, side, side, shadow=1)
        return Backdrop(colours.copy(), np.array(depth, dtype=np.float32).reshape(side, side))
