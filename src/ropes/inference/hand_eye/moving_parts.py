"""What moves in the images of one camera: where frames differ from the median over all frames."""

import numpy as np
from PIL import Image
from scipy import ndimage

from ropes.common.arrays import Bools, Images
from ropes.models.frame_changes import CHANGED, are_recorded, camera_planes, explained_by_noise
from ropes.models.registration import Registration

#: Longer side of the images that are compared, pixels.
SIDE = 128


def small(images: Images, side: int = SIDE) -> Images:
    """Images (n, H, W) or (n, H, W, 3) with a longer side of `side` pixels at most."""
    height, width = images.shape[1:3]
    scale = side / max(height, width)
    if scale >= 1:
        return images
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.stack([np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BOX)) for image in images])


def moving_parts(images: Images) -> Bools:
    """Where each frame differs from the background, (n, H, W).

    The background is each pixel's median over the frames.  Frames of a real camera are registered to it first, see
    `ropes.models.registration`.  Small holes are closed.

    Args:
        images: uint8 (n, H, W), or (n, H, W, 3) in colour.
    """
    planes, least = camera_planes(images), float(CHANGED)
    if are_recorded(planes):
        registration = Registration.of_camera(planes)
        planes, background = registration.composite(planes), registration.background
        least = explained_by_noise(registration.noise)
        difference = (planes.float() - 255 * background).abs().amax(1).numpy()
    else:
        difference = (planes.float() - planes.float().median(dim=0).values).abs().amax(1).numpy()
    moved = difference > least
    near = np.ones((1, 3, 3), np.bool_)
    return np.asarray(ndimage.binary_opening(ndimage.binary_closing(moved, near) | moved, near))
