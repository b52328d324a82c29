"""Fits and evaluates one run of an experiment; skips finished, current ones."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

from ropes.common.hardware import Precision
from ropes.evaluation.actions import evaluate_actions
from ropes.evaluation.axes import evaluate_axes
from ropes.evaluation.factors import evaluate_factors
from ropes.evaluation.joints import evaluate, evaluate_transfer
from ropes.evaluation.record import is_current
from ropes.experiments.folder import EVALUATION, data_folder, run_folder, transfer_folder
from ropes.experiments.plan import Experiment
from ropes.methods.fit import fit
from ropes.methods.registry import method_named, method_of
from ropes.methods.run import RUN_FILE, TRAINING_FILE, Run
from ropes.simulation.settings import MPI3D_FACTORS

#: Of a stage in the folder of an experiment: records the seconds of a block.
Timer = Callable[[Path, str], AbstractContextManager[object]]


def untimed(out: Path, stage: str) -> AbstractContextManager[object]:
    """Record no seconds, of fits that run at once."""
    return nullcontext()


def fit_and_evaluate(
    plan: Experiment,
    out: Path,
    dataset: str,
    label: str,
    seed: int,
    precision: Precision,
    *,
    timer: Timer = untimed,
    show: bool,
) -> None:
    """Fit in this precision, or in the precision of an interrupted fit, and evaluate; resume if interrupted."""
    data, run, method = data_folder(out, dataset), run_folder(out, dataset, label, seed), method_of(label)
    with timer(out, f"{dataset} {label} fit {seed}"):
        begun_in = Run.read(run).precision if (run / RUN_FILE).exists() else precision
        options: dict[str, Any] = {
            "method": method,
            "precision": precision if begun_in == precision else "auto",
            "pretrained": pretrained_run(plan, out, dataset, label, seed),
            "show": show,
            "logger": plan.logger,
        }
        fit(data, run, plan.recipe(dataset, label), seed, **options)
    evaluation = run / EVALUATION
    if is_current(evaluation, run, plan.precision):
        return
    rows: dict[str, Any] = {"name": plan.name, "label": plan.method(dataset, label), "precision": plan.precision}
    with timer(out, f"{dataset} {label} evaluate {seed}"):
        measures = plan.measures_of(dataset)
        if measures == "factors":
            photographs = None if plan.recorded is None or dataset == MPI3D_FACTORS else Path(plan.recorded)
            evaluate_factors(run, data, evaluation, photographs=photographs, **rows)
        elif measures == "actions":
            evaluate_actions(run, data, evaluation, show=show, **rows)
        else:
            evaluate(run, data, evaluation, occlusions=plan.occlusions, sizes=plan.sizes, show=show, **rows)


def evaluate_transfers(
    plan: Experiment, out: Path, dataset: str, label: str, seed: int, *, timer: Timer = untimed
) -> None:
    """Measure a fit on the test images of other data sets, where the plan has these transfers."""
    run = run_folder(out, dataset, label, seed)
    rows: dict[str, Any] = {"name": plan.name, "label": plan.method(dataset, label), "precision": plan.precision}
    for other in plan.transfers[dataset][label]:
        folder = transfer_folder(run, other)
        if not is_current(folder, run, plan.precision):
            with timer(out, f"{dataset} {label} transfer {seed}"):
                if plan.measures_of(other) == "axes":
                    evaluate_axes(run, data_folder(out, other), folder, **rows)
                else:
                    evaluate_transfer(run, data_folder(out, other), folder, sizes=plan.sizes, **rows)


def pretrained_run(plan: Experiment, out: Path, dataset: str, label: str, seed: int) -> Path | None:
    """A finished run with this seed and the same first stages, or None.

    For jointnet, a run on another share of the labels; for ropes, one of another objective, preferably with the same
    density ratios.
    """
    if not method_named(method_of(label)).pretrained:
        return None
    others = [each for each in plan.recipes if each != label and method_of(each) == method_of(label)]
    others.sort(key=lambda each: density_ratios(plan, dataset, each) != density_ratios(plan, dataset, label))
    runs = (run_folder(out, dataset, each, seed) for each in others)
    return next((run for run in runs if (run / TRAINING_FILE).exists()), None)


def density_ratios(plan: Experiment, dataset: str, label: str) -> object:
    """Equal for fits of ropes with the same density ratios; None for other methods."""
    return getattr(plan.recipe(dataset, label), "code_noise", None)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Set torch's number of threads in this process within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
