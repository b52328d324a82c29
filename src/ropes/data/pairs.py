"""Image pairs before and after an action, as arrays."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.common.arrays import Images, Ints
from ropes.data.cache import ImageCache
from ropes.data.dataset import Dataset
from ropes.errors import UserError


class ActionPairs:
    """The pairs of a split, in the order on disk.

    Args:
        dataset: a data set of actions.
        split: name of the split.
        size: side of the images in pixels.
        progress: show progress while decoding.

    Attributes:
        verbs, nouns: action of each pair, (n,) strings.
        anchor: episode of each pair, (n,).

    Raises:
        UserError: the data set has no actions or no such split, an episode is no pair, or see `ImageCache`.
    """

    def __init__(self, dataset: Dataset, split: str, size: int, *, progress: bool = True) -> None:
        if not dataset.actions:
            raise UserError(f"{dataset.path} has no actions; see ropes simulate --setting action-pairs")
        frames = dataset.frames(split)
        if (fault := pair_fault(frames.anchor, frames.regime)) is not None:
            raise UserError(f"{dataset.path}: split {split!r}: {fault}")
        self._cache = ImageCache(dataset, split, size, progress=progress)
        self.anchor = frames.anchor[::2]
        actions = [dataset.actions[task] for task in frames.regime[::2]]
        self.verbs = np.array([action.verb for action in actions], dtype=np.str_)
        self.nouns = np.array([action.noun for action in actions], dtype=np.str_)

    def __len__(self) -> int:
        return len(self.anchor)

    def pixels(self, rows: ArrayLike) -> Images:
        """Images before and after, uint8 (n, 2, cameras, S, S), or (n, 2, cameras, S, S, 3) in colour."""
        pairs = np.asarray(rows, dtype=np.int64)
        images = self._cache.read(np.stack([2 * pairs, 2 * pairs + 1], axis=1).reshape(-1))
        return images.reshape(len(pairs), 2, *images.shape[1:])


def pair_fault(anchor: Ints, task: Ints) -> str | None:
    """The first episode that is not a pair of one action, in words; None where every episode is.

    Args:
        anchor: episode of each frame, (n,).
        task: task index of each frame, (n,).
    """
    episodes, first, counts = np.unique(anchor, return_index=True, return_counts=True)
    if (wrong := counts != 2).any():
        k = int(wrong.argmax())
        return f"episode {episodes[k]} has {counts[k]} images instead of one before and one after"
    if (task[first] != task[first + 1]).any():
        return f"episode {episodes[(task[first] != task[first + 1]).argmax()]} has two actions"
    return None


def encode_labels(texts: Sequence[str] | NDArray[np.str_], known: Sequence[str]) -> Ints:
    """Class index of each label, (n,): its index in `known`, -1 for unknown labels."""
    index = {text: k for k, text in enumerate(known)}
    return np.array([index.get(str(text), -1) for text in texts], dtype=np.int64)
