"""Batch indices that depend on seed and step alone."""

import numpy as np

from ropes.common.arrays import Ints
from ropes.common.seeds import generator
from ropes.data.windows import Windows


class EpochShuffle:
    """Batches of `batch` out of `n` samples, in a random order of each epoch that depends on seed and epoch alone.

    With `windows` each epoch draws the order of the shards, and mixes the samples of so many shards at a time.
    """

    def __init__(self, n: int, batch: int, seed: int, windows: Windows | None = None) -> None:
        self.n, self.batch, self.seed, self.windows = n, batch, seed, windows
        self._epoch = -1
        self._order: Ints = np.empty(0, dtype=np.int64)
        self._shards: list[Ints] = []
        self._ends: Ints = np.empty(0, dtype=np.int64)
        self._prepared = (-1, -1)

    def _order_of(self, epoch: int) -> Ints:
        if epoch != self._epoch:
            rng = generator(self.seed, "epoch", epoch)
            self._order = rng.permutation(self.n)
            if self.windows is not None:
                shards = rng.permutation(np.unique(self.windows.shard))
                size = self.windows.images.window
                self._shards = [shards[start : start + size] for start in range(0, len(shards), size)]
                window_of = np.empty(int(shards.max()) + 1, np.int64)
                window_of[shards] = np.arange(len(shards)) // size
                number = window_of[self.windows.shard[self._order]]
                self._order = self._order[np.argsort(number, kind="stable")]
                self._ends = np.cumsum(np.bincount(number))
            self._epoch = epoch
        return self._order

    def __call__(self, step: int) -> Ints:
        """Indices of the batch of a step; a batch across two epochs continues with the order of the second."""
        parts = []
        position, end = step * self.batch, (step + 1) * self.batch
        while position < end:
            epoch, offset = divmod(position, self.n)
            parts.append(self._order_of(epoch)[offset : offset + end - position])
            self._prepare(epoch, offset)
            position += len(parts[-1])
        return np.concatenate(parts)

    def _prepare(self, epoch: int, offset: int) -> None:
        """At the beginning of a window, have its shards and those of the next one decoded."""
        if self.windows is None:
            return
        window = int(np.searchsorted(self._ends, offset, side="right"))
        if (epoch, window) != self._prepared:
            for shards in self._shards[window : window + 2]:
                self.windows.images.prepare(shards)
            self._prepared = (epoch, window)
