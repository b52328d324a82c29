"""Pinhole camera matrices in OpenGL's and OpenCV's conventions."""

import numpy as np

from ropes.common.arrays import Floats
from ropes.simulation.joints import rotation
from ropes.simulation.settings import Camera

NEAR, FAR = 0.1, 100.0


def axes(camera: Camera) -> Floats:
    """The camera's right, up and forward directions in the world frame, as rows of (3, 3).

    With all angles 0 the camera looks along +y, +x is right and +z is up.  As in PyBullet, pitch rotates about x,
    then roll about y, then yaw about z.
    """
    x, y, z = np.eye(3)
    yaw, pitch, roll = (np.radians([angle]) for angle in (camera.yaw, camera.pitch, camera.roll))
    turn = rotation(z, yaw)[0] @ rotation(y, roll)[0] @ rotation(x, pitch)[0]
    return (turn @ np.stack([x, z, y]).T).T


def eye(camera: Camera) -> Floats:
    """The camera's position in the world frame, (3,) metres."""
    return np.asarray(camera.target) - camera.distance * axes(camera)[2]


def view_matrix(camera: Camera) -> Floats:
    """World → camera in OpenGL's convention (x right, y up, looking along −z), (4, 4)."""
    right, up, forward = axes(camera)
    view = np.eye(4)
    view[:3, :3] = right, up, -forward
    view[:3, 3] = -view[:3, :3] @ eye(camera)
    return view


def projection_matrix(camera: Camera) -> Floats:
    """OpenGL's perspective projection of a square image, (4, 4)."""
    focal = 1 / np.tan(np.radians(camera.fov) / 2)
    right, down = camera.centre
    depth = NEAR - FAR
    return np.array(
        [
            [focal * camera.stretch, 0, -2 * right, 0],
            [0, focal, 2 * down, 0],
            [0, 0, (FAR + NEAR) / depth, 2 * FAR * NEAR / depth],
            [0, 0, -1, 0],
        ]
    )


def intrinsics(camera: Camera, image_size: int) -> Floats:
    """The pinhole matrix K of a square image, (3, 3), in pixels; pixel (0, 0) is centred on (½, ½)."""
    focal = image_size / 2 / np.tan(np.radians(camera.fov) / 2)
    column, row = (image_size * (0.5 + share) for share in camera.centre)
    return np.array([[focal * camera.stretch, 0, column], [0, focal, row], [0, 0, 1]])


def frustum(camera: Camera) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of the image on the plane at depth 1, right and up of the optical axis."""
    tangent = float(np.tan(np.radians(camera.fov) / 2))
    (right, down), across = camera.centre, tangent / camera.stretch
    return -across * (1 + 2 * right), across * (1 - 2 * right), -tangent * (1 - 2 * down), tangent * (1 + 2 * down)


def extrinsics(camera: Camera) -> Floats:
    """World → camera in OpenCV's convention (x right, y down, z forward), (4, 4), metres."""
    return np.diag([1.0, -1.0, -1.0, 1.0]) @ view_matrix(camera)


def windows_around(points: Floats, image_size: int, step: int) -> list[tuple[slice, slice]]:
    """For each image the bounding window of its points, enlarged by `step` pixels or more.

    Args:
        points: (n, points, 3) homogeneous pixel coordinates K · (R p + t); the last is the depth.
        image_size: side of the images, pixels.
        step: the windows' edges are multiples of it.

    Returns:
        Rows and columns for each image; the whole image if a point is behind the camera.
    """
    behind = points[..., 2].min(axis=1) <= NEAR
    pixels = points[~behind, :, :2] / points[~behind, :, 2:]
    low = (pixels.min(axis=1) // step * step).astype(int) - step
    high = (pixels.max(axis=1) // step * step).astype(int) + 2 * step
    edges = np.tile([0, 0, image_size, image_size], (len(points), 1))
    edges[~behind, :2] = low.clip(0, image_size - step)
    edges[~behind, 2:] = high.clip(step, image_size)
    return [(slice(top, bottom), slice(left, right)) for left, top, right, bottom in edges.tolist()]


def crop(projection: Floats, image_size: int, rows: slice, columns: slice) -> Floats:
    """The projection (4, 4) onto a window of the image, at the pixel grid of the whole image."""
    left, right = (2 * edge / image_size - 1 for edge in (columns.start, columns.stop))
    top, bottom = (1 - 2 * edge / image_size for edge in (rows.start, rows.stop))
    zoom = np.eye(4)
    zoom[0, 0], zoom[0, 3] = 2 / (right - left), -(right + left) / (right - left)
    zoom[1, 1], zoom[1, 3] = 2 / (top - bottom), -(top + bottom) / (top - bottom)
    return zoom @ projection
