"""The training loop: Lightning, with batches that depend only on the step, and checkpoints without pickle.

Step k draws its batch and its noise from generators seeded by k. A killed run therefore resumes with the same steps and
ends with the same weights.
"""

import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.plugins.io import CheckpointIO
from lightning.pytorch.utilities.exceptions import SIGTERMException

from ropes.common.files import link_file, read_json, write_json
from ropes.common.hardware import Precision
from ropes.common.progress import progress
from ropes.errors import UserError
from ropes.methods.training.stage import Stage
from ropes.methods.training.steps import BatchAt, StageSteps, run_steps
from ropes.methods.training.team import Team, current_team
from ropes.models.checkpoints import WEIGHTS, load_tree, load_weights, save_tree, save_weights

CHECKPOINT, SUMMARY = "last.safetensors", "stage.json"
#: Seconds between saves, multiplied by the seconds of a slow save: saving takes at most a thirtieth of the time.
SAVE_EVERY = 30.0
#: Takes the curves of a stage so far, after every step.
Log = Callable[[dict[str, list[float]]], None]
#: Folder of an earlier stage → SHA-256 of its weights.
Inputs = Mapping[str, str]


class SafetensorsIO(CheckpointIO):
    """Lightning's checkpoints as safetensors, written atomically, with the fingerprint and inputs of the training.

    A checkpoint of several devices also has their number.
    """

    def __init__(self, fingerprint: str, devices: int = 1, inputs: Inputs | None = None) -> None:
        self.fingerprint, self.devices, self.inputs = fingerprint, devices, inputs

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write one file."""
        several = {"devices": self.devices} if self.devices > 1 else {}
        save_tree(Path(path), {**identity(self.fingerprint, self.inputs), **several, "checkpoint": checkpoint})

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        """Read one file, without executing code in it."""
        content: dict[str, Any] = load_tree(Path(path))["checkpoint"]
        return content

    def remove_checkpoint(self, path: Any) -> None:
        """Delete one file."""
        Path(path).unlink(missing_ok=True)


class _Saver(pl.Callback):
    """Saves a checkpoint every half minute (slow ones less often) and on Ctrl-C or SIGTERM; shows the progress."""

    def __init__(
        self, path: Path, step: int, update: Callable[[int, str], None], log: Log | None, team: Team | None
    ) -> None:
        self.path, self.update, self.write = path, update, log  # Lightning sets `log` of callbacks
        self.step, self.team = step, team
        self.last_save, self.duration = time.monotonic(), 0.0
        self.signal: int | None = None
        self.ended = False  # the stage has stopped early

    def catch(self, number: int, frame: FrameType | None) -> None:
        """Signal handler: lets the current step finish."""
        self.signal = number

    def on_train_start(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        """Replace Lightning's handler in a team: it sends messages that the others do not expect."""
        if self.team is not None:
            for number in _numbers():
                signal.signal(number, self.catch)

    def on_train_batch_end(self, trainer: pl.Trainer, module: pl.LightningModule, *args: Any) -> None:
        """Save if due, and stop after a signal."""
        assert isinstance(module, Stage)
        module.after_step()
        self.step, self.ended = trainer.global_step, trainer.should_stop
        if self.write is not None:
            self.write(module.history)
        last = {name: values[-1] for name, values in module.history.items() if name != "steps"}
        self.update(trainer.global_step, "  ".join(f"{name} {value:.4g}" for name, value in last.items()))
        caught = self.signal is not None
        due = caught or time.monotonic() - self.last_save >= SAVE_EVERY * max(1.0, self.duration)
        due = due and not self.ended  # a fit that resumed from there would take further steps
        if self.team is not None:
            self.team.decide(save=due, stop=trainer.should_stop or caught)
        if not due:
            return
        began = time.monotonic()
        trainer.save_checkpoint(self.path)
        self.last_save = time.monotonic()
        self.duration = self.last_save - began
        trainer.should_stop = trainer.should_stop or caught


