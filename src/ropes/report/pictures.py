"""Strips of images, and their files inside a page."""

import base64
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from ropes.common.arrays import Images

GAP = 4
RED = (214, 39, 40)
#: Bytes of a PNG above which a page has the picture as lossy WebP if that is smaller; noise hardly compresses without
#: loss.  Quality of the WebP, of 100.
_LARGE, _QUALITY = 32_768, 80


def strip(images: NDArray[np.uint8]) -> Images:
    """Images side by side; the gaps between them are transparent.

    Args:
        images: (k, H, W) grey, or (k, H, W, 3) in colour.

    Returns:
        (H, k W + (k - 1) GAP, 2 or 4).
    """
    layers = images if images.ndim == 4 else images[..., None]
    opaque = np.concatenate([layers, np.full_like(layers[..., :1], 255)], axis=-1)
    gaps = np.zeros((*opaque.shape[:2], GAP, opaque.shape[-1]), np.uint8)
    return np.concatenate([*np.concatenate([opaque, gaps], axis=2)], axis=1)[:, :-GAP]


def stack(strips: Sequence[Images]) -> Images:
    """Strips below one another, GAP apart; the space beside shorter ones is transparent.

    Args:
        strips: (H, W, 2 or 4) each, all grey or all in colour.

    Returns:
        (sum of H + gaps, largest W, 2 or 4).
    """
    width = max(strip.shape[1] for strip in strips)
    padded = [np.pad(strip, ((0, GAP), (0, width - strip.shape[1]), (0, 0))) for strip in strips]
    return np.concatenate(padded)[:-GAP]


def outlined(images: NDArray[np.uint8], there: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Images in colour, with a red line around regions.

    Args:
        images: (k, H, W) grey, or (k, H, W, 3) in colour.
        there: (k, H, W), the regions.

    Returns:
        (k, H, W, 3).
    """
    inner = np.stack([ndimage.binary_erosion(parts) for parts in there])
    drawn = images.copy() if images.ndim == 4 else np.repeat(images[..., None], 3, axis=-1)
    drawn[there & ~inner] = RED
    return drawn


def png(pixels: Images) -> bytes:
    """PNG bytes of pixels: uint8 (H, W) grey, (H, W, 2) grey with alpha, (H, W, 3) RGB or (H, W, 4) with alpha."""
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG", optimize=True)
    return stream.getvalue()


def data_uri(pixels: Images) -> str:
    """A data URI of pixels, see `png`: PNG, or lossy WebP of large pictures where it is smaller.

    Transparency stays exact.
    """
    encoded, kind = png(pixels), "png"
    if len(encoded) > _LARGE:
        stream = io.BytesIO()
        Image.fromarray(pixels).convert("RGBA").save(stream, format="WEBP", quality=_QUALITY)
        if stream.tell() < len(encoded):
            encoded, kind = stream.getvalue(), "webp"
    return f"data:image/{kind};base64," + base64.b64encode(encoded).decode("ascii")
