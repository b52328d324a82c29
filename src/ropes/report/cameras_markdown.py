"""The page of errors by renderer and camera, as Markdown: errors, coverage of intervals, and training times."""

from collections.abc import Iterator, Mapping, Sequence

from ropes.evaluation.paper import CALIBRATION_LABELS
from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors, over_seeds, without_labels
from ropes.report.cameras import CameraErrors, errors_by_camera, fit_of, in_order, tables, tested_images
from ropes.report.fit_times import fit_times, time_entries
from ropes.report.table import Table, grouped, named_once, paragraphs
from ropes.report.words import RENDERERS, counted, in_words, joint_label, origin, rms


def cameras_markdown(found: Results) -> str:
    """Figures and tables of all settings and splits, for a page in docs/, and the origin of the numbers."""
    parts, every = [], errors_by_camera(found)
    for errors in every:
        heading = in_words(errors.setup, 0, errors.split)
        picture = f"../results/{found.name}-{found.preset}-{errors.kind}.png"
        parts += [f"**{heading}**", f"![Error by camera level]({picture})"]
        for words, table in (*_without_labels(found, errors), *tables(errors), *_coverage(found, errors)):
            parts += [words, table.markdown()]
    parts += _times(found, [cell for errors in every for cell in errors.own])
    seeds = counted(len({row.seed for row in found.rows}), "training seed")
    note = (
        f"First RMS errors in degrees, then MSE in rad², ± over test draws of {seeds}, bold where it reaches the "
        "paper's ROPES. In brackets: the ratio of the MSE to that of the fit on clean images of the tested renderer, "
        "with the same method and number of anchors. Where nothing else is stated, coordinates of methods without "
        f"labels become radians by a line fitted on {CALIBRATION_LABELS:,} labels of the test images. "
    )
    return paragraphs(*parts, note + origin(found))


def _without_labels(found: Results, errors: CameraErrors) -> Iterator[tuple[str, Table]]:
    """RMS errors in degrees; the maps to radians come from the known distributions of the policies."""
    place = errors.setup, errors.split, 0
    cells = [
        cell
        for cell in without_labels(over_seeds(found.rows))
        if (cell.setup, cell.split, cell.occlusion) == place and cell.mse is not None
    ]
    at = {(cell.method, cell.joint): rms(cell.mse) for cell in cells}
    if cells:
        yield "Test images like the training images, no label, RMS error in degrees:", _by_joint(cells, errors, at)


def _coverage(found: Results, errors: CameraErrors) -> Iterator[tuple[str, Table]]:
    """Coverage of the intervals whose width comes from labels."""
    place, kinds = (errors.setup, errors.split, 0), (("labels", CALIBRATION_LABELS), ("own", 0))
    rows = [
        row
        for row in found.trust_rows
        if (row.setup, row.split, row.occlusion) == place and (row.intervals, row.calibration_labels) in kinds
    ]
    shares = {
        fit: f"{100 * sum(row.coverage for row in own) / len(own):.1f}"
        for fit, own in grouped(rows, lambda row: (row.method, row.joint)).items()
    }
    measured = {method for method, _ in shares}
    if cells := [cell for cell in errors.own if cell.method in measured]:
        words = (
            f"Share of true angles inside {rows[0].level:.0%} intervals, percent; widths from {CALIBRATION_LABELS:,} "
            "labels, those of methods with labels from held-out ones:"
        )
        yield words, _by_joint(cells, errors, shares)


def _by_joint(cells: Sequence[JointErrors], errors: CameraErrors, at: Mapping[tuple[str, str], str]) -> Table:
    """A line for each fit with the texts of method and joint."""
    entries = {cell.method: [at.get((cell.method, joint), "–") for joint in errors.joints] for cell in cells}
    return _by_fit(cells, list(map(joint_label, errors.joints)), entries)


def _times(found: Results, cells: Sequence[JointErrors]) -> list[str]:
    """Minutes of the training of each fit; nothing where the results have no times."""
    times = fit_times(found)
    timed = [cell for cell in cells if (cell.setup, cell.method) in times]
    kinds = {(cell.setup, tested_images(cell), fit_of(cell)): times[cell.setup, cell.method] for cell in timed}
    parts = []
    for setup, own in grouped(timed, lambda cell: cell.setup).items():
        entries = {
            cell.method: time_entries(
                times[setup, cell.method], kinds.get((setup, (tested_images(cell)[0], "clean"), fit_of(cell)))
            )
            for cell in own
        }
        table = _by_fit(own, ["minutes", "relative to clean images"], entries)
        parts += [f"{in_words(setup, 0)}, training time:", table.markdown()]
    return parts


def _by_fit(cells: Sequence[JointErrors], headings: Sequence[str], entries: Mapping[str, Sequence[str]]) -> Table:
    """A line for each fit, in the order of the tables of errors; `entries` are by method."""
    lines = []
    for cell in {cell.method: cell for cell in in_order(cells)}.values():
        (renderer, level), (method, anchors) = tested_images(cell), fit_of(cell)
        images = f"{RENDERERS[renderer]}, {level}"
        lines.append((images, [method, f"{anchors:,}" if anchors else "", *entries[cell.method]]))
    return Table(["images", "method", "anchors", *headings], named_once(lines), texts=(0, 1))
