"""Runs an experiment from simulation to results.json: settings × methods × seeds, resumable."""

import itertools
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch

from ropes import __version__
from ropes.common.files import copy_tree, read_json
from ropes.common.hardware import AskedPrecision, Precision, device_kind, device_name, say_precision, usable_cores
from ropes.common.processes import run_all
from ropes.common.progress import progress
from ropes.data.import_pairs import read_and_split
from ropes.data.photographs import read_photographs
from ropes.errors import UnfinishedError, UserError
from ropes.evaluation.arm_moves import evaluate_estimator
from ropes.evaluation.record import ARTEFACTS, RESULTS_FILE, is_current
from ropes.evaluation.results import FURTHER, Results, read, write
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.model import ModelRow, by_disentanglement
from ropes.experiments.datasets import film
from ropes.experiments.fits import one_run, torch_threads
from ropes.experiments.folder import (
    EVALUATION,
    EXPERIMENT_FILE,
    by_number,
    claim,
    clocked,
    finished,
    precision_of_fits,
    run_folder,
    threads_of,
)
from ropes.experiments.plan import Experiment
from ropes.experiments.plans import experiment
from ropes.methods.run import RUN_FILE, Run
from ropes.models.registry import ARM_ESTIMATOR, PACKAGED, find_run
from ropes.simulation.settings import ARM_ACTIONS, FINGER_CUBE, SceneName

_MEASURED_PACKAGED = "packaged"


def reproduce(
    name: str,
    *,
    preset: str,
    out: Path,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    processes: int | None = None,
    recorded: Path | None = None,
    precision: AskedPrecision = "auto",
    scene: SceneName | None = None,
    show: bool = True,
) -> Results:
    """Run an experiment of the papers in the folder `out`, going on where an earlier call stopped.

    Args:
        name: see `ropes.experiments.plans.experiment`.
        preset: "compact" or "paper".
        out: see `run_experiment`.
        methods: what to fit instead of the experiment's own methods.
        seeds: training seeds instead of the experiment's own.
        workers: processes that render.
        processes: see `run_experiment`.
        recorded: of causal-triplet: its own files, to learn from instead of what is simulated; of disentanglement:
            photographs to test on as well.
        precision: that networks are trained and measured in; "auto": see `precision_of_fits`, and of what reads images
            `ropes.methods.readers.load_reader`.
        scene: behind arms, see `ropes.simulation.settings.SceneName`; None: panda-gym's, as in the ROPES paper.
        show: show progress.

    Raises:
        UserError: no such experiment or method, or see `run_experiment`.
        UnfinishedError: see `run_experiment`.
    """
    films_arms = name not in ("delta-options", "disentanglement", "hold-outs") and recorded is None
    if scene is not None and not films_arms:
        raise UserError("this experiment films no arm; leave --scene out")
    behind: SceneName = scene or ("panda-gym" if films_arms else "white")
    plan = replace(experiment(name, preset, methods or (), recorded=recorded), precision=precision, scene=behind)
    if seeds:
        plan = replace(plan, seeds=tuple(seeds))
    return run_experiment(plan, preset=preset, out=out, workers=workers, processes=processes, show=show)


