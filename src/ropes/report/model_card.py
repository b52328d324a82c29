"""The model card of a packaged estimator."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import metadata
from typing import Any, TypeVar

from ropes.data.dataset import Dataset
from ropes.data.moves import FRAMES
from ropes.errors import UserError
from ropes.evaluation.paper import CALIBRATION_LABELS
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.schema import MeasuredRow
from ropes.evaluation.summary import over_seeds
from ropes.inference.calibration import Calibration
from ropes.inference.poses import arm_of, robot_of
from ropes.methods.registry import method_named, recipe_of
from ropes.methods.run import Run
from ropes.methods.uncertainty.conformal import LEVEL
from ropes.report.joints import pose_entries
from ropes.report.page import render
from ropes.report.table import Table, grouped, mcc_entry, mse_entry, wrapped
from ropes.report.trust import flag_means, kind_label
from ropes.report.words import RENDERERS, capitalised, degrees, fixed, rms
from ropes.simulation.availability import SO101
from ropes.simulation.settings import PANDA, setting_named

R = TypeVar("R", bound=MeasuredRow)
#: The package's settings of arms, which `ropes simulate --setting` renders.
_OF_ARMS = (*PANDA, SO101)


def model_card(
    name: str,
    run: Run,
    dataset: Dataset,
    calibration: Calibration | None,
    results: Results | None,
    training: Mapping[str, Any],
    *,
    weights: int,
    precision: str,
    size: int,
) -> str:
    """The card as Markdown, with lines of at most `ropes.report.table.WIDTH` outside tables and commands.

    Args:
        name: of the estimator.
        run: the fit.
        dataset: its training data.
        calibration: its map to radians; None for a supervised run without one, whose networks give radians.
        results: its evaluation; None if it has none, as after a recording without test poses.
        training: its training.json.
        weights: number of weights.
        precision: of the stored weights, as "float32".
        size: of its files, bytes.

    Raises:
        UserError: the results are of another run, or the package has no such preset.
    """
    rows = [] if results is None else rows_of(run, results.rows)
    if results is not None and {row.joint for row in rows} != set(run.joints):
        raise UserError(
            f"the results are of another run: they have no rows of {run.setting}, method {run.method}, seed {run.seed}"
        )
    provenance = dataset.provenance or {}
    described = provenance.get("setting", {}).get("cameras")
    robot, supervised = robot_of(run, provenance), method_named(run.method).reads_labels
    card = render(
        "model_card.md.j2",
        name=name,
        run=run,
        sizes=_sizes(run),
        setting=run.setting if run.scene is None else f"{run.setting}, scene {run.scene}",
        method=about(run),
        joints=run.joints,
        described=bool(described),
        cameras=described or [{"name": camera} for camera in run.cameras],
        arm=arm_of(run, robot, dataset.urdf) if robot else None,
        renderer=RENDERERS.get(run.renderer or "", run.renderer),
        known=run.setting in _OF_ARMS,
        panda=run.setting in PANDA,
        calibration=_source(calibration),
        training=training["provenance"],
        labelled_poses=training["labelled_poses"] if supervised else 0,
        commands=commands(run, provenance, calibration),
        results=results,
        labels=most_labels(rows),
        as_the_paper=supervised or most_labels(rows) == CALIBRATION_LABELS,
        tables=[]
        if results is None
        else [*_figures(rows, rows_of(run, results.shift_rows), run, supervised), *_further(run, results)],
        weights=weights,
        precision=precision,
        megabytes=size / 1e6,
        licence=licence(),
    )
    return wrapped(card)


def _source(calibration: Calibration | None) -> str:
    """Where radians come from."""
    if calibration is None:
        return "the networks, trained on labels"
    if calibration.samples == 0:
        return "the commanded distributions, without labels"
    return f"lines fitted on {calibration.samples} labelled poses"


def commands(run: Run, provenance: Mapping[str, Any], calibration: Calibration | None) -> list[str]:
    """The commands that reproduce the estimator: simulate, fit and, where it is calibrated, calibrate.

    That to simulate is only there for the package's settings, and where the data set records its seed.

    Raises:
        UserError: the package has no such preset.
    """
    made = []
    known, chains = provenance.get("seed") is not None and "test_anchors" in provenance, provenance.get("chains")
    if run.setting in _OF_ARMS and known and (chains or "anchors" in provenance):
        recorded = f"--anchors {provenance.get('anchors')}"
        if frames := provenance.get(FRAMES):
            recorded += f" --frames-per-move {frames}"
        if chains:
            recorded = f"--chains {chains['chains']} --frames-per-move {chains['frames_per_move']}"
        counts = f"{recorded} --test-anchors {provenance['test_anchors']}"
        mesh = "" if provenance.get("mesh") == "simplified" else f" --mesh {provenance.get('mesh')}"
        scene = "" if run.scene in (None, "white") else f" --scene {run.scene}"
        setting = provenance.get("setting", {})
        level, renderer = setting.get("camera_level", "clean"), setting.get("renderer")
        camera, colour = "" if level == "clean" else f" --camera {level}", " --colour" if run.channels > 1 else ""
        drawn = f" --scene {run.scene or 'white'} --renderer {renderer}" if renderer else scene
        side, usual = setting.get("image_size"), setting_named(run.setting).image_size
        size = "" if side in (None, usual) else f" --image-size {side}"
        options = f"--seed {provenance['seed']}{mesh}{camera}{colour}{size}"
        made.append(f"ropes simulate --setting {run.setting}{drawn} {counts} {options} --out data")
    preset = run.recipe.preset
    changed = _options(asdict(run.recipe), asdict(recipe_of(run.method, preset)))
    fit = f"ropes fit --method {run.method} --preset {preset} --data data --out run --seed {run.seed}"
    made.append(" ".join([fit, *changed]))
    return made if calibration is None else [*made, _calibrate(calibration)]


def _calibrate(calibration: Calibration) -> str:
    """The `ropes calibrate` command; defaults stand for options that older versions did not record."""
    kept = calibration.origin
    source = kept.source if kept else "samples" if calibration.samples else "commanded"
    file = [shlex.quote(kept.file)] if kept and kept.file else []
    words = {
        "samples": ["--data data --samples", str(calibration.samples)],
        "labels": ["--labels", *file],
        "commanded": ["--data data --commanded", *file],
    }[source]
    if kept and kept.seed and source != "labels":
        words += ["--seed", str(kept.seed)]
    if kept and kept.level != LEVEL:
        words += ["--level", str(kept.level)]
    return " ".join(["ropes calibrate run", *words])


def _options(recipe: Mapping[str, Any], preset: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The words of the `ropes fit` options that turn a preset into a recipe."""
    words: list[str] = []
    for key, value in recipe.items():
        name = key.replace("_", "-")
        if value == preset.get(key):
            continue
        if isinstance(value, Mapping):
            words += _options(value, preset.get(key) or {}, f"{prefix}{name}.")
        elif isinstance(value, bool):
            words.append(f"--{prefix}{name if value else f'no-{name}'}")
        else:
            words += [f"--{prefix}{name}", *map(str, value if isinstance(value, tuple) else (value,))]
    return words


