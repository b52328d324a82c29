"""The steps of a stage by Lightning's trainer, on one device or with a team."""

import logging
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch.plugins.io import CheckpointIO
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, IterableDataset

from ropes.common.hardware import Precision, device_kind
from ropes.methods.training.sharing import Share
from ropes.methods.training.stage import Stage
from ropes.methods.training.team import Team

BatchAt = Callable[[int], Any]


class _Steps(IterableDataset[Any]):
    """The batches of steps `start` to `stop`."""

    def __init__(self, batch_at: BatchAt, start: int, stop: int) -> None:
        self.batch_at, self.start, self.stop = batch_at, start, stop

    def __iter__(self) -> Iterator[Any]:
        return (self.batch_at(step) for step in range(self.start, self.stop))


@dataclass(frozen=True)
class StageSteps:
    """The steps of a stage, as process 0 sends them to the others.

    Attributes:
        stage: network and objective.
        start: the first step.
        precision: in Lightning's spelling.
        checkpoint: Lightning's, to resume from; None to begin.
    """

    stage: Stage
    start: int
    precision: Precision
    checkpoint: dict[str, Any] | None

    def run(self, team: Team) -> None:
        """Take the steps together with process 0."""
        run_steps(
            self.stage,
            lambda step: team.send(),
            start=self.start,
            precision=self.precision,
            callback=_Follower(team),
            checkpoints=_SentCheckpoint(self.checkpoint),
            resume="sent" if self.start else None,
            team=team,
        )


class _SentCheckpoint(CheckpointIO):
    """A checkpoint from process 0, which alone writes any."""

    def __init__(self, content: dict[str, Any] | None) -> None:
        self.content = content

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Process 0 writes it."""

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        """The checkpoint that was sent."""
        assert self.content is not None
        return self.content

    def remove_checkpoint(self, path: Any) -> None:
        """Process 0 deletes it."""


class _Follower(pl.Callback):
    """Saves and stops when process 0 does."""

    def __init__(self, team: Team) -> None:
        self.team = team

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Ignore SIGTERM; Lightning's handler would send messages that process 0 does not expect."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *args: Any) -> None:
        """Evaluate as process 0 does, and follow its decision."""
        assert isinstance(module, Stage)
        module.after_step()
        save, trainer.should_stop = self.team.decide()
        if save:
            trainer.save_checkpoint("sent")


def run_steps(
    stage: Stage,
    batch_at: BatchAt,
    *,
    start: int,
    precision: Precision,
    callback: pl.Callback,
    checkpoints: CheckpointIO,
    resume: Path | str | None,
    team: Team | None,
) -> None:
    """Take the steps of `stage` from `start` on.

    Args:
        stage: network and objective.
        batch_at: step → batch.
        start: the first step.
        precision: in Lightning's spelling.
        callback: called after every step.
        checkpoints: reads and writes checkpoints.
        resume: the checkpoint to resume from; None to begin.
        team: the processes of the training; None on one device.
    """
    loader = DataLoader(_Steps(batch_at, start, stage.steps), batch_size=None)
    # Lightning would find SLURM by itself, check the job's number of processes and add checkpoints of its own.
    devices: dict[str, Any] = {"accelerator": "auto", "devices": 1, "plugins": [checkpoints, LightningEnvironment()]}
    if team is not None:
        devices = {
            "accelerator": "cpu" if device_kind() == "cpu" else "gpu",
            "devices": team.devices,
            "num_nodes": team.nodes,
            "plugins": [checkpoints, team.environment],
            # Small buckets: gradients are exchanged while others are computed.
            "strategy": DDPStrategy(
                find_unused_parameters=stage.unused_weights, gradient_as_bucket_view=True, bucket_cap_mb=4
            ),
        }
    with _quiet_lightning(), _threads_of(team):
        trainer = pl.Trainer(
            max_steps=stage.steps,
            max_epochs=-1,
            precision=precision,
            callbacks=[callback],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
            default_root_dir=os.devnull,  # where Lightning would look for checkpoints of SLURM jobs
            **devices,
        )
        stage.device_share = Share() if team is None else team.share
        try:
            trainer.fit(stage, loader, ckpt_path=resume)
        finally:
            stage.device_share = Share()


@contextmanager
def _threads_of(team: Team | None) -> Iterator[None]:
    """Divide the cores among the processes of a team."""
    if team is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(team.threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _quiet_lightning() -> Iterator[None]:
    """Silence Lightning's notices: devices, restored checkpoints, advertisements."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            warnings.filterwarnings("ignore", message=".*LeafSpec.*is deprecated.*")
            yield
    finally:
        logger.setLevel(level)
