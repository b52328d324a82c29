"""Batch indices that depend on seed and step alone."""

import numpy as np

from ropes.common.arrays import Ints
from ropes.common.seeds import generator


class EpochShuffle:
    """Batches of `batch` out of `n` samples, in a random order of each epoch that depends on seed and epoch alone."""

    def __init__(self, n: int, batch: int, seed: int) -> None:
        self.n, self.batch, self.seed = n, batch, seed
        self._epoch = -1
        self._order: Ints = np.empty(0, dtype=np.int64)

    def _order_of(self, epoch: int) -> Ints:
        if epoch != self._epoch:
            self._order = generator(self.seed, "epoch", epoch).permutation(self.n)
            self._epoch = epoch
        return self._order

    def __call__(self, step: int) -> Ints:
        """Indices of the batch of a step; a batch across two epochs continues with the order of the second."""
        parts = []
        position, end = step * self.batch, (step + 1) * self.batch
        while position < end:
            epoch, offset = divmod(position, self.n)
            parts.append(self._order_of(epoch)[offset : offset + end - position])
            position += len(parts[-1])
        return np.concatenate(parts)
