"""Renders the model card of a packaged estimator."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import metadata
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.evaluation.paper import CALIBRATION_LABELS
from ropes.evaluation.results import Results
from ropes.evaluation.rows.flag import FlagRow
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.pose import PoseRow
from ropes.evaluation.rows.trust import TrustRow
from ropes.inference.calibration import Calibration
from ropes.inference.poses import arm_of, robot_of
from ropes.methods.registry import method_named, recipe_of
from ropes.methods.run import Run
from ropes.methods.uncertainty.conformal import LEVEL
from ropes.report.naming import capitalised
from ropes.report.numbers import error, error_and_deviation, fixed
from ropes.report.poses import pose_table
from ropes.report.trust import flag_lines, kind_label
from ropes.simulation.settings import SETTINGS

#: Of lines for shifted poses.
_NOT_SHIFTED = ", line from poses in distribution"


def model_card(
    name: str,
    run: Run,
    dataset: Dataset,
    calibration: Calibration,
    results: Results,
    training: Mapping[str, Any],
    *,
    weights: int,
    precision: str,
    size: int,
) -> str:
    """The card as Markdown.

    Args:
        name: of the estimator.
        run: that it is of.
        dataset: that it was fitted on.
        calibration: its map to radians.
        results: an evaluation of it.
        training: its training.json.
        weights: how many numbers it has.
        precision: how they are stored, as "float32".
        size: bytes of its files.

    Raises:
        UserError: the results are of another run, or its preset is none of the package's.
    """
    rows = [row for row in results.rows if _is_of(run, row)]
    if {row.joint for row in rows} != set(run.joints):
        raise UserError(
            f"the results are of another run: they have no rows of {run.setting}, method {run.method}, seed {run.seed}"
        )
    not_shifted = [row for row in results.shift_rows if _is_of(run, row)]
    provenance = dataset.provenance or {}
    method, described = method_named(run.method), provenance.get("setting", {}).get("cameras")
    robot = robot_of(run, provenance)
    environment = Environment(
        loader=PackageLoader("ropes", "report"), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    return environment.get_template("model_card.md.j2").render(
        name=name,
        run=run,
        setting=run.setting if run.scene is None else f"{run.setting}, scene {run.scene}",
        method=method.description or f"{capitalised(method.summary)}.",
        joints=run.joints,
        described=bool(described),
        cameras=described or [{"name": camera} for camera in run.cameras],
        arm=arm_of(run, robot, dataset.urdf) if robot else None,
        simulated=robot is not None,
        calibration="the commanded distributions, without a label"
        if calibration.samples == 0
        else f"lines fitted on {calibration.samples} labelled poses",
        anchors=training["provenance"]["anchors"],
        poses=training["provenance"]["poses"],
        device=training["provenance"]["device"],
        commands=commands(run, provenance, calibration),
        results=results,
        labels=CALIBRATION_LABELS,
        figures=[*_figures(rows, run.joints), *_figures(not_shifted, run.joints, _NOT_SHIFTED)],
        trust=_trust(row for row in results.trust_rows if _is_of(run, row)),
        flags=flag_lines(row for row in results.flag_rows if _is_of(run, row)),
        poses_table=[
            {**line, "heading": _heading(line["split"], line["occlusion"])}
            for line in pose_table(row for row in results.pose_rows if _is_of(run, row))
        ],
        weights=weights,
        precision=precision,
        megabytes=size / 1e6,
        fixed=fixed,
        licence=metadata("ropes")["License-Expression"] or "Apache-2.0",
    )


def commands(run: Run, provenance: Mapping[str, Any], calibration: Calibration) -> list[str]:
    """What makes the estimator again: simulate (one of the package's settings only), fit, calibrate.

    Raises:
        UserError: the run's preset is none of the package's.
    """
    made = []
    if run.setting in SETTINGS and {"anchors", "test_anchors", "seed"} <= provenance.keys():
        counts = f"--anchors {provenance['anchors']} --test-anchors {provenance['test_anchors']}"
        mesh = "" if provenance.get("mesh") == "simplified" else f" --mesh {provenance.get('mesh')}"
        scene = "" if run.scene in (None, "white") else f" --scene {run.scene}"
        seed = provenance["seed"]
        made.append(f"ropes simulate --setting {run.setting}{scene} {counts} --seed {seed}{mesh} --out data")
    preset = run.recipe.preset
    usual = asdict(recipe_of(run.method, preset))
    changed = [option for option, value in _options(asdict(run.recipe), usual) for option in (option, *value)]
    fit = f"ropes fit --method {run.method} --preset {preset} --data data --out run --seed {run.seed}"
    made.append(" ".join([fit, *changed]))
    return [*made, _calibrate(calibration)]


def _calibrate(calibration: Calibration) -> str:
    """The `ropes calibrate` that made it; what calibrations of older versions did not keep is taken as usual."""
    kept = calibration.origin
    source = kept.source if kept else "samples" if calibration.samples else "commanded"
    file = [shlex.quote(kept.file)] if kept and kept.file else []
    match source:
        case "samples":
            words = ["--data data --samples", str(calibration.samples)]
        case "labels":
            words = ["--labels", *file]
        case "commanded":
            words = ["--data data --commanded", *file]
    if kept and kept.seed and source != "labels":
        words += ["--seed", str(kept.seed)]
    if kept and kept.level != LEVEL:
        words += ["--level", str(kept.level)]
    return " ".join(["ropes calibrate run", *words])


def _options(recipe: Mapping[str, Any], usual: Mapping[str, Any], prefix: str = "") -> list[tuple[str, list[str]]]:
    """The dotted options of `ropes fit` for what a recipe has otherwise than its preset, with their words."""
    found: list[tuple[str, list[str]]] = []
    for key, value in recipe.items():
        name = f"{prefix}{key.replace('_', '-')}"
        if value == usual.get(key):
            continue
        if isinstance(value, Mapping):
            found += _options(value, usual.get(key) or {}, f"{name}.")
        elif isinstance(value, bool):
            found.append((_flag(name, value), []))
        else:
            found.append((f"--{name}", [str(part) for part in (value if isinstance(value, tuple) else (value,))]))
    return found


def _flag(name: str, value: bool) -> str:
    *path, last = name.split(".")
    return "--" + ".".join([*path, last if value else f"no-{last}"])


def _figures(rows: Sequence[Row], joints: Sequence[str], words: str = "") -> list[dict[str, Any]]:
    """A line for each split, occlusion and number of calibration labels, with the joints' figures in order.

    Args:
        rows: of these joints.
        joints: in the order of the columns.
        words: what a line's heading says besides.
    """
    by = {(row.split, row.occlusion, row.calibration_labels, row.joint): row for row in rows}
    lines = []
    for split, occlusion, labels in dict.fromkeys(condition[:-1] for condition in by):
        own = [by[split, occlusion, labels, joint] for joint in joints]
        lines.append(
            {
                "heading": _heading(split, occlusion) + _line(labels) + words,
                "usual": labels == CALIBRATION_LABELS and not words,  # no line changes an MCC
                "mse": [error_and_deviation(row.mse_mean, row.mse_std) for row in own],
                "mcc": [(fixed(row.mcc_mean), fixed(row.mcc_std)) for row in own],
            }
        )
    return lines


def _line(labels: int) -> str:
    """What a heading says of the map to radians where it was not fitted on the usual number of labels."""
    if labels == CALIBRATION_LABELS:
        return ""
    return f", line from {labels} labels" if labels else ", monotone map from commanded distributions, no label"


def _trust(rows: Iterable[TrustRow]) -> list[dict[str, Any]]:
    """A line for each split, occlusion and kind of interval: coverage and width over the joints, the flag's AUROC."""
    groups: dict[tuple[str, int, str, int], list[TrustRow]] = {}
    for row in rows:
        groups.setdefault((row.split, row.occlusion, row.intervals, row.calibration_labels), []).append(row)
    return [
        {
            "heading": _heading(split, occlusion),
            "intervals": f"{group[0].level:.0%}, {kind_label(kind, labels)}",
            "coverage": " to ".join(fixed(end(row.coverage for row in group)) for end in (min, max)),
            "width": " to ".join(error(end(row.width for row in group)) for end in (min, max)),
            "auroc": fixed(group[0].auroc),
        }
        for (split, occlusion, kind, labels), group in groups.items()
    ]


def _is_of(run: Run, row: Row | PoseRow | TrustRow | FlagRow) -> bool:
    return (row.setup, row.method, row.seed) == (run.setting, run.method, run.seed)


def _heading(split: str, occlusion: int) -> str:
    words = {"id": "in distribution", "ood": "out of distribution"}[split]
    return f"{words}, {occlusion} px squares" if occlusion else words
