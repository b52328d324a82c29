"""A training stage that ends with the weights of the least held-out loss."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ropes.methods.recipes import Optimisation
from ropes.methods.training.stage import Stage

_CHUNK = 128


class BestWeightsStage(Stage):
    """A stage whose `evaluate` passes each held-out loss to `update_best`.

    Attributes:
        criterion: name of the curve of those losses.
        best: the weights of the least loss so far.
        best_loss: that loss.
        best_step: its step.
    """

    records = 16
    criterion = "held_out_loss"

    def __init__(self, network: torch.nn.Module, optimisation: Optimisation, *, steps: int, seed: int) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.best: dict[str, Tensor] = {}
        self.best_loss, self.best_step = math.inf, 0

    def update_best(self, loss: float) -> None:
        """Store the current weights if no earlier loss is lower."""
        if loss <= self.best_loss:
            self.best_loss, self.best_step = loss, self.global_step
            self.best = {name: tensor.detach().cpu().clone() for name, tensor in self.network.state_dict().items()}

    def chunks(self, images: Tensor) -> Iterator[Tensor]:
        """Images in chunks, on the network's device."""
        return (part.to(self.device) for part in images.split(_CHUNK))

    def outputs(self, images: Tensor, *which: int) -> tuple[Tensor, ...]:
        """The network's outputs with the given indices for all images: float32, on the CPU."""
        outputs = [self.spread(self.network, part) for part in self.chunks(images)]
        return tuple(torch.cat([part[k] for part in outputs]).float().cpu() for k in which)

    def may_be_best(self, step: int) -> bool:
        """Whether the weights of this step may be chosen."""
        return True

    def best_record(self, curves: Mapping[str, Sequence[float]]) -> int:
        """Index of the record whose weights a training with these curves ends with."""
        candidates = [k for k, step in enumerate(curves["steps"]) if self.may_be_best(int(step))]
        return min(reversed(candidates), key=lambda k: curves[self.criterion][k])

    def steps_of(self, curves: Mapping[str, Sequence[float]]) -> dict[str, Any]:
        """For the training summary: the step of the best record, and the planned number of steps."""
        return {"best_step": int(curves["steps"][self.best_record(curves)]), "planned_steps": self.steps}

    def finish(self) -> None:
        """Load the best weights."""
        self.network.load_state_dict(self.best)

    def extra_state(self) -> dict[str, Any]:
        """The best weights so far."""
        return {"best": self.best, "best_loss": self.best_loss, "best_step": self.best_step}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore `extra_state`."""
        self.best, self.best_loss = state["best"], state["best_loss"]
        self.best_step = state.get("best_step", 0)  # checkpoints of earlier density ratios lack it
