"""Figures as PNG files, for README and docs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ropes.common import files
from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.results import FURTHER, Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.model import by_disentanglement
from ropes.evaluation.summary import over_seeds
from ropes.methods.registry import METHODS, method_of
from ropes.report import artefacts, figures, pictures, study_figures
from ropes.report.action_figures import told_pairs
from ropes.report.action_numbers import SHIFTS, in_order
from ropes.report.action_plots import Methods, of_an_arm, plots, recorded, told
from ropes.report.artefacts import Evaluation, pictures_of, read_arrays
from ropes.report.curves import AXES, error_curves, series
from ropes.report.label_efficiency import efficiency_figure, label_curves
from ropes.report.study_numbers import OOD1, images_differ, supervision_scores, transfers


def write_figures(folder: Path, out: Path, found: Results | None = None) -> tuple[Path, ...]:
    """Write the plots of an experiment as PNG files, those of arrays (as scatter plots) where these are in the folder.

    Args:
        folder: as for `ropes.report.html.write_report`.
        out: folder for NAME-PRESET-SETUP-METHOD-KIND.png; without METHOD or SETUP where a plot is of several.
        found: the results to draw instead of the folder's own.

    Returns:
        The files written.

    Raises:
        UserError: results.json is missing or wrong, or an artefact is damaged.
    """
    found = found or results.read(folder / "results.json")
    written = []
    cells = over_seeds(found.rows)
    for axis in AXES:
        for (setup, method), group in series(cells, axis).items():
            path = out / f"{found.name}-{found.preset}-{setup}-{method}-{axis.replace('_', '-')}.png"
            written.append(_write(path, figures.to_png(error_curves(group, axis))))
    for curves in label_curves(over_seeds(found.rows)):
        shifted = "-shifted" if curves.split == "ood" else ""
        path = out / f"{found.name}-{found.preset}-{curves.setup}-labels{shifted}.png"
        written.append(_write(path, figures.to_png(efficiency_figure(curves))))
    for artefact in artefacts.load(folder, {(row.setup, row.method) for row in found.rows}):
        if method_of(artefact.method) != artefact.method:  # a variant is a point of the curves
            continue
        rows = [row for row in found.rows if (row.setup, row.method) == (artefact.setup, artefact.method)]
        for kind, content in _stills(artefact.evaluation, rows) if artefact.evaluation else ():
            path = out / f"{found.name}-{found.preset}-{artefact.setup}-{artefact.method}-{kind}.png"
            written.append(_write(path, content))
    for kind, content in _study(found, folder) if found.model_rows else ():
        written.append(_write(out / f"{found.name}-{found.preset}-{kind}.png", content))
    for setup, methods in in_order(found.action_rows).items():
        for kind, figure in _actions(setup, methods, folder):
            written.append(_write(out / f"{found.name}-{found.preset}-{setup}-{kind}.png", figures.to_png(figure)))
    return tuple(written)


def _write(path: Path, content: bytes) -> Path:
    with files.atomic_path(path) as temporary:
        temporary.write_bytes(content)
    return path


def publish(folder: Path, out: Path, *, keep: bool = False) -> tuple[Path, ...]:
    """Copy an experiment's results.json to `out`/NAME-PRESET.json, and write its figures beside it.

    Args:
        folder: of the experiment.
        out: of what is committed.
        keep: leave the rows of methods that the experiment lacks as they are in `out`.

    Raises:
        UserError: as `write_figures`, the committed file is wrong, or (with `keep`) it is of another scene.
    """
    found = results.read(folder / "results.json")
    table = out / f"{found.name}-{found.preset}.json"
    if keep and table.exists():
        committed = results.read(table)
        if committed.scene != found.scene:
            scenes = [each or "that of an older version" for each in (committed.scene, found.scene)]
            raise UserError(f"{table} has scene {scenes[0]} and {folder} {scenes[1]}; leave --keep out to replace it")
        found = _joined(committed, found)
    results.write(table, found)
    return table, *write_figures(folder, out, found)


def _joined(committed: Results, found: Results) -> Results:
    """What was found, and before it the committed rows of methods that it lacks; devices are named, and seconds add up.

    A method that comes again is not counted again: the committed seconds do not say which are its own.
    """
    methods = _methods(found)

    def rows(kind: str) -> tuple[Any, ...]:
        kept = [row for row in getattr(committed, kind) if row.method not in methods]
        return (*kept, *getattr(found, kind))

    before = _methods(committed)
    again = any(method_of(method) in METHODS for method in before & methods)  # others come with the package
    if before <= methods:
        return found
    merged: dict[str, Any] = {kind: rows(kind) for kind in ("rows", *FURTHER)}
    return replace(
        found,
        device=" and ".join(dict.fromkeys([*committed.device.split(" and "), found.device])),
        seconds=round(committed.seconds + (0.0 if again else found.seconds), 1),
        **merged,
    )


def _methods(results: Results) -> set[str]:
    of_states = {row.method for row in results.rows} | {row.method for row in results.model_rows}
    return of_states | {row.method for row in results.action_rows}


def _study(found: Results, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Kind and PNG of the figures of a study of whole models, and the sweeps of its most disentangled VAE."""
    rows = found.model_rows
    if images_differ(rows):
        yield "supervision", figures.to_png(study_figures.supervision_curves(rows, supervision_scores(rows)))
    if transfers(rows):
        yield "metrics", figures.to_png(study_figures.metric_violins(rows))
        yield "transfer", figures.to_png(study_figures.transfer_scatter(rows, OOD1))
        yield "noise", figures.to_png(study_figures.noise_violins(rows))
    for best in by_disentanglement([row for row in rows if "elbo" in row.scores])[-1:]:
        if (arrays := read_arrays(pictures_of(folder, best))) is not None:
            yield "sweeps", pictures.png(pictures.stack([pictures.strip(images) for images in arrays["sweeps"]]))


def _actions(setup: str, methods: Methods, folder: Path) -> Iterator[tuple[str, Figure]]:
    """Kind and figure of the plots of a setting of actions, and pairs with the patches that were chosen in them."""
    arrays_of = recorded(setup, methods, folder)
    for plot in plots(setup, methods, arrays_of):
        yield plot.kind, plot.figure
    arrays = {} if of_an_arm(methods) else arrays_of.get("cde-patch", {})
    for split in (split for split in SHIFTS if f"{split}_images" in arrays):
        yield f"patches-{split.removeprefix('test-')}", told_pairs(*told(arrays, split, patchwise=True))


def _stills(evaluation: Evaluation, rows: Sequence[Row]) -> Iterator[tuple[str, bytes]]:
    if evaluation.scatter:
        condition = artefacts.scatter_condition(evaluation, rows)
        yield "scatter", figures.to_png(figures.scatter(evaluation.joints, evaluation.scatter, condition))
    groups = evaluation.reconstructions, evaluation.occluded
    if strips := [images for group in groups if group for images in group.values()]:
        # A row a stage in the order of the report; the cameras' strips side by side.
        joined = [pictures.strip(np.concatenate(images.swapaxes(0, 1))) for images in strips]
        yield "reconstructions", pictures.png(pictures.stack(joined))
