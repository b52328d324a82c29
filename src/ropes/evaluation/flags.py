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

#: Pixels of the stored image that a camera seems to have been moved by.
MOVED = (1, 3)
#: Sides of the specks that every view is given, in pixels.
SPECKS = (4, 8)
_MOST = 500
Images = NDArray[np.uint8]


def disturbed(images: Images) -> Iterator[tuple[str, Images]]:
    """What usual images would be from cameras that are no longer where they were, or have a speck on the lens.

    Args:
        images: (n, V, H, W).

    Yields:
        In words what happened, and images of the same shape.  What a moved camera newly sees repeats the edge.
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
    """Some images of other data sets by their folders' names, whatever their cameras and joints are called.

    Args:
        estimator: of the run.
        unlike: data sets of another robot or of other cameras, as many of them.

    Raises:
        UserError: one has other numbers of cameras or sizes of images than the run, two have one name, or the run
            knows no distances.
    """
    run, found = estimator.run, dict[str, Images]()
    if unlike and estimator.trust is None:
        raise UserError("this run was fitted without the stage that tells unusual images; fit it again")
    for path in unlike:
        dataset, name = open_dataset(path), path.resolve().name
        if len(dataset.cameras) != len(run.cameras) or dataset.image_size != (run.image_size,) * 2:
            height, width = dataset.image_size
            wanted = f"{len(run.cameras)} of {run.image_size}x{run.image_size}"
            raise UserError(
                f"{path} has {len(dataset.cameras)} cameras of {height}x{width} pixels and this run reads {wanted}; "
                "give --unlike a data set with as many of that size"
            )
        if name in found:
            raise UserError(f"--unlike has two data sets called {name}; rename one")
        frames = dataset.frames("test-id" if "test-id" in dataset.splits else "train")
        found[name] = dataset.read_images(frames.index[:_MOST])
    return found


def flag_rows(
    estimator: Estimator, called: str, usual: Reading, images: Images, others: Mapping[str, Images]
) -> tuple[FlagRow, ...]:
    """How well the distance tells images of `disturbed`, and others, from usual ones.

    Args:
        estimator: of the run; without knowledge of distances there are no rows.
        called: name of the method in the rows.
        usual: what was read off `images`.
        images: in distribution, (n, V, S, S).
        others: by what they are called in the rows.
    """
    run, found = estimator.run, []
    if usual.distance is None:
        return ()
    for name, shown in (*disturbed(images[:_MOST]), *((f"data set {name}", shown) for name, shown in others.items())):
        distance = estimator.read(np.ascontiguousarray(shown)).distance
        assert distance is not None  # it knew that of the usual ones
        found.append(
            FlagRow(
                setup=run.setting,
                method=called,
                seed=run.seed,
                images=name,
                count=len(shown),
                auroc=auroc(usual.distance, distance),
                flagged=float((distance > 1).mean()),
            )
        )
    return tuple(found)
