"""The log of a fit: curves, recipe and pictures, by one of Lightning's loggers, in the folder `logs` of the run.

The curves in a log are those that stages record and that checkpoints contain.  Every call of a fit writes the log anew,
with the curves of finished stages and of a restored checkpoint.  A resumed fit therefore repeats no step in it.
"""

import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, chdir
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from ropes.errors import UserError, install_command, require_name

if TYPE_CHECKING:
    from lightning.pytorch.loggers import Logger

    from ropes.common.arrays import Images

#: Each logger has the name of the package that it needs; csv is part of Python.
LoggerName = Literal["csv", "mlflow", "tensorboard", "wandb"]
LOGS = "logs"
_PROJECT = "ropes"
#: Environment variables that switch off what MLflow and wandb report of their use.
_SILENCE = {"MLFLOW_DISABLE_TELEMETRY": "true", "WANDB_ERROR_REPORTING": "false"}


def require_logger(name: str) -> None:
    """Check that there is a logger of that name and that its package is installed.

    Raises:
        UserError: otherwise, with the command that installs it.
    """
    require_name(name, get_args(LoggerName), "logger")
    if find_spec(name) is None:
        raise UserError(f"--logger {name} needs the package {name}: {install_command(name)}")


class RunLog(AbstractContextManager["RunLog"]):
    """The log of one call of a fit. On leaving the context it is closed, as failed after an error.

    Nothing is written before `begin`, so that a fit that refuses its data leaves no log.
    """

    def __init__(self, name: LoggerName, run: Path) -> None:
        """A log of the run in the folder `run`.

        Raises:
            UserError: see `require_logger`.
        """
        require_logger(name)
        self.name, self.run = name, run
        self._logger: Logger | None = None
        self._logged = Counter[str]()

    def begin(self, hyperparameters: Mapping[str, Any]) -> None:
        """Replace an earlier log of this name, and write the hyper-parameters, a tree of plain values."""
        from lightning.pytorch.utilities import rank_zero_only

        cast(Any, rank_zero_only).rank = 0  # in a job of SLURM, Lightning's loggers write in its process 0 alone
        self._logger = _new_logger(self.name, self.run)
        self._logger.log_hyperparams(dict(hyperparameters))
        self._logger.save()

    def add(self, stage: str, history: Mapping[str, Sequence[float]]) -> None:
        """Write the records of a stage that are not in the log yet.

        Args:
            stage: name of the stage, a part of the curves' names: `STAGE/CURVE`.
            history: of the whole stage: `steps`, and a value of each curve for each step.
        """
        assert self._logger is not None
        if not history:  # before the first record
            return
        for record in range(self._logged[stage], len(history["steps"])):
            values = {f"{stage}/{name}": curve[record] for name, curve in history.items() if name != "steps"}
            self._logger.log_metrics(values, step=int(history["steps"][record]))
            self._logger.save()
        self._logged[stage] = len(history["steps"])

    def add_picture(self, name: str, picture: "Images") -> None:
        """Write a picture, uint8 (height, width, 3)."""
        logger: Any = self._logger
        if self.name == "tensorboard":
            logger.experiment.add_image(name, picture, dataformats="HWC")
        elif self.name == "wandb":
            logger.log_image(name, [picture])
        elif self.name == "mlflow":
            logger.experiment.log_image(logger.run_id, picture, f"{name}.png")
        else:
            from ropes.common import png  # the command line imports this module for its names
            from ropes.common.files import atomic_path

            with atomic_path(self.run / LOGS / self.name / f"{name}.png") as path:
                path.write_bytes(png.encode(picture))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the log."""
        if self._logger is None:
            return
        self._logger.finalize("success" if kind is None else "failed")
        if self.name == "wandb":  # the next fit of this process would go on with its run
            import wandb

            wandb.finish(exit_code=int(kind is not None))


def _new_logger(name: LoggerName, run: Path) -> "Logger":
    """Lightning's logger of that name, with an empty log in the run's folder; nothing is sent anywhere."""
    from lightning.pytorch import loggers

    os.environ.update({name: value for name, value in _SILENCE.items() if name not in os.environ})
    folder = run.absolute() / LOGS
    if name == "mlflow":
        return _mlflow_logger(folder / name, run)
    if (folder / name).exists():
        shutil.rmtree(folder / name)
    if name == "wandb":  # wandb adds a folder of its name
        folder.mkdir(parents=True, exist_ok=True)
        return loggers.WandbLogger(save_dir=folder, project=_PROJECT, name=run.absolute().name, offline=True)
    kinds = {"csv": loggers.CSVLogger, "tensorboard": loggers.TensorBoardLogger}
    return kinds[name](folder, name=name, version="")


def _mlflow_logger(folder: Path, run: Path) -> "Logger":
    """MLflow's logger with a database in `folder`; MLflow no longer accepts a folder of files.

    Earlier runs in the database are deleted, not the file: this process may have it open.
    """
    from lightning.pytorch.loggers import MLFlowLogger

    folder.mkdir(parents=True, exist_ok=True)
    with chdir(folder):  # MLflow makes a folder for artefacts where it opens a database
        logger = MLFlowLogger(_PROJECT, run_name=run.absolute().name, tracking_uri=f"sqlite:///{folder / 'mlflow.db'}")
        for earlier in logger.experiment.search_runs([logger.experiment_id]):
            if earlier.info.run_id != logger.run_id:
                logger.experiment.delete_run(earlier.info.run_id)
    return logger
