"""One fit of an experiment and its evaluation: what is done and current is not done again."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import torch

from ropes.delta_evaluation import evaluate_actions
from ropes.evaluation import evaluate
from ropes.evaluation_record import is_current
from ropes.factor_evaluation import evaluate_factors
from ropes.files import read_json, write_json
from ropes.methods.fitting import fit
from ropes.methods.run import TRAINING_FILE
from ropes.plans import Experiment
from ropes.recipes import method_of

EXPERIMENT_FILE, EVALUATION = "experiment.json", "evaluation"
Clock = Callable[[Path, str], AbstractContextManager[None]]


def run_folder(out: Path, setting: str, label: str, seed: int) -> Path:
    """Where the fit of a method or variant lies."""
    return out / setting / label / f"seed-{seed}"


@contextmanager
def unclocked(out: Path, stage: str) -> Iterator[None]:
    """Count no seconds, of fits that run at once."""
    yield


def one_run(
    plan: Experiment, out: Path, setting: str, label: str, seed: int, *, clock: Clock = unclocked, show: bool
) -> None:
    """Fit and evaluate, going on where an earlier call stopped."""
    data, run, method = out / setting / "data", run_folder(out, setting, label, seed), method_of(label)
    with clock(out, f"{setting} {label} fit {seed}"):
        pretrained = _pretrained(plan, out, setting, seed) if method == "jointnet" else None
        fit(data, run, plan.recipe(setting, label), seed, method=method, pretrained=pretrained, show=show)
    measured = run / EVALUATION
    if not is_current(measured, run):
        with clock(out, f"{setting} {label} evaluate {seed}"):
            match plan.measures:
                case "factors":
                    shown = None if plan.recorded is None else Path(plan.recorded)
                    evaluate_factors(run, data, measured, name=plan.name, label=label, photographs=shown)
                case "actions":
                    evaluate_actions(run, data, measured, name=plan.name, label=label, show=show)
                case _:
                    evaluate(
                        run,
                        data,
                        measured,
                        occlusions=plan.occlusions,
                        sizes=plan.sizes,
                        name=plan.name,
                        label=label,
                        show=show,
                    )


def _pretrained(plan: Experiment, out: Path, setting: str, seed: int) -> Path | None:
    """A finished run of jointnet with this seed, maybe on another share of the labels: its pre-training is the same."""
    runs = (run_folder(out, setting, label, seed) for label in plan.recipes if method_of(label) == "jointnet")
    return next((run for run in runs if (run / TRAINING_FILE).exists()), None)


def threads_of(out: Path, runs: Sequence[Path], usual: int) -> list[int]:
    """Threads of each fit, as decided when it was begun: other threads sum in another order, to other weights.

    Args:
        out: folder of the experiment, which keeps what is decided.
        runs: folders of the fits.
        usual: what is decided for those that are not begun.
    """
    content = read_json(out / EXPERIMENT_FILE)
    decided = content.setdefault("threads", {})
    found = [int(decided.setdefault(run.relative_to(out).as_posix(), usual)) for run in runs]
    write_json(out / EXPERIMENT_FILE, content)
    return found


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Have torch take so many threads in this process meanwhile."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def clocked(out: Path, stage: str) -> Iterator[None]:
    """Add the seconds spent in the block to the stage's, also when it is interrupted."""
    began = time.monotonic()
    try:
        yield
    finally:
        content = read_json(out / EXPERIMENT_FILE)
        seconds = content.setdefault("seconds", {})
        seconds[stage] = round(seconds.get(stage, 0.0) + time.monotonic() - began, 1)
        write_json(out / EXPERIMENT_FILE, content)
