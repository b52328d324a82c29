"""Image augmentation: random erasing, crops, mirrors, and the light, place and noise of recorded frames."""

import torch
from torch import Tensor
from torch.nn import functional

from ropes.models.registration import Registration

#: Least and greatest side of the erased squares, as shares of the image's side.
SIDES = (0.05, 0.4)
#: Range of a crop's ratio of height to width.
_RATIO = (3 / 4, 4 / 3)
#: Version of `Jitter`, part of fingerprints.
JITTER = 1
#: Longest shift as a share of the image's side, and standard deviations of gain and offset.
_SHIFT, _GAIN, _OFFSET = 2 / 128, 0.08, 0.024
#: Standard deviation of the noise over that of the frames, and number of different patterns of noise in a batch.
_NOISE, _PATTERNS = 1.7, 24


class Jitter:
    """Random light, place and noise of what differs from the background in registered frames.

    Noise, and what registration leaves of changes of light and place, differ from frame to frame.  From few frames a
    network learns them by heart; with new ones at each step it does not.  Each view of each pose has its own.  The
    shift along an axis is a whole number of pixels, at most two of an image of 128.

    Args:
        registration: of the frames; gives the background and the standard deviation of the noise at each pixel.
    """

    def __init__(self, registration: Registration) -> None:
        self.channels = registration.channels
        self.background = registration.background.mul(255).round().to(torch.uint8)
        self.noise = 255 * _NOISE * registration.noise

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """A changed copy of registered frames, uint8 (..., P, S, S)."""
        background, noise = self.background.to(images.device), self.noise.to(images.device)
        flat = images.flatten(0, -4)
        count, planes, side = flat.shape[:3]
        pose, plane = torch.arange(count, device=images.device), torch.arange(planes, device=images.device)
        rows, columns = (self._shifted(count, planes, side, images.device) for _ in range(2))
        place = plane[:, None, None], rows[..., :, None], columns[..., None, :]
        moved, there = flat[pose[:, None, None, None], *place], background[place]
        gain, offset = torch.randn(2, count, planes, 1, 1, device=images.device)
        patterns = torch.randn(_PATTERNS, side, side, device=images.device)
        drawn = patterns[torch.randint(_PATTERNS, (count, planes), device=images.device)].mul_(noise)
        levels = moved.float().mul_(1 + _GAIN * gain).add_(255 * _OFFSET * offset).add_(drawn)
        levels = levels.round_().clamp_(0, 255).to(torch.uint8)
        return torch.where(moved != there, levels, background).view_as(images)

    def _shifted(self, count: int, planes: int, side: int, device: torch.device) -> Tensor:
        """Rows or columns that are shown in place of 0 to side − 1, the same in all planes of a view: (B, P, side)."""
        views, longest = planes // self.channels, max(1, round(_SHIFT * side))
        shift = torch.randint(-longest, longest + 1, (count, views, 1), device=device)
        shown = (torch.arange(side, device=device) + shift).clamp_(0, side - 1)
        return shown.repeat_interleave(self.channels, dim=1)


def jitter_of(registration: Registration | None) -> Jitter | None:
    """The augmentation of frames registered by it; None for renderings."""
    return None if registration is None else Jitter(registration)


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
