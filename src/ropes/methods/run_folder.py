"""Finds the folder of a run that a caller gives as a folder, a name or a `Run`."""

from pathlib import Path

from ropes.errors import UserError
from ropes.methods.run import Run
from ropes.models.registry import find_run


def run_folder(run: Run | Path | str) -> Path:
    """The folder of a run.

    Args:
        run: what `fit` or `Run.read` returned; a folder; or a string, see `ropes.models.registry.find_run`. A `Path` of
            an existing folder is that folder, also if a packaged estimator has the same name.

    Raises:
        UserError: neither a run nor a packaged estimator.
    """
    if isinstance(run, Run):
        if run.folder is None:
            raise UserError("this Run has no folder; give the folder of a run")
        return run.folder
    if not isinstance(run, str | Path):
        kinds = "its folder, the name of a packaged estimator, or what ropes.fit returned"
        raise UserError(f"give a run as {kinds}, not as {type(run).__name__}")
    return run if isinstance(run, Path) and run.is_dir() else find_run(run)
