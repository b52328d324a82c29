"""`Reader`: the interface of what reads images, and what it returns."""

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from ropes.common.hardware import Precision


class Read(NamedTuple):
    """What a reader makes of n poses.

    Attributes:
        coordinates: (n, d).
        features: (n, f), what the network knows of the images besides.
        foreign: (n, V, s, s), logits of "something foreign is in this part of this view"; None where nobody asks.
    """

    coordinates: Tensor
    features: Tensor
    foreign: Tensor | None = None


class Reader(Protocol):
    """Images of poses to coordinates; images are grey levels, uint8 (n, V, size, size).

    Attributes:
        size: side of the images, in pixels.
        precision: that they are read in.
    """

    size: int
    precision: Precision

    def coordinates(self, images: Tensor) -> Tensor:
        """(n, V, size, size) → (n, d)."""

    def read(self, images: Tensor) -> Read:
        """(n, V, size, size) → all that is made of them."""

    def reconstructions(self, images: Tensor) -> tuple[Tensor, Tensor] | None:
        """Two stages of reconstruction, grey levels in [0, 1]; None for a method that reconstructs nothing."""


def autocast(images: Tensor, precision: Precision) -> AbstractContextManager[None]:
    """Have networks read images in a precision meanwhile."""
    return torch.autocast(images.device.type, torch.bfloat16, enabled=precision == "bf16-mixed")
