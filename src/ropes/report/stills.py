"""Figures of experiments as PNG files, for README and docs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ropes.common import files
from ropes.common.arrays import Images
from ropes.evaluation import results
from ropes.evaluation.results import FURTHER, Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import by_disentanglement
from ropes.evaluation.rows.schema import MeasuredRow
from ropes.evaluation.summary import over_seeds
from ropes.methods.registry import METHODS, method_of
from ropes.report import artefacts, cameras, figures, joint_figures, pictures, robot_hours, study_figures
from ropes.report.action_figures import delta_arrays, pair_grid, pairs_and_captions, plots
from ropes.report.action_numbers import SHIFTS, Methods, in_order, of_an_arm
from ropes.report.artefacts import Evaluation, arrays_of_seed
from ropes.report.curves import AXES, efficiency_figure, error_curves, label_curves, series
from ropes.report.origins import devices, require_alike
from ropes.report.study_numbers import OOD1, images_differ, supervision_scores, transfers


def write_figures(folder: Path, out: Path, found: Results | None = None) -> tuple[Path, ...]:
    """Write the plots of an experiment as PNG files; plots of artefacts only where these are in the folder.

    Args:
        folder: as for `ropes.report.html.write_report`.
        out: folder for NAME-PRESET-SETUP-METHOD-KIND.png; without METHOD or SETUP where a plot shows several.
        found: the results to draw instead of the folder's own.

    Returns:
        The files written.

    Raises:
        UserError: results.json is missing or wrong, or an artefact is damaged.
    """
    found = found or results.read(folder / "results.json")
    written = []
    for kind, drawn in _stills(found, folder):
        path = out / f"{found.name}-{found.preset}-{kind}.png"
        with files.atomic_path(path) as temporary:
            temporary.write_bytes(figures.to_png(drawn) if isinstance(drawn, Figure) else pictures.png(drawn))
        written.append(path)
    return tuple(written)


def _stills(found: Results, folder: Path) -> Iterator[tuple[str, Figure | Images]]:
    """The rest of a file's name, and its figure or pixels."""
    cells = () if found.name == robot_hours.NAME else over_seeds(found.rows)  # whose chains are no anchors
    for axis in AXES:
        for (setup, method), group in series(cells, axis).items():
            yield f"{setup}-{method}-{axis.replace('_', '-')}", error_curves(group, axis)
    for curves in label_curves(cells):
        yield f"{curves.setup}-labels{'-shifted' if curves.split == 'ood' else ''}", efficiency_figure(curves)
    for errors in cameras.errors_by_camera(found):
        yield errors.kind, cameras.figure(errors)
    yield from robot_hours.stills(found)
    for run in artefacts.load(folder, {(row.setup, row.method) for row in found.rows}):
        if run.evaluation and method_of(run.method) == run.method:  # a variant is a point of the curves
            rows = [row for row in found.rows if (row.setup, row.method) == (run.setup, run.method)]
            for kind, drawn in _of_run(run.evaluation, rows):
                yield f"{run.setup}-{run.method}-{kind}", drawn
    yield from _study(found, folder)
    for setup, methods in in_order(found.action_rows).items():
        for kind, figure in _actions(setup, methods, folder):
            yield f"{setup}-{kind}", figure


def _of_run(evaluation: Evaluation, rows: Sequence[Row]) -> Iterator[tuple[str, Figure | Images]]:
    """The scatter and the reconstructions of a run."""
    if evaluation.scatter:
        condition = artefacts.scatter_condition(evaluation, rows)
        yield "scatter", joint_figures.scatter(evaluation.joints, evaluation.scatter, condition)
    groups = evaluation.reconstructions, evaluation.occluded
    if rows_of_images := [images for group in groups if group for images in group.values()]:
        # A row for each stage in the order of the report; the cameras' strips are side by side.
        joined = [pictures.strip(np.concatenate(images.swapaxes(0, 1))) for images in rows_of_images]
        yield "reconstructions", pictures.stack(joined)


