"""results.json and the arrays beside it become one HTML page: no network, no script."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from ropes import files, results
from ropes.paper import TABLE1
from ropes.recipes import method_of
from ropes.report import artefacts, figures, graph, pictures
from ropes.report.artefacts import Artefacts
from ropes.report.curves import AXES, error_curves, series
from ropes.report.labels import label_tables
from ropes.report.naming import joint_label
from ropes.report.poses import pose_table
from ropes.report.trust import trust_sections
from ropes.report.verdict import in_words, sentence
from ropes.summary import Cell, calibrated_as_the_paper, over_seeds

_STAGES = (
    ("reconstructions", "", ""),
    ("occluded", "occluded_", "occluded "),
)


def write_report(folder: Path, out_html: Path) -> None:
    """Write the page for the results in `folder`.

    Args:
        folder: holds results.json and, if recorded, artefacts/SETUP/METHOD/evaluation.npz and training.json.
        out_html: the page, written atomically.

    Raises:
        UserError: results.json is missing or wrong, or an artefact is damaged.
    """
    found = results.read(folder / "results.json")
    every = over_seeds(found.rows)
    cells = calibrated_as_the_paper(every)
    left = {(artefact.setup, artefact.method): artefact for artefact in artefacts.load(folder)}
    parts = list(dict.fromkeys([*((cell.setup, cell.method) for cell in every), *left]))
    environment = Environment(
        loader=PackageLoader("ropes", "report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"joint": joint_label, "mark": _mark}
    page = environment.get_template("template.html.j2").render(
        title=f"Joint angles without labels: {found.name}",
        css=Markup(resources("ropes.report").joinpath("page.css").read_text(encoding="utf-8")),
        results=found,
        verdict=sentence(cells),
        spread=" over the repeats and training seeds" if any(len(c.seeds) > 1 for c in cells) else " over repeats",
        calibration=" or ".join(f"{count:,}" for count in sorted({c.calibration_labels for c in cells})) or "no",
        table=_table(cells),
        curves=_curves(every),
        robustness=_robustness(cells),
        erased=any(cell.erased for cell in cells),
        trust=trust_sections(found.trust_rows, found.flag_rows),
        poses=pose_table(found.pose_rows),
        setups=[
            _setup(left.get((setup, method), Artefacts(setup=setup, method=method, evaluation=None, training=None)))
            for setup, method in parts
        ],
        label_tables=label_tables(every),
        cells=every,
        provenance=[
            ("experiment", found.name),
            ("preset", found.preset),
            ("device", found.device),
            ("version", found.version),
            ("wall time", f"{found.seconds:,.0f} s"),
            ("training seeds", ", ".join(map(str, sorted({row.seed for row in found.rows}))) or "none"),
        ],
        figure=_figure,
        number=_number,
    )
    files.write_text(out_html, page)


def _heading(setup: str, method: str, occlusion: int = 0) -> str:
    """A line of Table 1 in words, with the method."""
    return f"{in_words(setup, occlusion)} · {method}"


def _table(cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Blocks of in-distribution cells: the lines of the paper's Table 1 first, then every other arm."""
    order = {(setup, occlusion): place for place, (setup, occlusion, _) in enumerate(TABLE1)}
    known = {setup for setup, _ in order}
    blocks: dict[tuple[str, int, str], list[Cell]] = {}
    for cell in cells:
        line = (cell.setup, cell.occlusion)
        if cell.split == "id" and (line in order or (cell.setup not in known and cell.occlusion == 0)):
            blocks.setdefault((*line, cell.method), []).append(cell)
    ordered = sorted(blocks.items(), key=lambda block: order.get(block[0][:2], len(order)))
    return [
        {
            "heading": _heading(setup, method, occlusion),
            "cells": sorted(group, key=lambda cell: cell.joint),
            "all_labels": any(cell.all_labels_mse is not None for cell in group),
        }
        for (setup, occlusion, method), group in ordered
    ]


