"""Windows of images in full resolution, beside the whole images at a smaller size."""

from typing import NamedTuple

import torch
from torch import Tensor

#: Greatest number of levels whose sum is exact in 16 bits.
_IN_16_BITS = 128


def shrink(images: Tensor, factor: int) -> Tensor:
    """Average images over squares of `factor` by `factor` pixels, rounded half up.

    For powers of two this is the average of `ropes.common.png.letterbox`; for other factors that may be one level less.

    Args:
        images: uint8 (..., S, S).
        factor: divides S; 1 returns `images`.

    Returns:
        uint8 (..., S / factor, S / factor).
    """
    if factor == 1:
        return images
    count = factor**2
    kind = torch.int16 if count <= _IN_16_BITS else torch.int32
    rows = images[..., ::factor, :].to(kind)
    for k in range(1, factor):
        rows += images[..., k::factor, :]
    sums = rows[..., ::factor].clone()
    for k in range(1, factor):
        sums += rows[..., k::factor]
    return sums.add_(count // 2).div_(count, rounding_mode="floor").to(torch.uint8)


class Window(NamedTuple):
    """Places of a window's pixels in each plane of images.

    Attributes:
        rows: int64 (B, P, side), inside the image.
        columns: int64 (B, P, side), inside the image.
        inside: bool (B, P, side, side), false where the window's pixel lies outside the image.
    """

    rows: Tensor
    columns: Tensor
    inside: Tensor

    @classmethod
    def around(cls, centres: Tensor, side: int, image_side: int) -> "Window":
        """Windows of `side` pixels around centres (B, P, 2), row first, in images of `image_side` pixels."""
        places = centres.long()[..., None] + torch.arange(side, device=centres.device) - side // 2
        inside = (places >= 0) & (places < image_side)
        rows, columns = places.clamp(0, image_side - 1).unbind(2)
        return cls(rows, columns, inside[:, :, 0, :, None] & inside[:, :, 1, None, :])

    def cut(self, planes: Tensor, shrunk: int = 1) -> Tensor:
        """The window's pixels.

        Args:
            planes: (B, P, S, S), or (1, P, S, S) for the same planes in every pose.
            shrunk: pixels of the window's image along a pixel of `planes`.

        Returns:
            (B, P, side, side); a pixel outside the image has the level of the nearest one inside.
        """
        device = planes.device
        pose = torch.arange(planes.shape[0], device=device)[:, None, None, None]
        plane = torch.arange(planes.shape[1], device=device)[None, :, None, None]
        rows, columns = (torch.div(each, shrunk, rounding_mode="floor") for each in (self.rows, self.columns))
        return planes[pose, plane, rows[..., :, None], columns[..., None, :]]
