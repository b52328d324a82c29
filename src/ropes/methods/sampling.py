"""Batch indices as a function of the step alone."""

import numpy as np
from numpy.typing import NDArray

from ropes.common.seeds import generator

Indices = NDArray[np.int64]


class EpochShuffle:
    """Batches of `batch` out of `n` samples, each epoch in a fresh order that depends on seed and epoch alone."""

    def __init__(self, n: int, batch: int, seed: int) -> None:
        self.n, self.batch, self.seed = n, batch, seed
        self._epoch = -1
        self._order: Indices = np.empty(0, dtype=np.int64)

    def _order_of(self, epoch: int) -> Indices:
        if epoch != self._epoch:
            self._order = generator(self.seed, "epoch", epoch).permutation(self.n)
            self._epoch = epoch
        return self._order

    def __call__(self, step: int) -> Indices:
        """Indices of step `step`; a batch that reaches an epoch's end goes on with the next one's order."""
        parts = []
        position, end = step * self.batch, (step + 1) * self.batch
        while position < end:
            epoch, offset = divmod(position, self.n)
            parts.append(self._order_of(epoch)[offset : offset + end - position])
            position += len(parts[-1])
        return np.concatenate(parts)
