"""Checks of the devices that train together."""

from dataclasses import fields
from typing import Literal

from ropes.common.hardware import device_kind
from ropes.errors import UserError
from ropes.methods.optimisation import Optimisation
from ropes.methods.recipes import Recipe

Strategy = Literal["ddp"]


def require_devices(devices: int, nodes: int, strategy: str, recipe: Recipe) -> None:
    """Check the devices of a fit.

    Args:
        devices: number on each machine.
        nodes: number of machines.
        strategy: Lightning's name of how they train together.
        recipe: of the fit.

    Raises:
        UserError: there is no such strategy, the machine has fewer GPUs, or the devices do not divide a batch.
    """
    if strategy == "fsdp":
        raise UserError("strategy fsdp is not supported; choose ddp, which keeps all weights on every device")
    if strategy != "ddp":
        raise UserError(f"there is no strategy {strategy}; choose ddp")
    if min(devices, nodes) < 1:
        raise UserError(f"devices is {devices} and nodes {nodes}; each must be at least 1")
    if (count := devices * nodes) == 1:
        return
    for each in fields(recipe):
        optimisation = getattr(recipe, each.name)
        if isinstance(optimisation, Optimisation) and optimisation.batch % count:
            option = each.name.replace("_", "-")
            raise UserError(
                f"{count} devices do not divide the batch of {optimisation.batch} of --{option}.batch; choose a number "
                "of devices that does, or another batch"
            )
    if device_kind() == "cuda":
        import torch

        if (there := torch.cuda.device_count()) < devices:
            raise UserError(
                f"this process sees {there} GPUs, fewer than --devices {devices}; in a job of SLURM give "
                "--gpus-per-node, not --gpus-per-task, so that each process sees all GPUs of its machine"
            )
