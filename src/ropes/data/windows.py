"""Images of a split, decoded shard by shard while a fit reads them, for splits whose decoded images exceed the disk.

Batches come from windows of a few shards: the poses of a window are mixed among themselves, and the next window is
fetched and decoded meanwhile.  Each decoded shard is a file of the cache folder, within its limit.
"""

import threading
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.common import files
from ropes.common.arrays import Ints
from ropes.common.hardware import usable_cores
from ropes.data.cache import CachedImages, decode_frames, decoded_shape
from ropes.data.dataset import Dataset, Frames
from ropes.errors import UserError


@dataclass(frozen=True)
class Windows:
    """How samples are drawn from windows of shards.

    Attributes:
        shard: shard of each sample, (n,).
        images: the images, told which shards come next.
    """

    shard: Ints
    images: "WindowedImages"


class WindowedImages:
    """The images of a split, as `ropes.data.cache.ImageCache` has them; any may be read, those of a window fast.

    At most two windows of shards are open: files that are not open may be removed from the cache.

    Args:
        dataset: the data set.
        split: name of the split.
        size: side of the images in pixels.
        window: number of shards in a window.

    Attributes:
        shape: uint8 (n, cameras, size, size), or (n, cameras, size, size, 3) in colour.
        shard: number of the data file of each image, (n,).

    Raises:
        UserError: as `ImageCache`; that of a damaged file when it is read.
    """

    def __init__(self, dataset: Dataset, split: str, size: int, window: int) -> None:
        self.window = window
        frames = dataset.frames(split)
        self.shape = decoded_shape(dataset, split, len(frames), size)
        self.shard: Ints = np.searchsorted(dataset.starts, frames.index, side="right") - 1
        self._dataset, self._split, self._frames = dataset, split, frames
        self._open: OrderedDict[int, Future[CachedImages]] = OrderedDict()
        self._lock, self._pool = threading.Lock(), ThreadPoolExecutor(usable_cores())

    def __len__(self) -> int:
        return self.shape[0]

    def close(self) -> None:
        """Decode no further shard; reading ends here."""
        self._pool.shutdown(cancel_futures=True)

    def prepare(self, shards: Ints) -> None:
        """Fetch and decode these shards in the background."""
        for shard in shards.tolist():
            self._of(shard)

    def read(self, positions: ArrayLike) -> NDArray[np.uint8]:
        """Copy images, in any order, as `CachedImages.read`."""
        rows = np.asarray(positions, dtype=np.int64)
        images = np.empty((len(rows), *self.shape[1:]), np.uint8)
        numbers = self.shard[rows]
        for shard in np.unique(numbers).tolist():
            chosen = np.flatnonzero(numbers == shard)
            # The frames of a split are in the order of the rows, so those of one shard are contiguous.
            first = int(np.searchsorted(self.shard, shard))
            images[chosen] = self._of(shard).result().read(rows[chosen] - first)
        return images

    def transformed(self, *_: Any, **__: Any) -> CachedImages:
        """Refused: the changed images of the whole split would fill the disk.

        Raises:
            UserError: always.
        """
        raise UserError("--shards-in-window keeps no changed images of a whole split; add --no-registration")

    def _of(self, shard: int) -> "Future[CachedImages]":
        with self._lock:
            if shard not in self._open:
                self._open[shard] = self._pool.submit(self._decoded, shard)
            self._open.move_to_end(shard)
            while len(self._open) > 2 * self.window:
                self._open.popitem(last=False)
            return self._open[shard]

    def _decoded(self, shard: int) -> CachedImages:
        rows = slice(*np.searchsorted(self.shard, [shard, shard + 1]).tolist())
        frames = Frames(self._frames.index[rows], self._frames.anchor[rows], self._frames.regime[rows])
        shape = (len(frames), *self.shape[1:])
        name = f"{self._dataset.checksum[:24]}-{self._split}-{self.shape[2]}-shard-{shard}.npy"
        build = partial(decode_frames, dataset=self._dataset, frames=frames, shape=shape)
        return CachedImages(files.cache_folder() / name, shape, build, "decoding, frames", progress=False)
