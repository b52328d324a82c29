"""The fit loop: Lightning, with batches that depend on the step alone and checkpoints without pickle.

Because step k draws its batch and its noise from generators named after k, a run that was killed and goes on from
its last checkpoint takes the very steps it would have taken, and ends with the same weights.
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
#: Seconds between saves, and for each second that one takes, so that no more than a thirtieth goes into them.
_SAVE_EVERY = 30.0
BatchAt = Callable[[int], Any]


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
    """Saves every half minute, seldom what is slow to write, and on Ctrl-C or SIGTERM; moves the progress bar."""

    def __init__(self, path: Path, update: Callable[[int, str], None]) -> None:
        self.path, self.update = path, update
        self.saved, self.took = time.monotonic(), 0.0
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
        if self.signal is None and time.monotonic() - self.saved < _SAVE_EVERY * max(1.0, self.took):
            return
        began = time.monotonic()
        trainer.save_checkpoint(self.path)
        self.saved = time.monotonic()
        self.took = self.saved - began
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
    if (summary := _ended(folder, fingerprint)) is not None:
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
            with suppress(SIGTERMException):  # Lightning's own: the process would end, with exit code 0
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


def begins_anew(folder: Path, fingerprint: str) -> bool:
    """Whether `train` has nothing of these inputs in the folder to read or to go on from."""
    return _ended(folder, fingerprint) is None and not _resume_step(folder / CHECKPOINT, fingerprint)


def has_ended(folder: Path, fingerprint: str) -> bool:
    """Whether `train` finds a training of these inputs in the folder that has ended and left its weights."""
    return _ended(folder, fingerprint) is not None


def take_over(source: Path, folder: Path) -> None:
    """Share a training that has ended, and was checked, with another run; its files are never written in place."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SUMMARY).unlink(missing_ok=True)
    for name in (WEIGHTS, SUMMARY):  # the summary last: it says that the weights are there
        link_file(source / name, folder / name)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _ended(folder: Path, fingerprint: str) -> dict[str, Any] | None:
    """The summary of a training of these inputs that has ended and left its weights; None where there is none."""
    if not ((folder / SUMMARY).exists() and (folder / WEIGHTS).exists()):
        return None
    summary: dict[str, Any] = read_json(folder / SUMMARY)
    return summary if summary["fingerprint"] == fingerprint else None


def _resume_step(path: Path, fingerprint: str) -> int:
    """The step to go on from: 0 without a checkpoint, or with one of other inputs."""
    if not path.exists():
        return 0
    content = load_tree(path)
    return int(content["checkpoint"]["global_step"]) if content["fingerprint"] == fingerprint else 0


def _trainer(stage: Stage, watch: _Watch, precision: Precision, fingerprint: str) -> pl.Trainer:
    return pl.Trainer(
        max_steps=stage.steps,
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
    """Route Ctrl-C and SIGTERM, where they are not ignored, to `handler` (signals reach the main thread only)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
