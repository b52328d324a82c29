"""The papers' tables from simulation to results.json: settings × methods × seeds, unattended and resumable."""

import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

from ropes import __version__
from ropes.data.generate import simulate
from ropes.errors import UserError
from ropes.evaluation import ARTEFACTS, RESULTS_FILE, evaluate
from ropes.files import as_json, claim_folder, claim_record, read_json, write_json
from ropes.hardware import device_name
from ropes.methods.fitting import fit
from ropes.methods.run import TRAINING_FILE
from ropes.plans import Experiment, experiment
from ropes.recipes import METHODS, method_of
from ropes.results import FURTHER, Results, Row, read, write
from ropes.settings import panda_setting

EXPERIMENT_FILE, EVALUATION = "experiment.json", "evaluation"


def reproduce(
    name: str,
    *,
    preset: str,
    out: Path,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    show: bool = True,
) -> Results:
    """Run an experiment in the folder `out`, going on where an earlier call stopped.

    More methods and more seeds are no other experiment: what an earlier call finished is read, and stays in the
    results.

    Args:
        name: see `ropes.plans.experiment`.
        preset: "compact" or "paper".
        out: holds `SETTING/data`, `SETTING/METHOD/seed-K/` (the runs), `artefacts/` and, at the end, `results.json`.
        methods: what to fit instead of the experiment's own methods.
        seeds: training seeds instead of the experiment's own.
        workers: processes that render.
        show: show progress.

    Raises:
        UserError: no such experiment or method, or the folder holds something else.
    """
    plan = experiment(name, preset, methods or ())
    if seeds:
        plan = replace(plan, seeds=tuple(seeds))
    _claim(out, plan, preset)
    asked = set(product(plan.recipes, plan.seeds))
    listed = sorted(asked | _finished(out, plan), key=_by_number)
    rows: list[Row] = []
    further: dict[str, tuple[Any, ...]] = dict.fromkeys(FURTHER, ())
    for setting, anchors in plan.anchors.items():
        with _clocked(out, f"{setting} simulate"):
            simulate(
                panda_setting(setting),
                out=out / setting / "data",
                anchors=anchors,
                test_anchors=plan.test_anchors,
                seed=plan.data_seed,
                workers=workers,
                progress=show,
            )
        for label, seed in listed:
            if (label, seed) in asked:
                _one_run(plan, out, setting, label, seed, show=show)
            measured = read(_run(out, setting, label, seed) / EVALUATION / RESULTS_FILE)
            rows += measured.rows
            further = {kind: (*found, *getattr(measured, kind)) for kind, found in further.items()}
        for label, seed in dict(reversed(listed)).items():  # the first seed of each
            shutil.copytree(
                _run(out, setting, label, seed) / EVALUATION / ARTEFACTS, out / ARTEFACTS, dirs_exist_ok=True
            )
    results = Results(
        name=name,
        preset=preset,
        device=device_name(),
        version=__version__,
        seconds=round(sum(read_json(out / EXPERIMENT_FILE)["seconds"].values()), 1),
        rows=tuple(rows),
        **further,
    )
    write(out / RESULTS_FILE, results)
    return results


def _claim(out: Path, plan: Experiment, preset: str) -> None:
    """Make sure that `out` is this experiment's; methods and seeds may be added to it, each method by one recipe."""
    claim_folder(out, EXPERIMENT_FILE)
    described = {"experiment": asdict(replace(plan, recipes={}, seeds=())), "preset": preset}
    claim_record(out / EXPERIMENT_FILE, described, "holds another experiment or preset; choose a new --out")
    content = read_json(out / EXPERIMENT_FILE)
    begun, asked = content.get("recipes", {}), as_json({name: asdict(recipe) for name, recipe in plan.recipes.items()})
    for method, recipe in asked.items():
        if begun.get(method, recipe) != recipe:
            raise UserError(f"{out} holds method {method} by another recipe; choose a new --out")
    if not asked.keys() <= begun.keys():
        write_json(out / EXPERIMENT_FILE, {**content, "recipes": begun | asked})


def _run(out: Path, setting: str, label: str, seed: int) -> Path:
    return out / setting / label / f"seed-{seed}"


def _by_number(labelled: tuple[str, int]) -> tuple[list[str], int]:
    """Order of variants: by the numbers in their names, cnn@5-percent before cnn@10-percent."""
    label, seed = labelled
    return [part.zfill(9) if part.isdigit() else part for part in re.split(r"(\d+)", label)], seed


def _finished(out: Path, plan: Experiment) -> set[tuple[str, int]]:
    """Methods (and variants) with the seeds that an earlier call brought to an end in every setting."""
    found = []
    for setting in plan.anchors:
        runs = [path.parent.parent for path in (out / setting).glob(f"*/seed-*/{EVALUATION}/{RESULTS_FILE}")]
        # Other folders, as somebody's copies, are none of ours.
        numbered = [(run.parent.name, re.fullmatch(r"seed-(0|[1-9][0-9]*)", run.name)) for run in runs]
        found.append({(label, int(seed[1])) for label, seed in numbered if seed and method_of(label) in METHODS})
    return set.intersection(*found)


def _one_run(plan: Experiment, out: Path, setting: str, label: str, seed: int, *, show: bool) -> None:
    data, run = out / setting / "data", _run(out, setting, label, seed)
    with _clocked(out, f"{setting} {label} fit {seed}"):
        method = method_of(label)
        pretrained = _pretrained(plan, out, setting, seed) if method == "jointnet" else None
        fit(data, run, plan.recipes[label], seed, method=method, pretrained=pretrained, show=show)
    measured = run / EVALUATION
    if not _is_current(measured, run):
        with _clocked(out, f"{setting} {label} evaluate {seed}"):
            evaluate(run, data, measured, occlusions=plan.occlusions, name=plan.name, label=label, show=show)


def _pretrained(plan: Experiment, out: Path, setting: str, seed: int) -> Path | None:
    """A finished run of jointnet with this seed, maybe on another share of the labels: its pre-training is the same."""
    runs = (_run(out, setting, label, seed) for label in plan.recipes if method_of(label) == "jointnet")
    return next((run for run in runs if (run / TRAINING_FILE).exists()), None)


def _is_current(measured: Path, run: Path) -> bool:
    """Whether the evaluation was made after the run's last change."""
    results = measured / RESULTS_FILE
    return results.exists() and results.stat().st_mtime_ns >= (run / TRAINING_FILE).stat().st_mtime_ns


@contextmanager
def _clocked(out: Path, stage: str) -> Iterator[None]:
    """Add the seconds spent in the block to the stage's, also when it is interrupted."""
    began = time.monotonic()
    try:
        yield
    finally:
        content = read_json(out / EXPERIMENT_FILE)
        seconds = content.setdefault("seconds", {})
        seconds[stage] = round(seconds.get(stage, 0.0) + time.monotonic() - began, 1)
        write_json(out / EXPERIMENT_FILE, content)
