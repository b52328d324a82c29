"""Tests which joints follow which from interventions, with a bound on false positives. Uses no labels."""

import numpy as np
import torch
from torch import Tensor

from ropes.causal.graph import estimate_graph


def descendants(coordinates: Tensor, target: Tensor) -> Tensor:
    """Which joint (column) the causal graph of the coordinates reaches from which (row), bool (d, d).

    Where no joint causes another, a hundredth of the graphs has an edge, however coordinates mix the joints.  None
    follows where coordinates tell nothing of the policies, nor where there are fewer than two anchors.

    Args:
        coordinates: (A, R, d), the observational pose of each anchor first.
        target: see `ropes.methods.contrast.targets`.
    """
    anchors, poses, d = coordinates.shape
    joint = np.tile(np.concatenate([[-1], target.numpy()]), anchors)
    policy = np.tile(np.concatenate([[0], 1 + np.arange(len(target)) % 2]), anchors)
    read = coordinates.flatten(0, 1).double().numpy()
    try:
        graph = estimate_graph(read, joint, policy, np.repeat(np.arange(anchors), poses))
    except ValueError:  # too few poses, or coordinates that tell nothing of any joint, tell nothing of causes
        return torch.zeros(d, d, dtype=torch.bool)
    return torch.from_numpy(graph.descendants)
