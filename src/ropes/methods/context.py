"""The context of a fit: its run, its folder, its seeds, and the digests of its stages."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ropes.common.hardware import AskedPrecision, Precision, device_kind, say_precision, training_precision
from ropes.common.seeds import integer
from ropes.methods.recipes import RopesRecipe
from ropes.methods.run import TRAINING_FILE, Run
from ropes.methods.training.loop import CHECKPOINT, SUMMARY, BatchAt, begins_anew, has_ended, take_over, train
from ropes.methods.training.stage import Stage
from ropes.models.checkpoints import remove_leftovers


@dataclass
class Context:
    """A run under way in `folder`; `show` its progress.

    `run` is what the folder stores of it: begun by an earlier version, unless weights are trained anew.  `said` is
    whether its precision was.  Trainings that another run has ended, `pretrained`, are taken over where they are of the
    same inputs.
    """

    run: Run
    folder: Path
    show: bool
    said: bool = False
    pretrained: Path | None = None

    @classmethod
    def begin(cls, run: Run, folder: Path, *, precision: AskedPrecision = "auto", show: bool) -> "Context":
        """Store the run's identity in its folder, and clear what a killed run left half-written.

        A data set whose folder has another name by now is still the one that the run began with.

        Raises:
            UserError: see `Run.write` and `Run.in_precision`.
        """
        stored = run.named_as_in(folder).in_precision(folder, precision).write(folder)
        remove_leftovers(folder)
        return cls(stored, folder, show)

    @property
    def precision(self) -> Precision:
        """That networks are trained in, but for stages that always take float32."""
        return self.run.precision or training_precision()

    @property
    def recipe(self) -> RopesRecipe:
        """The settings of a run of ROPES."""
        assert isinstance(self.run.recipe, RopesRecipe)
        return self.run.recipe

    @property
    def device(self) -> torch.device:
        """Where networks are evaluated."""
        return torch.device(device_kind())

    def digest(self, *parts: Any) -> str:
        """Digest of the data, the seed and `parts`."""
        named = [self.run.data_checksum, self.run.seed, self.run.recipe.val_fraction, *parts]
        return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()

    def seed(self, *names: str | int) -> int:
        """The run's seed, spread by name."""
        return integer(self.run.seed, *names)

    def train(self, stage: Stage, batch_at: BatchAt, name: str, fingerprint: str, *, full: bool) -> dict[str, Any]:
        """Train a stage in its own folder; `full` keeps float32 where bf16 would blur score differences.

        Where weights were lost, or are of other inputs, the run is one of this version from now on.  The run's
        precision is said on standard error, once, where something is left to train in it.
        """
        folder = self.folder / name
        ended = self.pretrained is not None and has_ended(self.pretrained / name, fingerprint)
        if self.pretrained is not None and ended and not has_ended(folder, fingerprint):
            take_over(self.pretrained / name, folder)
        earlier = self.folder / TRAINING_FILE, folder / SUMMARY, folder / CHECKPOINT
        if begins_anew(folder, fingerprint) and any(path.exists() for path in earlier):
            self.run = self.run.begin_anew(self.folder)
        if self.show and not self.said and not full and not has_ended(folder, fingerprint):
            say_precision(self.precision)
            self.said = True
        return train(
            stage,
            batch_at,
            folder=folder,
            fingerprint=fingerprint,
            description=name,
            precision="32-true" if full else self.precision,
            show=self.show,
        )
