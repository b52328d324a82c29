"""Checks image sizes against a recipe, and names the options that change it."""

from dataclasses import replace

from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.methods.recipes import Recipe
from ropes.models.shapes import AE1Config, EncoderConfig, ViTConfig

Shape = AE1Config | EncoderConfig | ViTConfig


def size_fault(size: tuple[int, int], shape: Shape) -> str | None:
    """Why no network with the stages of `shape` takes images of this size (height, width), and what to do; or None."""
    height, width = size
    if height != width:
        side = min(size)
        return f"images of {height}x{width} pixels are not square; crop them, to {side}x{side} at most"
    if _nearest(shape, height) is None:
        least = next(side for side in range(1, shape.image_size + 1) if _nearest(shape, side))
        return (
            f"images of {height}x{width} pixels are smaller than {least}x{least}, the least that the network's stages "
            "take; record larger ones"
        )
    return None


def size_options(size: tuple[int, int], shape: Shape) -> str:
    """What to add to `ropes fit` so that images of this size (height, width) are large enough.

    Nothing where they are, or where `size_fault` says why no option helps.  The stages stay as they are; of the first
    one's patches and the window only what does not fit is made smaller.
    """
    height, width = size
    found = _nearest(shape, height)
    if height != width or height >= shape.image_size or found is None:
        return ""
    part = {AE1Config: "ae1", EncoderConfig: "encoder", ViTConfig: "vit"}[type(shape)]
    changed = [
        name for name in ("image_size", "stem", "window", "patch") if getattr(found, name, 0) != getattr(shape, name, 0)
    ]
    return " ".join(f"--{part}.{name.replace('_', '-')} {getattr(found, name)}" for name in changed)


def require_size(dataset: Dataset, recipe: Recipe) -> None:
    """Check that a data set's images can be had at the size that a recipe fits on.

    Raises:
        UserError: they are not square, or smaller; names the options that help.
    """
    shape = recipe.shape
    assert isinstance(shape, Shape)  # the methods that read grey images
    if len(dataset.image_shape) > 2:
        raise UserError(f"{dataset.path} has images in colour; the method reads grey ones (BT.601)")
    if (fault := size_fault(dataset.image_size, shape)) is not None:
        raise UserError(f"{dataset.path}: {fault}")
    if options := size_options(dataset.image_size, shape):
        height, width = dataset.image_size
        asked = f"{shape.image_size}x{shape.image_size}"
        raise UserError(f"{dataset.path} has {height}x{width} images: they cannot be had at {asked}; add {options}")


def _nearest(shape: Shape, limit: int) -> Shape | None:
    """`shape` for the largest images of at most `limit` pixels a side that its stages take, or None."""
    stem = shape.patch if isinstance(shape, ViTConfig) else shape.stem
    while stem:
        for side in range(min(limit, shape.image_size), 0, -1):
            if (found := _at(shape, side, stem)) is not None:
                return found
        stem //= 2
    return None


def _at(shape: Shape, side: int, stem: int) -> Shape | None:
    try:
        if isinstance(shape, AE1Config):
            return replace(shape, image_size=side, stem=stem)
        if isinstance(shape, ViTConfig):
            return replace(shape, image_size=side, patch=stem)
        step = shape.window_stem * 2 ** (len(shape.window_widths) - 1)
        window = shape.window if shape.window <= side else side - side % step
        return replace(shape, image_size=side, stem=stem, window=window)
    except ValueError:
        return None
