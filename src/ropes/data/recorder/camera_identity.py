"""Notices cameras that were exchanged since a recording began, by what they show."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ropes.data import parquet, schema
from ropes.data.recorder.folder import RecordingFolder
from ropes.data.recorder.interfaces import Image
from ropes.data.recorder.stillness import grey
from ropes.errors import UserError

#: Cameras are exchanged where the images of each other fit better by this factor than their own.
_BETTER = 2.0
#: Anchors whose images are compared: the arm stands elsewhere in each, and the light changes over the days.
_ANCHORS = 4
Means = NDArray[np.float32]


def require_same_cameras(folder: RecordingFolder, images: Mapping[str, Image]) -> None:
    """Check that each camera shows what it shows in the anchors that are recorded.

    Cameras with similar images, as in front of a white wall, cannot be distinguished.

    Args:
        folder: the recording.
        images: camera → its image now, turned, cropped and resized as those that are stored.

    Raises:
        UserError: two or more cameras were exchanged.
    """
    shapes = {camera["name"]: tuple(camera["shape"]) for camera in folder.cameras or []}
    if not folder.entries or {name: image.shape for name, image in images.items()} != shapes:
        return
    names, stored = list(images), _stored(folder, shapes)
    differences = np.array([[_difference(images[now], stored[before]) for before in names] for now in names])
    _, matches = linear_sum_assignment(differences)
    moved = np.flatnonzero(matches != np.arange(len(names)))
    if _BETTER * differences[moved, matches[moved]].sum() < differences[moved, moved].sum():
        what = ", ".join(f"{names[k]} shows what {names[matches[k]]} showed" for k in moved)
        raise UserError(f"cameras were exchanged: {what} in {folder.root}; give --cameras as they were")


def _stored(folder: RecordingFolder, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, list[Means]]:
    """Camera → block means of its images in some anchors."""
    whole = [number for number, entry in enumerate(folder.slots) if entry is not None]
    found: dict[str, list[Means]] = {name: [] for name in shapes}
    for number in {whole[k] for k in np.linspace(0, len(whole) - 1, _ANCHORS).astype(int)}:
        path = folder.root / schema.data_file(number)
        table = parquet.read_table(path, [schema.IMAGES + name for name in shapes])
        rows = np.arange(table.num_rows)
        for name, shape in shapes.items():
            found[name] += map(grey, parquet.decode_rows(path, table, rows, name, shape))
    return found


def _difference(image: Image, stored: Sequence[Means]) -> float:
    """Mean difference from the most similar stored image, grey levels; infinite for images of other shapes."""
    now = grey(image)
    changes = [now - before for before in stored if before.shape == now.shape]
    return min((float(np.abs(change - np.median(change)).mean()) for change in changes), default=np.inf)
