"""Samples training images of each regime, from the same anchors if these are complete."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropes.common.progress import progress
from ropes.common.seeds import generator
from ropes.data.dataset import Dataset
from ropes.errors import UserError

Ints = NDArray[np.int64]
#: Largest number of poses per regime: enough to estimate a contrast within 0.02 nats, and read within seconds.
MAX_POSES = 400
#: Memory for the images, bytes, which limits the number of poses; and the smallest number of poses per regime.
MAX_BYTES, MIN_POSES = 400_000_000, 40


@dataclass(frozen=True)
class Sample:
    """Images with their regime (task index) and anchor, (n,) each.

    Attributes:
        images: of each camera, uint8 (n, H, W), or (n, H, W, 3) in colour.
        regime: task index.
        anchor: number of the anchor.
    """

    images: tuple[NDArray[np.uint8], ...]
    regime: Ints
    anchor: Ints

    def rows(self, regime: int | None) -> Ints:
        """The rows of a regime; none for None."""
        return np.flatnonzero(self.regime == regime)

    def __len__(self) -> int:
        return len(self.regime)


def draw_sample(dataset: Dataset, *, seed: int = 0, show: bool = True) -> Sample:
    """Read up to `MAX_POSES` training poses of each regime, as many as fit into `MAX_BYTES`, but at least `MIN_POSES`.

    Args:
        dataset: the data set.
        seed: seed of the choice of anchors.
        show: show progress.

    Raises:
        UserError: no training images, or a damaged file.
    """
    frames = dataset.frames("train")
    if not len(frames):
        raise UserError(f"{dataset.path} has no training images")
    anchors, number = np.unique(frames.anchor, return_inverse=True)
    order = generator(seed, "inspect").permutation(len(anchors))
    ranked = np.argsort(order[number], kind="stable")
    size = sum(int(np.prod(shape)) for shape in dataset.image_shapes) * len(dataset.regimes)
    poses = max(MIN_POSES, min(MAX_POSES, MAX_BYTES // size))
    regimes = range(len(dataset.regimes))
    places = np.sort(np.concatenate([ranked[frames.regime[ranked] == regime][:poses] for regime in regimes]))
    images = tuple(np.empty((len(places), *shape), np.uint8) for shape in dataset.image_shapes)
    rows, done = frames.index[places], 0
    with progress("reading images, poses", len(rows), show=show) as update:
        for _, _, part in dataset.by_file(rows):
            for all_of_camera, read in zip(images, dataset.read_cameras(rows[part]), strict=True):
                all_of_camera[part] = read
            done += len(part)
            update(done)
    return Sample(images, frames.regime[places], frames.anchor[places])
