"""The training loop: Lightning, with batches that depend only on the step, and checkpoints without pickle.

Step k draws its batch and its noise from generators seeded by k. A killed run therefore resumes with the same steps and
ends with the same weights.
"""

import logging
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.plugins.io import CheckpointIO
from lightning.pytorch.utilities.exceptions import SIGTERMException
from torch.utils.data import DataLoader, IterableDataset

from ropes.common.files import link_file, read_json, write_json
from ropes.common.hardware import Precision
from ropes.common.progress import progress
from ropes.methods.training.stage import Stage
from ropes.models.checkpoints import WEIGHTS, load_tree, load_weights, save_tree, save_weights

CHECKPOINT, SUMMARY = "last.safetensors", "stage.json"
#: Seconds between saves, multiplied by the seconds of a slow save: saving takes at most a thirtieth of the time.
SAVE_EVERY = 30.0
BatchAt = Callable[[int], Any]
#: Takes the curves of a stage so far, after every step.
Log = Callable[[dict[str, list[float]]], None]


class SafetensorsIO(CheckpointIO):
    """Lightning's checkpoints as safetensors, written atomically, with the fingerprint of the training."""

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write one file."""
        save_tree(Path(path), {"fingerprint": self.fingerprint, "checkpoint": checkpoint})

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        """Read one file, without executing code in it."""
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


class _Saver(pl.Callback):
    """Saves a checkpoint every half minute (slow ones less often) and on Ctrl-C or SIGTERM; shows the progress."""

    def __init__(self, path: Path, update: Callable[[int, str], None], log: Log | None) -> None:
        self.path, self.update, self.write = path, update, log  # Lightning sets `log` of callbacks
        self.last_save, self.duration = time.monotonic(), 0.0
        self.signal: int | None = None

    def catch(self, number: int, frame: FrameType | None) -> None:
        """Signal handler: lets the current step finish."""
        self.signal = number

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *args: Any) -> None:
        """Save if due, and stop after a signal."""
        assert isinstance(module, Stage)
        module.after_step()
        if self.write is not None:
            self.write(module.history)
        last = {name: values[-1] for name, values in module.history.items() if name != "steps"}
        self.update(trainer.global_step, "  ".join(f"{name} {value:.4g}" for name, value in last.items()))
        if self.signal is None and time.monotonic() - self.last_save < SAVE_EVERY * max(1.0, self.duration):
            return
        began = time.monotonic()
        trainer.save_checkpoint(self.path)
        self.last_save = time.monotonic()
        self.duration = self.last_save - began
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
    log: Log | None = None,
) -> dict[str, Any]:
    """Train `stage` to its last step; resumes from the checkpoint in `folder` if its fingerprint is the same.

    Args:
        stage: network and objective; afterwards its network has the trained weights, on the CPU and in eval mode.
        batch_at: step → batch; must depend only on the step.
        folder: for checkpoint, weights and summary.
        fingerprint: digest of all inputs of the training; a result with another fingerprint is computed again.
        description: label of the progress bar.
        precision: in Lightning's spelling.
        show: show progress.
        log: called with the history after every step; None for no log.

    Returns:
        The summary stored in the folder: fingerprint, history, seconds.

    Raises:
        KeyboardInterrupt: Ctrl-C, after a checkpoint was saved; SIGTERM is passed on in the same way.
    """
    summary_path, checkpoint_path = folder / SUMMARY, folder / CHECKPOINT
    if (summary := _ended(folder, fingerprint)) is not None:
        load_weights(stage.network, folder / WEIGHTS)
        stage.network.eval()
        return summary
    start = _resume_step(checkpoint_path, fingerprint)
    folder.mkdir(parents=True, exist_ok=True)
    with progress(description, stage.steps, start=start, show=show) as update:
        saver = _Saver(checkpoint_path, update, log)
        loader = DataLoader(_Steps(batch_at, start, stage.steps), batch_size=None)
        with _quiet_lightning(), _handled(saver.catch), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            warnings.filterwarnings("ignore", message=".*LeafSpec.*is deprecated.*")
            trainer = _trainer(stage, saver, precision, fingerprint)
            with suppress(SIGTERMException):  # Lightning's own would end the process with exit code 0
                trainer.fit(stage, loader, ckpt_path=checkpoint_path if start else None)
    if saver.signal is not None and trainer.global_step < stage.steps:
        signal.raise_signal(saver.signal)
    stage.cpu()
    stage.finish()
    stage.network.eval()
    save_weights(stage.network, folder / WEIGHTS)
    seconds = round(stage.seconds + time.monotonic() - stage.began, 1)
    summary = {"fingerprint": fingerprint, "history": stage.history, "seconds": seconds}
    write_json(summary_path, summary)
    checkpoint_path.unlink(missing_ok=True)
    if saver.signal is not None:
        signal.raise_signal(saver.signal)
    return summary


def starts_over(folder: Path, fingerprint: str) -> bool:
    """Whether the folder has neither a result nor a checkpoint with this fingerprint."""
    return _ended(folder, fingerprint) is None and not _resume_step(folder / CHECKPOINT, fingerprint)


def is_finished(folder: Path, fingerprint: str) -> bool:
    """Whether the folder has a finished training with this fingerprint, with its weights."""
    return _ended(folder, fingerprint) is not None


def link_training(source: Path, folder: Path) -> None:
    """Link the files of a finished training into another run; neither run ever writes them in place."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SUMMARY).unlink(missing_ok=True)
    for name in (WEIGHTS, SUMMARY):  # the summary last: it implies that the weights exist
        link_file(source / name, folder / name)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _ended(folder: Path, fingerprint: str) -> dict[str, Any] | None:
    """Summary of the finished training in the folder; None without one, or with another fingerprint."""
    if not ((folder / SUMMARY).exists() and (folder / WEIGHTS).exists()):
        return None
    summary: dict[str, Any] = read_json(folder / SUMMARY)
    return summary if summary["fingerprint"] == fingerprint else None


def _resume_step(path: Path, fingerprint: str) -> int:
    """The step to resume at: 0 without a checkpoint, or with another fingerprint."""
    if not path.exists():
        return 0
    content = load_tree(path)
    return int(content["checkpoint"]["global_step"]) if content["fingerprint"] == fingerprint else 0


def _trainer(stage: Stage, saver: _Saver, precision: Precision, fingerprint: str) -> pl.Trainer:
    return pl.Trainer(
        max_steps=stage.steps,
        max_epochs=-1,
        accelerator="auto",
        devices=1,
        precision=precision,
        callbacks=[saver],
        plugins=[SafetensorsIO(fingerprint)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )


@contextmanager
def _quiet_lightning() -> Iterator[None]:
    """Silence Lightning's notices: devices, restored checkpoints, advertisements."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Route Ctrl-C and SIGTERM, unless ignored, to `handler`; only the main thread receives signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
