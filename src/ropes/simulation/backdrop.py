"""The static background of an arm: white, or panda-gym's table on a plane."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropes.simulation.bullet import BulletScene, quiet
from ropes.simulation.cameras import projection_matrix, view_matrix
from ropes.simulation.settings import Camera

WHITE = 255


@dataclass(frozen=True)
class Box:
    """An axis-aligned box: half its sides and its centre in metres, its grey level in [0, 1]."""

    half: tuple[float, float, float]
    centre: tuple[float, float, float]
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


def panda_gym(camera: Camera, side: int) -> Backdrop:
    """Render panda-gym's table and plane as its `render()` does, with shadows.

    PyBullet's light points at the world's origin.  So the boxes keep panda-gym's positions and the camera moves.
    The software renderer draws no shadow of the arm; it darkens whole faces by 6 to 8% instead.  The arm's pose
    changes less than 1% of the pixels of table and plane.
    """
    shift = np.eye(4)
    shift[:3, 3] = -np.array(BASE)
    with _Boxes() as scene:
        return scene.render(view_matrix(camera) @ shift, projection_matrix(camera), side)


class _Boxes(BulletScene):
    """panda-gym's boxes."""

    def __init__(self) -> None:
        super().__init__()
        bullet, client = self._bullet, {"physicsClientId": self._client}
        with quiet():
            for box in BOXES:
                colours = {"rgbaColor": [box.grey] * 3 + [1.0], "specularColor": [0, 0, 0]}
                shape = bullet.createVisualShape(bullet.GEOM_BOX, halfExtents=box.half, **colours, **client)
                bullet.createMultiBody(baseVisualShapeIndex=shape, basePosition=box.centre, **client)

    def render(self, view: NDArray[np.float64], projection: NDArray[np.float64], side: int) -> Backdrop:
        """Render a square image of `side` pixels."""
        colours, depth, _ = self._render(view, projection, side, side, shadow=1)
        return Backdrop(colours.copy(), np.array(depth, dtype=np.float32).reshape(side, side))
