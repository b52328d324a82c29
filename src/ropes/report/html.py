"""Renders results.json as one HTML page, without network or scripts."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from ropes.common import files
from ropes.evaluation import results
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.summary import Cell, calibrated_as_the_paper, over_seeds, without_labels
from ropes.methods.registry import LABELLED_METHODS, method_of
from ropes.report import artefacts, figures, graph, pictures
from ropes.report.actions import action_part
from ropes.report.artefacts import Artefacts, scatter_condition
from ropes.report.labels import label_tables
from ropes.report.naming import joint_label
from ropes.report.numbers import error, error_and_deviation, fixed
from ropes.report.page import Part, page, render
from ropes.report.partial_disentanglement import freed_tables
from ropes.report.poses import pose_table
from ropes.report.sections import curve_parts, efficiency_parts, heading_of, inline, paper_table, robustness_parts
from ropes.report.study import study_part
from ropes.report.trust import trust_sections
from ropes.report.verdict import sentence

#: Sections over all methods that there may be, by their ids, as the contents call them.
_SECTIONS = {
    "labels": "How many labels",
    "curves": "How much to learn from",
    "efficiency": "What labels are worth",
    "robustness": "Occlusion and shift",
    "trust": "What to trust",
    "poses": "Pose of the end effector",
    "freed": "Joints without an intervention",
}
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
    of_models = [study_part(found, folder)] if found.model_rows else []
    of_actions = [action_part(found, folder)] if found.action_rows else []
    of_joints = [_joints(found, folder)] if found.rows or not (of_models or of_actions) else []
    files.write_text(out_html, page(found, [*of_joints, *of_models, *of_actions]))


def _joints(found: Results, folder: Path) -> Part:
    """The part of joint angles: against the paper, and what each method left in each setup."""
    every = over_seeds(found.rows)
    free, cells = without_labels(every), calibrated_as_the_paper(every)
    unlabelled = [cell for cell in cells if cell.label_share is None]
    left = {(row.setup, row.method): Artefacts(setup=row.setup, method=row.method) for row in found.rows}
    left |= {(artefact.setup, artefact.method): artefact for artefact in artefacts.load(folder, left)}
    sections: dict[str, Any] = {
        "labels": label_tables(every, over_seeds(found.shift_rows)),
        "curves": curve_parts(every),
        "efficiency": efficiency_parts(every),
        "robustness": robustness_parts(cells),
        "trust": trust_sections(found.trust_rows, found.flag_rows),
        "poses": pose_table(found.pose_rows),
        "freed": freed_tables(found.freed_rows),
    }
    setups = [
        _setup(artefact, [row for row in found.rows if (row.setup, row.method) == place])
        for place, artefact in left.items()
    ]
    body = render(
        "joints.html.j2",
        several=any(len(c.seeds) > 1 for c in (*free, *cells)),
        calibration=" or ".join(f"{count:,}" for count in sorted({c.calibration_labels for c in unlabelled})),
        labelled=len(unlabelled) < len(cells),
        unlabelled=bool(free),
        table=paper_table(every),
        erased=any(cell.erased for cell in cells),
        setups=setups,
        cells=every,
        rows=len(found.rows),
        figure=lambda mean, std: _figure(fixed(mean), fixed(std or 0.0)),
        error=lambda mean, *stds: _figure(
            error(mean), *(error_and_deviation(mean, std)[1] for std in stds if std is not None)
        ),
        number=fixed,
        width=error,
        **sections,
    )
    return Part(
        title=f"Joint angles {_kinds(every)} labels: {found.name}",
        findings=[sentence(every)],
        links={"paper": "Against the paper"}
        | {key: words for key, words in _SECTIONS.items() if sections[key]}
        | {f"setup-{setup['id']}": setup["heading"] for setup in setups}
        | {"all": "All numbers"},
        body=body,
    )


def _kinds(cells: Sequence[Cell]) -> str:
    """Whether methods read labels."""
    found = {cell.label_share is not None for cell in cells}
    return "from" if found == {True} else "with and without" if len(found) == 2 else "without"


def _setup(artefact: Artefacts, rows: Sequence[Row]) -> dict[str, Any]:
    """Everything that the template shows of one method in one setup.

    Args:
        artefact: what the method left.
        rows: what was measured of it.
    """
    evaluation, training = artefact.evaluation, artefact.training
    place, heading = f"{artefact.setup}/{artefact.method}", heading_of(artefact.setup, artefact.method)
    stages = training["stages"] if training else {}
    ldr = stages.get("ldr") or {}
    curves = figures.training_curves(stages)
    return {
        "id": place.replace("/", "-"),
        "name": artefact.setup,
        "heading": heading,
        "no_evaluation": f"Not recorded: artefacts/{place}/evaluation.npz is absent or holds none.",
        "no_training": f"Not recorded: artefacts/{place}/training.json is absent or holds none.",
        "scatter": inline(
            figures.scatter(evaluation.joints, evaluation.scatter, scatter_condition(evaluation, rows)),
            f"Estimated against true angles, {heading}",
        )
        if evaluation and evaluation.scatter
        else None,
        "reconstructions": _reconstructions(evaluation) if evaluation else [],
        "occluded": bool(evaluation and evaluation.occluded),
        "interventions": _interventions(evaluation) if evaluation and evaluation.interventions else [],
        "foreign": _foreign(evaluation) if evaluation and evaluation.foreign else [],
        "ldr_bars": inline(figures.density_ratio_bars(ldr), f"Cross-entropy and floors, {heading}") if ldr else None,
        "ldr_curves": inline(figures.density_ratio_curves(ldr), f"Cross-entropy while training, {heading}")
        if ldr
        else None,
        "graph": graph.section(artefact.graph),
        "reconstructs": method_of(artefact.method) == "ropes" and not _of_logits(training),
        "contrasts": method_of(artefact.method) not in LABELLED_METHODS,
        "pretraining": _pretraining(training) if training else None,
        "stopped": _stopped(training) if training else None,
        "matrix": _matrix(training) if training and training.get("sparsity_matrix") else None,
        "along": [
            f"{joint_label(joint)} {fixed(share, 2)}"
            for joint, share in (training or {}).get("tangent_share", {}).items()
        ],
        "curves": inline(curves, f"Training curves, {heading}") if curves else None,
        "details": [
            (title, list(_flat(training[key])))
            for key, title in (("settings", "Settings of this run"), ("provenance", "Provenance of this run"))
            if training and training.get(key)
        ],
    }


def _of_logits(training: Mapping[str, Any] | None) -> bool:
    """Whether coordinates are the density ratios' logits, without any AE2."""
    return bool(training) and training is not None and training["settings"].get("coordinates") == "logits"


