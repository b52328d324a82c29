"""Frames of a textured scene with a moving rectangle, as a shaking camera with varying exposure takes them."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

SIDE, FRAMES = 64, 60


class Recorded(NamedTuple):
    """Frames of two cameras, and the truth about them.

    Attributes:
        images: as recorded, uint8 (n, P, S, S).
        still: without any fault of the camera, likewise.
        arm: where the rectangle is, bool (n, P, S, S).
        level: of the rectangle.
        gain: of each frame, (n, 2).
        offset: likewise, in units of white.
        down: shift of the scene along +y, pixels, likewise.
        right: along +x.
        turn: rotation of the scene from +x to +y, radians, likewise.
    """

    images: Tensor
    still: Tensor
    arm: Tensor
    level: float
    gain: Tensor
    offset: Tensor
    down: Tensor
    right: Tensor
    turn: Tensor


def frames(
    *,
    channels: int = 1,
    brighter: float = 1.0,
    noise: float = 2.5,
    shake: float = 0.6,
    turn: float = 0.0,
    seed: int = 0,
) -> Recorded:
    """Draw the frames; the scene is always the same.

    Args:
        channels: 1, or 3 with colour channels of different gain.
        brighter: factor of all gains.
        noise: standard deviation, levels.
        shake: standard deviation of the shifts, pixels.
        turn: standard deviation of the rotations, radians.
        seed: of the faults.
    """
    scene = ndimage.gaussian_filter(np.random.default_rng(1).uniform(0, 255, (2, SIDE, SIDE)), (0, 3, 3))
    scene = 60 + 140 * (scene - scene.min()) / np.ptp(scene)
    rng = np.random.default_rng(seed)
    gain, offset = brighter * np.exp(0.08 * rng.standard_normal((FRAMES, 2))), 4 * rng.standard_normal((FRAMES, 2))
    shift = shake * rng.standard_normal((FRAMES, 2, 2))
    angle = turn * np.random.default_rng(seed + 1).standard_normal((FRAMES, 2))
    still = np.repeat(scene[None], FRAMES, axis=0)
    arm = np.zeros(still.shape, bool)
    for n, v in np.ndindex(FRAMES, 2):
        y, x = rng.integers(8, SIDE - 24, 2)
        arm[n, v, y : y + 16, x : x + 10] = True
    still[arm] = 230
    seen = [moved_image(still[n, v], shift[n, v], float(angle[n, v])) for n, v in np.ndindex(FRAMES, 2)]
    moved = np.reshape(seen, still.shape)
    colours = np.array([1.0, 0.9, 1.1])[:channels]
    lit = (gain[..., None] * colours)[..., None, None] * moved[:, :, None] + offset[..., None, None, None]
    lit = (lit + noise * rng.standard_normal(lit.shape)).reshape(FRAMES, 2 * channels, SIDE, SIDE)
    images = torch.from_numpy(lit.round().clip(0, 255).astype(np.uint8))
    return Recorded(
        images,
        torch.from_numpy(still.round().astype(np.uint8)),
        torch.from_numpy(arm),
        230.0,
        *(torch.from_numpy(each).float() for each in (gain, offset / 255, shift[..., 0], shift[..., 1], angle)),
    )


def moved_image(image: NDArray[np.float64], shift: NDArray[np.float64], angle: float) -> NDArray[np.float64]:
    """An image whose content is rotated about the middle and then shifted by (down, right) pixels."""
    cosine, sine = np.cos(angle), np.sin(angle)
    back = np.array([[cosine, -sine], [sine, cosine]])  # from the moved place (row, column) to the original one
    middle = (np.array(image.shape) - 1) / 2
    moved: NDArray[np.float64] = ndimage.affine_transform(
        image, back, middle - back @ (middle + shift), order=1, mode="nearest"
    )
    return moved
