"""Samples training images of each regime, from the same anchors if these are complete."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropes.common.progress import progress
from ropes.common.seeds import generator
from ropes.data.dataset import Dataset
from ropes.errors import UserError

Ints = NDArray[np.int64]
#: Poses per regime: enough to estimate a contrast within 0.02 nats, and read within seconds.
_POSES = 400
#: Memory for the images, which limits the number of poses; and the smallest number of poses.
_BYTES, _FEWEST = 400_000_000, 40


@dataclass(frozen=True)
class Sample:
    """Images, uint8 (n, V, H, W), with their regime (task index) and anchor, (n,) each."""

    images: NDArray[np.uint8]
    regime: Ints
    anchor: Ints

    def rows(self, regime: int) -> Ints:
        """The rows of a regime."""
        return np.flatnonzero(self.regime == regime)


def draw_sample(dataset: Dataset, *, seed: int = 0, show: bool = True) -> Sample:
    """Read up to 400 training poses of each regime.

    Raises:
        UserError: no training images, colour images, or a damaged file.
    """
    if len(dataset.image_shape) > 2:
        raise UserError(f"{dataset.path} has colour images; only grey images of an arm can be inspected")
    frames = dataset.frames("train")
    if not len(frames):
        raise UserError(f"{dataset.path} has no training images")
    anchors, number = np.unique(frames.anchor, return_inverse=True)
    order = generator(seed, "inspect").permutation(len(anchors))
    ranked = np.argsort(order[number], kind="stable")
    size = len(dataset.cameras) * dataset.image_size[0] * dataset.image_size[1] * len(dataset.regimes)
    poses = max(_FEWEST, min(_POSES, _BYTES // size))
    regimes = range(len(dataset.regimes))
    places = np.sort(np.concatenate([ranked[frames.regime[ranked] == regime][:poses] for regime in regimes]))
    images = np.empty((len(places), len(dataset.cameras), *dataset.image_size), np.uint8)
    rows, done = frames.index[places], 0
    with progress("reading images, poses", len(rows), show=show) as update:
        for _, _, part in dataset.by_file(rows):
            images[part] = dataset.read_images(rows[part])
            done += len(part)
            update(done)
    return Sample(images, frames.regime[places], frames.anchor[places])
