"""`fit`: the entry point of every method's training."""

from contextlib import nullcontext
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from ropes.common.hardware import RequestedPrecision
from ropes.common.stores import Location
from ropes.data.dataset import Dataset
from ropes.data.layout import dataset_folder, open_dataset
from ropes.errors import UserError
from ropes.methods.optimisation import Preset
from ropes.methods.recipes import Recipe
from ropes.methods.registry import METHODS, method_named, recipe_of
from ropes.methods.run import Run
from ropes.methods.run_folder import run_folder
from ropes.methods.training.devices import Strategy, require_devices
from ropes.methods.training.run_log import LoggerName, RunLog
from ropes.methods.training.team import training_team
from ropes.methods.training.worker import serve


def fit(
    data: Dataset | Location | str,
    out: Path | str,
    recipe: Recipe | None = None,
    seed: int = 0,
    *,
    method: str = "anchored",
    preset: Preset | None = None,
    pretrained: Run | Path | str | None = None,
    precision: RequestedPrecision = "auto",
    show: bool = True,
    logger: LoggerName | None = None,
    devices: int = 1,
    nodes: int = 1,
    strategy: Strategy = "ddp",
) -> Run:
    """Fit a method on the training split of the data set `data`, in the folder `out`.

    To resume an interrupted or killed fit, call it again: it ends with the same weights.

    Args:
        data: the data set, or its folder; only methods that read labels read its angles.
        out: folder of the run.
        recipe: of the method, see `ropes.recipe_of`; None for that of `preset`.
        seed: of weights, splits and batches.
        method: one of `ropes.METHODS`.
        preset: "compact" or "paper", without a recipe; None for "compact".
        pretrained: a run of the same method whose first stages are reused: the pre-training of `jointnet`, or AE1 and
            the LDRs of `ropes`.  Other methods have none.
        precision: "bf16-mixed" (bf16 autocast), "32-true" (float32), or "auto": the faster one on this machine.  A
            resumed run keeps its precision.  Stages that compute score differences always use float32.
        show: show progress.
        logger: "csv", "mlflow", "tensorboard" or "wandb" writes curves, recipe and pictures to `logs` in the folder,
            and sends nothing; None for no log.  A resumed fit needs it again.
        devices: GPUs, or without a GPU processes, that train together on each machine.
        nodes: machines.  SLURM or torchrun must start a process for each device of each machine; on one machine this
            function starts the processes itself.
        strategy: of a training on several devices: "ddp", the same weights on every device.

    Returns:
        The run; `ropes.load`, `ropes.calibrate`, `ropes.evaluate` and `ropes.predict` take it in place of its folder.

    Raises:
        UserError: no such method or preset, a recipe beside a preset, another method's recipe, another precision than
            the stored run's, a logger that is not installed, devices that the machine does not have, that do not divide
            a batch or that do not reach each other, or as the method's own `fit`.
        KeyboardInterrupt: interrupted; the state is stored.
        SystemExit: with code 1, in a process that only trains with process 0, which has ended early.
    """
    entry = method_named(method)
    if pretrained is not None and not entry.pretrained:
        names = " and ".join(name for name in METHODS if method_named(name).pretrained)
        raise UserError(f"method {method} is not pre-trained; leave --pretrained out, which is an option of {names}")
    if isinstance(recipe, str):
        raise UserError(f"recipe is the string {recipe!r}; give preset={recipe!r}, or a recipe of ropes.recipe_of")
    if recipe is not None and preset is not None:
        raise UserError("give a recipe or a preset, not both: ropes.recipe_of gives the recipe of a preset")
    if recipe is None:
        recipe = recipe_of(method, preset or "compact")
    if not isinstance(recipe, entry.recipe_type):
        raise UserError(f"method {method} cannot be fitted with another method's recipe; use one of its presets")
    options: dict[str, Any] = {"method": method, "precision": precision, "show": show}
    if entry.pretrained and pretrained is not None:  # the folder may be gone, if the run has what it took over from it
        options["pretrained"] = Path(pretrained) if isinstance(pretrained, str | Path) else run_folder(pretrained)
    require_devices(devices, nodes, strategy, recipe)
    function = entry.load("fit")
    with training_team(devices, nodes) as team, nullcontext() if logger is None else RunLog(logger, Path(out)) as log:
        if team is not None and team.share.rank:
            finished: Run = serve(team)
            return finished
        if log is not None:
            if "log" not in signature(function).parameters:
                raise UserError(f"method {method} writes no log; leave --logger out")
            options["log"] = log
        run: Run = function(dataset_folder(data), Path(out), recipe, seed, **options)
        if log is not None and entry.learns == "joints":
            from ropes.methods.log_pictures import log_pictures  # only for a log

            for name, picture in log_pictures(Path(out), open_dataset(data)).items():
                log.add_picture(name, picture)
        run = replace(run, folder=Path(out))
        if team is not None:
            team.result = run
    return run
