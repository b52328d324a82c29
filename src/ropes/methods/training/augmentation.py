"""Image augmentation: random erasing, crops, mirrors."""

import torch
from torch import Tensor
from torch.nn import functional

#: Least and greatest side of the erased squares, as shares of the image's side.
SIDES = (0.05, 0.4)
#: Range of a crop's ratio of height to width.
_RATIO = (3 / 4, 4 / 3)


def erase(images: Tensor, share: float, channels: int = 1) -> Tensor:
    """Random erasing: paint one white square of random size and position into a share of the images.

    After Zhong et al., "Random Erasing Data Augmentation" (2020), with squares, and white ones.

    Args:
        images: uint8 (..., planes, S, S); each view is an image of its own.
        share: of the images, in [0, 1]; 0 returns `images` and draws no random number.
        channels: planes of a view.

    Returns:
        A copy; squares are 5 to 40% of the side and lie wholly inside their images.
    """
    if not share:
        return images
    views = images.unflatten(-3, (-1, channels))
    each, side = views.shape[:-3], images.shape[-1]
    low, high = (max(1, round(part * side)) for part in SIDES)
    sides = torch.randint(low, high + 1, each, device=images.device)
    rows, columns = (_span(sides, side) for _ in range(2))
    selected = torch.rand(each, device=images.device) < share
    erased = rows[..., :, None] & columns[..., None, :] & selected[..., None, None]
    return views.masked_fill(erased.unsqueeze(-3), 255).view_as(images)


def random_crops(images: Tensor, least: float) -> Tensor:
    """Random resized crops, with bilinear interpolation.  They change positions in the image.

    Args:
        images: float (B, C, S, S).
        least: least share of an image in a crop; 1 returns `images`.

    Returns:
        (B, C, S, S).
    """
    if least >= 1:
        return images
    count, device = len(images), images.device
    area = torch.empty(count, device=device).uniform_(least, 1.0)
    ratio = torch.empty(count, device=device).uniform_(*(torch.tensor(_RATIO).log().tolist())).exp()
    ratio = ratio.clamp(area, 1 / area)  # so that neither side exceeds the image's
    height, width = (area * ratio).sqrt(), (area / ratio).sqrt()
    down, right = ((2 * torch.rand(count, device=device) - 1) * (1 - length) for length in (height, width))
    zero = torch.zeros_like(area)
    affine = torch.stack([torch.stack([width, zero, right], 1), torch.stack([zero, height, down], 1)], dim=1)
    with torch.autocast(device.type, enabled=False):  # bf16 would round positions by a part of a pixel
        grid = functional.affine_grid(affine, list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def random_mirrors(images: Tensor) -> Tensor:
    """Mirror each image (B, C, H, W) left to right with probability one half."""
    mirrored = torch.rand(len(images), device=images.device) < 0.5
    return torch.where(mirrored[:, None, None, None], images.flip(-1), images)


def _span(sides: Tensor, side: int) -> Tensor:
    """Masks of intervals of the lengths `sides` at random positions within `side` pixels: (...) → bool (..., side)."""
    first = (torch.rand(sides.shape, device=sides.device) * (side - sides + 1)).long()
    pixel = torch.arange(side, device=sides.device)
    return (pixel >= first[..., None]) & (pixel < (first + sides)[..., None])
