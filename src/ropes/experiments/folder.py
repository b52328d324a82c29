"""The folder of an experiment: its record, its finished fits, their threads and seconds."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ropes.common.files import as_json, claim_folder, claim_record, read_json, sha256, write_json
from ropes.common.hardware import AskedPrecision, Precision, precision_of
from ropes.errors import UserError
from ropes.evaluation.record import RESULTS_FILE
from ropes.experiments.plan import Experiment
from ropes.methods.recipes import Recipe, recipe_from_dict, recipe_to_dict
from ropes.methods.registry import METHODS, method_of
from ropes.methods.run import RUN_FILE, Run
from ropes.metrics import PAPER_SIZES

EXPERIMENT_FILE, EVALUATION = "experiment.json", "evaluation"


def run_folder(out: Path, setting: str, label: str, seed: int) -> Path:
    """Where the fit of a method or variant lies."""
    return out / setting / label / f"seed-{seed}"


def claim(out: Path, plan: Experiment, preset: str) -> None:
    """Make sure that `out` is this experiment's; methods and seeds may be added to it, each method by one recipe."""
    claim_folder(out, EXPERIMENT_FILE)
    described = {"experiment": _described(plan), "preset": preset}
    claim_record(out / EXPERIMENT_FILE, described, "holds another experiment, preset or scene; choose a new --out")
    content = read_json(out / EXPERIMENT_FILE)
    begun, asked = (
        content.get("recipes", {}),
        as_json({name: recipe_to_dict(recipe) for name, recipe in plan.recipes.items()}),
    )
    for method, recipe in plan.recipes.items():
        if method in begun and not _is_recipe(begun[method], recipe):
            raise UserError(f"{out} holds method {method} by another recipe; choose a new --out")
    if not asked.keys() <= begun.keys():
        write_json(out / EXPERIMENT_FILE, {**content, "recipes": begun | asked})


def _is_recipe(stored: dict[str, Any], recipe: Recipe) -> bool:
    """Whether a recipe was stored, maybe by an earlier version that had fewer fields."""
    try:
        return bool(recipe_from_dict(stored, type(recipe)) == recipe)
    except (TypeError, ValueError, UserError):
        return False


def _described(plan: Experiment) -> dict[str, Any]:
    """What a folder has to agree with; methods and seeds may be added, and the rest follows from the name."""
    content = asdict(replace(plan, recipes={}, seeds=()))
    follows = ("at_once", "full_meshes", "measures", "only", "own", "precision", "recorded", "scene", "sizes")
    described = {name: value for name, value in content.items() if name not in follows}
    if plan.sizes != PAPER_SIZES:
        described["sizes"] = asdict(plan.sizes)
    if plan.scene != "white":
        described["scene"] = plan.scene
    if plan.labelled is None:
        del described["labelled"]
    return described if plan.recorded is None else {**described, "recorded": _checksums(Path(plan.recorded))}


def _checksums(recorded: Path) -> dict[str, str]:
    """SHA-256 of a file, or of each table of a folder: recordings are known by their content, wherever they lie."""
    if recorded.is_file():
        return {recorded.name: sha256(recorded)}
    return {path.relative_to(recorded).as_posix(): sha256(path) for path in sorted(recorded.rglob("*.csv"))}


def finished(out: Path, plan: Experiment) -> set[tuple[str, int]]:
    """Methods (and variants) with the seeds that an earlier call brought to an end in every setting of theirs."""
    found: list[set[tuple[str, int]]] = []
    for setting in plan.anchors:
        runs = [path.parent.parent for path in (out / setting).glob(f"*/seed-*/{EVALUATION}/{RESULTS_FILE}")]
        numbered = [(run.parent.name, _seed_of(run)) for run in runs]
        found.append({(label, seed) for label, seed in numbered if seed is not None and method_of(label) in METHODS})
    ended = set().union(*found)
    asked = list(zip(plan.anchors, found, strict=True))
    return {fit for fit in ended if all(fit in own for setting, own in asked if plan.fits(setting, fit[0]))}


def _seed_of(run: Path) -> int | None:
    """The seed that a folder of a fit is of; None of other folders, as somebody's copies, which are none of ours."""
    named = re.fullmatch(r"seed-(0|[1-9][0-9]*)", run.name)
    return int(named[1]) if named else None


def by_number(labelled: tuple[str, int]) -> tuple[list[str], int]:
    """Order of variants: by the numbers in their names, cnn@5-percent before cnn@10-percent."""
    label, seed = labelled
    return [part.zfill(9) if part.isdigit() else part for part in re.split(r"(\d+)", label)], seed


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


def precision_of_fits(out: Path, asked: AskedPrecision) -> Precision:
    """What the fits of a folder train in, as decided when it was begun, so that one table is of one precision.

    Of a folder that an earlier version began it is that of the fits in it.

    Raises:
        UserError: no such precision, or another one than the folder, or a fit in it, was begun in.
    """
    precision = precision_of(asked)
    folders = [path.parent for path in sorted(out.glob(f"*/*/seed-*/{RUN_FILE}")) if _seed_of(path.parent) is not None]
    begun = {folder: Run.read(folder) for folder in folders}
    for folder, run in begun.items():
        run.require_precision(folder, asked)
    content = read_json(out / EXPERIMENT_FILE)
    found = {run.precision for run in begun.values() if run.precision is not None}
    decided: Precision = content.setdefault("precision", found.pop() if len(found) == 1 else precision)
    if asked not in ("auto", decided):
        raise UserError(f"{out} was begun in {decided}; leave --precision out, or choose another --out")
    write_json(out / EXPERIMENT_FILE, content)
    return decided


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
