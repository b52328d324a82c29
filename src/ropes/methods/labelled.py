"""Labelled poses for the supervised baselines: a share of the training split, drawn by seed."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropes.common.seeds import generator
from ropes.data.batches import held_out_anchors
from ropes.data.dataset import Dataset
from ropes.errors import UserError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Labelled:
    """Which training poses' angles are read.

    Attributes:
        angles: of all training poses, radians, (n, d) in the order of the data set's joints.
        kept: rows of the poses to learn from.
        held: rows of those held out.
    """

    angles: Array
    kept: Indices
    held: Indices

    def __len__(self) -> int:
        return len(self.kept) + len(self.held)

    def held_angles(self, rows: Indices) -> Array:
        """Angles of some rows, (k, d): NaN but for the held-out poses."""
        return np.where(np.isin(rows, self.held)[:, None], self.angles[rows], np.nan)


def angles_checksum(angles: Array) -> str:
    """SHA-256 of the training angles, which the checksum of a data set leaves out."""
    return hashlib.sha256(np.ascontiguousarray(angles).tobytes()).hexdigest()


def labelled_rows(poses: int, share: float, seed: int) -> Indices:
    """Training poses whose angles are read: `share` of them all, drawn by seed, in order.

    The poses of a smaller share are among those of a larger one.

    Raises:
        UserError: fewer than two.
    """
    count = round(share * poses)
    if count < 2:
        raise UserError(
            f"--labels {share:g} of {poses} training poses leaves {count} with a label; at least two are needed: one "
            "to learn from and one held out"
        )
    return np.sort(generator(seed, "labels").permutation(poses)[:count])


def choose_labels(dataset: Dataset, share: float, held_out: float, seed: int) -> Labelled:
    """The labelled poses, and which of them are held out: those of a share of all anchors, labelled or not.

    Raises:
        UserError: fewer than two labelled poses, or all of them are held out, or none.
    """
    anchor = dataset.frames("train").anchor
    rows = labelled_rows(len(anchor), share, seed)
    out = np.isin(anchor[rows], held_out_anchors(anchor, held_out, seed))
    if out.all() or not out.any():
        raise UserError(
            f"of {len(rows)} labelled poses {int(out.sum())} are of held-out anchors, and both kinds are needed: raise "
            "--labels, or change --val-fraction"
        )
    return Labelled(dataset.states("train"), rows[~out], rows[out])
