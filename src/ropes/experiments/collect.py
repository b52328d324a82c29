"""Collects the results of an experiment's finished fits, and the artefacts that its report shows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from ropes import __version__
from ropes.common.files import copy_tree, read_json
from ropes.common.hardware import device_name
from ropes.evaluation.record import ARTEFACTS, RESULTS_FILE, is_current
from ropes.evaluation.results import FURTHER, Results, read, write
from ropes.evaluation.rows.kinds import ModelRow, by_disentanglement
from ropes.experiments.folder import EVALUATION, EXPERIMENT_FILE, PACKAGED_FOLDER, run_folder, transfer_folder
from ropes.experiments.plan import Experiment
from ropes.simulation.settings import FINGER_CUBE

#: Method or variant, and training seed.
Fit = tuple[str, int]


def collect_results(
    plan: Experiment, preset: str, out: Path, fits: Sequence[Fit], cache: dict[Path, Results]
) -> Results:
    """Write the results of all finished fits; `cache` holds the results that were read before."""
    parts = []
    for dataset, (label, seed) in product(plan.anchors, fits):
        if not plan.fits(dataset, label):
            continue
        run = run_folder(out, dataset, label, seed)
        if run not in cache:
            if not is_current(run / EVALUATION, run, plan.precision):
                continue
            cache[run] = read(run / EVALUATION / RESULTS_FILE)
        parts.append(cache[run])
        parts += _transfers(plan, run)
    parts += [read(path) for path in sorted(out.glob(f"*/{PACKAGED_FOLDER}/*/{RESULTS_FILE}"))]
    rows: dict[str, Any] = {
        kind: tuple(row for part in parts for row in getattr(part, kind)) for kind in ("rows", *FURTHER)
    }
    scene = None if plan.renderings else plan.scene
    of_arms: dict[str, Any] = {"scene": scene, "hiding": "square"} if plan.measures == "joints" else {}
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


def _transfers(plan: Experiment, run: Path) -> Iterator[Results]:
    """The finished evaluations of a fit on other data sets; the fit's own evaluation has the row of the fit."""
    for other in plan.anchors:
        folder = transfer_folder(run, other)
        if is_current(folder, run, plan.precision):
            yield replace(read(folder / RESULTS_FILE), fit_rows=())


def copy_artefacts(plan: Experiment, out: Path, fits: Sequence[Fit], models: Sequence[ModelRow]) -> None:
    """Copy the artefacts of the fits that the report shows."""
    for dataset, label, seed in _featured(plan, out, fits, models):
        source = run_folder(out, dataset, label, seed) / EVALUATION / ARTEFACTS
        if source.exists():
            copy_tree(source, out / ARTEFACTS)


def _featured(
    plan: Experiment, out: Path, fits: Sequence[Fit], models: Sequence[ModelRow]
) -> Iterator[tuple[str, str, int]]:
    """The fits whose pictures the report shows: of each method the first finished seed.

    Of the VAEs of finger-cube, those of lowest, median and highest disentanglement.
    """
    if FINGER_CUBE in plan.anchors:
        yield from ((row.setup, row.method, row.seed) for row in by_disentanglement(models))
        return
    for dataset in plan.anchors:
        first: dict[str, int] = {}
        for label, seed in fits:
            run = run_folder(out, dataset, label, seed)
            if label not in first and plan.fits(dataset, label) and is_current(run / EVALUATION, run, plan.precision):
                first[label] = seed
        yield from ((dataset, label, seed) for label, seed in first.items())
