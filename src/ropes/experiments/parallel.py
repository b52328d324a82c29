"""Runs the fits of an experiment at once: in processes of this machine, or on the nodes of a cluster."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import torch

from ropes import __version__
from ropes.common.cluster import Cluster
from ropes.common.hardware import Precision, device_kind, report_precision, usable_cores
from ropes.common.jobs import Job
from ropes.common.processes import run_all
from ropes.common.progress import progress
from ropes.evaluation.record import is_current
from ropes.evaluation.results import Results
from ropes.experiments.fits import density_ratios, fit_and_evaluate
from ropes.experiments.folder import EVALUATION, run_folder, threads_of, timed
from ropes.experiments.plan import Experiment
from ropes.methods.registry import method_named, method_of
from ropes.methods.run import RUN_FILE, Run

#: Data set, method or variant, and training seed of a fit.
FitOfData = tuple[str, str, int]


def fit_at_once(
    plan: Experiment,
    out: Path,
    fits: Sequence[FitOfData],
    precision: Precision,
    collect: Callable[[FitOfData], Results],
    *,
    processes: int | None,
    cluster: Cluster | None,
    gpus: float | None,
    show: bool,
) -> None:
    """Run several fits at once, each in its own process, after the one whose first stages it shares.

    Results, and the seconds so far, are written after each fit.  Fits that this version has finished and evaluated are
    left out; those of another version train again what has changed since.

    Args:
        plan: the experiment.
        out: its folder; an absolute path where there is a cluster.
        fits: the fits, on data sets that are complete.
        precision: of fits that begin now.
        collect: writes the results, after a fit.
        processes: number of processes; None for `fits_at_once`.
        cluster: where to run the fits; None for this machine.
        gpus: share of a GPU, or number of GPUs, of each fit on a cluster; None for 1 if the cluster has GPUs.
        show: show progress.

    Raises:
        UnfinishedError: some fits failed; all others are finished.
    """
    # By seed, so that an unfinished study already compares methods; the fits on most anchors, the slowest, come first.
    fits = sorted(fits, key=lambda fit: (fit[2], -(getattr(plan.recipe(*fit[:2]), "anchors", None) or math.inf)))
    runs = {fit: run_folder(out, *fit) for fit in fits}
    due = [fit for fit in fits if not _is_done(plan, fit, runs[fit])]
    if not due:
        return
    if show and cluster is None:
        report_precisions((runs[fit] for fit in due), precision)
    earlier = _earlier(plan, fits)
    # Threads per fit follow from all fits of the call, not from those still due: a resumed fit keeps its threads.
    if cluster is None:
        processes = processes or fits_at_once()
        at_once = len(set(fits) - set(earlier.values()))  # those that no other waits for
        # As many threads as torch would give a fit that runs alone, which OMP_NUM_THREADS limits, or fewer.
        default = max(1, min(torch.get_num_threads(), usable_cores() // min(processes, at_once)))
    else:
        gpus = min(cluster.gpus, 1) if gpus is None else gpus
        default = cluster.threads(len(fits) if plan.at_once else 1, gpus)
    threads = threads_of(out, [runs[fit] for fit in due], default)
    numbers: dict[FitOfData | None, int] = {fit: number for number, fit in enumerate(due)}
    jobs = []
    for fit, own in zip(due, threads, strict=True):
        call = partial(fit_and_evaluate, plan, out, *fit, precision, show=False)
        jobs.append(Job(call, own, _named(fit), after=numbers.get(earlier.get(fit))))
    datasets = list(dict.fromkeys(dataset for dataset, _, _ in fits))
    with timed(out, f"{', '.join(datasets)} fits") as store, progress("models", len(due), show=show) as update:
        count = itertools.count(1)

        def report(number: int) -> None:
            store()
            collect(due[number])
            update(next(count), jobs[number].name)

        if cluster is not None:
            assert gpus is not None
            cluster.run_all(jobs, finished=report, gpus=gpus)
            return
        assert processes is not None
        # Fits that began with more threads than the default run fewer at a time: threads do not exceed the cores.
        processes = max(1, min(processes, processes * default // max(threads)))
        run_all(jobs, processes=processes, finished=report, needs=["ropes.experiments.fits"])


def _is_done(plan: Experiment, fit: FitOfData, folder: Path) -> bool:
    """Whether this version has finished a fit with the plan's recipe, and its evaluation is current."""
    if not is_current(folder / EVALUATION, folder, plan.precision):
        return False
    run = Run.read(folder)
    return run.version == __version__ and run.recipe == plan.recipe(*fit[:2])


def _earlier(plan: Experiment, fits: Sequence[FitOfData]) -> dict[FitOfData, FitOfData]:
    """For fits that reuse stages of another one, the fit that they wait for, so that each stage is trained once.

    On a data set with one seed, fits of a method with a shared first stage wait for the first of them, and for the
    first that has their density ratios.
    """
    firsts: dict[tuple[object, ...], FitOfData] = {}
    earlier = {}
    for fit in fits:
        dataset, label, seed = fit
        if method_named(method_of(label)).pretrained:
            stages = dataset, method_of(label), seed
            first = firsts.setdefault(stages, fit)
            nearest = firsts.setdefault((*stages, density_ratios(plan, dataset, label)), fit)
            if (other := first if nearest == fit else nearest) != fit:
                earlier[fit] = other
    return earlier


def _named(fit: FitOfData) -> str:
    dataset, label, seed = fit
    return f"{dataset} {label} seed {seed}"


def report_precisions(runs: Iterable[Path], default: Precision) -> None:
    """Print each precision of parallel fits once on standard error, since they print nothing themselves.

    Args:
        runs: folders of the fits' runs; those that exist keep the precision that they began with.
        default: precision of the others.
    """
    begun = [Run.read(run).precision for run in runs if (run / RUN_FILE).exists()]
    for precision in sorted({default, *(each for each in begun if each is not None)}):
        report_precision(precision)


def fits_at_once() -> int:
    """Number of parallel small fits: one per core, at most four on a GPU, whose memory they share."""
    return usable_cores() if device_kind() == "cpu" else min(4, usable_cores())
