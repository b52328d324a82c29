"""Does the flag find what an operator should hear of: a camera that was moved, exchanged or mirrored, another robot?"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.estimator import Estimator
from ropes.flag_rows import FlagRow
from ropes.metrics.intervals import auroc
from ropes.trust.trust import Reading

#: Pixels of the stored image that a camera seems to have been moved by.
MOVED = (1, 3)
_MOST = 500
Images = NDArray[np.uint8]


def disturbed(images: Images) -> Iterator[tuple[str, Images]]:
    """What usual images would be from cameras that are no longer where they were.

    Args:
        images: (n, V, H, W).

    Yields:
        In words what happened, and images of the same shape.  What a moved camera newly sees repeats the edge.
    """
    for pixels in MOVED:
        width = images.shape[-1]
        yield f"moved by {pixels} px", images[..., np.maximum(np.arange(width) - pixels, 0)]
    yield "mirrored", images[..., ::-1]
    if images.shape[1] > 1:
        yield "cameras exchanged", images[:, ::-1]


def flag_rows(
    estimator: Estimator, called: str, usual: Reading, images: Images, unlike: Sequence[Path]
) -> tuple[FlagRow, ...]:
    """How well the distance tells images of `disturbed`, and of other data sets, from usual ones.

    Args:
        estimator: of the run; without knowledge of distances there are no rows.
        called: name of the method in the rows.
        usual: what was read off `images`.
        images: in distribution, (n, V, S, S).
        unlike: data sets of another robot or of other cameras, as many of them.

    Raises:
        UserError: another data set has other numbers of cameras or sizes of images than the run.
    """
    run, found = estimator.run, []
    if usual.distance is None:
        if unlike:
            raise UserError("this run was fitted without the stage that tells unusual images; fit it again")
        return ()
    others = [(path.resolve().name, _images(estimator, open_dataset(path))) for path in unlike]
    for name, shown in (*disturbed(images[:_MOST]), *others):
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


def _images(estimator: Estimator, dataset: Dataset) -> Images:
    """Some images of another data set, whatever its cameras are called and its joints."""
    run = estimator.run
    if len(dataset.cameras) != len(run.cameras):
        raise UserError(
            f"{dataset.path} has {len(dataset.cameras)} cameras and this run reads {len(run.cameras)}; "
            "give --unlike a data set of as many"
        )
    frames = dataset.frames("test-id" if "test-id" in dataset.splits else "train")
    return dataset.read_images(frames.index[:_MOST])
