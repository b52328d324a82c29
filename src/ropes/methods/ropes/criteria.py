"""The label-free criterion of method `ropes`: held-out contrasts of functions of codes."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from ropes.methods.ropes.codes import Codes
from ropes.methods.training.criteria import coordinate_contrast


class Encoder(Protocol):
    """A network that computes coordinates from codes, such as AE2."""

    def encode(self, codes: Tensor, /) -> Tensor:
        """Codes (n, ...) → coordinates (n, d)."""


@torch.no_grad()
def held_out_contrast(coordinate: Callable[[Tensor], Tensor], codes: Codes, joint: str) -> float:
    """`coordinate_contrast` of a function of held-out codes, (n, ...) → (n,), that gives a joint's coordinate."""
    values, labels = codes.contrast(joint, balanced=True).tensors
    return coordinate_contrast(coordinate(values).double().numpy(), labels.double().numpy())


def held_out_contrasts(ae2: Encoder, codes: Codes, columns: dict[str, int]) -> dict[str, float]:
    """`held_out_contrast` of each joint's coordinate of an AE2; `columns` has the column of each joint."""
    return {
        joint: held_out_contrast(partial(_coordinate, ae2, column), codes, joint) for joint, column in columns.items()
    }


def _coordinate(ae2: Encoder, column: int, values: Tensor) -> Tensor:
    return ae2.encode(values)[:, column]
