"""I-JEPA's masks: which patches are context and which are predicted.

Source: ROPES App. H, after Assran et al. 2023, Section 3 (their multi-block masks).
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Mask = NDArray[np.bool_]
#: Blocks to predict, and the shares of an image and the ratios of height to width that a block takes.
TARGETS, _TARGET_SHARE, _TARGET_RATIO = 4, (0.15, 0.2), (0.75, 1.5)
_CONTEXT_SHARE = (0.85, 1.0)


def draw_blocks(rng: np.random.Generator, images: int, side: int) -> tuple[Tensor, Tensor]:
    """Patches of the context and of the targets of every image.

    All images of a batch have blocks of one size, each in places of its own.  The context is one large block without
    the patches of the targets; where images differ in how many remain, the least of them is kept of each, at random.

    Deviation: blocks to predict may overlap.  Why: they do in Assran et al. 2023, which App. H follows, though App. H
    calls them non-overlapping.  Effect: not measured.

    Args:
        rng: draws sizes and places.
        images: how many.
        side: patches along a side of an image.

    Returns:
        int64 (images, k) and (images, `TARGETS`, m), numbers of patches row by row.
    """
    size = _block(rng, side, _TARGET_SHARE, _TARGET_RATIO)
    around = _block(rng, side, _CONTEXT_SHARE, (1.0, 1.0))
    drawn = [_draw(rng, side, size, around) for _ in range(images)]
    contexts, targets = (np.stack(part) for part in zip(*drawn, strict=True))
    kept = int(contexts.sum((1, 2)).min())
    seen = np.stack([np.sort(rng.permutation(np.flatnonzero(context))[:kept]) for context in contexts])
    hidden = targets.reshape(images, TARGETS, -1).nonzero()[2].reshape(images, TARGETS, -1)
    return torch.from_numpy(seen), torch.from_numpy(hidden)


def _draw(rng: np.random.Generator, side: int, size: tuple[int, int], around: tuple[int, int]) -> tuple[Mask, Mask]:
    """Context (side, side) and targets (`TARGETS`, side, side) of an image; again where nothing is left to be seen."""
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


def _place(rng: np.random.Generator, side: int, height: int, width: int) -> Mask:
    """A block of that size somewhere, (side, side)."""
    top, left = rng.integers(side - height + 1), rng.integers(side - width + 1)
    covered = np.zeros((side, side), dtype=bool)
    covered[top : top + height, left : left + width] = True
    return covered
