"""Training batches: images with regime and anchor. Batches have no field for angles, so labels cannot leak."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ropes.causal.scm import Regime
from ropes.common.arrays import Ints
from ropes.common.hardware import device_kind
from ropes.common.seeds import generator
from ropes.data.cache import CachedImages
from ropes.data.dataset import Frames
from ropes.data.held_out import held_out_count
from ropes.data.views import from_planes, planes
from ropes.data.windows import WindowedImages, Windows
from ropes.errors import UserError


@dataclass(frozen=True)
class ImageBatch:
    """A training batch.

    Attributes:
        images: float32 (batch, views, height, width), levels in [0, 1]; in colour each view has three planes, see
            `ropes.data.views.planes`.
        regime: int64 (batch,), index into the data set's regimes.
        anchor: int64 (batch,), equal for frames of one anchor.
    """

    images: Tensor
    regime: Tensor
    anchor: Tensor

    def __len__(self) -> int:
        return len(self.images)


class TrainingImages:
    """A subset of a cached split's frames; rows are indices into the subset.

    Args:
        cache: decoded images of the split.
        frames: frames of the split, in the order of the cache.
        regimes: regime of each task index.
        complete: whether every regime must have frames.

    Attributes:
        anchor: anchor of each row, int64 (n,).
        regime: regime (task index) of each row, int64 (n,).
        regimes: as given.
        channels: planes of a view, 1 in grey and 3 in colour.
        trusted: whether nothing but the arm moves in the views of each row, bool (n,); true until `trusting`.
        still: whether the cameras are at the place of most rows, bool (n,); true until `from_one_place`.

    Raises:
        UserError: a task has no regime, or a regime has no frames.
    """

    def __init__(
        self, cache: CachedImages | WindowedImages, frames: Frames, regimes: Sequence[Regime], *, complete: bool = True
    ) -> None:
        self.regimes = tuple(regimes)
        counts = np.bincount(frames.regime, minlength=len(self.regimes))
        if len(counts) > len(self.regimes):
            raise UserError(f"a training frame has task {len(counts) - 1}; there are {len(self.regimes)} regimes")
        if complete and not counts.all():
            raise UserError(f"no training image under regime {self.regimes[int(counts.argmin())].name}; add some")
        self._cache: CachedImages | WindowedImages = cache
        self._positions = np.arange(len(frames))
        self.channels = 3 if len(cache.shape) > 4 else 1
        self.anchor, self.regime = frames.anchor, frames.regime
        self.trusted = self.still = np.ones(len(frames), dtype=bool)

    def __len__(self) -> int:
        return len(self._positions)

    def take(self, rows: ArrayLike) -> "TrainingImages":
        """The subset of these rows, in the given order."""
        chosen = np.asarray(rows, dtype=np.int64)
        subset = copy(self)
        subset._positions = self._positions[chosen]
        subset.anchor, subset.regime = self.anchor[chosen], self.regime[chosen]
        subset.trusted, subset.still = self.trusted[chosen], self.still[chosen]
        return subset

    def trusting(self, trusted: NDArray[np.bool_]) -> "TrainingImages":
        """The same frames, of which only these are trusted, bool (n,), and only where the cameras are still."""
        marked = copy(self)
        marked.trusted = trusted & self.still
        return marked

    def from_one_place(self, still: NDArray[np.bool_]) -> "TrainingImages":
        """The same frames, in which only here the cameras are at the place of most, bool (n,)."""
        marked = copy(self)
        marked.still = still
        return marked.trusting(self.trusted)

    def trusted_rows(self) -> "TrainingImages":
        """The trusted rows."""
        return self if self.trusted.all() else self.take(np.flatnonzero(self.trusted))

    def trusted_anchors(self) -> "TrainingImages":
        """The rows of anchors that are trusted in all their rows."""
        doubted = np.unique(self.anchor[~self.trusted])
        return self.take(np.flatnonzero(~np.isin(self.anchor, doubted))) if len(doubted) else self

    @property
    def moved_anchors(self) -> Ints:
        """The anchors in some of whose rows a camera is at another place than in most."""
        return np.unique(self.anchor[~self.still])

    def still_anchors(self) -> "TrainingImages":
        """The rows of all anchors but the `moved_anchors`."""
        moved = self.moved_anchors
        return self.take(np.flatnonzero(~np.isin(self.anchor, moved))) if len(moved) else self

    def split_anchors(self, fraction: float, seed: int) -> tuple["TrainingImages", "TrainingImages"]:
        """Hold out a share of the anchors with all their frames.

        Args:
            fraction: share of the held-out anchors, in (0, 1); at least one anchor is held out and one is not.
            seed: seed of the choice.

        Returns:
            Training and held-out frames.

        Raises:
            UserError: fewer than two anchors.
        """
        return self.split(np.isin(self.anchor, held_out_anchors(self.anchor, fraction, seed)))

    def split(self, out: NDArray[np.bool_]) -> tuple["TrainingImages", "TrainingImages"]:
        """The rows where `out` (n,) is false, and those where it is true."""
        return self.take(np.flatnonzero(~out)), self.take(np.flatnonzero(out))

    def windows(self, rows: ArrayLike) -> Windows | None:
        """The shards of samples, for an order of reading; None where all images are cached and any order is as fast.

        Args:
            rows: first row of each sample, whose shard counts as the sample's.
        """
        if not isinstance(self._cache, WindowedImages):
            return None
        return Windows(self._cache.shard[self._positions[np.asarray(rows, dtype=np.int64)]], self._cache)

    def pixels(self, rows: ArrayLike) -> NDArray[np.uint8]:
        """The cached images, uint8 (n, planes, height, width), see `ropes.data.views.planes`."""
        return planes(self._cache.read(self._positions[np.asarray(rows, dtype=np.int64)]))

    def transformed(
        self,
        name: str,
        transform: Callable[[Tensor, slice], Tensor],
        activity: str,
        *,
        progress: bool = True,
    ) -> "TrainingImages":
        """The same frames with images that a function changes once; arguments as of `CachedImages.transformed`.

        The function gets planes, uint8 (n, P, S, S), on the device on which networks are evaluated, and their rows.  It
        returns planes.
        """

        def change(images: NDArray[np.uint8], rows: slice) -> NDArray[np.uint8]:
            changed = transform(torch.from_numpy(planes(images)).to(device_kind()), rows)
            return from_planes(changed.cpu().numpy(), self.channels)

        changed = copy(self)
        changed._cache = self._cache.transformed(self._positions, name, change, activity, progress=progress)
        changed._positions = np.arange(len(self))
        return changed

    def batch(self, rows: ArrayLike) -> ImageBatch:
        """The batch of these rows, in the given order."""
        chosen = np.asarray(rows, dtype=np.int64)
        images = torch.from_numpy(self.pixels(chosen)).to(torch.float32).div_(255)
        return ImageBatch(images, torch.from_numpy(self.regime[chosen]), torch.from_numpy(self.anchor[chosen]))


def first_anchors(anchor: Ints, count: int | None) -> NDArray[np.bool_]:
    """Mask of the frames of the first `count` anchors, (n,); all frames where `count` is None.

    Args:
        anchor: anchor of each frame, (n,).
        count: number of anchors.

    Raises:
        UserError: fewer than `count` anchors.
    """
    anchors = np.unique(anchor)
    if count is not None and len(anchors) < count:
        raise UserError(
            f"the data set has {len(anchors)} anchors or chains, fewer than the {count} requested; simulate more"
        )
    return np.isin(anchor, anchors[:count])


def held_out_anchors(anchor: Ints, fraction: float, seed: int) -> Ints:
    """The anchors that a fit with this seed holds out; arguments and errors as in `TrainingImages.split_anchors`."""
    anchors = np.unique(anchor)
    if len(anchors) < 2:
        raise UserError(f"{len(anchors)} anchor or chain cannot be split in two; simulate more")
    count = held_out_count(len(anchors), fraction)
    return generator(seed, "held-out anchors").permutation(anchors)[:count]