def _pretraining(training: Mapping[str, Any]) -> str | None:
    """Whether the targets of a pre-training still told images apart at its end; None where there was none."""
    if "pretraining" not in training["stages"]:
        return None
    if (signs := training.get("collapse")) is None:
        return "Too few images were held out to tell whether pre-training collapsed."
    if signs["fault"] is not None:
        return f"Pre-training collapsed: {signs['fault']}."
    return (
        f"Pre-training did not collapse: at its end the targets' mean tokens differ by {fixed(signs['spread'])} over a "
        f"camera's images (each token's entries by 1) and use {signs['rank']:.0f} directions."
    )


def _stopped(training: Mapping[str, Any]) -> str | None:
    """Which weights of a fit that watches held-out loss were kept, and whether it ended early."""
    if "planned_steps" not in training:
        return None
    stages = training["stages"]
    watched = stages["angles"] if "angles" in stages else stages["encoder"]
    best, planned, last = training["best_step"], training["planned_steps"], watched["steps"][-1]
    kept = f"The weights are those of step {best:,} of {planned:,}, where held-out loss was least."
    if "student" in stages:
        of_which = kept.removeprefix("The weights are ")
        kept = f"The encoder's weights, the teacher's, are {of_which} It reads together with its student."
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


def _foreign(evaluation: artefacts.Evaluation) -> list[dict[str, Any]]:
    """Images with hidden parts, outlined where something foreign was found."""
    arrays, cameras = evaluation.foreign or {}, []
    for index, camera in enumerate(evaluation.cameras):
        images, there = (arrays[name][:, index] for name in ("foreign_images", "foreign_there"))
        row = _strip_row("what is found", pictures.outlined(images, there > 0), apart=False)
        cameras.append({"name": camera, "rows": [row]})
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


def _figure(mean: str, *deviations: str) -> Markup:
    """A mean and its deviations as printed; the former alone where there is none."""
    if mean == fixed(None):
        return Markup(mean)
    return Markup('{} <span class="std">{}</span>').format(mean, " ".join(f"± {each}" for each in deviations))
