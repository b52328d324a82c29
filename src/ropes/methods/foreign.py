"""Draws foreign objects into training images: many shapes, sizes and fillings."""

import math

import torch
from torch import Tensor
from torch.nn import functional

#: Probability of a first, second and third thing in a view.
_THINGS = (0.75, 0.35, 0.35)
#: Least and greatest mean side of a thing, in shares of the image's, drawn log-uniformly.
_SIDES = (0.015, 0.5)
#: Share of the things that are large, and their sides: drawn log-uniformly few would hide half of the arm.
_LARGE, _LARGE_SIDES = 0.2, (0.3, 0.6)
#: Where the centres of large ones lie, in shares of the image's side: where the arm mostly is, so that often several
#: views at once do not show it.  Others lie anywhere.
_LARGE_CENTRES = (0.25, 0.75)
#: Greatest longer side.
_LONGEST = 0.7
#: Height and width differ by up to this factor from their mean.
_STRETCH = math.sqrt(2.0)
#: Share of the things that are ellipses; the others are rectangles.
_ELLIPSES = 0.4
#: Fewest and most cells a side of the pattern of a texture.
_CELLS = (4, 32)
_WHITE = 255.0


def with_foreign_things(images: Tensor) -> Tensor:
    """A copy of images with up to three things in each view, over whatever is there.

    Things are rectangles and ellipses of many sizes, of one grey, of white, of noise or of a blurred pattern, and may
    lie in part outside.  In one of nine views there is none.

    Args:
        images: uint8 (..., S, S), each view an image of its own.
    """
    views = images.flatten(0, -3).clone()
    for probability in _THINGS:
        chosen = (torch.rand(len(views), device=views.device) < probability).nonzero().squeeze(1)
        inside = _shapes(len(chosen), views.shape[-1], views.device)
        filling = _fillings(len(chosen), views.shape[-1], views.device)
        views[chosen] = torch.where(inside, filling, views[chosen])
    return views.view_as(images)


def _shapes(count: int, side: int, device: torch.device) -> Tensor:
    """Which pixels some things cover: bool (count, side, side)."""
    usual, large = (
        _uniform(count, math.log(low * side), math.log(high * side), device).exp()
        for low, high in (_SIDES, _LARGE_SIDES)
    )
    is_large = torch.rand(count, device=device) < _LARGE
    mean = torch.where(is_large, large, usual)
    stretch = _uniform(count, -math.log(_STRETCH), math.log(_STRETCH), device).exp()
    rows, columns = (
        _apart(each.clamp(1, _LONGEST * side), is_large, side, device) for each in (mean * stretch, mean / stretch)
    )
    across, along = rows[:, :, None].abs(), columns[:, None, :].abs()
    ellipse = (torch.rand(count, device=device) < _ELLIPSES)[:, None, None]
    return torch.where(ellipse, across**2 + along**2, torch.maximum(across, along)) < 1


def _apart(lengths: Tensor, is_large: Tensor, side: int, device: torch.device) -> Tensor:
    """How far each row or column is from the centre of a thing, in halves of its length: (count, side)."""
    count = len(lengths)
    anywhere = _uniform(count, 0, side, device)
    inside = _uniform(count, _LARGE_CENTRES[0] * side, _LARGE_CENTRES[1] * side, device)
    centres = torch.where(is_large, inside, anywhere)
    return (torch.arange(0.5, side, device=device) - centres[:, None]) / (lengths / 2)[:, None]


def _fillings(count: int, side: int, device: torch.device) -> Tensor:
    """What they show: uint8 (count, side, side)."""
    level = _uniform(count, 0, _WHITE, device)
    kind = torch.randint(4, (count,), device=device)
    level[kind == 1] = _WHITE
    shown = level.round().to(torch.uint8)[:, None, None].repeat(1, side, side)
    noisy, blurred = ((kind == number).nonzero().squeeze(1) for number in (2, 3))
    shown[noisy] = torch.randint(256, (len(noisy), side, side), dtype=torch.uint8, device=device)
    if len(blurred):
        cells = int(torch.randint(_CELLS[0], _CELLS[1] + 1, ()))
        pattern = torch.rand(len(blurred), 1, cells, cells, device=device) - 0.5
        pattern = functional.interpolate(pattern, size=(side, side), mode="bilinear").squeeze(1)
        contrast = _uniform(len(blurred), 0, _WHITE, device)
        levels = level[blurred, None, None] + contrast[:, None, None] * pattern
        shown[blurred] = levels.round().clamp(0, _WHITE).to(torch.uint8)
    return shown


def _uniform(count: int, low: float, high: float, device: torch.device) -> Tensor:
    return low + (high - low) * torch.rand(count, device=device)