def run_experiment(
    plan: Experiment,
    *,
    preset: str,
    out: Path,
    workers: int | None = None,
    processes: int | None = None,
    show: bool = True,
) -> Results:
    """Run an experiment of one's own in the folder `out`, going on where an earlier call stopped.

    A folder belongs to one experiment: its name, settings, numbers of anchors and poses, occlusions and sizes.  More
    methods and more seeds are no other experiment: what an earlier call finished is read, and stays in the results.

    Args:
        plan: what to run.
        preset: what the results call the sizes of its recipes.
        out: holds `SETTING/data`, `SETTING/METHOD/seed-K/` (the runs), `artefacts/` and `results.json`, which is
            written at the end, or after every fit where many run at once.
        workers: processes that render.
        processes: fits at a time; None: one for each core in an experiment that is made for it, else one.
        show: show progress.

    Raises:
        UserError: the folder holds something else, recordings cannot be read, or `processes` are more than the
            experiment is made for.
        UnfinishedError: a fit failed of several that ran at once; all the others are done, and in the results.
    """
    if processes is not None and processes > 1 and not plan.at_once:
        raise UserError(f"{plan.name} fits one model after the other, each on all cores; leave --processes out")
    if plan.recorded is not None:  # what cannot be read is told before hours of fits, and leaves no folder
        if plan.measures == "factors":
            read_photographs(Path(plan.recorded), max(recipe.shape.image_size for recipe in plan.recipes.values()))
        else:
            read_and_split(Path(plan.recorded), seed=plan.data_seed)
    if any(plan.fits(ARM_ACTIONS, label) for label in plan.recipes if ARM_ACTIONS in plan.anchors):
        find_run(f"{PACKAGED}{ARM_ESTIMATOR}")  # which is begun from, and measured at the end
    claim(out, plan, preset)
    precision = precision_of_fits(out, plan.precision)
    asked = set(product(plan.recipes, plan.seeds))
    listed = sorted(asked | finished(out, plan), key=by_number)
    gather = partial(_gather, plan, preset, out, listed, {})
    failed: list[str] = []
    for setting in plan.anchors:
        if not any(plan.fits(setting, label) for label in plan.recipes):
            continue
        with clocked(out, f"{setting} simulate"):
            film(plan, setting, out, workers, show=show)
        fits = [(label, seed) for label, seed in listed if (label, seed) in asked and plan.fits(setting, label)]
        if plan.at_once:
            try:
                _fit_at_once(plan, out, setting, fits, precision, processes or fits_at_once(), gather, show=show)
            except UnfinishedError as error:  # what is done is shown before
                failed.append(str(error))
            if setting == ARM_ACTIONS:
                _measure_packaged(plan, out)
            continue
        for label, seed in fits:
            (threads,) = threads_of(out, [run_folder(out, setting, label, seed)], torch.get_num_threads())
            with torch_threads(threads):
                one_run(plan, out, setting, label, seed, precision, clock=clocked, show=show)
    found = gather()
    for setting, label, seed in _shown(plan, out, listed, found.model_rows):
        source = run_folder(out, setting, label, seed) / EVALUATION / ARTEFACTS
        if source.exists():
            copy_tree(source, out / ARTEFACTS)
    if failed:
        raise UnfinishedError("; ".join(failed))
    return found


