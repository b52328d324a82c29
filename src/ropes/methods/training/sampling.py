"""Batch indices that depend on seed and step alone."""

from dataclasses import dataclass, field

import numpy as np

from ropes.common.arrays import Ints
from ropes.common.seeds import generator
from ropes.data.windows import Windows


@dataclass(frozen=True)
class _Epoch:
    """The order of an epoch.

    Attributes:
        order: of the samples.
        windows: numbers of the shards of each window.
        ends: number of samples up to the end of each window.
    """

    order: Ints
    windows: list[Ints] = field(default_factory=list)
    ends: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))


class EpochShuffle:
    """Batches of `batch` out of `n` samples, in a random order of each epoch that depends on seed and epoch alone.

    With `windows` each epoch draws an order of the shards, and batches come from a window of several consecutive ones.
    """

    def __init__(self, n: int, batch: int, seed: int, windows: Windows | None = None) -> None:
        self.n, self.batch, self.seed, self.windows = n, batch, seed, windows
        self._epochs: dict[int, _Epoch] = {}
        self._prepared = (-1, -1)

    def _epoch(self, number: int) -> "_Epoch":
        """An epoch; it and the next one are kept."""
        if number not in self._epochs:
            self._epochs = {each: epoch for each, epoch in self._epochs.items() if each == number - 1}
            self._epochs[number] = self._draw(number)
        return self._epochs[number]

    def _draw(self, number: int) -> "_Epoch":
        rng = generator(self.seed, "epoch", number)
        order = rng.permutation(self.n)
        if self.windows is None:
            return _Epoch(order)
        shards = rng.permutation(np.unique(self.windows.shard))
        size = self.windows.images.window
        window_of = np.empty(int(shards.max()) + 1, np.int64)
        window_of[shards] = np.arange(len(shards)) // size
        of_sample = window_of[self.windows.shard[order]]
        return _Epoch(
            order[np.argsort(of_sample, kind="stable")],
            [shards[start : start + size] for start in range(0, len(shards), size)],
            np.cumsum(np.bincount(of_sample)),
        )

    def __call__(self, step: int) -> Ints:
        """Indices of the batch of a step; a batch across two epochs continues with the order of the second."""
        parts = []
        position, end = step * self.batch, (step + 1) * self.batch
        while position < end:
            epoch, offset = divmod(position, self.n)
            parts.append(self._epoch(epoch).order[offset : offset + end - position])
            self._prepare(epoch, offset)
            position += len(parts[-1])
        return np.concatenate(parts)

    def _prepare(self, epoch: int, offset: int) -> None:
        """At the beginning of a window, have its shards and those of the next one decoded."""
        if self.windows is None:
            return
        current = self._epoch(epoch)
        window = int(np.searchsorted(current.ends, offset, side="right"))
        if (epoch, window) != self._prepared:
            following = current.windows[window + 1 :] or self._epoch(epoch + 1).windows
            for shards in (current.windows[window], following[0]):
                self.windows.images.prepare(shards)
            self._prepared = (epoch, window)
