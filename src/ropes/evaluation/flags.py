"""Measures how often the out-of-distribution flag detects a moved camera, a speck on the lens, or another robot."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.common.seeds import generator
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation.rows.flag import FlagRow
from ropes.inference.estimator import Estimator
from ropes.methods.uncertainty.model import Reading
from ropes.metrics.intervals import auroc
from ropes.simulation.corruption import occlude

#: Shifts that simulate a moved camera, in pixels of the stored image.
MOVED = (1, 3)
#: Sides of the specks in every view, pixels.
SPECKS = (4, 8)
_MAX_IMAGES = 500
Images = NDArray[np.uint8]


def disturbed(images: Images) -> Iterator[tuple[str, Images]]:
    """Out-of-distribution versions of images: cameras that have moved, were exchanged, or have a speck on the lens.

    Args:
        images: in distribution, (n, V, H, W).

    Yields:
        A description, and images of the same shape. A shifted image repeats its edge.
    """
    for pixels in MOVED:
        width = images.shape[-1]
        yield f"moved by {pixels} px", images[..., np.maximum(np.arange(width) - pixels, 0)]
    for pixels in (size for size in SPECKS if size < images.shape[-1]):
        yield f"a grey speck of {pixels} px", occlude(images, pixels, generator(0, "specks", pixels), "grey")
    yield "mirrored", images[..., ::-1]
    if images.shape[1] > 1:
        yield "cameras exchanged", images[:, ::-1]


def unlike_images(estimator: Estimator, unlike: Sequence[Path]) -> dict[str, Images]:
    """Some images of out-of-distribution data sets, by the names of their folders.

    Args:
        estimator: the estimator.
        unlike: data sets of another robot or other cameras. The number of cameras and the image size must be the run's;
            names of cameras and joints need not.

    Raises:
        UserError: a data set has another number of cameras or image size, two have one name, or the run has no
            uncertainty model.
    """
    run, images = estimator.run, dict[str, Images]()
    if unlike and estimator.trust is None:
        raise UserError("this run has no out-of-distribution detection; fit it again")
    for path in unlike:
        dataset, name = open_dataset(path), path.resolve().name
        if len(dataset.cameras) != len(run.cameras) or dataset.image_size != (run.image_size,) * 2:
            height, width = dataset.image_size
            required = f"{len(run.cameras)} of {run.image_size}x{run.image_size}"
            raise UserError(
                f"{path} has {len(dataset.cameras)} cameras of {height}x{width} pixels and this run reads {required}; "
                "give --unlike a data set with as many of that size"
            )
        if name in images:
            raise UserError(f"--unlike has two data sets called {name}; rename one")
        frames = dataset.frames("test-id" if "test-id" in dataset.splits else "train")
        images[name] = dataset.read_images(frames.index[:_MAX_IMAGES])
    return images


def flag_rows(
    estimator: Estimator, method: str, reading: Reading, images: Images, others: Mapping[str, Images]
) -> tuple[FlagRow, ...]:
    """How well the distance discriminates `disturbed` images, and other data sets, from in-distribution images.

    Args:
        estimator: the estimator; without an uncertainty model there are no rows.
        method: name of the method in the rows.
        reading: what the estimator reads from `images`.
        images: in distribution, (n, V, S, S).
        others: name → out-of-distribution images.
    """
    run, rows = estimator.run, []
    if reading.distance is None:
        return ()
    datasets = ((f"data set {name}", foreign) for name, foreign in others.items())
    for name, foreign in (*disturbed(images[:_MAX_IMAGES]), *datasets):
        distance = estimator.read(np.ascontiguousarray(foreign)).distance
        assert distance is not None  # as for the images in distribution
        rows.append(
            FlagRow(
                setup=run.setting,
                method=method,
                seed=run.seed,
                images=name,
                count=len(foreign),
                auroc=auroc(reading.distance, distance),
                flagged=float((distance > 1).mean()),
            )
        )
    return tuple(rows)