def _figures(rows: Sequence[Row], not_shifted: Sequence[Row], run: Run, supervised: bool) -> Iterator[str]:
    """Tables of RMS, MSE and MCC, a line for each split, occlusion and number of calibration labels, a column a joint.

    MCC has lines with the most labels only, or without any for a supervised run: no line to radians changes it.
    """
    joints, usual = run.joints, 0 if supervised else most_labels(rows)
    tables: dict[str, list[list[object]]] = {"RMS error, °": [], "MSE, rad²": [], "MCC": []}
    for group, words in ((rows, ""), (not_shifted, ", line from poses in distribution")):
        for (split, occlusion, labels), own in grouped(
            over_seeds(group), lambda cell: (cell.split, cell.occlusion, cell.calibration_labels)
        ).items():
            by_joint = {cell.joint: cell for cell in own}
            cells = [by_joint[joint] for joint in joints]
            line = (
                f", line from {labels} labels" if labels else ", monotone map from commanded distributions, no labels"
            )
            heading = _heading(split, occlusion) + ("" if labels == usual else line) + words
            tables["RMS error, °"].append([heading, *(rms(cell.mse) for cell in cells)])
            tables["MSE, rad²"].append([heading, *(str(mse_entry(cell)) for cell in cells)])
            if labels == usual and not words:
                tables["MCC"].append([heading, *(str(mcc_entry(cell)) for cell in cells)])
    for title, lines in tables.items():
        yield Table([title, *joints], lines).markdown()


def _further(run: Run, results: Results) -> Iterator[str]:
    """Tables of pose errors, of intervals over the joints, and of the flag on out-of-distribution images."""
    if poses := rows_of(run, results.pose_rows):
        lines = [[_heading(row.split, row.occlusion), *entries] for row, entries in pose_entries(poses)]
        columns = [f"pose of {poses[0].link}", "position, mm", "orientation, °", "ADD, mm", "AUC of ADD"]
        yield Table(columns, lines).markdown()
    if intervals := rows_of(run, results.trust_rows):
        groups = grouped(intervals, lambda row: (row.split, row.occlusion, row.intervals, row.calibration_labels))
        lines = [
            [
                _heading(split, occlusion),
                f"{group[0].level:.0%}, {kind_label(kind, labels)}",
                " to ".join(fixed(end(row.coverage for row in group)) for end in (min, max)),
                " to ".join(degrees(end(row.width for row in group)) for end in (min, max)),
                fixed(group[0].auroc),
            ]
            for (split, occlusion, kind, labels), group in groups.items()
        ]
        columns = ["test data", "intervals", "coverage over joints", "width over joints, °", "AUROC of the flag"]
        yield Table(columns, lines, texts=range(4)).markdown()
    if flags := rows_of(run, results.flag_rows):
        lines = [[images, fixed(auroc), f"{fixed(100 * flagged, 0)}%"] for images, auroc, flagged in flag_means(flags)]
        yield Table(["out-of-distribution images", "AUROC of the flag", "flagged"], lines).markdown()


def rows_of(run: Run, rows: Iterable[R]) -> list[R]:
    """The rows of a fit."""
    return [row for row in rows if (row.setup, row.method, row.seed) == (run.setting, run.method, run.seed)]


def most_labels(rows: Iterable[Row]) -> int:
    """Number of labelled poses behind the lines to radians: the largest, as other rows have fewer; 0 without a line."""
    return max((row.calibration_labels for row in rows), default=0)


def _heading(split: str, occlusion: int) -> str:
    words = {"id": "in distribution", "ood": "out of distribution"}[split]
    return f"{words}, {occlusion} px squares" if occlusion else words


def _sizes(run: Run) -> str:
    """Width and height of the images: one size for all cameras, or one for each."""
    sizes = [f"{width}×{height}" for height, width, *_ in run.shapes]
    if len(set(sizes)) == 1:
        return sizes[0]
    return ", ".join(f"{size} ({camera})" for size, camera in zip(sizes, run.cameras, strict=True))


def about(run: Run) -> str:
    """The method in a sentence."""
    method = method_named(run.method)
    return method.description or f"{capitalised(method.summary)}."


def licence() -> str:
    """The package's licence, which packaged estimators have too."""
    return metadata("ropes")["License-Expression"] or "Apache-2.0"
