"""Occludes parts of test images with squares, noise, textures or objects."""

from typing import Literal, get_args

import numpy as np

from ropes.common.arrays import Images
from ropes.errors import UserError, one_of

#: Kinds of occluders: white squares (the paper's), squares of one random grey, noise, blurred noise, shaded balls.
Hiding = Literal["square", "grey", "noise", "texture", "object"]
#: Their names on report pages.
OCCLUDER_NAMES: dict[str, str] = {
    "square": "white squares",
    "grey": "squares of one grey",
    "noise": "squares of noise",
    "texture": "squares of a blurred pattern",
    "object": "lit balls",
}
_CELLS = 4
_TOWARDS_LIGHT = np.array([-0.5, -0.6, 0.62])


def require_occluder(kind: str) -> Hiding:
    """Check that `kind` names a kind of occluder.

    Raises:
        UserError: it does not.
    """
    hiding: Hiding = one_of(get_args(Hiding), kind, "way of hiding")
    return hiding


def check_square(size: int, image_size: tuple[int, int]) -> None:
    """Check that a square of `size` pixels fits into images of `image_size` (height, width).

    Raises:
        UserError: the square is larger than the images, or its size is negative.
    """
    height, width = image_size
    if not 0 <= size <= min(height, width):
        raise UserError(f"an occluding square of {size} pixels does not fit into {width}×{height} images")


def occlude(images: Images, size: int, rng: np.random.Generator, kind: Hiding = "square") -> Images:
    """Occlude a random square of every view: with white as in ROPES Section 4.5, or with another kind of occluder.

    Each square lies inside its image.  Its position is uniform; positions and contents are independent over samples
    and views.

    Args:
        images: (n, cameras, H, W) grey images, or (n, cameras, H, W, 3) in colour.
        size: side of the square in pixels; 0 occludes nothing.
        rng: draws positions and contents.
        kind: "square" is white; "grey" is one random level per square; "noise" is one per pixel; "texture" is a blurred
            pattern; "object" is a shaded ball that fills the square.  In colour, "grey" and "noise" have one random
            level per channel; patterns and balls are grey.

    Returns:
        An occluded copy.

    Raises:
        UserError: as `check_square`, or no such kind.
    """
    n, cameras, height, width = images.shape[:4]
    check_square(size, (height, width))
    kind = require_occluder(kind)
    occluded = images.copy()
    top = rng.integers(0, height - size, (n, cameras), endpoint=True)
    left = rng.integers(0, width - size, (n, cameras), endpoint=True)
    if not size:
        return occluded
    for sample, camera in np.ndindex(n, cameras):
        y, x = top[sample, camera], left[sample, camera]
        part = occluded[sample, camera, y : y + size, x : x + size]
        part[...] = _occluder(part, kind, rng)
    return occluded


def _occluder(part: Images, kind: Hiding, rng: np.random.Generator) -> Images | int:
    """The new content of a square `part`, (size, size) or (size, size, 3)."""
    match kind:
        case "square":
            return 255
        case "grey":
            return int(rng.integers(0, 256)) if part.ndim == 2 else rng.integers(0, 256, 3, dtype=np.uint8)
        case "noise":
            return rng.integers(0, 256, part.shape, dtype=np.uint8)
        case "texture":
            texture = _texture(len(part), rng)
            return texture if part.ndim == 2 else np.repeat(texture[..., None], 3, axis=-1)
        case "object":
            return _ball(part, rng)


def _texture(size: int, rng: np.random.Generator) -> Images:
    """Random levels on a coarse grid, interpolated bilinearly and scaled to a random range: (size, size)."""
    low, high = np.sort(rng.uniform(0, 255, 2))
    coarse = rng.random((_CELLS + 1, _CELLS + 1))
    positions = np.linspace(0, _CELLS, size)
    first = np.minimum(positions.astype(int), _CELLS - 1)
    share = positions - first
    rows = coarse[first] * (1 - share)[:, None] + coarse[first + 1] * share[:, None]
    field = rows[:, first] * (1 - share) + rows[:, first + 1] * share
    return np.round(low + (high - low) * field).astype(np.uint8)


def _ball(part: Images, rng: np.random.Generator) -> Images:
    """A grey ball over `part`, lit from the upper left: the shape of `part`."""
    radius = len(part) / 2
    rows, columns = np.mgrid[: len(part), : len(part)] + 0.5 - radius
    front = radius**2 - rows**2 - columns**2
    normal = np.stack([rows, columns, np.sqrt(np.maximum(front, 0))], axis=-1) / radius
    shading = rng.uniform(40, 255) * (0.45 + 0.55 * np.clip(normal @ _TOWARDS_LIGHT, 0, 1))
    if part.ndim == 3:
        front, shading = front[..., None], shading[..., None]
    return np.where(front > 0, np.round(shading), part).astype(np.uint8)
