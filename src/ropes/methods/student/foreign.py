"""Draws foreign objects of random shape, size and texture into training images."""

import math

import torch
from torch import Tensor
from torch.nn import functional

#: Probability of a first, second and third object in a view.
_OBJECTS = (0.75, 0.35, 0.35)
#: Range of an object's mean side, as a share of the image's side, drawn log-uniformly.
_SIDES = (0.015, 0.5)
#: Share of large objects, and range of their mean sides: with `_SIDES` alone few objects would cover half of the arm.
_LARGE, _LARGE_SIDES = 0.2, (0.3, 0.6)
#: Range of the centres of large objects, as a share of the image's side: mostly on the arm, so that it is often covered
#: in several views at once.  The centres of other objects are anywhere.
_LARGE_CENTRES = (0.25, 0.75)
#: Greatest height or width, as a share of the image's side.
_LONGEST = 0.7
#: Greatest factor between the height or width and their geometric mean.
_STRETCH = math.sqrt(2.0)
#: Share of ellipses; the other objects are rectangles.
_ELLIPSES = 0.4
#: Height of tall objects as a share of the image's side, ratio of height and width, and share of ellipses: people.
_TALL_HEIGHTS, _SLENDER, _TALL_ELLIPSES = (0.3, 1.3), (1.5, 5.0), 0.6
#: Range of the number of cells along a side of a random pattern.
_CELLS = (4, 32)
_WHITE = 255.0


def add_foreign_objects(images: Tensor, channels: int = 1, *, tall: float = 0.0) -> Tensor:
    """A copy of images with up to three foreign objects in each view; one of nine views has none.

    Objects are rectangles and ellipses of a uniform grey, white, noise or a blurred pattern; in colour each channel has
    its own levels.  They may lie partly outside the view.

    Args:
        images: uint8 (..., planes, S, S); each view is an image of its own.
        channels: planes of a view.
        tall: share of the objects that are tall and slender, up to 1.3 times the height of the image.
    """
    views = images.flatten(0, -3).unflatten(0, (-1, channels)).clone()
    for probability in _OBJECTS:
        rows = (torch.rand(len(views), device=views.device) < probability).nonzero().squeeze(1)
        mask = _masks(len(rows), views.shape[-1], views.device)
        if tall:
            slender = torch.rand(len(rows), device=views.device) < tall
            mask[slender] = _tall_masks(int(slender.sum()), views.shape[-1], views.device)
        texture = _textures(len(rows), channels, views.shape[-1], views.device)
        views[rows] = torch.where(mask[:, None], texture, views[rows])
    return views.view_as(images)


def _masks(count: int, side: int, device: torch.device) -> Tensor:
    """The pixels of random objects: bool (count, side, side)."""
    ordinary, large = (
        _uniform(count, math.log(low * side), math.log(high * side), device).exp()
        for low, high in (_SIDES, _LARGE_SIDES)
    )
    is_large = torch.rand(count, device=device) < _LARGE
    mean = torch.where(is_large, large, ordinary)
    stretch = _uniform(count, -math.log(_STRETCH), math.log(_STRETCH), device).exp()
    rows, columns = (
        _distances(each.clamp(1, _LONGEST * side), is_large, side, device) for each in (mean * stretch, mean / stretch)
    )
    return _shapes(rows, columns, _ELLIPSES)


def _tall_masks(count: int, side: int, device: torch.device) -> Tensor:
    """The pixels of random objects as tall as people: bool (count, side, side)."""
    height = _uniform(count, _TALL_HEIGHTS[0] * side, _TALL_HEIGHTS[1] * side, device)
    nowhere = torch.zeros(count, dtype=torch.bool, device=device)
    lengths = height, height / _uniform(count, *_SLENDER, device)
    rows, columns = (_distances(each, nowhere, side, device) for each in lengths)
    return _shapes(rows, columns, _TALL_ELLIPSES)


def _shapes(rows: Tensor, columns: Tensor, share: float) -> Tensor:
    """Rectangles, and a share of ellipses, from the distances of rows and columns (count, side): bool masks."""
    masks = (rows.abs() < 1)[:, :, None] & (columns.abs() < 1)[:, None, :]
    ellipses = (torch.rand(len(rows), device=rows.device) < share).nonzero().squeeze(1)
    masks[ellipses] = rows[ellipses, :, None] ** 2 + columns[ellipses, None, :] ** 2 < 1
    return masks


def _distances(lengths: Tensor, is_large: Tensor, side: int, device: torch.device) -> Tensor:
    """Distance of each row or column from an object's random centre, in half lengths of the object: (count, side)."""
    count = len(lengths)
    anywhere = _uniform(count, 0, side, device)
    inside = _uniform(count, _LARGE_CENTRES[0] * side, _LARGE_CENTRES[1] * side, device)
    centres = torch.where(is_large, inside, anywhere)
    return (torch.arange(0.5, side, device=device) - centres[:, None]) / (lengths / 2)[:, None]


def _textures(count: int, channels: int, side: int, device: torch.device) -> Tensor:
    """Levels of random objects: uint8 (count, channels, side, side)."""
    level = _uniform(count * channels, 0, _WHITE, device).view(count, channels)
    kind = torch.randint(4, (count,), device=device)
    level[kind == 1] = _WHITE
    texture = level.round().to(torch.uint8)[..., None, None].repeat(1, 1, side, side)
    noisy, blurred = ((kind == number).nonzero().squeeze(1) for number in (2, 3))
    texture[noisy] = torch.randint(256, (len(noisy), channels, side, side), dtype=torch.uint8, device=device)
    if len(blurred):
        cells = int(torch.randint(_CELLS[0], _CELLS[1] + 1, ()))
        pattern = torch.rand(len(blurred), 1, cells, cells, device=device) - 0.5
        pattern = functional.interpolate(pattern, size=(side, side), mode="bilinear")
        contrast = _uniform(len(blurred), 0, _WHITE, device)
        levels = level[blurred, :, None, None] + contrast[:, None, None, None] * pattern
        texture[blurred] = levels.round().clamp(0, _WHITE).to(torch.uint8)
    return texture


def _uniform(count: int, low: float, high: float, device: torch.device) -> Tensor:
    return low + (high - low) * torch.rand(count, device=device)
