"""Fits and evaluates one run of an experiment; skips what is finished and current."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import torch

from ropes.common.hardware import Precision
from ropes.evaluation.actions import evaluate_actions
from ropes.evaluation.factors import evaluate_factors
from ropes.evaluation.joints import evaluate
from ropes.evaluation.record import is_current
from ropes.experiments.folder import EVALUATION, run_folder
from ropes.experiments.plan import Experiment
from ropes.methods.fit import fit
from ropes.methods.recipes import JointNetRecipe, RopesRecipe
from ropes.methods.registry import method_of
from ropes.methods.run import RUN_FILE, TRAINING_FILE, Run

Clock = Callable[[Path, str], AbstractContextManager[None]]


@contextmanager
def unclocked(out: Path, stage: str) -> Iterator[None]:
    """Count no seconds, of fits that run at once."""
    yield


def one_run(
    plan: Experiment,
    out: Path,
    setting: str,
    label: str,
    seed: int,
    precision: Precision,
    *,
    clock: Clock = unclocked,
    show: bool,
) -> None:
    """Fit in a precision, or in the one that the fit was begun in, and evaluate; going on where a call stopped."""
    data, run, method = out / setting / "data", run_folder(out, setting, label, seed), method_of(label)
    with clock(out, f"{setting} {label} fit {seed}"):
        pretrained = pretrained_run(plan, out, setting, label, seed)
        begun = Run.read(run).precision if (run / RUN_FILE).exists() else precision
        train_in = precision if begun == precision else "auto"
        asked: dict[str, Any] = {"method": method, "precision": train_in, "pretrained": pretrained, "show": show}
        fit(data, run, plan.recipe(setting, label), seed, **asked)
    measured = run / EVALUATION
    if not is_current(measured, run, plan.precision):
        rows: dict[str, Any] = {"name": plan.name, "label": label, "precision": plan.precision}
        with clock(out, f"{setting} {label} evaluate {seed}"):
            match plan.measures:
                case "factors":
                    shown = None if plan.recorded is None else Path(plan.recorded)
                    evaluate_factors(run, data, measured, photographs=shown, **rows)
                case "actions":
                    evaluate_actions(run, data, measured, show=show, **rows)
                case _:
                    evaluate(run, data, measured, occlusions=plan.occlusions, sizes=plan.sizes, show=show, **rows)


def pretrained_run(plan: Experiment, out: Path, setting: str, label: str, seed: int) -> Path | None:
    """A finished run with this seed whose first stages are the same: of jointnet on another share of the labels, or of
    ropes by another objective, best by one with the same density ratios.
    """
    wanted = plan.recipe(setting, label)
    if not isinstance(wanted, JointNetRecipe | RopesRecipe):
        return None
    alike = [each for each in plan.recipes if each != label and method_of(each) == method_of(label)]
    if isinstance(wanted, RopesRecipe):
        noise = {each: getattr(plan.recipe(setting, each), "code_noise", None) for each in alike}
        alike.sort(key=lambda each: noise[each] != wanted.code_noise)
    runs = (run_folder(out, setting, each, seed) for each in alike)
    return next((run for run in runs if (run / TRAINING_FILE).exists()), None)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Have torch take so many threads in this process meanwhile."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
