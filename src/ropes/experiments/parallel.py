"""Runs the fits of an experiment at once: in processes of this machine, or on the nodes of a cluster."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from ropes.common.cluster import Cluster
from ropes.common.hardware import Precision, device_kind, report_precision, usable_cores
from ropes.common.processes import run_all, use_threads
from ropes.common.progress import progress
from ropes.errors import UserError
from ropes.evaluation.record import is_current
from ropes.evaluation.results import Results
from ropes.experiments.fits import fit_and_evaluate
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
    collect: Callable[[], Results],
    *,
    processes: int | None,
    cluster: Cluster | None,
    gpus: float | None,
    show: bool,
) -> None:
    """Run several fits at once, each in its own process, or in order where they share their first stages.

    Results are written after each process.

    Args:
        plan: the experiment.
        out: its folder; an absolute path where there is a cluster.
        fits: the fits, on data sets that are complete; finished, current ones are left out.
        precision: of fits that begin now.
        collect: writes the results.
        processes: number of processes; None for `fits_at_once`.
        cluster: where to run the fits; None for this machine.
        gpus: share of a GPU, or number of GPUs, of each fit on a cluster; None for 1 if the cluster has GPUs.
        show: show progress.

    Raises:
        UnfinishedError: some fits failed; all others are finished.
    """
    runs = {fit: run_folder(out, *fit) for fit in fits}
    due = [fit for fit in fits if not is_current(runs[fit] / EVALUATION, runs[fit], plan.precision)]
    # By seed, so that an unfinished study already compares methods; the fits on most anchors, the slowest, come first.
    due.sort(key=lambda fit: (fit[2], -(getattr(plan.recipe(*fit[:2]), "anchors", None) or math.inf)))
    if not due:
        return
    if show and cluster is None:
        report_precisions((runs[fit] for fit in due), precision)
    calls = {fit: partial(fit_and_evaluate, plan, out, *fit, precision, show=False) for fit in due}
    # Threads per fit follow from all fits of the call, not from those still due: a resumed fit keeps its threads.
    if cluster is None:
        processes = processes or fits_at_once()
        default = max(1, usable_cores() // min(processes, len(_groups(plan, fits))))
    else:
        gpus = min(cluster.gpus, 1) if gpus is None else gpus
        default = cluster.threads(len(fits) if plan.at_once else 1, gpus)
    threads = dict(zip(due, threads_of(out, [runs[fit] for fit in due], default), strict=True))
    groups = _groups(plan, due)
    jobs = [partial(_in_order, [(_named(fit), calls[fit], threads[fit]) for fit in group]) for group in groups]
    datasets = list(dict.fromkeys(dataset for dataset, _, _ in fits))
    with timed(out, f"{', '.join(datasets)} fits"), progress("models", len(due), show=show) as update:
        count = itertools.count(1)

        def report(number: int) -> None:
            collect()
            for fit in groups[number]:
                update(next(count), _named(fit))

        most = [max(threads[fit] for fit in group) for group in groups]
        if cluster is not None:
            assert gpus is not None
            cluster.run_all(jobs, threads=most, finished=report, gpus=gpus)
            return
        assert processes is not None
        # Fits that began with more threads than the default run fewer at a time: threads do not exceed the cores.
        processes = max(1, min(processes, processes * default // max(most)))
        run_all(jobs, processes=processes, threads=most, finished=report, needs=["ropes.experiments.fits"])


def _groups(plan: Experiment, fits: Sequence[FitOfData]) -> list[list[FitOfData]]:
    """The fits that run one after the other.

    Fits of a data set, method and seed that share their first stages, so that these are trained once; in experiments of
    small fits every fit is alone.
    """
    groups: dict[FitOfData, list[FitOfData]] = {}
    for dataset, label, seed in fits:
        shares = not plan.at_once and method_named(method_of(label)).pretrained
        group = dataset, method_of(label) if shares else label, seed
        groups.setdefault(group, []).append((dataset, label, seed))
    return list(groups.values())


def _named(fit: FitOfData) -> str:
    dataset, label, seed = fit
    return f"{dataset} {label} seed {seed}"


def _in_order(calls: Sequence[tuple[str, Callable[[], None], int]]) -> None:
    """Run named calls one after the other, each with its number of threads.

    Raises:
        UserError: the first fault of a call; the calls after it have run.
    """
    faults: list[UserError] = []
    for name, call, threads in calls:
        use_threads(threads)
        try:
            call()
        except UserError as error:
            faults.append(UserError(f"{name}: {error}"))
    if faults:
        raise faults[0]


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
