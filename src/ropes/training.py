"""The only fit loop: Lightning, with batches that depend on the step alone and checkpoints without pickle.

Because step k draws its batch and its noise from generators named after k, a run that was killed and goes on from
its last checkpoint takes the very steps it would have taken, and ends with the same weights.
"""

import math
import logging
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.pytorch.plugins.io import CheckpointIO
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from ropes.checkpoints import load_tree, load_weights, save_tree, save_weights
from ropes.errors import UserError
from ropes.files import read_json, write_json
from ropes.hardware import Precision
from ropes.progress import progress
from ropes.recipes import Optimisation
from ropes.seeds import integer

CHECKPOINT, WEIGHTS, SUMMARY = "last.safetensors", "weights.safetensors", "stage.json"
_SAVE_EVERY = 30.0
BatchAt = Callable[[int], Any]


class Stage(pl.LightningModule):
    """A network with its objective; subclasses give `training_step` and, every `evaluate_every` steps, `evaluate`.

    `history` collects what the stage recorded, by name, one entry a record; it is stored with the checkpoints.
    """

    def __init__(self, network: torch.nn.Module, optimisation: Optimisation, *, steps: int, seed: int) -> None:
        super().__init__()
        self.network = network
        self.optimisation = optimisation
        self.steps = steps
        self.seed = seed
        self.evaluate_every = max(1, steps // 40)
        self.history: dict[str, list[float]] = {}
        self.seconds = 0.0
        self._sums: dict[str, float] = {}
        self.began = time.monotonic()

    def configure_optimizers(self) -> Any:
        """AdamW (Adam where the decay is zero) with the recipe's schedule."""
        o = self.optimisation
        optimiser = torch.optim.AdamW(self.network.parameters(), lr=o.learning_rate, weight_decay=o.weight_decay)
        if o.schedule == "constant":
            return optimiser
        cycle = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, o.learning_rate, total_steps=self.steps + 1, pct_start=0.1, cycle_momentum=False
        )
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": cycle, "interval": "step"}}

    def note(self, **values: Tensor) -> None:
        """Add this step's values to the running means that the next record writes down."""
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(value.detach())
        self._sums["#"] = self._sums.get("#", 0.0) + 1

    def record(self, **values: float) -> None:
        """Append an entry to `history`: the step, the means of what was noted since, and `values`.

        Raises:
            UserError: a figure is not finite: the training has diverged.
        """
        count = self._sums.pop("#", 1.0)
        means = {name: total / count for name, total in self._sums.items()}
        self._sums = {}
        for name, value in {"steps": float(self.global_step), **means, **values}.items():
            if not math.isfinite(value):
                raise UserError(f"training diverged by step {self.global_step} ({name} is {value}); lower its rate")
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
        """Start the clock."""
        self.began = time.monotonic()

    def finish(self) -> None:
        """Called once after the last step, before the weights are written."""

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Store the history too."""
        seconds = self.seconds + time.monotonic() - self.began
        checkpoint["stage"] = {
            "history": self.history,
            "sums": self._sums,
            "seconds": seconds,
            **self.extra_state(),
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take the history back."""
        state = dict(checkpoint["stage"])
        self.history, self._sums, self.seconds = state.pop("history"), state.pop("sums"), state.pop("seconds")
        self.load_extra_state(state)