def train(
    stage: Stage,
    batch_at: BatchAt,
    *,
    folder: Path,
    fingerprint: str,
    description: str,
    precision: Precision,
    inputs: Inputs | None = None,
    show: bool = True,
    log: Log | None = None,
) -> dict[str, Any]:
    """Train `stage` to its last step; resumes from the checkpoint in `folder` if fingerprint and inputs are the same.

    The team of `current_team` takes part.

    Args:
        stage: network and objective; afterwards its network has the trained weights, on the CPU and in eval mode.
        batch_at: step → batch; must depend only on the step.
        folder: for checkpoint, weights and summary.
        fingerprint: digest of the data and settings of the training; a result with another one is computed again.
        description: label of the progress bar.
        precision: in Lightning's spelling.
        inputs: weights of earlier stages; a result of others is computed again, unless it is of an earlier version,
            which did not store them.
        show: show progress.
        log: called with the history after every step; None for no log.

    Returns:
        The summary stored in the folder: fingerprint, inputs if there are any, history, seconds, and the number of
        devices if there were several.

    Raises:
        KeyboardInterrupt: Ctrl-C, after a checkpoint was saved; SIGTERM is passed on in the same way.
        UserError: the stage cannot be sent to the other processes of the team.
    """
    summary_path, checkpoint_path = folder / SUMMARY, folder / CHECKPOINT
    team, devices = current_team(), _devices()
    if (summary := finished(folder, fingerprint, inputs, description=description, show=show)) is not None:
        load_weights(stage.network, folder / WEIGHTS)
        stage.network.eval()
        return summary
    stored = _checkpoint(checkpoint_path, fingerprint, inputs)
    start = int(stored["checkpoint"]["global_step"]) if stored else 0
    folder.mkdir(parents=True, exist_ok=True)
    if show and stored and (before := stored.get("devices", 1)) != devices:
        print(f"ropes: {_changed_devices(description, start, before, devices)}", file=sys.stderr)
    if team is not None:
        _send(team, StageSteps(stage, start, precision, stored["checkpoint"] if start and stored else None))
    with progress(description, stage.steps, start=start, show=show) as update:
        saver = _Saver(checkpoint_path, start, update, log, team)
        with (
            _handled(saver.catch),
            suppress(SIGTERMException),
        ):  # Lightning's own would end the process with exit code 0
            run_steps(
                stage,
                batch_at if team is None else lambda step: team.send(batch_at(step)),
                start=start,
                precision=precision,
                callback=saver,
                checkpoints=SafetensorsIO(fingerprint, devices, inputs),
                resume=checkpoint_path if start else None,
                team=team,
            )
    if saver.signal is not None and saver.step < stage.steps and not saver.ended:
        signal.raise_signal(saver.signal)
    stage.cpu()
    stage.finish()
    stage.network.eval()
    summary_path.unlink(missing_ok=True)  # of earlier weights
    save_weights(stage.network, folder / WEIGHTS)
    seconds = round(stage.seconds + time.monotonic() - stage.began, 1)
    summary = {**identity(fingerprint, inputs), "history": stage.history, "seconds": seconds}
    if devices > 1:
        summary["devices"] = devices
    write_json(summary_path, summary)
    checkpoint_path.unlink(missing_ok=True)
    if saver.signal is not None:
        signal.raise_signal(saver.signal)
    return summary


def finished(
    folder: Path, fingerprint: str, inputs: Inputs | None, *, description: str, show: bool
) -> dict[str, Any] | None:
    """The summary of a finished training, see `train`; None if it is not finished.

    With `show` it says on standard error if the training was on another number of devices than this process has.
    """
    summary = _ended(folder, fingerprint, inputs)
    if show and summary is not None and (before := summary.get("devices", 1)) != _devices():
        print(f"ropes: {description} was trained on {before} devices, not on {_devices()}", file=sys.stderr)
    return summary


def _devices() -> int:
    """Number of devices on which this process trains."""
    team = current_team()
    return 1 if team is None else team.share.devices


def identity(fingerprint: str, inputs: Inputs | None) -> dict[str, Any]:
    """What a result stores of its fingerprint and inputs."""
    return {"fingerprint": fingerprint, **({"inputs": dict(inputs)} if inputs else {})}


def starts_over(folder: Path, fingerprint: str, inputs: Inputs | None = None) -> bool:
    """Whether the folder has neither a result nor a checkpoint with this fingerprint and these inputs."""
    checkpoint = folder / CHECKPOINT
    return _ended(folder, fingerprint, inputs) is None and _checkpoint(checkpoint, fingerprint, inputs) is None


def is_finished(folder: Path, fingerprint: str, inputs: Inputs | None = None) -> bool:
    """Whether the folder has a finished training with this fingerprint and these inputs (None: any), with its weights.

    Results of earlier versions have no inputs, and count as having these.
    """
    return _ended(folder, fingerprint, inputs) is not None


def link_training(source: Path, folder: Path) -> None:
    """Link the files of a finished training into another run; neither run ever writes them in place."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SUMMARY).unlink(missing_ok=True)
    for name in (WEIGHTS, SUMMARY):  # the summary last: it implies that the weights exist
        link_file(source / name, folder / name)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _ended(folder: Path, fingerprint: str, inputs: Inputs | None) -> dict[str, Any] | None:
    """Summary of the finished training in the folder; None without one, or with another fingerprint or inputs."""
    if not ((folder / SUMMARY).exists() and (folder / WEIGHTS).exists()):
        return None
    summary: dict[str, Any] = read_json(folder / SUMMARY)
    return summary if _is_of(summary, fingerprint, inputs) else None


def _checkpoint(path: Path, fingerprint: str, inputs: Inputs | None) -> dict[str, Any] | None:
    """The stored checkpoint; None without one, or with another fingerprint or inputs."""
    content = load_tree(path) if path.exists() else None
    return content if content is not None and _is_of(content, fingerprint, inputs) else None


def _is_of(stored: Mapping[str, Any], fingerprint: str, inputs: Inputs | None) -> bool:
    same = inputs is None or stored.get("inputs", inputs) == inputs
    return same and stored["fingerprint"] == fingerprint


def _changed_devices(name: str, step: int, before: int, now: int) -> str:
    """What another number of devices changes."""
    return (
        f"{name} was trained on {before} devices up to step {step} and resumes on {now}: with the same batches, but "
        "sums are rounded in another order, and noise of dropout differs"
    )


def _send(team: Team, steps: StageSteps) -> None:
    """Send a stage to the other processes of the team."""
    try:
        team.send(steps)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise UserError(
            f"{type(steps.stage).__name__} cannot be sent to other processes ({error}); train on one device"
        ) from error


def _numbers() -> list[signal.Signals]:
    """Ctrl-C and SIGTERM, unless ignored; only the main thread receives signals."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Route Ctrl-C and SIGTERM to `handler`."""
    before = {number: signal.signal(number, handler) for number in _numbers()}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
