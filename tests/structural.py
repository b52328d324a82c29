"""The paper's structural models: angles in place of coordinates, and what follows what."""

import numpy as np
import torch

from ropes.methods.contrast import targets
from ropes.simulation.settings import panda_setting

#: A base joint changes the images more than a wrist joint; far enough apart to allow every response.
CHANGE = torch.tensor([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])


def angles(setting: str, anchors: int = 400) -> tuple[torch.Tensor, torch.Tensor]:
    """Angles (A, R, d) in place of coordinates, and the interventions' targets."""
    model = panda_setting(setting).splits["train"]
    drawn = torch.from_numpy(model.sample(np.random.default_rng(0), anchors))
    return drawn, targets(model.regimes, model.joints)


def effects(setting: str) -> torch.Tensor:
    """Total effects of the joints on one another, by the equations."""
    names, model = panda_setting(setting).robot.joints, panda_setting(setting).splits["train"]
    weights = torch.zeros(6, 6, dtype=torch.float64)
    for (parent, child), weight in model.weights.items():
        weights[names.index(parent), names.index(child)] = weight
    return torch.linalg.inv(torch.eye(6, dtype=torch.float64) - weights)


def followed(setting: str) -> torch.Tensor:
    return (effects(setting).abs() > 1e-9).fill_diagonal_(False)
