"""Samples training images of each regime, from the same anchors where these are complete."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropes.common.progress import progress
from ropes.common.seeds import generator
from ropes.data.dataset import Dataset
from ropes.errors import UserError

Ints = NDArray[np.int64]
#: Poses read of each regime: enough to know a contrast to two hundredths of a nat, and read within seconds.
_POSES = 400
#: Larger images: fewer poses, so that they fit into memory; never fewer than this.
_BYTES, _FEWEST = 400_000_000, 40


@dataclass(frozen=True)
class Sample:
    """Images uint8 (n, V, H, W) with their regime (task index) and anchor, (n,) each."""

    images: NDArray[np.uint8]
    regime: Ints
    anchor: Ints

    def rows(self, regime: int) -> Ints:
        """The rows under a regime."""
        return np.flatnonzero(self.regime == regime)


def draw_sample(dataset: Dataset, *, seed: int = 0, show: bool = True) -> Sample:
    """Read up to 400 training poses of each regime.

    Raises:
        UserError: no training images, images in colour, or a file that is damaged.
    """
    if len(dataset.image_shape) > 2:
        raise UserError(f"{dataset.path} has images in colour; what can be inspected are grey ones of an arm")
    frames = dataset.frames("train")
    if not len(frames):
        raise UserError(f"{dataset.path} has no training images")
    anchors, number = np.unique(frames.anchor, return_inverse=True)
    order = generator(seed, "inspect").permutation(len(anchors))
    ranked = np.argsort(order[number], kind="stable")
    each = len(dataset.cameras) * dataset.image_size[0] * dataset.image_size[1] * len(dataset.regimes)
    poses = max(_FEWEST, min(_POSES, _BYTES // each))
    regimes = range(len(dataset.regimes))
    chosen = np.sort(np.concatenate([ranked[frames.regime[ranked] == regime][:poses] for regime in regimes]))
    images = np.empty((len(chosen), len(dataset.cameras), *dataset.image_size), np.uint8)
    rows, done = frames.index[chosen], 0
    with progress("reading images, poses", len(rows), show=show) as update:
        for _, _, places in dataset.by_file(rows):
            images[places] = dataset.read_images(rows[places])
            done += len(places)
            update(done)
    return Sample(images, frames.regime[chosen], frames.anchor[chosen])
