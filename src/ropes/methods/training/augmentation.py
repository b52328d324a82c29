"""Image augmentation: random erasing, crops, mirrors, and the light, place and noise of recorded frames."""

import torch
from torch import Tensor
from torch.nn import functional

from ropes.models.frame_changes import levels_of
from ropes.models.registration import Registration

#: Least and greatest side of the erased squares, as shares of the image's side.
SIDES = (0.05, 0.4)
#: Range of a crop's ratio of height to width.
_RATIO = (3 / 4, 4 / 3)
#: Version of `Jitter`, part of fingerprints.
JITTER = 1
#: Longest shift as a share of the image's side, and how often a view is shifted along an axis.
_SHIFT, _SHIFTED = 1 / 128, 1 / 3
#: Standard deviations of gain and offset, and number of different patterns of noise in a batch.
_GAIN, _OFFSET, _PATTERNS = 0.04, 0.012, 24


class Jitter:
    """Random light, place and noise of what differs from the background in registered frames.

    Noise, and what registration leaves of changes of light and place, differ from frame to frame.  From few frames a
    network overfits to them; with new ones at each step it does so less.  Each channel of each view gets noise as
    strong as that of the recording, a gain and an offset.  Along each axis a third of the views is shifted by 1/128 of
    the side, at least by one pixel.

    Args:
        registration: of the frames; gives the background and the standard deviation of the noise.
    """

    def __init__(self, registration: Registration) -> None:
        self.channels, self.inside = registration.channels, registration.inside
        self.background = levels_of(registration.background)
        # The noise of single pixels is larger where the arm often is.
        usual = [noise[there].median() for noise, there in zip(registration.noise, self.inside, strict=True)]
        self.noise = 255 * torch.stack(usual)

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """A changed copy of registered frames, uint8 (..., P, S, S)."""
        device = images.device
        background, inside, noise = (each.to(device) for each in (self.background, self.inside, self.noise))
        flat = images.flatten(0, -4)
        count, planes, side = flat.shape[:3]
        pose, plane = torch.arange(count, device=device)[:, None], torch.arange(planes, device=device)
        longest = max(1, round(_SHIFT * side))
        rows, columns = (longest * self._shifts(count, planes, device) + longest for _ in range(2))
        moved = _shifted(flat, longest)[pose, plane, rows, columns]
        still = _shifted(background, longest)[plane, rows, columns]
        changed = (moved != still).unflatten(1, (-1, self.channels)).any(2)
        gain, offset = torch.randn(2, count, planes, 1, 1, device=device)
        patterns = torch.randn(_PATTERNS, side, side, device=device)
        drawn = patterns[torch.randint(_PATTERNS, (count, planes), device=device)].mul_(noise[:, None, None])
        levels = moved.float().mul_(1 + _GAIN * gain).add_(255 * _OFFSET * offset).add_(drawn)
        levels = levels.round_().clamp_(0, 255).to(torch.uint8)
        shown = changed.repeat_interleave(self.channels, dim=1) & inside
        return torch.where(shown, levels, background).view_as(images)

    def _shifts(self, count: int, planes: int, device: torch.device) -> Tensor:
        """Random shifts along an axis, −1, 0 or 1, the same for all planes of a view: (B, P)."""
        shape = count, planes // self.channels
        directions = 2 * torch.randint(2, shape, device=device) - 1
        shifts = directions * (torch.rand(shape, device=device) < _SHIFTED)
        return shifts.repeat_interleave(self.channels, dim=1)


def _shifted(levels: Tensor, longest: int) -> Tensor:
    """All shifts by up to `longest` pixels along both axes, the border repeated: (..., 2 longest + 1, same, S, S).

    The result is a view of one padded copy: indexing it copies whole rows, and does not look up each pixel.
    """
    side = levels.shape[-1]
    for axis in (-2, -1):
        first, last = (levels.narrow(axis, at, 1).repeat_interleave(longest, axis) for at in (0, side - 1))
        levels = torch.cat([first, levels, last], axis)
    return levels.unfold(-2, side, 1).unfold(-2, side, 1)


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
