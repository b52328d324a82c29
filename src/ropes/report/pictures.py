"""Encodes image arrays as PNG strips for the page."""

import base64
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

GAP = 4
RED = (214, 39, 40)


def strip(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Set images side by side.

    Args:
        images: (k, H, W) grey, or (k, H, W, 3) in colour.

    Returns:
        (H, k W + (k - 1) GAP, 2 or 4) levels and alpha; the gaps have alpha 0.
    """
    layers = images if images.ndim == 4 else images[..., None]
    count, height, width, channels = layers.shape
    canvas = np.zeros((height, count * (width + GAP) - GAP, channels + 1), dtype=np.uint8)
    for index, image in enumerate(layers):
        left = index * (width + GAP)
        canvas[:, left : left + width, :-1] = image
        canvas[:, left : left + width, -1] = 255
    return canvas


def stack(strips: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Set strips below one another, GAP apart; shorter ones end in nothing.

    Args:
        strips: (H, W, 2 or 4) each, levels and alpha, all grey or all in colour.

    Returns:
        (sum of H + gaps, largest W, 2 or 4) levels and alpha.
    """
    width = max(strip.shape[1] for strip in strips)
    shape = sum(len(strip) + GAP for strip in strips) - GAP, width, strips[0].shape[2]
    canvas = np.zeros(shape, dtype=np.uint8)
    top = 0
    for strip in strips:
        canvas[top : top + len(strip), : strip.shape[1]] = strip
        top += len(strip) + GAP
    return canvas


def outlined(images: NDArray[np.uint8], there: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Images in colour, with a red line around parts of them.

    Args:
        images: (k, H, W) grey.
        there: (k, H, W), the parts.

    Returns:
        (k, H, W, 3).
    """
    inner = np.stack([ndimage.binary_erosion(parts) for parts in there])
    drawn = np.repeat(images[..., None], 3, axis=-1)
    drawn[there & ~inner] = RED
    return drawn


def png(pixels: NDArray[np.uint8]) -> bytes:
    """PNG bytes of (H, W, 2) grey or (H, W, 4) colour pixels with alpha."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """A PNG data URI of (H, W, 2) grey or (H, W, 4) colour pixels with alpha."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode("ascii")
