"""The inference wrapper of the supervised baselines."""

from pathlib import Path

import torch

from ropes.common.hardware import RequestedPrecision
from ropes.methods.network_reader import NetworkReader
from ropes.methods.recipes import CNNRecipe, JointNetRecipe
from ropes.methods.run import Run
from ropes.models.angles import angle_network
from ropes.models.checkpoints import WEIGHTS, load_weights

_WEIGHTS = f"angles/{WEIGHTS}"


def reader(run: Run, folder: Path, device: torch.device, precision: RequestedPrecision) -> NetworkReader:
    """The reader of the supervised baselines, whose coordinates are angles in radians."""
    assert isinstance(run.recipe, CNNRecipe | JointNetRecipe)
    views, joints = len(run.cameras), len(run.joints)
    network = angle_network(run.recipe.shape, views=views, joints=joints, channels=run.channels)
    load_weights(network, folder / _WEIGHTS)
    return NetworkReader(network, run.recipe.shape.image_size, device, precision)


def weights(run: Run) -> list[str]:
    """The weight file of the supervised baselines."""
    return [_WEIGHTS]
