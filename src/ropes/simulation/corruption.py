"""Hides parts of test images: squares, noise, textures, objects."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ropes.errors import UserError, one_of

Images = NDArray[np.uint8]
#: What hides: white squares (the paper's), squares of any one grey, noise, blurred noise, or lit balls.
Hiding = Literal["square", "grey", "noise", "texture", "object"]
#: What each is called on a page.
IN_WORDS: dict[str, str] = {
    "square": "white squares",
    "grey": "squares of one grey",
    "noise": "squares of noise",
    "texture": "squares of a blurred pattern",
    "object": "lit balls",
}
_CELLS = 4
_TOWARDS_LIGHT = np.array([-0.5, -0.6, 0.62])


def require_hiding(kind: str) -> Hiding:
    """The kind of that name.

    Raises:
        UserError: there is none.
    """
    hiding: Hiding = one_of(get_args(Hiding), kind, "way of hiding")
    return hiding


def check_square(size: int, image_size: tuple[int, int]) -> None:
    """Check that a square of `size` × `size` pixels fits into images of `image_size` (height, width).

    Raises:
        UserError: the square is larger than the images, or its size negative.
    """
    height, width = image_size
    if not 0 <= size <= min(height, width):
        raise UserError(f"an occluding square of {size} pixels does not fit into {width}×{height} images")


def occlude(images: Images, size: int, rng: np.random.Generator, kind: Hiding = "square") -> Images:
    """Hide a part of every view, of `size` × `size` pixels: behind white, as in ROPES Section 4.5, or in another way.

    Each square lies wholly inside its image, its place uniform over all such places and independent over
    samples and views; so is what it is filled with.

    Args:
        images: (n, cameras, H, W) grey images.
        size: side of the square in pixels; 0 hides nothing.
        rng: where places and fillings come from.
        kind: "square" for white; "grey" for one level, any, a square; "noise" for a level a pixel; "texture" for a
            blurred pattern; "object" for a lit ball that the square just holds.

    Returns:
        A damaged copy.

    Raises:
        UserError: as `check_square`, or no such kind.
    """
    n, cameras, height, width = images.shape
    check_square(size, (height, width))
    kind = require_hiding(kind)
    damaged = images.copy()
    top = rng.integers(0, height - size, (n, cameras), endpoint=True)
    left = rng.integers(0, width - size, (n, cameras), endpoint=True)
    if not size:
        return damaged
    for sample, camera in np.ndindex(n, cameras):
        y, x = top[sample, camera], left[sample, camera]
        part = damaged[sample, camera, y : y + size, x : x + size]
        part[...] = _filled(part, kind, rng)
    return damaged


def _filled(part: Images, kind: Hiding, rng: np.random.Generator) -> Images | int:
    """What a square (size, size) shows instead of what was there."""
    match kind:
        case "square":
            return 255
        case "grey":
            return int(rng.integers(0, 256))
        case "noise":
            return rng.integers(0, 256, part.shape, dtype=np.uint8)
        case "texture":
            return _texture(len(part), rng)
        case "object":
            return _ball(part, rng)


def _texture(size: int, rng: np.random.Generator) -> Images:
    """Levels on a coarse grid, between them by lines: (size, size), from one random level to another."""
    low, high = np.sort(rng.uniform(0, 255, 2))
    coarse = rng.random((_CELLS + 1, _CELLS + 1))
    at = np.linspace(0, _CELLS, size)
    first = np.minimum(at.astype(int), _CELLS - 1)
    share = at - first
    rows = coarse[first] * (1 - share)[:, None] + coarse[first + 1] * share[:, None]
    field = rows[:, first] * (1 - share) + rows[:, first + 1] * share
    return np.round(low + (high - low) * field).astype(np.uint8)


def _ball(part: Images, rng: np.random.Generator) -> Images:
    """A ball of one grey in front of what is there, lit from the upper left: (size, size)."""
    radius = len(part) / 2
    rows, columns = np.mgrid[: len(part), : len(part)] + 0.5 - radius
    front = radius**2 - rows**2 - columns**2
    normal = np.stack([rows, columns, np.sqrt(np.maximum(front, 0))], axis=-1) / radius
    shown = rng.uniform(40, 255) * (0.45 + 0.55 * np.clip(normal @ _TOWARDS_LIGHT, 0, 1))
    return np.where(front > 0, np.round(shown), part).astype(np.uint8)
