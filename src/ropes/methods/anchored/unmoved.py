"""Averages coordinates over poses in which their joint does not move: the targets of the student of `anchored`."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ropes.causal.scm import Regime
from ropes.common.arrays import Bools, Ints


def moving_joints(regimes: Sequence[Regime], joints: Sequence[str], follows: Tensor | None = None) -> Bools:
    """Which joints move under an intervention: its own and, of an anchor, those that follow it, (regimes, d).

    Args:
        regimes: the interventions; the observational one moves no joint.
        joints: names of the columns of the result.
        follows: whether joint j is a descendant of joint i, bool (d, d); None where no joint follows another.
    """
    own = np.array([[regime.joint == joint for joint in joints] for regime in regimes])
    return own if follows is None else own | (own @ follows.numpy())


def anchor_groups(anchor: Ints, moving: Bools) -> Ints:
    """Numbers of the poses, equal in column j where joint j has the same angle, for poses of anchors, (n, d).

    Args:
        anchor: of each pose, (n,).
        moving: whether each joint moves in each pose, (n, d).
    """
    numbers = np.unique(anchor, return_inverse=True)[1][:, None]
    alone = len(anchor) + np.arange(len(anchor))[:, None]  # after a move of the joint
    return np.where(moving, alone, numbers)


def chain_groups(anchor: Ints, moving: Bools) -> Ints:
    """The same for poses of chains, in the order of recording: joint j keeps its angle until its next move."""
    starts = np.diff(anchor, prepend=anchor[:1] - 1) != 0
    return np.cumsum(starts[:, None] | moving, axis=0)


def averaged(coordinates: Tensor, groups: Ints) -> Tensor:
    """Each coordinate's mean over the poses with the same number in its column of `groups`, (n, d) → (n, d)."""
    means = torch.empty_like(coordinates)
    for k, column in enumerate(groups.T):
        number = torch.from_numpy(np.unique(column, return_inverse=True)[1])
        counts = torch.bincount(number)
        sums = torch.zeros(len(counts), dtype=torch.float64).index_add_(0, number, coordinates[:, k].double())
        means[:, k] = (sums / counts)[number]
    return means
