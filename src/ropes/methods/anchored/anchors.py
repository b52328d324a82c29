"""Training poses indexed by anchor and regime."""

from collections.abc import Sequence

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.arrays import Ints
from ropes.data.batches import TrainingImages
from ropes.data.dataset import Dataset, Frames
from ropes.errors import UserError
from ropes.methods.anchored.contrast import head_regimes


def by_anchor(dataset: Dataset, images: TrainingImages | Frames) -> Ints:
    """Rows of `images` by anchor and regime, (A, R), regimes in the order of `head_regimes`.

    Raises:
        UserError: an anchor lacks a regime or has several poses under one, or there are no observational images.
    """
    regimes = len(dataset.regimes)
    anchors, number = np.unique(images.anchor, return_inverse=True)
    table = np.full((len(anchors), regimes), -1, dtype=np.int64)
    table[number, images.regime] = np.arange(len(images))
    if (table < 0).any():
        anchor, regime = (int(k[0]) for k in np.nonzero(table < 0))
        raise UserError(
            f"{dataset.path}: anchor {anchors[anchor]} has no pose under {dataset.regimes[regime].name}; "
            "record it, leave the anchor out, or fit with --method ldr, which does without anchors"
        )
    if len(images) > table.size:
        second = np.flatnonzero(~np.isin(np.arange(len(images)), table))[0]
        raise UserError(
            f"{dataset.path}: anchor {images.anchor[second]} has several poses under "
            f"{dataset.regimes[images.regime[second]].name}; give each an anchor (episode) of its own, or fit with "
            "--method ldr, which does without anchors"
        )
    if Regime() not in dataset.regimes:
        raise UserError(
            f"{dataset.path} has no observational images; anchors need the pose without intervention: record it, "
            "or fit with --method ldr, which does without anchors"
        )
    return table[:, [dataset.regimes.index(regime) for regime in head_regimes(dataset.joints)]]


def require_all_regimes(first: Frames, total: Frames, regimes: Sequence[Regime]) -> None:
    """Check that the first anchors show every regime, and every policy twice where the data set has two or more.

    One anchor of each policy is needed for training, another one to hold out.

    Args:
        first: the training frames of the anchors that --anchors selects.
        total: all training frames.
        regimes: the regime of each regime index.

    Raises:
        UserError: they do not.
    """
    selected, available = (len(np.unique(frames.anchor)) for frames in (first, total))
    for number, regime in enumerate(regimes):
        count, most = (len(np.unique(frames.anchor[frames.regime == number])) for frames in (first, total))
        if count < min(most, 1 if regime.joint is None else 2):
            few = "only one" if count else "none"
            raise UserError(
                f"--anchors {selected}: of the first {selected} of {available} anchors {few} has images under "
                f"{regime.name}; choose more, or leave --anchors out"
            )
