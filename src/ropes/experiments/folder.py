"""The folder of an experiment: its record, its finished fits, their threads and times, and its results."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

from ropes import __version__
from ropes.common.files import as_json, check_manifest, copy_tree, ensure_output_folder, read_json, sha256, write_json
from ropes.common.hardware import Precision, RequestedPrecision, device_name, resolve_precision
from ropes.errors import UserError
from ropes.evaluation.record import ARTEFACTS, RESULTS_FILE, is_current
from ropes.evaluation.results import FURTHER, Results, read, write
from ropes.evaluation.rows.kinds import ModelRow, by_disentanglement
from ropes.experiments.plan import Experiment
from ropes.methods.recipes import Recipe, recipe_from_dict, recipe_to_dict
from ropes.methods.registry import METHODS, method_of
from ropes.methods.run import RUN_FILE, Run
from ropes.metrics import PAPER_SIZES
from ropes.models.registry import packaged_folder
from ropes.simulation.settings import FINGER_CUBE

#: Method or variant, and training seed.
Fit = tuple[str, int]
EXPERIMENT_FILE, EVALUATION = "experiment.json", "evaluation"
#: Folder of evaluations on other data sets, in that of a fit; and of packaged estimators, in that of their data set.
TRANSFER_FOLDER, PACKAGED_FOLDER = "transfer", "packaged"


def data_folder(out: Path, dataset: str) -> Path:
    """The folder of a data set."""
    return out / dataset / "data"


def run_folder(out: Path, dataset: str, label: str, seed: int) -> Path:
    """The folder of a fit of a method or variant."""
    return out / dataset / label / f"seed-{seed}"


def transfer_folder(run: Path, dataset: str) -> Path:
    """The folder of a fit's evaluation on the test images of another data set."""
    return run / TRANSFER_FOLDER / dataset


def claim(out: Path, plan: Experiment, preset: str) -> None:
    """Claim `out` for an experiment; methods and seeds may be added later, with one recipe per method.

    Raises:
        UserError: the folder holds something else, another experiment, or a method with another recipe.
    """
    ensure_output_folder(out, EXPERIMENT_FILE)
    description: dict[str, Any] = {"experiment": _description(plan), "preset": preset}
    if plan.full_meshes != (preset == "paper"):
        description["experiment"]["mesh"] = plan.mesh
    fault = "holds another experiment, preset, scene or mesh, or other numbers of images; choose a new --out"
    check_manifest(out / EXPERIMENT_FILE, description, fault)
    content = read_json(out / EXPERIMENT_FILE)
    stored, recipes = (
        content.get("recipes", {}),
        as_json({name: recipe_to_dict(each) for name, each in plan.recipes.items()}),
    )
    for method, recipe in plan.recipes.items():
        if method in stored and not _is_recipe(stored[method], recipe):
            raise UserError(f"{out} holds method {method} by another recipe; choose a new --out")
    if not recipes.keys() <= stored.keys():
        write_json(out / EXPERIMENT_FILE, {**content, "recipes": stored | recipes})


def _is_recipe(stored: dict[str, Any], recipe: Recipe) -> bool:
    """Whether stored JSON is of this recipe; earlier versions stored fewer fields."""
    try:
        return bool(recipe_from_dict(stored, type(recipe)) == recipe)
    except (TypeError, ValueError, UserError):
        return False


def _description(plan: Experiment) -> dict[str, Any]:
    """The entries that identify the experiment of a folder, without methods and seeds."""
    content = asdict(replace(plan, recipes={}, seeds=()))
    derived = (
        *(
            "at_once",
            "camera",
            "chains",
            "colour",
            "filmed",
            "full_meshes",
            "logger",
            "measures",
            "only",
            "own",
            "precision",
            "recorded",
        ),
        *("renderings", "scene", "sizes", "transfers"),
    )
    description = {name: value for name, value in content.items() if name not in derived}
    for name in ("chains", "colour", "filmed", "renderings"):
        if content[name]:
            description[name] = content[name]
    if plan.camera != "clean":
        description["camera"] = plan.camera
    if plan.sizes != PAPER_SIZES:
        description["sizes"] = asdict(plan.sizes)
    if plan.scene != "white":
        description["scene"] = plan.scene
    for name in ("image_size", "labelled"):
        if description[name] is None:
            del description[name]
    return description if plan.recorded is None else {**description, "recorded": _checksums(Path(plan.recorded))}


def _checksums(recorded: Path) -> dict[str, str]:
    """SHA-256 of a file, or of each table in a folder, so that recordings may move."""
    if recorded.is_file():
        return {recorded.name: sha256(recorded)}
    return {path.relative_to(recorded).as_posix(): sha256(path) for path in sorted(recorded.rglob("*.csv"))}


def finished(out: Path, plan: Experiment) -> set[tuple[str, int]]:
    """Methods (and variants) with the seeds that earlier calls have finished on any data set."""
    runs = [
        path.parent.parent
        for dataset in plan.anchors
        for path in (out / dataset).glob(f"*/seed-*/{EVALUATION}/{RESULTS_FILE}")
    ]
    fits = [(run.parent.name, _seed_of(run)) for run in runs]
    return {(label, seed) for label, seed in fits if seed is not None and method_of(label) in METHODS}


def _seed_of(run: Path) -> int | None:
    """The seed in the name of a fit's folder; None for other folders, such as copies."""
    match = re.fullmatch(r"seed-(0|[1-9][0-9]*)", run.name)
    return int(match[1]) if match else None