def _fit_at_once(
    plan: Experiment,
    out: Path,
    setting: str,
    fits: Sequence[tuple[str, int]],
    precision: Precision,
    processes: int,
    gather: Callable[[], Results],
    *,
    show: bool,
) -> None:
    """Several fits at a time, each in a process of its own; results are written after each."""
    runs = {fit: run_folder(out, setting, *fit) for fit in fits}
    left = [fit for fit in fits if not is_current(runs[fit] / EVALUATION, runs[fit], plan.precision)]
    # Seed by seed, so that an unfinished study compares methods too; first what learns from most, and ends last.
    left.sort(key=lambda fit: (fit[1], -(getattr(plan.recipe(setting, fit[0]), "anchors", None) or math.inf)))
    if not left:
        return
    if show:
        _say_precisions((runs[fit] for fit in left), precision)
    jobs = [partial(one_run, plan, out, setting, label, seed, precision, show=False) for label, seed in left]
    # Of all fits of the call, not of those that are left: a fit that goes on must not have the threads of others.
    usual = max(1, usable_cores() // min(processes, len(fits)))
    threads = threads_of(out, [runs[fit] for fit in left], usual)
    # Fits that were begun with more threads than are usual here wait for each other: too many threads stand still.
    processes = max(1, min(processes, processes * usual // max(threads)))
    with clocked(out, f"{setting} fits"), progress("models", len(jobs), show=show) as update:
        done = itertools.count(1)

        def done_with(number: int) -> None:
            gather()
            label, seed = left[number]
            update(next(done), f"{label} seed {seed}")

        run_all(jobs, processes=processes, threads=threads, finished=done_with, needs=["ropes.experiments.fits"])


def _say_precisions(runs: Iterable[Path], usual: Precision) -> None:
    """Say once what all fits train in, which say nothing themselves where many run at once."""
    begun = [Run.read(run).precision for run in runs if (run / RUN_FILE).exists()]
    for precision in sorted({usual, *(each for each in begun if each is not None)}):
        say_precision(precision)


def _measure_packaged(plan: Experiment, out: Path) -> None:
    """Ask the packaged estimator of the arm what the deltas of actions are asked, unless this very one was asked."""
    name, run = ARM_ESTIMATOR, find_run(f"{PACKAGED}{ARM_ESTIMATOR}")
    measured = out / ARM_ACTIONS / _MEASURED_PACKAGED / name
    if not is_current(measured, run, plan.precision):
        if measured.exists():  # of another installation's, which may have been fitted on other data
            shutil.rmtree(measured)
        with clocked(out, f"{ARM_ACTIONS} {name} evaluate"):
            rows: dict[str, Any] = {"name": plan.name, "label": f"anchored ({name})", "precision": plan.precision}
            evaluate_estimator(run, out / ARM_ACTIONS / "data", measured, **rows)
    copy_tree(measured / ARTEFACTS, out / ARTEFACTS)


def fits_at_once() -> int:
    """How many small fits end soonest at a time: one a core, and few on a GPU, whose memory they share."""
    return usable_cores() if device_kind() == "cpu" else min(4, usable_cores())


def _gather(
    plan: Experiment,
    preset: str,
    out: Path,
    listed: Sequence[tuple[str, int]],
    known: dict[Path, Results],
) -> Results:
    """Write the results of what is done by now; `known` are those read before."""
    rows: list[Row] = []
    further: dict[str, Any] = dict.fromkeys(FURTHER, ())
    for setting, (label, seed) in product(plan.anchors, listed):
        if not plan.fits(setting, label):
            continue
        run = run_folder(out, setting, label, seed)
        if run not in known:
            if not is_current(run / EVALUATION, run, plan.precision):
                continue
            known[run] = read(run / EVALUATION / RESULTS_FILE)
        rows += known[run].rows
        further = {kind: (*found, *getattr(known[run], kind)) for kind, found in further.items()}
    for path in sorted(out.glob(f"*/{_MEASURED_PACKAGED}/*/{RESULTS_FILE}")):
        found = read(path)
        further |= {kind: (*further[kind], *getattr(found, kind)) for kind in ("action_rows", "fit_rows")}
    of_arms: dict[str, Any] = {"scene": plan.scene, "hiding": "square"} if plan.measures == "joints" else {}
    results = Results(
        name=plan.name,
        preset=preset,
        device=device_name(),
        version=__version__,
        seconds=round(sum(read_json(out / EXPERIMENT_FILE)["seconds"].values()), 1),
        rows=tuple(rows),
        **further,
        **of_arms,
    )
    write(out / RESULTS_FILE, results)
    return results


def _shown(
    plan: Experiment, out: Path, listed: Sequence[tuple[str, int]], models: Sequence[ModelRow]
) -> Iterator[tuple[str, str, int]]:
    """Whose pictures the report shows: of each method the first seed that is done; of the VAEs of finger and cube the
    least, middle and most disentangled.
    """
    if FINGER_CUBE in plan.anchors:
        yield from ((row.setup, row.method, row.seed) for row in by_disentanglement(models))
        return
    for setting in plan.anchors:
        done = [(label, seed) for label, seed in listed if plan.fits(setting, label)]
        runs = {fit: run_folder(out, setting, *fit) for fit in done}
        done = [fit for fit, run in runs.items() if is_current(run / EVALUATION, run, plan.precision)]
        first = dict(reversed(done))
        yield from ((setting, label, seed) for label, seed in first.items())
