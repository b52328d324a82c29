"""I-JEPA's masks: which patches are context and which are predicted.

Source: ROPES App. H, after Assran et al. 2023, Section 3 (their multi-block masks).
"""

import math

import numpy as np
import torch
from torch import Tensor

from ropes.common.arrays import Bools

#: Number of target blocks; range of a block's share of the image, and of its ratio of height to width.
TARGETS, _TARGET_SHARE, _TARGET_RATIO = 4, (0.15, 0.2), (0.75, 1.5)
_CONTEXT_SHARE = (0.85, 1.0)


def draw_blocks(rng: np.random.Generator, images: int, side: int) -> tuple[Tensor, Tensor]:
    """Random patches of the context and of the targets of every image.

    The block sizes are the same for all images of a batch, the positions are not.  The context is one large block
    without the patches of the targets.  Each image keeps as many random patches of it as the image with the fewest has.

    Deviation: blocks to predict may overlap.  Why: they do in Assran et al. 2023, which App. H follows, though App. H
    calls them non-overlapping.  Effect: not measured.

    Args:
        rng: for sizes and positions.
        images: number of images.
        side: patches along a side of an image.

    Returns:
        int64 (images, k) and (images, `TARGETS`, m), indices of patches in row-major order.
    """
    size = _block(rng, side, _TARGET_SHARE, _TARGET_RATIO)
    around = _block(rng, side, _CONTEXT_SHARE, (1.0, 1.0))
    masks = [_draw(rng, side, size, around) for _ in range(images)]
    contexts, targets = (np.stack(part) for part in zip(*masks, strict=True))
    count = int(contexts.sum((1, 2)).min())
    context_indices = np.stack([np.sort(rng.permutation(np.flatnonzero(context))[:count]) for context in contexts])
    target_indices = targets.reshape(images, TARGETS, -1).nonzero()[2].reshape(images, TARGETS, -1)
    return torch.from_numpy(context_indices), torch.from_numpy(target_indices)


def _draw(rng: np.random.Generator, side: int, size: tuple[int, int], around: tuple[int, int]) -> tuple[Bools, Bools]:
    """Context (side, side) and targets (`TARGETS`, side, side) of an image; redrawn until the context has a patch."""
    while True:
        targets = np.stack([_place(rng, side, *size) for _ in range(TARGETS)])
        context = _place(rng, side, *around) & ~targets.any(0)
        if context.any():
            return context, targets


def _block(
    rng: np.random.Generator, side: int, share: tuple[float, float], ratio: tuple[float, float]
) -> tuple[int, int]:
    """Height and width, in patches, of a block of a random share of the image and a random ratio."""
    area = rng.uniform(*share) * side**2
    stretch = math.sqrt(rng.uniform(*ratio))
    height, width = (
        min(max(1, round(length)), side) for length in (math.sqrt(area) * stretch, math.sqrt(area) / stretch)
    )
    return height, width


def _place(rng: np.random.Generator, side: int, height: int, width: int) -> Bools:
    """Mask of a block of that size at a random position, (side, side)."""
    top, left = rng.integers(side - height + 1), rng.integers(side - width + 1)
    mask = np.zeros((side, side), dtype=bool)
    mask[top : top + height, left : left + width] = True
    return mask
