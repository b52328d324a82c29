"""Pictures of live images: what the network sees, where it looks, and foreign objects."""

from collections.abc import Mapping, Sequence

import numpy as np
from PIL import Image, ImageDraw

from ropes.common import png
from ropes.common.arrays import Floats, Images
from ropes.data.pictures import letterbox
from ropes.data.views import joined
from ropes.inference.estimator import Estimator
from ropes.models.shapes import EncoderConfig

#: Side of the pictures, pixels; colours of the attention, the window and foreign objects.
SIDE = 320
ATTENTION, WINDOW, FOREIGN = (255, 200, 40), (255, 127, 14), (214, 39, 40)
_OPACITY = 0.55
Box = tuple[float, float, float, float]


def live_pictures(
    estimator: Estimator, images: Mapping[str, Images], foreign: Mapping[str, Sequence[Sequence[int]]]
) -> list[Images]:
    """A picture for each camera, uint8 (SIDE, SIDE, 3).

    The image is letterboxed as the network sees it.  A tint shows the attention, a frame the window that the network
    reads again around the attention's mean, and red frames foreign objects.

    Args:
        estimator: the estimator.
        images: camera → image as the run reads it, cameras in the order of the run.
        foreign: camera → boxes (left, top, right, bottom) in pixels of the image.
    """
    attention = estimator.attention(joined([image[None] for image in images.values()]))
    pictures = []
    for view, (camera, image) in enumerate(images.items()):
        height, width = image.shape[:2]
        side = max(height, width)
        square = Image.fromarray(letterbox(image[None], side)[0]).convert("RGB")
        picture = square.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        boxes: list[tuple[Box, tuple[int, int, int]]] = []
        if attention is not None:
            picture = _tinted(picture, attention[0, view])
            boxes += [(box, WINDOW) for box in _window(estimator, attention[0, view])]
        top, left = png.bars(height, width)
        for found in foreign.get(camera, ()):
            moved = (np.array(found, dtype=float) + np.array([left, top, left, top])) / side
            boxes.append(((moved[0], moved[1], moved[2], moved[3]), FOREIGN))
        draw = ImageDraw.Draw(picture)
        for box, colour in boxes:
            draw.rectangle([SIDE * edge for edge in box], outline=colour, width=2)
        pictures.append(np.asarray(picture))
    return pictures


def _tinted(picture: Image.Image, attention: Floats) -> Image.Image:
    """The picture with a tint where the attention (s, s) is."""
    shares = np.round(255 * _OPACITY * attention / max(float(attention.max()), 1e-12)).astype(np.uint8)
    mask = Image.fromarray(shares).resize(picture.size, Image.Resampling.BICUBIC)
    return Image.composite(Image.new("RGB", picture.size, ATTENTION), picture, mask)


def _window(estimator: Estimator, attention: Floats) -> list[Box]:
    """The window around the attention's mean, as shares of the image's side; none for a network without a window."""
    shape = estimator.run.recipe.shape
    if not isinstance(shape, EncoderConfig) or not shape.window:
        return []
    places = (np.arange(len(attention)) + 0.5) / len(attention)
    row, column = float(attention.sum(axis=1) @ places), float(attention.sum(axis=0) @ places)
    half = shape.window / shape.image_size / 2
    return [(column - half, row - half, column + half, row + half)]
