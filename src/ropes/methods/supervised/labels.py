"""Selects the labelled poses of the supervised baselines: a share of the training split, by seed."""

import hashlib
from dataclasses import dataclass

import numpy as np

from ropes.common.arrays import Floats, Ints
from ropes.common.seeds import generator
from ropes.data.batches import first_anchors, held_out_anchors
from ropes.data.dataset import Dataset
from ropes.errors import UserError


@dataclass(frozen=True)
class Labels:
    """The labelled training poses, split into training and held-out ones.

    Attributes:
        poses: training frames of the data set that the fit uses, sorted, (n,); rows count among them.
        angles: of these poses, radians, (n, d) in the order of the data set's joints.
        kept: rows of the labelled poses for training.
        held: rows of the labelled poses held out.
    """

    poses: Ints
    angles: Floats
    kept: Ints
    held: Ints

    def __len__(self) -> int:
        return len(self.kept) + len(self.held)

    def held_angles(self, rows: Ints) -> Floats:
        """Angles of rows (k,) that are labelled and held out, NaN for the others, (k, d)."""
        return np.where(np.isin(rows, self.held)[:, None], self.angles[rows], np.nan)


def angles_checksum(angles: Floats) -> str:
    """SHA-256 of the training angles, which the checksum of a data set leaves out."""
    return hashlib.sha256(np.ascontiguousarray(angles).tobytes()).hexdigest()


def labelled_rows(poses: int, share: float, seed: int) -> Ints:
    """Sorted rows of a random share of the training poses; those of a smaller share are a subset of a larger one's.

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


def choose_labels(dataset: Dataset, share: float, held_out: float, seed: int, anchors: int | None = None) -> Labels:
    """Select labelled poses, and hold out those of a share of the anchors.

    Args:
        dataset: with angles.
        share: share of the poses that has labels.
        held_out: share of the anchors.
        seed: of both choices.
        anchors: use poses of the first anchors only; None for all.

    Raises:
        UserError: too few anchors, fewer than two labelled poses, or all of them are held out, or none.
    """
    anchor = dataset.frames("train").anchor
    poses = np.flatnonzero(first_anchors(anchor, anchors))
    anchor = anchor[poses]
    rows = labelled_rows(len(anchor), share, seed)
    out = np.isin(anchor[rows], held_out_anchors(anchor, held_out, seed))
    if out.all() or not out.any():
        raise UserError(
            f"of {len(rows)} labelled poses {int(out.sum())} are of held-out anchors, and both kinds are needed: raise "
            "--labels, or change --val-fraction"
        )
    return Labels(poses, dataset.states("train")[poses], rows[~out], rows[out])
