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
from ropes.common.hardware import (
    Precision,
    RequestedPrecision,
    device_kind,
    device_name,
    report_precision,
    usable_cores,
)
from ropes.common.processes import run_all
from ropes.common.progress import progress
from ropes.data.import_pairs import read_and_split
from ropes.data.photographs import read_photographs
from ropes.errors import UnfinishedError, UserError
from ropes.evaluation.arm_moves import evaluate_estimator
from ropes.evaluation.record import ARTEFACTS, RESULTS_FILE, is_current
from ropes.evaluation.results import FURTHER, Results, read, write
from ropes.evaluation.rows.model import ModelRow, by_disentanglement
from ropes.experiments.datasets import generate_dataset
from ropes.experiments.fits import fit_and_evaluate, torch_threads
from ropes.experiments.folder import (
    EVALUATION,
    EXPERIMENT_FILE,
    by_number,
    claim,
    finished,
    precision_of_fits,
    run_folder,
    threads_of,
    timed,
)
from ropes.experiments.plan import Experiment
from ropes.experiments.plans import experiment
from ropes.methods.run import RUN_FILE, Run
from ropes.models.registry import ARM_ESTIMATOR, PACKAGED, find_run
from ropes.simulation.settings import ARM_ACTIONS, FINGER_CUBE, SceneName

_PACKAGED_FOLDER = "packaged"
_Fit = tuple[str, int]


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
    precision: RequestedPrecision = "auto",
    scene: SceneName | None = None,
    show: bool = True,
) -> Results:
    """Run an experiment of the papers in the folder `out`; an interrupted one resumes.

    Args:
        name: see `ropes.experiments.plans.experiment`.
        preset: "compact" or "paper".
        out: see `run_experiment`.
        methods: methods to fit instead of the experiment's own.
        seeds: training seeds instead of the experiment's own.
        workers: number of rendering processes.
        processes: see `run_experiment`.
        recorded: for causal-triplet, its original files, to train on instead of simulated data; for disentanglement,
            photographs to test on as well.
        precision: precision of training and evaluation; for "auto" see `precision_of_fits` and
            `ropes.methods.readers.load_reader`.
        scene: background of arms, see `ropes.simulation.settings.SceneName`; None for panda-gym's, as in the ROPES
            paper.
        show: show progress.

    Raises:
        UserError: no such experiment or method, or see `run_experiment`.
        UnfinishedError: see `run_experiment`.
    """
    has_arms = name not in ("delta-options", "disentanglement", "hold-outs") and recorded is None
    if scene is not None and not has_arms:
        raise UserError("this experiment renders no arm; leave --scene out")
    background: SceneName = scene or ("panda-gym" if has_arms else "white")
    plan = replace(experiment(name, preset, methods or (), recorded=recorded), precision=precision, scene=background)
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
    """Run any experiment in the folder `out`; an interrupted one resumes.

    A folder belongs to one experiment: its name, settings, numbers of anchors and poses, occlusions and sizes.  Methods
    and seeds may be added: finished fits of earlier calls stay in the results.

    Args:
        plan: configuration of the experiment.
        preset: name of the preset in the results.
        out: folder for `SETTING/data`, `SETTING/METHOD/seed-K/` (the runs), `artefacts/` and `results.json`, which is
            written at the end, or after every fit if several run at once.
        workers: number of rendering processes.
        processes: number of parallel fits; None for one per core if the experiment allows it, otherwise one.
        show: show progress.

    Raises:
        UserError: the folder holds something else, recordings cannot be read, or `processes` exceeds what the
            experiment allows.
        UnfinishedError: one of several parallel fits failed; all others are finished, and in the results.
    """
    if processes is not None and processes > 1 and not plan.at_once:
        raise UserError(f"{plan.name} fits one model after the other, each on all cores; leave --processes out")
    if plan.recorded is not None:  # fail before hours of fits, and before the folder is created
        if plan.measures == "factors":
            read_photographs(Path(plan.recorded), max(recipe.shape.image_size for recipe in plan.recipes.values()))
        else:
            read_and_split(Path(plan.recorded), seed=plan.data_seed)
    if any(plan.fits(ARM_ACTIONS, label) for label in plan.recipes if ARM_ACTIONS in plan.anchors):
        find_run(f"{PACKAGED}{ARM_ESTIMATOR}")  # needed for a pretrained method, and evaluated at the end
    claim(out, plan, preset)
    precision = precision_of_fits(out, plan.precision)
    requested = set(product(plan.recipes, plan.seeds))
    fits = sorted(requested | finished(out, plan), key=by_number)
    collect = partial(_collect_results, plan, preset, out, fits, {})
    failures: list[str] = []
    for setting in plan.anchors:
        if not any(plan.fits(setting, label) for label in plan.recipes):
            continue
        with timed(out, f"{setting} simulate"):
            generate_dataset(plan, setting, out, workers, show=show)
        due = [(label, seed) for label, seed in fits if (label, seed) in requested and plan.fits(setting, label)]
        if plan.at_once:
            try:
                _fit_at_once(plan, out, setting, due, precision, processes or fits_at_once(), collect, show=show)
            except UnfinishedError as error:  # raised after the results of the other fits are written
                failures.append(str(error))
            if setting == ARM_ACTIONS:
                _evaluate_packaged(plan, out)
            continue
        for label, seed in due:
            (threads,) = threads_of(out, [run_folder(out, setting, label, seed)], torch.get_num_threads())
            with torch_threads(threads):
                fit_and_evaluate(plan, out, setting, label, seed, precision, timer=timed, show=show)
    results = collect()
    for setting, label, seed in _featured(plan, out, fits, results.model_rows):
        source = run_folder(out, setting, label, seed) / EVALUATION / ARTEFACTS
        if source.exists():
            copy_tree(source, out / ARTEFACTS)
    if failures:
        raise UnfinishedError("; ".join(failures))
    return results


