"""Checks that images have the type and shapes that a run reads."""

import numpy as np

from ropes.data.views import Views
from ropes.errors import UserError
from ropes.methods.run import Run


def require_shapes(run: Run, images: Views) -> None:
    """Check that images have the type and shapes of the run's training images.

    Raises:
        UserError: they have not.
    """
    shapes, views = run.shapes, len(run.cameras)
    stacked = isinstance(images, np.ndarray)
    parts = [images] if isinstance(images, np.ndarray) else [np.asarray(part) for part in images]
    expected = [(views, *shapes[0])] if stacked else list(shapes)
    same = not stacked or len(set(shapes)) == 1
    if (
        same
        and [part.shape[1:] for part in parts] == expected
        and all(part.dtype == np.uint8 for part in parts)
        and len({len(part) for part in parts}) == 1
    ):
        return
    given = " and ".join(f"{part.shape}" for part in parts)
    types = " and ".join(dict.fromkeys(str(part.dtype) for part in parts))
    if len(set(shapes)) == 1:
        wanted = "uint8 " + _axes((views, *shapes[0]))
    else:
        of_cameras = zip(run.cameras, shapes, strict=True)
        wanted = "one uint8 array a camera, " + ", ".join(f"{_axes(shape)} of {name}" for name, shape in of_cameras)
    raise UserError(f"images of shape {given} and type {types}: this run reads {wanted}")


def _axes(shape: tuple[int, ...]) -> str:
    return f"(n, {', '.join(map(str, shape))})"