class SafetensorsIO(CheckpointIO):
    """Lightning's checkpoints as safetensors, written atomically, tagged with what they are a checkpoint of."""

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write one file."""
        save_tree(Path(path), {"fingerprint": self.fingerprint, "checkpoint": checkpoint})

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        """Read one file; nothing in it is executed."""
        content: dict[str, Any] = load_tree(Path(path))["checkpoint"]
        return content

    def remove_checkpoint(self, path: Any) -> None:
        """Delete one file."""
        Path(path).unlink(missing_ok=True)


class _Steps(IterableDataset[Any]):
    """The batches of steps `start` to `stop`."""

    def __init__(self, batch_at: BatchAt, start: int, stop: int) -> None:
        self.batch_at, self.start, self.stop = batch_at, start, stop

    def __iter__(self) -> Iterator[Any]:
        return (self.batch_at(step) for step in range(self.start, self.stop))


class _Watch(pl.Callback):
    """Saves every half minute and on Ctrl-C or SIGTERM, and moves the progress bar."""

    def __init__(self, path: Path, update: Callable[[int, str], None]) -> None:
        self.path, self.update = path, update
        self.saved = time.monotonic()
        self.signal: int | None = None

    def catch(self, number: int, frame: FrameType | None) -> None:
        """Signal handler: the step under way is finished first."""
        self.signal = number

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *args: Any) -> None:
        """Save when it is time to, stop when told to."""
        assert isinstance(module, Stage)
        module.after_step()
        last = {name: values[-1] for name, values in module.history.items() if name != "steps"}
        self.update(trainer.global_step, "  ".join(f"{name} {value:.4g}" for name, value in last.items()))
        if self.signal is None and time.monotonic() - self.saved < _SAVE_EVERY:
            return
        trainer.save_checkpoint(self.path)
        self.saved = time.monotonic()
        trainer.should_stop = trainer.should_stop or self.signal is not None


def train(
    stage: Stage,
    batch_at: BatchAt,
    *,
    folder: Path,
    fingerprint: str,
    description: str,
    precision: Precision,
    show: bool = True,
) -> dict[str, Any]:
    """Train `stage` to its last step, going on from `folder` where an earlier run of the same inputs stopped.

    Args:
        stage: network and objective; holds the trained weights afterwards, on the CPU and in eval mode.
        batch_at: step → batch; must depend on the step alone.
        folder: where checkpoint, weights and summary are kept.
        fingerprint: digest of everything that the result depends on; what was stored under another one is redone.
        description: what the progress bar is called.
        precision: as Lightning names it.
        show: show progress.

    Returns:
        The summary, as stored in the folder: fingerprint, history, seconds.

    Raises:
        KeyboardInterrupt: Ctrl-C; the state was saved first.  SIGTERM is passed on likewise.
    """
    summary_path, checkpoint_path = folder / SUMMARY, folder / CHECKPOINT
    if summary_path.exists():
        summary: dict[str, Any] = read_json(summary_path)
        if summary["fingerprint"] == fingerprint and (folder / WEIGHTS).exists():
            load_weights(stage.network, folder / WEIGHTS)
            stage.network.eval()
            return summary
    start = _resume_step(checkpoint_path, fingerprint)
    folder.mkdir(parents=True, exist_ok=True)
    with progress(description, stage.steps, show=show) as update:
        watch = _Watch(checkpoint_path, update)
        loader = DataLoader(_Steps(batch_at, start, stage.steps), batch_size=None)
        with _quiet_lightning(), _caught(watch.catch), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            warnings.filterwarnings("ignore", message=".*LeafSpec.*is deprecated.*")
            trainer = _trainer(stage, watch, precision, fingerprint)
            trainer.fit(stage, loader, ckpt_path=checkpoint_path if start else None)
    if watch.signal is not None and trainer.global_step < stage.steps:
        signal.raise_signal(watch.signal)
    stage.cpu()
    stage.finish()
    stage.network.eval()
    save_weights(stage.network, folder / WEIGHTS)
    seconds = round(stage.seconds + time.monotonic() - stage.began, 1)
    summary = {"fingerprint": fingerprint, "history": stage.history, "seconds": seconds}
    write_json(summary_path, summary)
    checkpoint_path.unlink(missing_ok=True)
    if watch.signal is not None:
        signal.raise_signal(watch.signal)
    return summary


def _resume_step(path: Path, fingerprint: str) -> int:
    """The step to go on from: 0 without a checkpoint, or with one of other inputs."""
    if not path.exists():
        return 0
    content = load_tree(path)
    return int(content["checkpoint"]["global_step"]) if content["fingerprint"] == fingerprint else 0


def _trainer(stage: Stage, watch: _Watch, precision: Precision, fingerprint: str) -> pl.Trainer:
    return pl.Trainer(
        max_steps=stage.steps,
        gradient_clip_val=stage.optimisation.clip,
        max_epochs=-1,
        accelerator="auto",
        devices=1,
        precision=precision,
        callbacks=[watch],
        plugins=[SafetensorsIO(fingerprint)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )


@contextmanager
def _quiet_lightning() -> Iterator[None]:
    """Keep Lightning's notices (devices found, checkpoints restored, advertisements) off the terminal."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _caught(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Route Ctrl-C and SIGTERM to `handler` (signals reach the main thread only)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
