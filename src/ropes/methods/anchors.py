"""Training poses indexed by anchor and regime."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ropes.causal.scm import Regime
from ropes.data.batches import TrainingImages
from ropes.data.dataset import Dataset, Frames
from ropes.errors import UserError
from ropes.methods.contrast import head_regimes

Indices = NDArray[np.int64]


def by_anchor(dataset: Dataset, images: TrainingImages | Frames) -> Indices:
    """Rows of `images` by anchor and regime, (A, R), regimes as in `head_regimes`.

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
        twice = np.flatnonzero(~np.isin(np.arange(len(images)), table))[0]
        raise UserError(
            f"{dataset.path}: anchor {images.anchor[twice]} has several poses under "
            f"{dataset.regimes[images.regime[twice]].name}; give each an anchor (episode) of its own, or fit with "
            "--method ldr, which does without anchors"
        )
    return table[:, _order(dataset)]


def _order(dataset: Dataset) -> Indices:
    """Where the head's regimes are among the data set's."""
    if Regime() not in dataset.regimes:
        raise UserError(
            f"{dataset.path} has no observational images; anchors need the pose without intervention: record it, "
            "or fit with --method ldr, which does without anchors"
        )
    return np.array([dataset.regimes.index(regime) for regime in head_regimes(dataset.joints)])


def require_all_regimes(first: Frames, every: Frames, regimes: Sequence[Regime]) -> None:
    """Check that the first anchors alone show each regime that there is, and each policy more than once if all do.

    Args:
        first: the training frames of the anchors that --anchors asks for.
        every: all training frames.
        regimes: the regime that each task index stands for.

    Raises:
        UserError: they do not; some of a policy's anchors must be learnt from and some held out.
    """
    asked, total = (len(np.unique(frames.anchor)) for frames in (first, every))
    for number, regime in enumerate(regimes):
        left, there = (len(np.unique(frames.anchor[frames.regime == number])) for frames in (first, every))
        if left < min(there, 1 if regime.joint is None else 2):
            few = "only one" if left else "none"
            raise UserError(
                f"--anchors {asked}: of the first {asked} of {total} anchors {few} has images under {regime.name}; "
                "ask for more, or leave --anchors out"
            )
