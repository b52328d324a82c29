"""Image augmentation: random erasing, crops, mirrors."""

import torch
from torch import Tensor
from torch.nn import functional

#: Sides of the squares, in shares of the image's.
SIDES = (0.05, 0.4)
#: Ratios of a crop's height to its width.
_RATIO = (3 / 4, 4 / 3)


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


def random_crops(images: Tensor, least: float) -> Tensor:
    """A part of each image at the size of the whole (random resized crops).

    Crops move what they show: only for training that asks nothing about where something is.

    Args:
        images: float (B, C, S, S).
        least: share of an image that a crop keeps at least; at 1 images stay as they are.

    Returns:
        (B, C, S, S), between pixels by bilinear interpolation.
    """
    if least >= 1:
        return images
    count, device = len(images), images.device
    area = torch.empty(count, device=device).uniform_(least, 1.0)
    ratio = torch.empty(count, device=device).uniform_(*(torch.tensor(_RATIO).log().tolist())).exp()
    ratio = ratio.clamp(area, 1 / area)  # what has that share and is no longer than the image
    height, width = (area * ratio).sqrt(), (area / ratio).sqrt()
    down, right = ((2 * torch.rand(count, device=device) - 1) * (1 - length) for length in (height, width))
    zero = torch.zeros_like(area)
    place = torch.stack([torch.stack([width, zero, right], 1), torch.stack([zero, height, down], 1)], dim=1)
    with torch.autocast(device.type, enabled=False):  # bf16 would round places by a part of a pixel
        grid = functional.affine_grid(place, list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def random_mirrors(images: Tensor) -> Tensor:
    """Each image (B, C, H, W) as it is or its mirror image, either with probability one half."""
    mirrored = torch.rand(len(images), device=images.device) < 0.5
    return torch.where(mirrored[:, None, None, None], images.flip(-1), images)


def _span(sides: Tensor, side: int) -> Tensor:
    """Which of `side` pixels lie in a stretch of so many, anywhere inside: (...) → bool (..., side)."""
    first = (torch.rand(sides.shape, device=sides.device) * (side - sides + 1)).long()
    at = torch.arange(side, device=sides.device)
    return (at >= first[..., None]) & (at < (first + sides)[..., None])
