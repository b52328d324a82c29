"""Checks the size of images against a recipe, and suggests options of `ropes fit` for smaller images.

Images of any aspect ratio are letterboxed, see `ropes.common.png.letterbox`; so their longer side counts.
"""

from dataclasses import replace

from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.methods.recipes import Recipe
from ropes.models.shapes import AE1Config, EncoderConfig, ViTConfig

Shape = AE1Config | EncoderConfig | ViTConfig


def size_fault(size: tuple[int, int], shape: Shape) -> str | None:
    """Why no network with the stages of `shape` can process images of this size (height, width); None if one can."""
    height, width = size
    if _nearest(shape, max(size)) is None:
        least = next(side for side in range(1, shape.image_size + 1) if _nearest(shape, side))
        return (
            f"images of {height}x{width} pixels are smaller than {least}x{least}, the least that the network's stages "
            "take; record larger ones"
        )
    return None


def size_options(size: tuple[int, int], shape: Shape) -> str:
    """Options of `ropes fit` for images of this size (height, width), smaller than those of `shape`.

    Empty if the images are large enough, or if `size_fault` has a fault.  The stages stay the same; the stem and the
    window become smaller only if they have to.
    """
    fitting = _nearest(shape, max(size))
    if max(size) >= shape.image_size or fitting is None:
        return ""
    part = {AE1Config: "ae1", EncoderConfig: "encoder", ViTConfig: "vit"}[type(shape)]
    changed = [
        name
        for name in ("image_size", "stem", "window", "patch")
        if getattr(fitting, name, 0) != getattr(shape, name, 0)
    ]
    return " ".join(f"--{part}.{name.replace('_', '-')} {getattr(fitting, name)}" for name in changed)


def require_size(dataset: Dataset, recipe: Recipe) -> None:
    """Check that the longer side of a data set's images is at least that of the recipe.

    Raises:
        UserError: they are not; suggests options for smaller images.
    """
    shape = recipe.shape
    assert isinstance(shape, Shape)
    height, width = size = smallest(dataset)
    if isinstance(shape, EncoderConfig) and shape.zoom > 1 and max(size) < shape.input_size:
        raise UserError(
            f"{dataset.path} has {height}x{width} images, smaller than the {shape.input_size}x{shape.input_size} that "
            "windows are cut from; give a smaller --encoder.window-image-size, or leave it out"
        )
    if (fault := size_fault(size, shape)) is not None:
        raise UserError(f"{dataset.path}: {fault}")
    if options := size_options(size, shape):
        needed = f"{shape.image_size}x{shape.image_size}"
        raise UserError(f"{dataset.path} has {height}x{width} images, smaller than {needed}; add {options}")


def smallest(dataset: Dataset) -> tuple[int, int]:
    """Height and width of the images of the camera whose longer side is the shortest."""
    height, width, *_ = min(dataset.image_shapes, key=lambda shape: max(shape[:2]))
    return height, width


def _nearest(shape: Shape, limit: int) -> Shape | None:
    """`shape` with the largest possible image size of at most `limit` pixels; None if there is none."""
    stem = shape.patch if isinstance(shape, ViTConfig) else shape.stem
    while stem:
        for side in range(min(limit, shape.image_size), 0, -1):
            if (fitting := _resized(shape, side, stem)) is not None:
                return fitting
        stem //= 2
    return None


def _resized(shape: Shape, side: int, stem: int) -> Shape | None:
    """`shape` with that image size and stem; None if its stages do not allow them."""
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
