"""Parts of training images hidden, so that a network learns to do without (random erasing)."""

import torch
from torch import Tensor

#: Sides of the squares, in shares of the image's.
SIDES = (0.05, 0.4)


def erase(images: Tensor, share: float) -> Tensor:
    """Hide one white square in a share of the images, each of a side and at a place of its own.

    After Zhong et al., "Random Erasing Data Augmentation" (2020), with squares, and white ones.

    Args:
        images: uint8 (..., S, S), each view an image of its own.
        share: of them, in [0, 1]; 0 hides nothing, and takes no random number.

    Returns:
        A copy where anything is hidden, with squares of 5 to 40% of the side, wholly inside their images.
    """
    if not share:
        return images
    each, side = images.shape[:-2], images.shape[-1]
    low, high = (max(1, round(part * side)) for part in SIDES)
    sides = torch.randint(low, high + 1, each, device=images.device)
    rows, columns = (_span(sides, side) for _ in range(2))
    chosen = torch.rand(each, device=images.device) < share
    hidden = rows[..., :, None] & columns[..., None, :] & chosen[..., None, None]
    return images.masked_fill(hidden, 255)


def _span(sides: Tensor, side: int) -> Tensor:
    """Which of `side` pixels lie in a stretch of so many, anywhere inside: (...) → bool (..., side)."""
    first = (torch.rand(sides.shape, device=sides.device) * (side - sides + 1)).long()
    at = torch.arange(side, device=sides.device)
    return (at >= first[..., None]) & (at < (first + sides)[..., None])
