"""One fit of an experiment and its evaluation: what is done and current is not done again."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import torch

from ropes.delta_evaluation import evaluate_actions
from ropes.evaluation import evaluate
from ropes.evaluation_record import is_current
from ropes.experiment_folder import EVALUATION, run_folder
from ropes.factor_evaluation import evaluate_factors
from ropes.hardware import Precision
from ropes.methods.fitting import fit
from ropes.methods.run import RUN_FILE, TRAINING_FILE, Run
from ropes.plans import Experiment
from ropes.recipes import method_of

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
        pretrained = _pretrained(plan, out, setting, seed) if method == "jointnet" else None
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


def _pretrained(plan: Experiment, out: Path, setting: str, seed: int) -> Path | None:
    """A finished run of jointnet with this seed, maybe on another share of the labels: its pre-training is the same."""
    runs = (run_folder(out, setting, label, seed) for label in plan.recipes if method_of(label) == "jointnet")
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
