"""The papers' tables from simulation to results.json: settings × training seeds, unattended and resumable."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from ropes import __version__
from ropes.data.generate import simulate
from ropes.evaluation import RESULTS_FILE, evaluate
from ropes.files import claim_folder, claim_record, read_json, write_json
from ropes.hardware import device_name
from ropes.methods.ropes import fit
from ropes.methods.run import TRAINING_FILE
from ropes.plans import Experiment, experiment
from ropes.pose_rows import PoseRow
from ropes.results import Results, Row, read, write
from ropes.settings import panda_setting
from ropes.trust_rows import TrustRow

EXPERIMENT_FILE = "experiment.json"


def reproduce(
    name: str,
    *,
    preset: str,
    out: Path,
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    show: bool = True,
) -> Results:
    """Run an experiment in the folder `out`, going on where an earlier call stopped.

    Args:
        name: "demo" or "table1".
        preset: "compact" or "paper".
        out: holds `SETTING/data`, `SETTING/seed-K/` (the runs), `artefacts/` and, at the end, `results.json`.
        seeds: training seeds instead of the experiment's own.
        workers: processes that render.
        show: show progress.

    Raises:
        UserError: no such experiment, or the folder holds something else.
    """
    plan = experiment(name, preset)
    if seeds:
        plan = replace(plan, seeds=tuple(seeds))
    claim_folder(out, EXPERIMENT_FILE)
    described = {"experiment": asdict(replace(plan, seeds=()))}  # more seeds are no other experiment
    claim_record(out / EXPERIMENT_FILE, described, "holds another experiment or preset; choose a new --out")
    asked = plan.seeds
    plan = replace(plan, seeds=tuple(sorted({*asked, *_finished_seeds(out, plan)})))
    rows: list[Row] = []
    trust_rows: list[TrustRow] = []
    pose_rows: list[PoseRow] = []
    for setting, anchors in plan.anchors.items():
        data = out / setting / "data"
        with _clocked(out, f"{setting} simulate"):
            simulate(
                panda_setting(setting),
                out=data,
                anchors=anchors,
                test_anchors=plan.test_anchors,
                seed=plan.data_seed,
                workers=workers,
                progress=show,
            )
        for seed in plan.seeds:
            if seed in asked:
                _one_seed(plan, out, setting, seed, show=show)
            measured = read(out / setting / f"seed-{seed}" / "evaluation" / RESULTS_FILE)
            rows += measured.rows
            trust_rows += measured.trust_rows
            pose_rows += measured.pose_rows
    results = Results(
        name=name,
        preset=preset,
        device=device_name(),
        version=__version__,
        seconds=round(sum(read_json(out / EXPERIMENT_FILE)["seconds"].values()), 1),
        rows=tuple(rows),
        trust_rows=tuple(trust_rows),
        pose_rows=tuple(pose_rows),
    )
    write(out / RESULTS_FILE, results)
    return results


def _finished_seeds(out: Path, plan: Experiment) -> set[int]:
    """The seeds that an earlier call brought to an end in every setting: their rows stay in the results."""
    found = [
        {
            int(path.parts[-3].removeprefix("seed-"))
            for path in (out / setting).glob(f"seed-*/evaluation/{RESULTS_FILE}")
        }
        for setting in plan.anchors
    ]
    return set.intersection(*found)


def _one_seed(plan: Experiment, out: Path, setting: str, seed: int, *, show: bool) -> None:
    data, run = out / setting / "data", out / setting / f"seed-{seed}"
    with _clocked(out, f"{setting} fit {seed}"):
        fit(data, run, plan.recipe, seed, show=show)
    measured = run / "evaluation"
    if not _is_current(measured, run):
        with _clocked(out, f"{setting} evaluate {seed}"):
            evaluate(run, data, measured, occlusions=plan.occlusions, name=plan.name, show=show)
    if seed == plan.seeds[0]:
        shutil.copytree(measured / "artefacts", out / "artefacts", dirs_exist_ok=True)


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
