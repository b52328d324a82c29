"""The paper's structural models: angles in place of coordinates, and what follows what."""

import numpy as np
import torch

from ropes.methods.anchored.contrast import targets
from ropes.simulation.settings import setting_named

#: A base joint changes the images more than a wrist joint; far enough apart to allow every response.
CHANGE = torch.tensor([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])


def angles(setting: str, anchors: int = 400) -> tuple[torch.Tensor, torch.Tensor]:
    """Angles (A, R, d) in place of coordinates, and the interventions' targets."""
    model = setting_named(setting).splits["train"]
    drawn = torch.from_numpy(model.sample(np.random.default_rng(0), anchors))
    return drawn, targets(model.regimes, model.joints)


def effects(setting: str) -> torch.Tensor:
    """Total effects of the joints on one another, by the equations."""
    names, model = setting_named(setting).robot.joints, setting_named(setting).splits["train"]
    weights = torch.zeros(6, 6, dtype=torch.float64)
    for (parent, child), weight in model.weights.items():
        weights[names.index(parent), names.index(child)] = weight
    return torch.linalg.inv(torch.eye(6, dtype=torch.float64) - weights)


def true_descendants(setting: str) -> torch.Tensor:
    return (effects(setting).abs() > 1e-9).fill_diagonal_(False)
