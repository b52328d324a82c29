"""Computes a batch in parts that fit into memory."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ropes.common.hardware import memory_bytes

#: Share of the device's memory for what the backward pass needs of one part.
_SHARE = 0.25


def in_parts(function: Callable[[Tensor], Tensor], rows: Tensor, row_bytes: int, most: int | None = None) -> Tensor:
    """Outputs of a function whose output for a row depends on that row alone, (B, ...) → (B, ...).

    If the backward pass needs more than a quarter of the device's memory, the batch is computed in parts.  Each is
    computed once more in the backward pass (activation checkpointing), so that only one of them is in memory.

    Args:
        function: differentiable, and without random numbers.
        rows: (B, ...).
        row_bytes: memory that the backward pass needs for a row, see `saved_bytes_of_row`.
        most: bytes of a part; a quarter of the device's memory by default.
    """
    most = int(_SHARE * memory_bytes(rows.device)) if most is None else most
    size = max(1, most // max(1, row_bytes))
    if size >= len(rows):
        return function(rows)
    return torch.cat([checkpoint(function, part, use_reentrant=False) for part in rows.split(size)])


def saved_bytes_of_row(function: Callable[[Tensor], Tensor], row: Tensor) -> int:
    """Memory that the backward pass of a function needs for each row, in bytes, weights left out; `row` is (1, ...)."""
    one, two = (_saved_bytes(function, row.expand(count, *row.shape[1:])) for count in (1, 2))
    return two - one


def _saved_bytes(function: Callable[[Tensor], Tensor], rows: Tensor) -> int:
    saved = dict[int, int]()

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        outputs = function(rows)  # holds what is saved, so that no memory is counted twice
    del outputs
    return sum(saved.values())
