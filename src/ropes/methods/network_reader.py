"""`NetworkReader`: the inference wrapper of one network."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ropes.common.hardware import Precision, RequestedPrecision, resolve_precision, warn_if_emulated
from ropes.methods.reader import Read, Reader, autocast
from ropes.models.angles import AngleCNN, AngleTransformer
from ropes.models.encoder import PoseEncoder
from ropes.models.student import StudentNetwork


class NetworkReader(Reader):
    """One network from images to coordinates."""

    def __init__(
        self,
        network: PoseEncoder | StudentNetwork | AngleCNN | AngleTransformer,
        size: int,
        device: torch.device,
        precision: RequestedPrecision = "auto",
    ) -> None:
        self.size, self._network = size, network.to(device).eval()
        # "auto": float32 is fast enough for convolutions; a transformer is much slower in it.
        full = precision == "auto" and not isinstance(network, AngleTransformer)
        self.precision: Precision = "32-true" if full else resolve_precision(precision)
        warn_if_emulated(self.precision)

    def read(self, images: Tensor) -> Read:
        """(n, P, size, size) → coordinates (n, d), features, and a student's map of foreign objects."""
        with autocast(images, self.precision):
            return Read(*self._network.read(images))

    def networks(self) -> Sequence[torch.nn.Module]:
        """The one network."""
        return (self._network,)

    def attention(self, images: Tensor) -> Tensor | None:
        """(n, P, size, size) → attention logits (n, V, s, s); None for a network without a window."""
        with autocast(images, self.precision):
            match self._network:
                case StudentNetwork():
                    return self._network(images)[1]
                case PoseEncoder():
                    return self._network.look(images)[1]
                case _:
                    return None
