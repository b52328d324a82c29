"""`Stage`: a network with its objective, its optimiser and its training curves."""

import math
import time
from collections.abc import Callable
from typing import Any

import lightning.pytorch as pl
import torch
from torch import Tensor

from ropes.common.seeds import integer
from ropes.errors import UserError
from ropes.methods.recipes import Optimisation
from ropes.methods.training.sharing import Share, over_devices
from ropes.models.pointwise import slice_strided_pointwise

#: Fractions of the steps after which schedule `halved` halves the learning rate.
_HALVED_AFTER = (3 / 8, 6 / 8)
_BATCH_NORMS = torch.nn.BatchNorm1d, torch.nn.BatchNorm2d


class Stage(pl.LightningModule):
    """A network with its objective. Subclasses define `training_step`, and `evaluate` for the validation steps.

    `history` maps each curve's name to its values at the validation steps; checkpoints contain it.

    Attributes:
        rate_option: the option of `ropes fit` that sets its learning rate.
        records: least number of validation steps in a whole training.
        unused_weights: whether a step may use only some of the weights; a training on several devices then looks for
            the others.
        device_share: the share of each batch that this device computes in `spread`.
    """

    rate_option: str
    records = 40
    unused_weights = False

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
        self.device_share = Share()

    def configure_optimizers(self) -> Any:
        """AdamW (Adam without weight decay) with the recipe's schedule."""
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
            # Torch divides by the last step of the rise, pct_start · total − 1: it must not be 0.
            optimiser,
            o.learning_rate,
            total_steps=total,
            pct_start=max(0.1, min(2, total - 0.5) / total),
            cycle_momentum=False,
        )
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": cycle, "interval": "step"}}

    def configure_gradient_clipping(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> None:
        """Clip the gradient norm.

        Lightning's own clipping refuses fused optimisers under any autocast, although bf16 scales no gradient.
        """
        if self.optimisation.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.optimisation.clip)

    def spread(self, function: Callable[..., Any], *inputs: Tensor | None) -> Any:
        """Outputs of a function of the network for a batch; each of several devices computes those of its rows.

        On one device, this is `function(*inputs)`. For the arguments see `ropes.methods.training.sharing.over_devices`.
        Every device computes all rows where batch normalisation makes outputs depend on other rows. The devices' noise
        of dropout is independent, and so differs from that of one device.
        """
        if self.device_share.devices == 1 or any(
            isinstance(each, _BATCH_NORMS) and each.training for each in self.modules()
        ):
            return function(*inputs)
        if not any(isinstance(each, torch.nn.Dropout) and each.training and each.p > 0 for each in self.modules()):
            return over_devices(function, inputs, self.device_share)
        with torch.random.fork_rng([] if self.device.type == "cpu" else [self.device]):
            torch.manual_seed(integer(self.seed, "dropout", self.global_step, self.device_share.rank))
            return over_devices(function, inputs, self.device_share)

    def note(self, **values: Tensor) -> None:
        """Add this step's values to the means of the next validation step."""
        for name, value in values.items():
            self._noted.setdefault(name, []).append(float(value.detach()))

    def record(self, **values: float) -> None:
        """Append to `history`: the step, the means of the noted values, and `values`.

        Raises:
            UserError: a value is not finite: the training has diverged.
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
        """Validation figures by name, without labels; none by default."""
        return {}

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Seed this step's noise by the step."""
        seed = integer(self.seed, "step", self.global_step)
        torch.default_generator.manual_seed(seed)  # torch.manual_seed formats the call stack for absent accelerators
        if self.device.type == "cuda":
            torch.cuda.manual_seed(seed)

    def after_step(self) -> None:
        """Validate every `evaluate_every` steps and after the last."""
        if self.global_step % self.evaluate_every == 0 or self.global_step == self.steps:
            self.network.eval()
            with torch.no_grad():
                self.record(**self.evaluate())
            self.network.train()

    def extra_state(self) -> dict[str, Any]:
        """State of a subclass besides the network, as a tree of tensors and plain values."""
        return {}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore `extra_state`."""

    def on_train_start(self) -> None:
        """Give restored moments the memory format of their weights, and start the clock.

        The fused optimiser needs equal formats, and a checkpoint does not store channels-last.
        """
        for optimiser in self.trainer.optimizers:
            for weight, state in optimiser.state.items():
                for name, value in state.items():
                    if value.shape == weight.shape:
                        state[name] = torch.empty_like(weight).copy_(value)
        self.began = time.monotonic()

    def finish(self) -> None:
        """Hook after the last step, before the weights are saved."""

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add history, seconds and extra state."""
        seconds = self.seconds + time.monotonic() - self.began
        state = {"history": self.history, "noted": self._noted, "seconds": seconds}
        checkpoint["stage"] = state | self.extra_state()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore history, seconds and extra state."""
        state = dict(checkpoint["stage"])
        self.history, self._noted, self.seconds = state.pop("history"), state.pop("noted"), state.pop("seconds")
        self.load_extra_state(state)
