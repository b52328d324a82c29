"""Shares a batch among devices: each computes the outputs of its rows, and all get the outputs of all rows.

Every device then computes the loss of the whole batch. A loss that compares samples of a batch, or that averages over
some of them, is therefore the same on any number of devices.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor


class Share(NamedTuple):
    """The share of a device: its number, from 0 on, and the number of devices."""

    rank: int = 0
    devices: int = 1


def over_devices(function: Callable[..., Any], inputs: Sequence[Tensor | None], share: Share) -> Any:
    """Outputs of a function whose output for a row depends on the inputs of that row alone.

    A collective operation: all devices call it with the same inputs.

    Args:
        function: tensors (n, ...) → a tensor (n, ...), or a (named) tuple of tensors (n, ...) and None.
        inputs: tensors (B, ...) with B ≥ 1; None is passed on.
        share: of this device.

    Returns:
        As `function`, for all B rows; equal on all devices, and differentiable.
    """
    count = next(len(each) for each in inputs if each is not None)
    outputs = function(*(None if each is None else _part(each, share) for each in inputs))
    return _all_rows(outputs, count, share)


def _all_rows(part: Any, count: int, share: Share) -> Any:
    """The first `count` rows of the parts of all devices: of a tensor, or of each tensor in a tuple."""
    if isinstance(part, Tensor):
        return _Gather.apply(part, share)[:count]
    if part is None:
        return None
    values = [_all_rows(each, count, share) for each in part]
    return type(part)(*values) if hasattr(part, "_fields") else tuple(values)


def _part(rows: Tensor, share: Share) -> Tensor:
    """⌈B / devices⌉ rows of (B, ...); where there are fewer, the last row of the batch fills up."""
    return cast(Tensor, _Take.apply(rows, share)) if rows.requires_grad else _taken(rows, share)


def _taken(rows: Tensor, share: Share) -> Tensor:
    size = -(-len(rows) // share.devices)
    part = rows[share.rank * size : (share.rank + 1) * size]
    missing = size - len(part)
    return torch.cat([part, rows[-1:].expand(missing, *rows.shape[1:])]) if missing else part


def _gathered(part: Tensor, share: Share) -> Tensor:
    """Parts (n, ...) of all devices, (devices · n, ...)."""
    values = part.contiguous().view(torch.uint8)  # gloo cannot gather bf16
    parts = [torch.empty_like(values) for _ in range(share.devices)]
    torch.distributed.all_gather(parts, values)
    return torch.cat([each.view(part.dtype) for each in parts])


class _Gather(torch.autograd.Function):
    """Gathers parts. All devices have the same loss, so that each knows the gradient of its part.

    The gradient is multiplied by the number of devices, because DDP averages the gradients of the weights over the
    devices, where the batch needs their sum.
    """

    @staticmethod
    def forward(ctx: Any, part: Tensor, share: Share) -> Tensor:
        ctx.share = share
        return _gathered(part.detach(), share)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (gradient,) = gradients
        return ctx.share.devices * gradient.chunk(ctx.share.devices)[ctx.share.rank], None


class _Take(torch.autograd.Function):
    """Takes the part of outputs of an earlier `over_devices`: its gradient is that of all parts, without the factor."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, share: Share) -> Tensor:
        ctx.share, ctx.count = share, len(rows)
        return _taken(rows.detach(), share).clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (gradient,) = gradients
        return _gathered(gradient, ctx.share)[: ctx.count] / ctx.share.devices, None
