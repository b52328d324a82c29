"""`Reader`: the interface of inference wrappers, and their output."""

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from ropes.common.hardware import Precision


class Read(NamedTuple):
    """A reader's output for n poses.

    Attributes:
        coordinates: (n, d).
        features: (n, f), from which uncertainty is estimated.
        foreign: (n, V, s, s), logits of "a foreign object is in this cell of this view"; None without a student.
    """

    coordinates: Tensor
    features: Tensor
    foreign: Tensor | None = None


class Reader(Protocol):
    """An inference wrapper: images of poses in P planes, uint8 (n, P, size, size), to coordinates.

    In grey a camera has one plane, in colour three, see `ropes.data.views.planes`.

    Attributes:
        size: side of the images, in pixels.
        precision: of the computation.
    """

    size: int
    precision: Precision

    @abstractmethod
    def read(self, images: Tensor) -> Read:
        """(n, P, size, size) → coordinates and features."""

    def coordinates(self, images: Tensor) -> Tensor:
        """(n, P, size, size) → (n, d)."""
        return self.read(images).coordinates

    def networks(self) -> Sequence[nn.Module]:
        """The networks that `read` calls, for `ropes package --format onnx`; empty for a method that does not export.

        `read` then has no branch that depends on the images.
        """
        return ()

    def attention(self, images: Tensor) -> Tensor | None:
        """(n, P, size, size) → attention logits (n, V, s, s); None for a network without attention."""
        return None

    def reconstructions(self, images: Tensor) -> tuple[Tensor, Tensor] | None:
        """Reconstructions by both stages, levels in [0, 1]; None for a method without a decoder."""
        return None


def autocast(images: Tensor, precision: Precision) -> AbstractContextManager[None]:
    """The autocast context of a precision, on the device of the images."""
    return torch.autocast(images.device.type, torch.bfloat16, enabled=precision == "bf16-mixed")
