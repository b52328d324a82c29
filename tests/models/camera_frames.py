"""Frames of a textured scene with a moving rectangle, as a shaking camera with varying exposure takes them."""

from typing import NamedTuple

import numpy as np
import torch
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
    """

    images: Tensor
    still: Tensor
    arm: Tensor
    level: float
    gain: Tensor
    offset: Tensor
    down: Tensor
    right: Tensor


def frames(*, channels: int = 1, brighter: float = 1.0, noise: float = 2.5, seed: int = 0) -> Recorded:
    """Draw the frames; the scene is always the same.

    Args:
        channels: 1, or 3 with colour channels of different gain.
        brighter: factor of all gains.
        noise: standard deviation, levels.
        seed: of the faults.
    """
    scene = ndimage.gaussian_filter(np.random.default_rng(1).uniform(0, 255, (2, SIDE, SIDE)), (0, 3, 3))
    scene = 60 + 140 * (scene - scene.min()) / np.ptp(scene)
    rng = np.random.default_rng(seed)
    gain, offset = brighter * np.exp(0.08 * rng.standard_normal((FRAMES, 2))), 4 * rng.standard_normal((FRAMES, 2))
    shift = 0.6 * rng.standard_normal((FRAMES, 2, 2))
    still = np.repeat(scene[None], FRAMES, axis=0)
    arm = np.zeros(still.shape, bool)
    for n, v in np.ndindex(FRAMES, 2):
        y, x = rng.integers(8, SIDE - 24, 2)
        arm[n, v, y : y + 16, x : x + 10] = True
    still[arm] = 230
    seen = [ndimage.shift(still[n, v], shift[n, v], order=1, mode="nearest") for n, v in np.ndindex(FRAMES, 2)]
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
        *(torch.from_numpy(each).float() for each in (gain, offset / 255, shift[..., 0], shift[..., 1])),
    )
