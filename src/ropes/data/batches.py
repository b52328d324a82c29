"""Training batches: images, their regime and their anchor. No field holds angles, so none can leak."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ropes.causal.scm import Regime
from ropes.common.seeds import generator
from ropes.data.cache import ImageCache
from ropes.data.dataset import Frames
from ropes.errors import UserError

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ImageBatch:
    """A training batch.

    Attributes:
        images: float32 (batch, views, height, width), grey levels in [0, 1].
        regime: int64 (batch,), index into the data set's regimes.
        anchor: int64 (batch,), equal for frames of the same anchor.
    """

    images: Tensor
    regime: Tensor
    anchor: Tensor

    def __len__(self) -> int:
        return len(self.images)


class TrainingImages:
    """Some frames of a cached split; rows count from 0 within these frames.

    Args:
        cache: the split's decoded images.
        frames: the frames of that split, in the cache's order.
        regimes: the regime that each task index stands for.

    Attributes:
        anchor: anchor of each row, int64 (n,).
        regime: regime (task index) of each row, int64 (n,).
        regimes: as given.

    Raises:
        UserError: a frame of a task that is not among `regimes`, or a regime without frames.
    """

    def __init__(self, cache: ImageCache, frames: Frames, regimes: Sequence[Regime]) -> None:
        self.regimes = tuple(regimes)
        counts = np.bincount(frames.regime, minlength=len(self.regimes))
        if len(counts) > len(self.regimes):
            raise UserError(f"a training frame has task {len(counts) - 1}; there are {len(self.regimes)} regimes")
        if not counts.all():
            raise UserError(f"no training image under regime {self.regimes[int(counts.argmin())].name}; add some")
        self._cache, self._positions = cache, np.arange(len(frames))
        self.anchor, self.regime = frames.anchor, frames.regime

    def __len__(self) -> int:
        return len(self._positions)

    def take(self, rows: ArrayLike) -> "TrainingImages":
        """Only these rows, renumbered from 0 in the order given."""
        chosen = np.asarray(rows, dtype=np.int64)
        taken = copy(self)
        taken._positions = self._positions[chosen]
        taken.anchor, taken.regime = self.anchor[chosen], self.regime[chosen]
        return taken

    def split_anchors(self, fraction: float, seed: int) -> tuple["TrainingImages", "TrainingImages"]:
        """Hold out a share of the anchors, with all their frames: no held-out pose has a twin in training.

        Args:
            fraction: share of the anchors to hold out, in (0, 1); at least one is held out and one kept.
            seed: which ones.

        Returns:
            Training and held-out frames.

        Raises:
            UserError: fewer than two anchors.
        """
        return self.split(np.isin(self.anchor, held_out_anchors(self.anchor, fraction, seed)))

    def split(self, out: NDArray[np.bool_]) -> tuple["TrainingImages", "TrainingImages"]:
        """The rows that are not `out` (n,), and those that are."""
        return self.take(np.flatnonzero(~out)), self.take(np.flatnonzero(out))

    def rows_of(self, regime: Regime | int) -> Ints:
        """The rows under a regime.

        Raises:
            UserError: no such regime.
        """
        number = regime if isinstance(regime, int) else _find(self.regimes, regime)
        return np.flatnonzero(self.regime == number)

    def pixels(self, rows: ArrayLike) -> NDArray[np.uint8]:
        """The images of rows as they are cached, uint8 (n, views, height, width)."""
        return self._cache.read(self._positions[np.asarray(rows, dtype=np.int64)])

    def batch(self, rows: ArrayLike) -> ImageBatch:
        """The batch of these rows, in their order."""
        chosen = np.asarray(rows, dtype=np.int64)
        images = torch.from_numpy(self.pixels(chosen)).to(torch.float32).div_(255)
        return ImageBatch(images, torch.from_numpy(self.regime[chosen]), torch.from_numpy(self.anchor[chosen]))


def first_anchors(anchor: Ints, count: int | None) -> NDArray[np.bool_]:
    """Which frames, of these anchors (n,), are of the first `count` anchors; all where None: (n,).

    Raises:
        UserError: there are fewer.
    """
    anchors = np.unique(anchor)
    if count is not None and len(anchors) < count:
        raise UserError(f"{count} anchors were asked for and there are {len(anchors)}; simulate more")
    return np.isin(anchor, anchors[:count])


def held_out_anchors(anchor: Ints, fraction: float, seed: int) -> Ints:
    """Which anchors a fit with this seed holds out of those in `anchor`; arguments and errors as `split_anchors`."""
    anchors = np.unique(anchor)
    if len(anchors) < 2:
        raise UserError(f"{len(anchors)} anchor cannot be split in two; simulate more")
    count = min(max(1, round(fraction * len(anchors))), len(anchors) - 1)
    return generator(seed, "held-out anchors").permutation(anchors)[:count]


def _find(regimes: Sequence[Regime], regime: Regime) -> int:
    if regime not in regimes:
        raise UserError(f"the data set has no regime {regime.name}")
    return list(regimes).index(regime)
