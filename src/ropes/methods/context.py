"""The context of a fit: its run, its folder, its seeds, and the digests of its stages."""

import hashlib
import json
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ropes.common.files import as_json, sha256, write_json
from ropes.common.hardware import Precision, RequestedPrecision, device_kind, report_precision, training_precision
from ropes.common.seeds import integer
from ropes.methods.recipe import CLEANER_SAMPLES, cleaner_samples_of, input_size
from ropes.methods.recipes import RopesRecipe
from ropes.methods.run import TRAINING_FILE, Run
from ropes.methods.training.loop import (
    CHECKPOINT,
    SUMMARY,
    Inputs,
    finished,
    identity,
    is_finished,
    link_training,
    starts_over,
    train,
)
from ropes.methods.training.registration import CLEANER_FOLDER, write_registration
from ropes.methods.training.run_log import RunLog
from ropes.methods.training.stage import Stage
from ropes.methods.training.steps import BatchAt
from ropes.models.checkpoints import WEIGHTS, load_weights, remove_leftovers, save_weights
from ropes.models.cleaner import CLEANER
from ropes.models.registration import VERSION, Registration


@dataclass
class Context:
    """The context of a fit.

    Attributes:
        run: as stored in the folder, perhaps by an earlier version.
        folder: of the run.
        show: show progress.
        precision_shown: whether the precision was printed.
        pretrained: another run, whose finished stages are reused where their inputs are the same.
        registration: that the training images went through; None where they are as recorded.
        log: of the curves; None for no log.
    """

    run: Run
    folder: Path
    show: bool
    precision_shown: bool = False
    pretrained: Path | None = None
    registration: Registration | None = None
    log: RunLog | None = None

    @classmethod
    def begin(
        cls,
        run: Run,
        folder: Path,
        *,
        precision: RequestedPrecision = "auto",
        show: bool,
        registration: Registration | None = None,
        log: RunLog | None = None,
    ) -> "Context":
        """Store the run's identity and registration in its folder, and delete unfinished files of a killed run.

        A `log` begins with the run's recipe.  A stored run keeps its setting's name, even if the data set's folder has
        been renamed.  With `show`, one line on standard error says so where images are letterboxed.

        Raises:
            UserError: see `Run.write` and `Run.in_precision`.
        """
        stored = run.in_precision(folder, precision).write(folder)
        if show and (oblong := dict.fromkeys(shape[:2] for shape in run.shapes if shape[0] != shape[1])):
            sizes, side = " and ".join(f"{height}x{width}" for height, width in oblong), input_size(run.recipe.shape)
            print(f"ropes: images of {sizes} are letterboxed to {side}x{side}, with black bars", file=sys.stderr)
        remove_leftovers(folder)
        write_registration(folder, registration)
        if log is not None:
            identity = {name: getattr(stored, name) for name in ("method", "seed", "setting", "anchors", "precision")}
            log.begin(as_json(identity | asdict(stored.recipe)))
        return cls(stored, folder, show, registration=registration, log=log)

    @property
    def precision(self) -> Precision:
        """The training precision, except for stages that always use float32."""
        return self.run.precision or training_precision()

    @property
    def recipe(self) -> RopesRecipe:
        """The recipe of a run of method ropes."""
        assert isinstance(self.run.recipe, RopesRecipe)
        return self.run.recipe

    @property
    def device(self) -> torch.device:
        """The device on which networks are evaluated."""
        return torch.device(device_kind())

    def digest(self, *parts: Any) -> str:
        """SHA-256 of the data and their registration, the seed, the validation fraction and `parts`."""
        content = [self.run.data_checksum, self.run.seed, self.run.recipe.val_fraction, *parts]
        if self.registration is not None:
            content += ["registered", VERSION, CLEANER if self.registration.is_cleaned else None]
            content += ["pushed"] if self.registration.is_pushed else []
            samples = cleaner_samples_of(self.run.recipe)
            content += ["cleaner", samples] if self.registration.is_cleaned and samples != CLEANER_SAMPLES else []
            content += ["followed"] if self.registration.earlier else []
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def store_once(self, module: torch.nn.Module, name: str, fingerprint: str, inputs: Inputs | None = None) -> str:
        """Store a module that is computed without training, or load the one of an earlier start or of `pretrained`.

        A stage that resumes on another processor, which rounds sums differently, then has the same inputs.

        Args:
            module: computed anew; takes the stored weights.
            name: of the folder.
            fingerprint: digest of the data and settings of the computation.
            inputs: weights of the earlier stages that it depends on.

        Returns:
            SHA-256 of the stored weights.
        """
        folder, inputs = self.folder / name, self._with_cleaner(name, inputs)
        if self._has_finished(name, fingerprint, inputs):
            load_weights(module, folder / WEIGHTS)
        else:
            folder.mkdir(exist_ok=True)
            (folder / SUMMARY).unlink(missing_ok=True)
            save_weights(module, folder / WEIGHTS)
            write_json(folder / SUMMARY, identity(fingerprint, inputs))
        return sha256(folder / WEIGHTS)

    def link(self, source: str, name: str, fingerprint: str) -> None:
        """Make the finished training in one of the run's folders also that of `name`."""
        trained, folder = self.folder / source, self.folder / name
        if not is_finished(folder, fingerprint) or sha256(folder / WEIGHTS) != sha256(trained / WEIGHTS):
            link_training(trained, folder)

    def finished(self, name: str, fingerprint: str, inputs: Inputs | None = None) -> dict[str, Any] | None:
        """The summary of a finished training, see `train`, with its weights in the folder; None if it is not finished.

        What only its steps need can then be left out.
        """
        inputs = self._with_cleaner(name, inputs)
        self._has_finished(name, fingerprint, inputs)  # links a stage of `pretrained`
        summary = finished(self.folder / name, fingerprint, inputs, description=name, show=self.show)
        if self.log is not None and summary is not None:  # a finished stage takes no step
            self.log.add(name, summary["history"])
        return summary

    def _has_finished(self, name: str, fingerprint: str, inputs: Inputs) -> bool:
        """Whether a stage is finished, see `is_finished`; one of `pretrained` is linked into the run."""
        finished = is_finished(self.folder / name, fingerprint, inputs)
        if self.pretrained is not None and not finished and is_finished(self.pretrained / name, fingerprint, inputs):
            link_training(self.pretrained / name, self.folder / name)
            finished = True
        return finished

    def _with_cleaner(self, name: str, inputs: Inputs | None) -> Inputs:
        """The inputs of a stage; every later one depends on the cleaner, whose images it reads."""
        cleaner = None if self.registration is None else self.registration.cleaner
        if cleaner is None or name == CLEANER_FOLDER:
            return inputs or {}
        return {CLEANER_FOLDER: sha256(self.folder / CLEANER_FOLDER / WEIGHTS), **(inputs or {})}

    def cleaned(self, images: Tensor) -> Tensor:
        """Registered frames without what the fit's cleaner removes, as in predictions, uint8 (n, P, S, S).

        The images themselves where it has none.
        """
        cleaner = None if self.registration is None else self.registration.cleaner
        return images if cleaner is None else cleaner.clean(images.to(self.device)).to(images.device)

    def seed(self, *names: str | int) -> int:
        """A seed derived from the run's seed and `names`."""
        return integer(self.run.seed, *names)

    def train(
        self,
        stage: Stage,
        batch_at: BatchAt,
        name: str,
        fingerprint: str,
        *,
        full: bool,
        inputs: Inputs | None = None,
    ) -> dict[str, Any]:
        """Train a stage in its own folder, or resume it, or reuse its weights; returns the summary of the training.

        Where the stage starts again in an existing run, the run is from now on one of this version.  The first training
        that is not finished prints the run's precision on standard error.

        Args:
            stage: to train.
            batch_at: step → batch.
            name: of the folder and the progress bar.
            fingerprint: digest of the data and settings of the training.
            full: use float32, where bf16 is too coarse for score differences.
            inputs: weights of the earlier stages that the training depends on and `fingerprint` does not contain; the
                cleaner's are added.  A stage of other weights is trained again, unless an earlier version trained it.
        """
        folder, inputs = self.folder / name, self._with_cleaner(name, inputs)
        finished = self._has_finished(name, fingerprint, inputs)
        earlier = self.folder / TRAINING_FILE, folder / SUMMARY, folder / CHECKPOINT
        if starts_over(folder, fingerprint, inputs) and any(path.exists() for path in earlier):
            self.run = self.run.restart(self.folder)
        if self.show and not self.precision_shown and not full and not finished:
            report_precision(self.precision)
            self.precision_shown = True
        summary = train(
            stage,
            batch_at,
            folder=folder,
            fingerprint=fingerprint,
            inputs=inputs,
            description=name,
            precision="32-true" if full else self.precision,
            show=self.show,
            log=None if self.log is None else partial(self.log.add, name),
        )
        if self.log is not None:  # a finished stage takes no step
            self.log.add(name, summary["history"])
        return summary
