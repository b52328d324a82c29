"""Runs an experiment from simulation to results.json: data sets × methods × seeds, resumable."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch

from ropes.common.cluster import Cluster
from ropes.common.files import copy_tree
from ropes.common.hardware import RequestedPrecision
from ropes.data.import_pairs import read_and_split
from ropes.data.mpi3d import open_grid
from ropes.data.photographs import read_photographs
from ropes.errors import UnfinishedError, UserError, require_name
from ropes.evaluation.arm_moves import evaluate_estimator
from ropes.evaluation.record import ARTEFACTS, is_current
from ropes.evaluation.results import Results
from ropes.experiments.datasets import generate_dataset, require_renderers
from ropes.experiments.fits import evaluate_transfers, fit_and_evaluate, torch_threads
from ropes.experiments.folder import (
    EVALUATION,
    PACKAGED_FOLDER,
    by_number,
    claim,
    collect_results,
    copy_artefacts,
    data_folder,
    finished,
    precision_of_fits,
    run_folder,
    threads_of,
    timed,
)
from ropes.experiments.parallel import FitOfData, fit_at_once
from ropes.experiments.plan import Experiment
from ropes.experiments.plans import experiment
from ropes.methods.registry import method_of
from ropes.methods.training.run_log import LoggerName, require_logger
from ropes.models.registry import ARM_ESTIMATOR, PACKAGED, find_run
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.scene import Mesh
from ropes.simulation.settings import ARM_ACTIONS, MPI3D
from ropes.simulation.workers import Workers


def reproduce(
    name: str,
    *,
    preset: str,
    out: Path,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    settings: Sequence[str] | None = None,
    workers: Workers = None,
    processes: int | None = None,
    gpus_per_fit: float | None = None,
    recorded: Path | None = None,
    precision: RequestedPrecision = "auto",
    logger: LoggerName | None = None,
    scene: SceneName | None = None,
    mesh: Mesh | None = None,
    trial: bool = False,
    show: bool = True,
) -> Results:
    """Run an experiment of the papers in the folder `out`; an interrupted one resumes.

    Args:
        name: see `ropes.experiments.plans.experiment`.
        preset: "compact" or "paper".
        out: see `run_experiment`.
        methods: methods to fit instead of the experiment's own, with all of their variants; or METHOD@VARIANT.
        seeds: training seeds instead of the experiment's own.
        settings: settings to run now, among those of the experiment; None for all.
        workers: see `run_experiment`.
        processes: see `run_experiment`.
        gpus_per_fit: see `run_experiment`.
        recorded: for causal-triplet, its original files, to train on instead of simulated data; for disentanglement,
            photographs to test on as well; for mpi3d, its file.
        precision: precision of training and evaluation; for "auto" see `precision_of_fits` and
            `ropes.methods.readers.load_reader`.
        logger: of every fit, see `ropes.methods.fit.fit`.
        scene: background of arms, see `ropes.simulation.backgrounds`; None for panda-gym's, as in the ROPES
            paper.
        mesh: visual meshes of arms, None for full ones with preset "paper" and simplified ones otherwise.
        trial: run `Experiment.trial` instead, with 1% of the data.
        show: show progress.

    Raises:
        UserError: no such experiment, method, variant or setting, a logger that is not installed, or see
            `run_experiment`.
        UnfinishedError: see `run_experiment`.
    """
    if logger is not None:
        require_logger(logger)  # before hours of simulation
    has_arms = name not in ("delta-options", "disentanglement", "hold-outs", MPI3D) and recorded is None
    if scene is not None and not has_arms:
        raise UserError("this experiment renders no arm; leave --scene out")
    if mesh is not None and not has_arms:
        raise UserError("this experiment renders no arm; leave --mesh out")
    if trial and recorded is not None and name != MPI3D:
        raise UserError("a trial is of simulated data; leave --trial or --data out")
    families = tuple(dict.fromkeys(method_of(each) for each in methods or ()))
    plan = replace(experiment(name, preset, families, recorded=recorded), precision=precision, logger=logger)
    if scene is not None and plan.renderings:
        raise UserError(f"{name} has a scene for each renderer; leave --scene out")
    if has_arms and not plan.renderings:
        plan = replace(plan, scene=scene or "panda-gym")
    if mesh is not None:
        plan = replace(plan, full_meshes=mesh == "full")
    plan = plan.trial() if trial else plan
    if seeds:
        plan = replace(plan, seeds=tuple(seeds))
    for setting in settings or ():
        require_name(setting, tuple(plan.anchors), "setting of this experiment")
    variants = _requested(plan, methods or ())
    options: dict[str, Any] = {"workers": workers, "processes": processes, "show": show, "gpus_per_fit": gpus_per_fit}
    return run_experiment(plan, preset=preset, out=out, variants=variants, settings=settings, **options)


def _requested(plan: Experiment, methods: Sequence[str]) -> list[str]:
    """The requested methods and variants; all of the plan's if none is requested.

    Raises:
        UserError: the experiment has no such variant.
    """
    for each in methods:
        if "@" in each:
            require_name(each, tuple(plan.recipes), "variant of this experiment")
    return [label for label in plan.recipes if not methods or {label, method_of(label)} & set(methods)]


def run_experiment(
    plan: Experiment,
    *,
    preset: str,
    out: Path,
    variants: Sequence[str] | None = None,
    settings: Sequence[str] | None = None,
    workers: Workers = None,
    processes: int | None = None,
    gpus_per_fit: float | None = None,
    show: bool = True,
) -> Results:
    """Run any experiment in the folder `out`; an interrupted one resumes.

    A folder belongs to one experiment: its name, data sets, numbers of anchors and poses, occlusions and sizes.
    Methods, seeds and settings may be added: finished fits of earlier calls stay in the results.

    Args:
        plan: configuration of the experiment.
        preset: name of the preset in the results.
        out: folder for `DATASET/data`, `DATASET/METHOD/seed-K/` (the runs), `artefacts/` and `results.json`, which is
            written after every fit.
        variants: methods and variants to fit now; None for all.
        settings: data sets to run now; None for all.  Only calls for all evaluate the plan's `transfers`.
        workers: number of rendering processes; or a cluster that renders, and fits several models at a time: its nodes
            must see `out` at the same path.
        processes: number of parallel fits, which share the cores; None for one per core in experiments of small fits,
            otherwise one.
        gpus_per_fit: on a cluster, share of a GPU or number of GPUs of each fit; None for 1 if the cluster has GPUs.
        show: show progress.

    Raises:
        UserError: the folder holds something else, recordings cannot be read, a renderer is missing, no variant is
            fitted on the data sets to run, or a node of the cluster does not see the folder.
        UnfinishedError: one of several parallel fits failed; all others are finished, and in the results.
    """
    if MPI3D in plan.anchors and plan.recorded is None:
        raise UserError("mpi3d is of photographs; give --data mpi3d_real.npz (docs/photographs.md)")
    if plan.recorded is not None:  # fail before hours of fits, and before the folder is created
        if MPI3D in plan.anchors:
            open_grid(Path(plan.recorded))
        elif plan.measures == "factors":
            read_photographs(Path(plan.recorded), max(recipe.shape.image_size for recipe in plan.recipes.values()))
        else:
            read_and_split(Path(plan.recorded), seed=plan.data_seed)
    cluster = workers if isinstance(workers, Cluster) else None
    if cluster is None and gpus_per_fit is not None:
        raise UserError("GPUs of each fit are of fits on a cluster; leave --gpus-per-fit out, or give --on")
    if cluster is not None:
        out, recorded = out.absolute(), plan.recorded
        plan = replace(plan, recorded=None if recorded is None else str(Path(recorded).absolute()))
    labels = list(plan.recipes if variants is None else variants)
    datasets = [each for each in settings or plan.anchors if any(plan.fits(each, label) for label in labels)]
    if not datasets:
        raise UserError(f"{', '.join(labels)} is not fitted on {', '.join(settings or plan.anchors)}; choose others")
    if not settings:
        datasets += plan.read_elsewhere()
    if ARM_ACTIONS in datasets:
        find_run(f"{PACKAGED}{ARM_ESTIMATOR}")  # needed for a pretrained method, and evaluated at the end
    require_renderers(plan, datasets)
    if cluster is not None:
        cluster.require_folder(out)
        if plan.recorded is not None:
            cluster.require_same(Path(plan.recorded).exists, plan.recorded)
    claim(out, plan, preset)
    precision = precision_of_fits(out, plan.precision)
    requested = set(product(labels, plan.seeds))
    fits = sorted(requested | finished(out, plan), key=by_number)
    cache: dict[Path, Results] = {}
    collect = partial(collect_results, plan, preset, out, fits, cache)

    def collect_after(fit: FitOfData) -> Results:
        cache.pop(run_folder(out, *fit), None)  # a stage of it may have been trained again
        return collect()

    at_once: list[FitOfData] | None = [] if plan.at_once or cluster is not None or (processes or 1) > 1 else None
    for dataset in datasets:
        with timed(out, f"{dataset} simulate"):
            parallel = at_once is not None and cluster is None
            generate_dataset(plan, dataset, out, workers, parallel=parallel, show=show)
        due = [(label, seed) for label, seed in fits if (label, seed) in requested and plan.fits(dataset, label)]
        if at_once is not None:
            at_once += [(dataset, *fit) for fit in due]
            continue
        for label, seed in due:
            with torch_threads(_threads(out, dataset, label, seed)):
                fit_and_evaluate(plan, out, dataset, label, seed, precision, timer=timed, show=show)
            collect_after((dataset, label, seed))
    failed: UnfinishedError | None = None
    if at_once is not None:
        try:
            given: dict[str, Any] = {"processes": processes, "cluster": cluster, "gpus": gpus_per_fit, "show": show}
            fit_at_once(plan, out, at_once, precision, collect_after, **given)
        except UnfinishedError as error:  # raised after the results of the other fits are written
            cache.clear()  # a fit that failed on the way may have had results of an earlier version
            failed = error
    if ARM_ACTIONS in datasets:
        evaluate_packaged(plan, out)
    for dataset, (label, seed) in product(() if settings else plan.transfers, fits):  # whose images are complete now
        run = run_folder(out, dataset, label, seed)
        if label in plan.transfers[dataset] and is_current(run / EVALUATION, run, plan.precision):
            with torch_threads(_threads(out, dataset, label, seed)):
                evaluate_transfers(plan, out, dataset, label, seed, timer=timed)
    results = collect()
    copy_artefacts(plan, out, fits, results.model_rows)
    if failed is not None:
        raise failed
    return results


def _threads(out: Path, dataset: str, label: str, seed: int) -> int:
    """Number of threads of a fit that runs alone."""
    (threads,) = threads_of(out, [run_folder(out, dataset, label, seed)], torch.get_num_threads())
    return threads


def evaluate_packaged(plan: Experiment, out: Path) -> None:
    """Evaluate the deltas of the packaged estimator of the arm, unless its evaluation is current.

    Args:
        plan: experiment with the data set `arm-actions`.
        out: folder of the experiment, which receives the evaluation and its artefacts.
    """
    run = find_run(f"{PACKAGED}{ARM_ESTIMATOR}")
    evaluation = out / ARM_ACTIONS / PACKAGED_FOLDER / ARM_ESTIMATOR
    if not is_current(evaluation, run, plan.precision):
        if evaluation.exists():  # of the packaged estimator of another installation
            shutil.rmtree(evaluation)
        with timed(out, f"{ARM_ACTIONS} {ARM_ESTIMATOR} evaluate"):
            label = f"anchored ({ARM_ESTIMATOR})"
            options: dict[str, Any] = {"name": plan.name, "label": label, "precision": plan.precision}
            evaluate_estimator(run, data_folder(out, ARM_ACTIONS), evaluation, **options)
    copy_tree(evaluation / ARTEFACTS, out / ARTEFACTS)
