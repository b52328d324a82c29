"""The training stage of `anchored` on the images of `tests.tiny`, before it has learned anything."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ropes.methods.anchored.stage import AnchoredStage
from ropes.models.encoder import ContrastNetwork
from tests import tiny


def stage_of(**changes: Any) -> AnchoredStage:
    """A stage of two joints, with these changes of the recipe and four random held-out anchors."""
    chosen = tiny.encoder_recipe()
    return AnchoredStage(
        ContrastNetwork(chosen.encoder, views=1, joints=2),
        replace(chosen, **changes),
        steps=100,
        seed=0,
        log_prior=torch.zeros(5),
        target=torch.tensor([0, 0, 1, 1]),
        held_out=torch.from_numpy(np.random.default_rng(0).integers(0, 256, (4, 5, 1, tiny.SIDE, tiny.SIDE), np.uint8)),
        held_trusted=torch.ones(4, 5, dtype=torch.bool),
    )
