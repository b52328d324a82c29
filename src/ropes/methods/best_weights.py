"""A training stage that ends with the weights of the least held-out loss."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ropes.methods.recipes import Optimisation
from ropes.methods.training.stage import Stage

_CHUNK = 128


class KeptWeightsStage(Stage):
    """A stage whose `evaluate` tells `remember` each record's held-out loss.

    Attributes:
        criterion: the curve that holds those losses.
        best: the weights so far of the least loss that was told.
        best_loss: that loss.
        best_step: the step that they are of.
    """

    records = 16
    criterion = "held_out_loss"

    def __init__(self, network: torch.nn.Module, optimisation: Optimisation, *, steps: int, seed: int) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.best: dict[str, Tensor] = {}
        self.best_loss, self.best_step = math.inf, 0

    def remember(self, loss: float) -> None:
        """Keep the weights as they are now where no record had a lower loss; of equal ones the last."""
        if loss <= self.best_loss:
            self.best_loss, self.best_step = loss, self.global_step
            self.best = {name: tensor.detach().cpu().clone() for name, tensor in self.network.state_dict().items()}

    def chunks(self, images: Tensor) -> Iterator[Tensor]:
        """Images some at a time, where the network is."""
        return (part.to(self.device) for part in images.split(_CHUNK))

    def outputs(self, images: Tensor, *which: int) -> tuple[Tensor, ...]:
        """Some of what the network makes of images, by their places among its outputs: float32, on the CPU."""
        found = [self.network(part) for part in self.chunks(images)]
        return tuple(torch.cat([part[k] for part in found]).float().cpu() for k in which)

    def compared(self, step: int) -> bool:
        """Whether the weights of a record at this step may be kept."""
        return True

    def kept_record(self, curves: Mapping[str, Sequence[float]]) -> int:
        """Which record's weights a training with these curves ended with."""
        among = [k for k, step in enumerate(curves["steps"]) if self.compared(int(step))]
        return min(reversed(among), key=lambda k: curves[self.criterion][k])

    def finish(self) -> None:
        """Go back to the best weights (early stopping on held-out anchors)."""
        self.network.load_state_dict(self.best)

    def extra_state(self) -> dict[str, Any]:
        """The best weights so far."""
        return {"best": self.best, "best_loss": self.best_loss, "best_step": self.best_step}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Take them back."""
        self.best, self.best_loss, self.best_step = state["best"], state["best_loss"], state["best_step"]
