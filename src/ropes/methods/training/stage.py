"""`Stage`: a network with its objective, its optimiser and its curves."""

import math
import time
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor

from ropes.common.seeds import integer
from ropes.errors import UserError
from ropes.methods.recipes import Optimisation
from ropes.models.pointwise import slice_strided_pointwise

#: Shares of the steps after which a halved schedule halves the rate.
_HALVED_AFTER = (3 / 8, 6 / 8)


class Stage(pl.LightningModule):
    """A network with its objective; subclasses give `training_step` and, every `evaluate_every` steps, `evaluate`.

    `history` collects what the stage recorded, by name, one entry a record; it is stored with the checkpoints.

    Attributes:
        rate_option: the option of `ropes fit` that sets its learning rate.
        records: how often it records, at least, in a whole training.
    """

    rate_option: str
    records = 40

    def __init__(self, network: torch.nn.Module, optimisation: Optimisation, *, steps: int, seed: int) -> None:
        super().__init__()
        slice_strided_pointwise(network)
        self.network = network
        self.optimisation = optimisation
        self.steps = steps
        self.seed = seed
        self.evaluate_every = max(1, steps // self.records)
        self.history: dict[str, list[float]] = {}
        self.seconds = 0.0
        self._noted: dict[str, list[float]] = {}
        self.began = time.monotonic()

    def configure_optimizers(self) -> Any:
        """AdamW (Adam where the decay is zero) with the recipe's schedule."""
        o = self.optimisation
        optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=o.learning_rate, weight_decay=o.weight_decay, fused=True
        )
        if o.schedule == "constant":
            return optimiser
        if o.schedule == "halved":
            after = [round(share * self.steps) for share in _HALVED_AFTER]
            steps = torch.optim.lr_scheduler.MultiStepLR(optimiser, after, gamma=0.5)
            return {"optimizer": optimiser, "lr_scheduler": {"scheduler": steps, "interval": "step"}}
        total = self.steps + 1
        cycle = torch.optim.lr_scheduler.OneCycleLR(
            # The rise ends at step pct_start · total − 1, which torch divides by: not at the very first.
            optimiser,
            o.learning_rate,
            total_steps=total,
            pct_start=max(0.1, min(2, total - 0.5) / total),
            cycle_momentum=False,
        )
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": cycle, "interval": "step"}}

    def configure_gradient_clipping(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> None:
        """Bound the norm of the gradient.

        Not left to Lightning, which refuses fused optimisers under any autocast, though bf16 scales no gradient.
        """
        if self.optimisation.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.optimisation.clip)

    def note(self, **values: Tensor) -> None:
        """Add this step's values to the running means that the next record writes down."""
        for name, value in values.items():
            self._noted.setdefault(name, []).append(float(value.detach()))

    def record(self, **values: float) -> None:
        """Append an entry to `history`: the step, the means of what was noted since, and `values`.

        Raises:
            UserError: a figure is not finite: the training has diverged.
        """
        means = {name: sum(noted) / len(noted) for name, noted in self._noted.items()}
        self._noted = {}
        for name, value in {"steps": float(self.global_step), **means, **values}.items():
            if not math.isfinite(value):
                raise UserError(
                    f"training diverged by step {self.global_step} ({name} is {value}); choose a {self.rate_option} "
                    f"below {self.optimisation.learning_rate:g}"
                )
            self.history.setdefault(name, []).append(value)

    def evaluate(self) -> dict[str, float]:
        """Label-free figures on held-out anchors, by name; nothing by default."""
        return {}

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Name this step's noise after the step."""
        torch.manual_seed(integer(self.seed, "step", self.global_step))

    def after_step(self) -> None:
        """Record every `evaluate_every` steps and at the last."""
        if self.global_step % self.evaluate_every == 0 or self.global_step == self.steps:
            self.network.eval()
            with torch.no_grad():
                self.record(**self.evaluate())
            self.network.train()

    def extra_state(self) -> dict[str, Any]:
        """What a subclass keeps besides the network, as a tree of tensors and plain values."""
        return {}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Take back what `extra_state` gave."""

    def on_train_start(self) -> None:
        """Lay restored moments out like their weights, and start the clock.

        The fused optimiser walks both by address, and a checkpoint knows no channels-last.
        """
        for optimiser in self.trainer.optimizers:
            for weight, state in optimiser.state.items():
                for name, value in state.items():
                    if value.shape == weight.shape:
                        state[name] = torch.empty_like(weight).copy_(value)
        self.began = time.monotonic()

    def finish(self) -> None:
        """Called once after the last step, before the weights are written."""

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Store the history too."""
        seconds = self.seconds + time.monotonic() - self.began
        checkpoint["stage"] = {
            "history": self.history,
            "noted": self._noted,
            "seconds": seconds,
            **self.extra_state(),
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take the history back."""
        state = dict(checkpoint["stage"])
        self.history, self._noted, self.seconds = state.pop("history"), state.pop("noted"), state.pop("seconds")
        self.load_extra_state(state)
