"""Images of several cameras, whose sizes may differ."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.common.arrays import Images
from ropes.data.dataset import Dataset
from ropes.data.pictures import letterbox

#: Images of n poses: (n, cameras, H, W), in colour (n, cameras, H, W, 3); where the cameras' sizes differ a sequence of
#: one array (n, H, W) or (n, H, W, 3) per camera.
Views = Images | Sequence[Images]


def by_camera(images: Views) -> list[Images]:
    """One array (n, H, W) or (n, H, W, 3) per camera."""
    return list(images.swapaxes(0, 1)) if isinstance(images, np.ndarray) else list(images)


def joined(cameras: Sequence[Images]) -> Views:
    """The inverse of `by_camera`: one array where the cameras' sizes are equal."""
    return np.stack(cameras, axis=1) if len({images.shape for images in cameras}) == 1 else tuple(cameras)


def read_views(dataset: Dataset, rows: ArrayLike, cameras: Sequence[str]) -> Views:
    """Images of these rows of the whole data set, by these of its cameras."""
    images = dict(zip(dataset.cameras, dataset.read_cameras(rows), strict=True))
    return joined([images[camera] for camera in cameras])


def each(images: Views, change: Callable[[Images], Images]) -> Views:
    """Images changed by a function of one camera's, (n, H, W[, 3])."""
    return joined([change(camera) for camera in by_camera(images)])


def take(images: Views, rows: slice | NDArray[np.int64]) -> Views:
    """The poses in `rows`."""
    return images[rows] if isinstance(images, np.ndarray) else tuple(camera[rows] for camera in images)


def count(images: Views) -> int:
    """Number of poses."""
    return len(images) if isinstance(images, np.ndarray) else len(images[0])


def squares(images: Views, side: int) -> Images:
    """Letterboxed images of all cameras: uint8 (n, cameras, side, side), in colour (n, cameras, side, side, 3)."""
    if isinstance(images, np.ndarray) and images.shape[2:4] == (side, side):
        return images
    return np.stack([letterbox(camera, side) for camera in by_camera(images)], axis=1)


def planes(images: Images) -> Images:
    """The planes of images: in grey the cameras' images as they are; in colour (n, V, S, S, 3) → (n, 3 V, S, S).

    Plane 3 v + c is channel c of camera v. Networks take planes.
    """
    if images.ndim == 4:
        return images
    return images.transpose(0, 1, 4, 2, 3).reshape(len(images), -1, *images.shape[2:4])


def from_planes(images: Images, channels: int) -> Images:
    """The inverse of `planes`."""
    if channels == 1:
        return images
    unflattened = images.reshape(len(images), -1, channels, *images.shape[2:])
    return np.ascontiguousarray(unflattened.transpose(0, 1, 3, 4, 2))