def _study(found: Results, folder: Path) -> Iterator[tuple[str, Figure | Images]]:
    """The figures of a study of models, and the sweeps of its most disentangled VAE."""
    rows = found.model_rows
    if not rows:
        return
    if images_differ(rows):
        yield "supervision", study_figures.supervision_curves(rows, supervision_scores(rows))
    if transfers(rows):
        yield "metrics", study_figures.metric_violins(rows)
        yield "transfer", study_figures.transfer_scatter(rows, OOD1)
        yield "noise", study_figures.noise_violins(rows)
    for best in by_disentanglement([row for row in rows if "elbo" in row.scores])[-1:]:
        if (arrays := arrays_of_seed(folder, best, "pictures.npz")) is not None:
            yield "sweeps", pictures.stack([pictures.strip(images) for images in arrays["sweeps"]])


def _actions(setup: str, methods: Methods, folder: Path) -> Iterator[tuple[str, Figure]]:
    """The plots of a setting of actions, and pairs with their selected patches."""
    arrays_of = delta_arrays(methods, folder)
    for plot in plots(setup, methods, arrays_of):
        yield plot.kind, plot.figure
    arrays = {} if of_an_arm(methods) else arrays_of.get("cde-patch", {})
    for split in (split for split in SHIFTS if f"{split}_images" in arrays):
        yield f"patches-{split.removeprefix('test-')}", pair_grid(*pairs_and_captions(arrays, split, patchwise=True))


def publish(folder: Path, out: Path, *, keep: bool = False, keep_seeds: bool = False) -> tuple[Path, ...]:
    """Copy an experiment's results.json to `out`/NAME-PRESET.json, and write its figures beside it.

    Args:
        folder: of the experiment.
        out: folder of the committed results.
        keep: keep the committed rows of methods and settings that the experiment lacks.
        keep_seeds: keep those of other training seeds of its methods too.

    Raises:
        UserError: as `write_figures`, the committed file is wrong, or (where rows are kept) its scene or meshes are
            others.
    """
    found = results.read(folder / "results.json")
    table = out / f"{found.name}-{found.preset}.json"
    if (keep or keep_seeds) and table.exists():
        committed = results.read(table)
        option = "--keep-seeds" if keep_seeds else "--keep"
        require_alike(committed, found, (table, folder), f"leave {option} out to replace it")
        found = _joined(committed, found, keep_seeds=keep_seeds)
    results.write(table, found)
    return table, *write_figures(folder, out, found)


def _joined(committed: Results, found: Results, *, keep_seeds: bool) -> Results:
    """The committed rows of fits that `found` lacks, then its own; devices are listed, seconds add up.

    They stay as they are if all fits are committed already, with the same rows, and are None if any other fit replaces
    a committed one: the committed seconds do not say which are its own.
    """

    def fit_of(row: MeasuredRow) -> tuple[str, str, int | None]:
        return row.setup, row.method, row.seed if keep_seeds else None

    def fits(results: Results) -> set[tuple[str, str, int | None]]:
        return {fit_of(row) for kind in ("rows", "model_rows", "action_rows") for row in getattr(results, kind)}

    before, now = fits(committed), fits(found)
    if before <= now:
        return found
    kinds, methods = ("rows", *FURTHER), {fit[1:] for fit in now}

    def is_replaced(kind: str, row: MeasuredRow) -> bool:
        """Rows of the axes name the points, not the data set of their fit, which is another one."""
        fit = fit_of(row)
        return fit[1:] in methods if kind == "axes_rows" else fit in now

    kept = {kind: [row for row in getattr(committed, kind) if not is_replaced(kind, row)] for kind in kinds}
    again = any(method_of(method) in METHODS for _, method, _ in before & now)  # others come with the package
    merged: dict[str, Any] = {kind: (*kept[kind], *getattr(found, kind)) for kind in kinds}
    replaced = [row for kind in kinds for row in getattr(committed, kind) if is_replaced(kind, row)]
    published = [row for kind in kinds for row in getattr(found, kind)]
    same = now <= before and all(row in published for row in replaced)
    if same:
        seconds = committed.seconds
    elif again or committed.seconds is None or found.seconds is None:
        seconds = None
    else:
        seconds = round(committed.seconds + found.seconds, 1)
    return replace(
        found,
        device=devices(committed, found),
        seconds=seconds,
        **merged,
    )
