"""Stores weights as integers of eight bits, with a scale for each group of up to 64 weights of an output."""

from collections.abc import Mapping

import torch
from torch import Tensor

#: Weights with a scale of their own; outputs whose number of weights is no multiple of this have one scale each.
GROUP = 64
#: The scales of tensor NAME are stored as NAME:scale.
_SCALE = ":scale"
_LARGEST = 127


def to_eight_bits(name: str, weights: Tensor) -> dict[str, Tensor]:
    """Weights (outputs, …) as integers and the scales of their groups: w ≈ scale · integer, rounded to the nearest.

    Args:
        name: of the tensor in the file.
        weights: floating point, of at least one dimension.

    Returns:
        `name` → int8 of the same shape, and the scales, float32 (outputs, groups).
    """
    rows = weights.float().reshape(len(weights), -1)
    groups = rows.reshape(len(rows), -1, GROUP) if rows.shape[1] % GROUP == 0 else rows[:, None]
    scale = groups.abs().amax(dim=2) / _LARGEST
    integers = (groups / torch.where(scale > 0, scale, 1)[..., None]).round().clamp(-_LARGEST, _LARGEST)
    return {name: integers.to(torch.int8).reshape(weights.shape), f"{name}{_SCALE}": scale}


def from_eight_bits(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a file by name, with those of eight bits as float32 again.

    Raises:
        RuntimeError: scales of another shape than their tensor.
    """
    restored = {}
    for name, tensor in tensors.items():
        if name.endswith(_SCALE):
            continue
        scale = tensors.get(f"{name}{_SCALE}")
        if scale is not None:
            tensor = (tensor.float().reshape(*scale.shape, -1) * scale[..., None]).reshape(tensor.shape)
        restored[name] = tensor
    return restored