def _curves(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """A figure for every series of fits that differ in anchors, or in pixels."""
    return [
        {
            "heading": f"{_heading(*key)}: {word}",
            "svg": _svg(error_curves(group, axis), f"MSE against {word}, {_heading(*key)}"),
        }
        for axis, word in AXES.items()
        for key, group in series(cells, axis).items()
    ]


def _robustness(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """A figure for every setup and method that was tested on more than one size of square or split."""
    parts = []
    for setup, method in dict.fromkeys((cell.setup, cell.method) for cell in cells):
        own = [cell for cell in cells if (cell.setup, cell.method) == (setup, method) and cell.mse is not None]
        pixels = sorted({cell.occlusion for cell in own})
        if len(pixels) < 2:
            continue
        heading = _heading(setup, method)
        joints = sorted({cell.joint for cell in own})
        lines = {}
        for split in dict.fromkeys(cell.split for cell in own):
            line = {name: np.full((len(joints), len(pixels)), np.nan) for name in ("ours", "std", "paper")}
            for cell in own:
                if cell.split == split:
                    at = joints.index(cell.joint), pixels.index(cell.occlusion)
                    line["ours"][at] = cell.mse
                    line["std"][at] = cell.mse_std
                    line["paper"][at] = np.nan if cell.paper_mse is None else cell.paper_mse
            lines[split] = {"pixels": pixels, **line}
        parts.append({"heading": heading, "svg": _svg(figures.occlusions(joints, lines), f"MSE, {heading}")})
    return parts


def _setup(artefact: Artefacts) -> dict[str, Any]:
    """Everything that the template shows of one method in one setup."""
    evaluation, training = artefact.evaluation, artefact.training
    place, heading = f"{artefact.setup}/{artefact.method}", _heading(artefact.setup, artefact.method)
    stages = training["stages"] if training else {}
    ldr = stages.get("ldr") or {}
    curves = figures.training_curves(stages)
    return {
        "id": place.replace("/", "-"),
        "name": artefact.setup,
        "heading": heading,
        "no_evaluation": f"Not recorded: artefacts/{place}/evaluation.npz is absent or holds none.",
        "no_training": f"Not recorded: artefacts/{place}/training.json is absent or holds none.",
        "scatter": _svg(
            figures.scatter(evaluation.joints, evaluation.scatter),
            f"Estimated against true angles, {heading}",
        )
        if evaluation and evaluation.scatter
        else None,
        "reconstructions": _reconstructions(evaluation) if evaluation else [],
        "occluded": bool(evaluation and evaluation.occluded),
        "interventions": _interventions(evaluation) if evaluation and evaluation.interventions else [],
        "ldr_bars": _svg(figures.density_ratio_bars(ldr), f"Cross-entropy and floors, {heading}") if ldr else None,
        "ldr_curves": _svg(figures.density_ratio_curves(ldr), f"Cross-entropy while training, {heading}")
        if ldr
        else None,
        "graph": graph.section(artefact.graph),
        "reconstructs": method_of(artefact.method) == "ropes",
        "stopped": _stopped(training) if training else None,
        "matrix": _matrix(training) if training and training.get("sparsity_matrix") else None,
        "curves": _svg(curves, f"Training curves, {heading}") if curves else None,
        "details": [
            (title, list(_flat(training[key])))
            for key, title in (("settings", "Settings of this run"), ("provenance", "Provenance of this run"))
            if training and training.get(key)
        ],
    }


def _stopped(training: Mapping[str, Any]) -> str | None:
    """Which weights of a fit that watches held-out loss were kept, and whether it ended early."""
    if "planned_steps" not in training:
        return None
    best, planned, last = training["best_step"], training["planned_steps"], training["stages"]["encoder"]["steps"][-1]
    kept = f"The weights are those of step {best:,} of {planned:,}, where held-out loss was least."
    if last >= planned:
        return kept
    return f"{kept} Training was ended at step {last:,.0f}, for it had long stopped falling: a fit that memorises."


def _reconstructions(evaluation: artefacts.Evaluation) -> list[dict[str, Any]]:
    cameras = []
    for index, camera in enumerate(evaluation.cameras):
        rows: list[dict[str, Any]] = []
        for group, prefix, word in _STAGES:
            arrays = getattr(evaluation, group) or {}
            for stage, label in (("original", "original"), ("ae1", "AE1"), ("ae2", "AE2")):
                if arrays:
                    images = arrays[prefix + stage][:, index]
                    text = f"{word}{label}" if stage == "original" else label
                    rows.append(_strip_row(text, images, apart=bool(rows) and stage == "original"))
        cameras.append({"name": camera, "rows": rows})
    return cameras if cameras and cameras[0]["rows"] else []


def _interventions(evaluation: artefacts.Evaluation) -> list[dict[str, Any]]:
    arrays = evaluation.interventions or {}
    names = [str(name) for name in arrays["intervention_names"]]
    cameras = []
    for index, camera in enumerate(evaluation.cameras):
        rows: list[dict[str, Any]] = []
        last = ""
        for name, images in zip(names, arrays["intervention_images"], strict=True):
            joint, _, policy = name.partition("/")
            text = f"{joint_label(joint)}, policy {policy}" if policy else name
            rows.append(_strip_row(text, images[:, index], apart=bool(rows) and joint != last))
            last = joint
        cameras.append({"name": camera, "rows": rows})
    return cameras


def _strip_row(label: str, images: np.ndarray, apart: bool) -> dict[str, Any]:
    return {"label": label, "uri": pictures.data_uri(pictures.strip(images)), "apart": apart}


def _matrix(training: Mapping[str, Any]) -> dict[str, Any]:
    values = np.asarray(training["sparsity_matrix"], dtype=np.float64)
    labels = [joint_label(joint) for joint in training.get("joints") or map(str, range(len(values)))]
    # Shaded against 1, the aim, unless something exceeds it.
    heat = np.abs(values) / max(1.0, float(np.abs(values).max(initial=0.0)))
    return {
        "columns": [f"coordinate {column + 1}" for column in range(values.shape[1])],
        "rows": [
            {
                "label": f"Δs, {label}",
                "cells": [{"value": value, "heat": f"{shade:.3f}"} for value, shade in zip(*pair, strict=True)],
            }
            for label, *pair in zip(labels, values, heat, strict=True)
        ],
    }


def _flat(content: Any, prefix: str = "") -> Iterable[tuple[str, str]]:
    """Nested settings as ("a.b", "value") lines."""
    for key, value in content.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list):
            yield name, ("\n" if key == "commands" else ", ").join(map(str, value)) or "none"
        else:
            yield name, "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _svg(figure: Figure, label: str) -> Markup:
    return Markup(figures.to_svg(figure, label))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _figure(mean: float | None, std: float | None) -> Markup:
    if mean is None:
        return Markup("–")
    return Markup(f'{mean:.3f} <span class="std">± {std or 0.0:.3f}</span>')


def _mark(reached: bool | None) -> Markup:
    if reached is None:
        return Markup("")
    name, sign, word = ("yes", "✓", "reached") if reached else ("no", "✗", "short")
    return Markup(f'<span class="{name}" title="{word}" role="img" aria-label="{word}">{sign}</span>')
