"""Reads real photographs of finger and cube with their factors, `finger_real.npz`."""

import zlib
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ropes.data.pictures import letterbox
from ropes.errors import UserError
from ropes.simulation.finger_setting import FACTORS

_IMAGES, _LABELS = "images", "labels"
#: Tolerance for measured factors outside their range, as a share of the range.
_TOLERANCE = 0.1


def read_photographs(path: Path, side: int) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Read photographs and their factors.

    Source: Dittadi et al. 2021, Section 3 (1,809 photographs).  Array names, orders and units are assumed: the file was
    not available for a test.

    Args:
        path: an npz file with `images`, uint8 (n, S, S, 3), and `labels`, (n, 7): the factors of
            `ropes.simulation.finger_setting.FACTORS` in their order, radians and metres.
        side: side of the returned images in pixels; images are averaged to it by area.

    Returns:
        uint8 (n, 1, side, side, 3), and factors (n, 7), clipped to their ranges.

    Raises:
        UserError: the file is missing or damaged, an array is missing or has another shape, images are smaller than
            `side`, or a factor is not finite or outside its range.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            if missing := [name for name in (_IMAGES, _LABELS) if name not in stored.files]:
                raise UserError(f"{path} has no array {missing[0]!r}; it has {', '.join(stored.files) or 'none'}")
            images, labels = stored[_IMAGES], stored[_LABELS]
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing") from error
    except (OSError, ValueError, TypeError, EOFError, BadZipFile, zlib.error) as error:
        raise UserError(f"{path} cannot be read as an npz file of plain arrays ({error})") from error
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] != 3 or images.shape[1] != images.shape[2]:
        raise UserError(f"{path}: images must be uint8 (n, S, S, 3), got {images.dtype} {images.shape}")
    if images.shape[1] < side:
        raise UserError(f"{path}: images of {images.shape[1]} pixels cannot be resized to {side}")
    if labels.dtype.kind not in "iuf" or labels.shape != (len(images), len(FACTORS)) or not len(images):
        expected = f"numbers ({len(images)}, {len(FACTORS)})"
        raise UserError(f"{path}: labels must be {expected}, got {labels.dtype} {labels.shape}")
    return letterbox(images, side)[:, None], _clipped(path, labels.astype(np.float64))


def _clipped(path: Path, labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """The factors, clipped to their ranges."""
    low, high = (np.array([getattr(factor, end) for factor in FACTORS]) for end in ("low", "high"))
    tolerance = _TOLERANCE * (high - low)
    outside = np.argwhere(~((labels >= low - tolerance) & (labels <= high + tolerance)))
    if outside.size:
        row, column = outside[0]
        raise UserError(
            f"{path}: labels[{row}, {column}] is {labels[row, column]:g}; {FACTORS[column].name} goes from "
            f"{low[column]:g} to {high[column]:g}"
        )
    return np.clip(labels, low, high)