def _fit_at_once(
    plan: Experiment,
    out: Path,
    setting: str,
    fits: Sequence[_Fit],
    precision: Precision,
    processes: int,
    collect: Callable[[], Results],
    *,
    show: bool,
) -> None:
    """Run several fits in parallel, one process each; results are written after each."""
    runs = {fit: run_folder(out, setting, *fit) for fit in fits}
    due = [fit for fit in fits if not is_current(runs[fit] / EVALUATION, runs[fit], plan.precision)]
    # By seed, so that an unfinished study already compares methods; the fits on most anchors, the slowest, come first.
    due.sort(key=lambda fit: (fit[1], -(getattr(plan.recipe(setting, fit[0]), "anchors", None) or math.inf)))
    if not due:
        return
    if show:
        _say_precisions((runs[fit] for fit in due), precision)
    jobs = [partial(fit_and_evaluate, plan, out, setting, label, seed, precision, show=False) for label, seed in due]
    # Threads per fit follow from all fits of the call, not from those still due: a resumed fit keeps its threads.
    default = max(1, usable_cores() // min(processes, len(fits)))
    threads = threads_of(out, [runs[fit] for fit in due], default)
    # Fits that began with more threads than the default run fewer at a time, so that threads do not exceed the cores.
    processes = max(1, min(processes, processes * default // max(threads)))
    with timed(out, f"{setting} fits"), progress("models", len(jobs), show=show) as update:
        count = itertools.count(1)

        def report(number: int) -> None:
            collect()
            label, seed = due[number]
            update(next(count), f"{label} seed {seed}")

        run_all(jobs, processes=processes, threads=threads, finished=report, needs=["ropes.experiments.fits"])


def _say_precisions(runs: Iterable[Path], default: Precision) -> None:
    """Print the precision of parallel fits once, since they print nothing themselves."""
    begun = [Run.read(run).precision for run in runs if (run / RUN_FILE).exists()]
    for precision in sorted({default, *(each for each in begun if each is not None)}):
        report_precision(precision)


def _evaluate_packaged(plan: Experiment, out: Path) -> None:
    """Evaluate the deltas of the packaged estimator of the arm, unless its evaluation is current."""
    run = find_run(f"{PACKAGED}{ARM_ESTIMATOR}")
    evaluation = out / ARM_ACTIONS / _PACKAGED_FOLDER / ARM_ESTIMATOR
    if not is_current(evaluation, run, plan.precision):
        if evaluation.exists():  # of the packaged estimator of another installation
            shutil.rmtree(evaluation)
        with timed(out, f"{ARM_ACTIONS} {ARM_ESTIMATOR} evaluate"):
            label = f"anchored ({ARM_ESTIMATOR})"
            options: dict[str, Any] = {"name": plan.name, "label": label, "precision": plan.precision}
            evaluate_estimator(run, out / ARM_ACTIONS / "data", evaluation, **options)
    copy_tree(evaluation / ARTEFACTS, out / ARTEFACTS)


def fits_at_once() -> int:
    """Number of parallel small fits: one per core, at most four on a GPU, whose memory they share."""
    return usable_cores() if device_kind() == "cpu" else min(4, usable_cores())


def _collect_results(
    plan: Experiment, preset: str, out: Path, fits: Sequence[_Fit], cache: dict[Path, Results]
) -> Results:
    """Write the results of all finished fits; `cache` holds the results that were read before."""
    parts = []
    for setting, (label, seed) in product(plan.anchors, fits):
        if not plan.fits(setting, label):
            continue
        run = run_folder(out, setting, label, seed)
        if run not in cache:
            if not is_current(run / EVALUATION, run, plan.precision):
                continue
            cache[run] = read(run / EVALUATION / RESULTS_FILE)
        parts.append(cache[run])
    parts += [read(path) for path in sorted(out.glob(f"*/{_PACKAGED_FOLDER}/*/{RESULTS_FILE}"))]
    rows: dict[str, Any] = {
        kind: tuple(row for part in parts for row in getattr(part, kind)) for kind in ("rows", *FURTHER)
    }
    of_arms: dict[str, Any] = {"scene": plan.scene, "hiding": "square"} if plan.measures == "joints" else {}
    results = Results(
        name=plan.name,
        preset=preset,
        device=device_name(),
        version=__version__,
        seconds=round(sum(read_json(out / EXPERIMENT_FILE)["seconds"].values()), 1),
        **rows,
        **of_arms,
    )
    write(out / RESULTS_FILE, results)
    return results


def _featured(
    plan: Experiment, out: Path, fits: Sequence[_Fit], models: Sequence[ModelRow]
) -> Iterator[tuple[str, str, int]]:
    """The fits whose pictures the report shows: of each method the first finished seed.

    Of the VAEs of finger-cube, those of lowest, median and highest disentanglement.
    """
    if FINGER_CUBE in plan.anchors:
        yield from ((row.setup, row.method, row.seed) for row in by_disentanglement(models))
        return
    for setting in plan.anchors:
        first: dict[str, int] = {}
        for label, seed in fits:
            run = run_folder(out, setting, label, seed)
            if label not in first and plan.fits(setting, label) and is_current(run / EVALUATION, run, plan.precision):
                first[label] = seed
        yield from ((setting, label, seed) for label, seed in first.items())
