"""Occluded and otherwise disturbed images, and how often the out-of-distribution flag detects the latter."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ropes.common.arrays import Images
from ropes.common.seeds import generator
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.views import Views, by_camera, count, each, joined, take
from ropes.errors import UserError
from ropes.evaluation.rows.kinds import FlagRow
from ropes.inference.estimator import Estimator
from ropes.methods.uncertainty.model import Reading
from ropes.metrics.intervals import auroc
from ropes.simulation.corruption import Hiding, occlude

#: Shifts that simulate a moved camera, in pixels of the stored image.
MOVED = (1, 3)
#: Sides of the specks in every view, pixels.
SPECKS = (4, 8)
_MAX_IMAGES = 500


def occlude_views(images: Views, size: int, rng: np.random.Generator, kind: Hiding) -> Views:
    """A random square of every image occluded, see `occlude`.

    Args:
        images: of n poses.
        size: side of the square, pixels of the images.
        rng: draws positions and contents.
        kind: of the occluder.
    """
    if isinstance(images, np.ndarray):
        return occlude(images, size, rng, kind)
    return joined([occlude(camera[:, None], size, rng, kind)[:, 0] for camera in by_camera(images)])


def occluded(images: Views, occlusion: int, seed: int, split: str, hide: Hiding) -> Views:
    """Images with an occlusion of this side in each, by the evaluation's seed; unchanged for 0."""
    if not occlusion:
        return images
    return occlude_views(images, occlusion, generator(seed, "occlusion", split, occlusion), hide)


def disturbed(images: Views) -> Iterator[tuple[str, Views]]:
    """Out-of-distribution versions of images: cameras that have moved, were exchanged, or have a speck on the lens.

    Args:
        images: in distribution.

    Yields:
        A description, and images of the same shapes. A shifted image repeats its edge. Cameras of different sizes are
        not exchanged.
    """
    for pixels in MOVED:
        yield f"moved by {pixels} px", each(images, partial(_moved, pixels=pixels))
    shortest = min(side for camera in by_camera(images) for side in camera.shape[1:3])
    for pixels in (size for size in SPECKS if size < shortest):
        yield f"a grey speck of {pixels} px", occlude_views(images, pixels, generator(0, "specks", pixels), "grey")
    yield "mirrored", each(images, lambda camera: camera[:, :, ::-1])
    if isinstance(images, np.ndarray) and images.shape[1] > 1:
        yield "cameras exchanged", images[:, ::-1]


def _moved(images: Images, pixels: int) -> Images:
    """Images (n, H, W[, 3]) shifted to the right."""
    return images[:, :, np.maximum(np.arange(images.shape[2]) - pixels, 0)]


def out_of_distribution_images(estimator: Estimator, datasets: Sequence[Dataset | Path | str]) -> dict[str, Views]:
    """Some images of out-of-distribution data sets, by the names of their folders.

    Args:
        estimator: the estimator.
        datasets: data sets of another robot or other cameras, or their folders. The number of cameras and the shapes of
            their images must be the run's, in its order; names of cameras and joints need not.

    Raises:
        UserError: a data set has another number of cameras or other images, two have one name, or the run has no
            uncertainty model.
    """
    run, images = estimator.run, dict[str, Views]()
    if datasets and estimator.trust is None:
        raise UserError("this run has no out-of-distribution detection; fit it again")
    for given in datasets:
        dataset = open_dataset(given)
        path, name = dataset.path, dataset.path.resolve().name
        if dataset.image_shapes != run.shapes:
            raise UserError(
                f"{path} has {len(dataset.cameras)} cameras of {_sizes(dataset.image_shapes)} pixels and this run "
                f"reads {len(run.cameras)} of {_sizes(run.shapes)}; give --out-of-distribution a data set with as many "
                "of that size"
            )
        if name in images:
            raise UserError(f"--out-of-distribution has two data sets called {name}; rename one")
        frames = dataset.frames("test-id" if "test-id" in dataset.splits else "train")
        images[name] = joined(dataset.read_cameras(frames.index[:_MAX_IMAGES]))
    return images


def _sizes(shapes: Sequence[tuple[int, ...]]) -> str:
    """Heights and widths, in colour with the channels."""
    return " and ".join(dict.fromkeys("x".join(map(str, shape)) for shape in shapes))


def flag_rows(
    estimator: Estimator, method: str, reading: Reading, images: Views, others: Mapping[str, Views]
) -> tuple[FlagRow, ...]:
    """How well the distance discriminates `disturbed` images, and other data sets, from in-distribution images.

    Args:
        estimator: the estimator; without an uncertainty model there are no rows.
        method: name of the method in the rows.
        reading: what the estimator reads from `images`.
        images: in distribution.
        others: name → out-of-distribution images.
    """
    run, rows = estimator.run, []
    if reading.distance is None:
        return ()
    datasets = ((f"data set {name}", foreign) for name, foreign in others.items())
    for name, foreign in (*disturbed(take(images, slice(_MAX_IMAGES))), *datasets):
        distance = estimator.read(foreign).distance
        assert distance is not None  # as for the images in distribution
        rows.append(
            FlagRow(
                setup=run.setting,
                method=method,
                seed=run.seed,
                images=name,
                count=count(foreign),
                auroc=auroc(reading.distance, distance),
                flagged=float((distance > 1).mean()),
            )
        )
    return tuple(rows)