def by_number(fit: tuple[str, int]) -> tuple[list[str], int]:
    """Sort key of (variant, seed) by the numbers in the variant's name: cnn@5-percent before cnn@10-percent."""
    label, seed = fit
    return [part.zfill(9) if part.isdigit() else part for part in re.split(r"(\d+)", label)], seed


def threads_of(out: Path, runs: Sequence[Path], default: int) -> list[int]:
    """Number of threads of each fit, fixed when the fit begins: the order of a sum depends on it, and so do weights.

    Args:
        out: folder of the experiment, which stores the numbers.
        runs: folders of the fits.
        default: number for fits that begin now.
    """
    content = read_json(out / EXPERIMENT_FILE)
    stored = content.setdefault("threads", {})
    threads = [int(stored.setdefault(run.relative_to(out).as_posix(), default)) for run in runs]
    write_json(out / EXPERIMENT_FILE, content)
    return threads


def precision_of_fits(out: Path, requested: RequestedPrecision) -> Precision:
    """The precision of all fits in a folder, fixed when the folder is created, so that a table has one precision.

    In folders of earlier versions it is the precision of their fits.

    Raises:
        UserError: no such precision, or the folder, or a fit in it, was begun in another.
    """
    precision = resolve_precision(requested)
    folders = [path.parent for path in sorted(out.glob(f"*/*/seed-*/{RUN_FILE}")) if _seed_of(path.parent) is not None]
    begun = {folder: Run.read(folder) for folder in folders}
    for folder, run in begun.items():
        run.require_precision(folder, requested)
    content = read_json(out / EXPERIMENT_FILE)
    of_fits = {run.precision for run in begun.values() if run.precision is not None}
    stored: Precision = content.setdefault("precision", of_fits.pop() if len(of_fits) == 1 else precision)
    if requested not in ("auto", stored):
        raise UserError(f"{out} was begun in {stored}; leave --precision out, or choose another --out")
    write_json(out / EXPERIMENT_FILE, content)
    return stored


@contextmanager
def timed(out: Path, stage: str) -> Iterator[Callable[[], None]]:
    """Add the block's wall time to the stage's, also if the block is interrupted.

    Yields a function that stores the time so far, which a kill then does not lose.
    """
    last = time.monotonic()

    def store() -> None:
        nonlocal last
        now = time.monotonic()
        content = read_json(out / EXPERIMENT_FILE)
        seconds = content.setdefault("seconds", {})
        seconds[stage] = round(seconds.get(stage, 0.0) + now - last, 1)
        write_json(out / EXPERIMENT_FILE, content)
        last = now

    try:
        yield store
    finally:
        store()


def collect_results(
    plan: Experiment, preset: str, out: Path, fits: Sequence[Fit], cache: dict[Path, Results]
) -> Results:
    """Write the results of all finished fits; `cache` holds the results that were read before."""
    parts, devices = [], dict[str, None]()
    for dataset, (label, seed) in product(plan.anchors, fits):
        if not _may_hold(plan, dataset, label):
            continue
        run = run_folder(out, dataset, label, seed)
        if run not in cache:
            if not is_current(run / EVALUATION, run, plan.precision):
                continue
            cache[run] = read(run / EVALUATION / RESULTS_FILE)
        parts.append(cache[run])
        devices[cache[run].device] = None
        parts += _transfers(plan, run)
    parts += _of_packaged(plan, out)
    rows: dict[str, Any] = {
        kind: tuple(row for part in parts for row in getattr(part, kind)) for kind in ("rows", *FURTHER)
    }
    of_arms: dict[str, Any] = {"hiding": "square"} if plan.measures == "joints" else {}
    if plan.measures != "actions" and not plan.renderings and any(map(plan.arm, plan.anchors)):
        of_arms |= {"scene": plan.scene, "mesh": plan.mesh}
    results = Results(
        name=plan.name,
        preset=preset,
        device=" and ".join(devices) or device_name(),
        version=__version__,
        seconds=round(sum(read_json(out / EXPERIMENT_FILE)["seconds"].values()), 1),
        **rows,
        **of_arms,
    )
    write(out / RESULTS_FILE, results)
    return results


def _may_hold(plan: Experiment, dataset: str, label: str) -> bool:
    """Whether a data set may have fits of a method or variant: of this plan, or of methods of earlier calls alone."""
    return label not in plan.recipes or plan.fits(dataset, label)


def _transfers(plan: Experiment, run: Path) -> Iterator[Results]:
    """The finished evaluations of a fit on other data sets; the fit's own evaluation has the row of the fit."""
    for other in plan.anchors:
        folder = transfer_folder(run, other)
        if is_current(folder, run, plan.precision):
            yield replace(read(folder / RESULTS_FILE), fit_rows=())


def _of_packaged(plan: Experiment, out: Path) -> Iterator[Results]:
    """The evaluations of packaged estimators, of the weights that this installation has."""
    for path in sorted(out.glob(f"*/{PACKAGED_FOLDER}/*/{RESULTS_FILE}")):
        if is_current(path.parent, packaged_folder() / path.parent.name, plan.precision):
            yield read(path)


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
            shown = label not in first and _may_hold(plan, dataset, label)
            if shown and is_current(run / EVALUATION, run, plan.precision):
                first[label] = seed
        yield from ((dataset, label, seed) for label, seed in first.items())
