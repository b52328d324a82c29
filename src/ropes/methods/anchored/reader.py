"""The inference wrapper of methods `anchored` and `ldr`, and the encoders of finished runs."""

from pathlib import Path

import torch

from ropes.common.hardware import RequestedPrecision
from ropes.errors import UserError
from ropes.methods.network_reader import NetworkReader
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.run import Run, read_training
from ropes.models.checkpoints import WEIGHTS, load_weights
from ropes.models.encoder import ContrastNetwork, PoseEncoder
from ropes.models.student import StudentNetwork


def reader(run: Run, folder: Path, device: torch.device, precision: RequestedPrecision) -> NetworkReader:
    """The reader of methods `anchored` and `ldr`."""
    assert isinstance(run.recipe, EncoderRecipe)
    return NetworkReader(_encoder(run, run.recipe, folder), run.recipe.shape.input_size, device, precision)


def weights(run: Run) -> list[str]:
    """The weight files of methods `anchored` and `ldr`."""
    assert isinstance(run.recipe, EncoderRecipe)
    return [f"{_last_training(run.recipe)}/{WEIGHTS}"]


def finished_encoder(folder: Path) -> tuple[Run, PoseEncoder]:
    """The finished run of `anchored` or `ldr` in `folder` with its encoder; the student's if there is one.

    Raises:
        UserError: no such run there, or as `finished_reader`.
    """
    run, network = finished_network(folder)
    return run, network.encoder if isinstance(network, StudentNetwork) else network


def finished_network(folder: Path) -> tuple[Run, PoseEncoder | StudentNetwork]:
    """The finished run of `anchored` or `ldr` in `folder` with its network for inference, see `finished_encoder`."""
    run = Run.read(folder)
    if not isinstance(run.recipe, EncoderRecipe):
        raise UserError(f"{folder} is a run of {run.method}, which has no pose encoder; give a run of anchored")
    network = _encoder(run, run.recipe, folder)
    read_training(folder)
    return run, network


def _encoder(run: Run, recipe: EncoderRecipe, folder: Path) -> PoseEncoder | StudentNetwork:
    """The encoder of the methods `ldr` and `anchored`, or its student if the fit trained one."""
    network_type = StudentNetwork if recipe.foreign else ContrastNetwork
    network = network_type(recipe.encoder, views=len(run.cameras), joints=len(run.joints), channels=run.channels)
    load_weights(network, folder / _last_training(recipe) / WEIGHTS)
    torch.nn.utils.convert_conv2d_weight_memory_format(network, torch.channels_last)
    return network if isinstance(network, StudentNetwork) else network.encoder


def _last_training(recipe: EncoderRecipe) -> str:
    """The folder of the training with the weights for inference."""
    return "student" if recipe.foreign else "encoder"
