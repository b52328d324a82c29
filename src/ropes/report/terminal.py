"""Results and calibrations as tables for a terminal; 80 columns suffice."""

from collections.abc import Mapping, Sequence

from rich.console import Console

from ropes.common.units import percent
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ActionRow, ModelRow
from ropes.evaluation.summary import JointErrors, calibrated_on_most, over_seeds, without_labels
from ropes.inference.calibration import Calibration
from ropes.report import axes
from ropes.report.differences import beside_the_paper
from ropes.report.mpi3d_published import published_tables
from ropes.report.study_numbers import score_text
from ropes.report.table import Table, grouped, print_line
from ropes.report.words import degrees, error, fixed, joint_label, map_of, rms

#: The poses behind intervals.
_FROM = {"anchors": "held-out poses, without labels", "labels": "labelled poses"}
#: Scores of the table of models.
_SCORES = {"dci": "DCI", "mcc": "MCC", "informativeness": "R²", "trees_id": "trees"}
_SCORES |= {f"trees_{name}": name.upper().replace("_", "-") for name in ("ood1_a", "ood2_a", "ood2_b")}


def print_table(results: Results, console: Console | None = None) -> None:
    """Print results beside the paper's values.

    Args:
        results: to print.
        console: defaults to standard output.
    """
    console = console or Console()
    beside = ": ours (paper's)" if results.rows else ""
    console.print(f"{results.name}, preset {results.preset}{beside}", highlight=False, markup=False)
    for (setup, method), own in grouped(over_seeds(results.rows), lambda cell: (cell.setup, cell.method)).items():
        console.print(f"\n{setup}, {method}", style="bold", highlight=False, markup=False)
        for cells in filter(None, (without_labels(own), calibrated_on_most(own))):
            console.print(map_of(cells[0]), highlight=False, markup=False)
            console.print(_joints(cells).terminal())
        for sentence in dict.fromkeys(filter(None, (beside_the_paper(cell, results.preset) for cell in own))):
            console.print(sentence, highlight=False, markup=False)
    if results.action_rows:
        text = "\naccuracy of actions over pairs; cosine of the mean deltas of antonyms"
        console.print(text, highlight=False, soft_wrap=True)
        console.print(_actions(results.action_rows).terminal())
    if results.axes_rows:
        console.print(f"\n{axes.TITLE}: median over seeds", style="bold", highlight=False)
        console.print(axes.axes_table(results.axes_rows, few=True).terminal())
        console.print(axes.caption(results.axes_rows), highlight=False, markup=False)
        for words, table in published_tables(results):
            console.print(f"\n{words}", highlight=False, markup=False)
            console.print(table.terminal())
    if results.model_rows:
        console.print("\nmean absolute errors of boosted trees, in shares of the factors' ranges", highlight=False)
        console.print(_models(results.model_rows).terminal())
        if any("trees_ood2_b" in row.scores for row in results.model_rows):
            console.print("OOD2-B: a second simulated domain, a stand-in for photographs", highlight=False)


def _joints(cells: Sequence[JointErrors]) -> Table:
    """A line for each condition and joint: error in degrees, MCC and MSE with the paper's in brackets, R²."""
    measured = any(cell.r2 is not None for cell in cells)
    lines: list[list[tuple[str, str]]] = [
        [
            ("split", f"{cell.split}, {cell.occlusion} px" if cell.occlusion else cell.split),
            ("joint", joint_label(cell.joint)),
            ("RMS, °", rms(cell.mse)),
            ("MCC", _beside(fixed(cell.mcc), cell.paper_mcc, cell.mcc_reached)),
            ("MSE, rad²", _beside(error(cell.mse), cell.paper_mse, cell.mse_reached)),
            *([("R²", fixed(cell.r2))] if measured else []),
        ]
        for cell in cells
    ]
    return Table.of(lines, texts=(0, 1))


def _beside(ours: str, paper: float | None, reached: bool | None) -> str:
    """Our number, and the paper's in brackets where they compare."""
    return ours if reached is None else f"{ours} ({fixed(paper)}) {'✓' if reached else '✗'}"


def _actions(rows: Sequence[ActionRow]) -> Table:
    """A line for each model: accuracy under each shift, and cosine of antonyms."""
    splits = list(dict.fromkeys(split for row in rows for split in row.accuracy))
    headings = [split.removeprefix("test-") for split in splits]
    lines = []
    for row in rows:
        numbers = [*(row.accuracy.get(split) for split in splits), row.cosines.get("antonyms")]
        lines.append([row.setup, row.method, str(row.seed), *map(fixed, numbers)])
    return Table(["images", "method", "seed", *headings, "antonyms"], lines, texts=(0, 1))


def _models(rows: Sequence[ModelRow]) -> Table:
    """A line for each model: its main scores, as far as they were measured."""
    shown = {score: heading for score, heading in _SCORES.items() if any(score in row.scores for row in rows)}
    lines = [
        [row.method, str(row.seed), *(score_text(score, row.scores.get(score)) for score in shown)] for row in rows
    ]
    return Table(["method", "seed", *shown.values()], lines)


def print_calibration(calibration: Calibration, console: Console | None = None) -> None:
    """Print the known errors of a calibration in degrees, a line for each joint.

    Args:
        calibration: to print.
        console: defaults to standard output.
    """
    console = console or Console()
    errors, intervals = calibration.errors, calibration.intervals
    columns: dict[str, Mapping[str, float]] = {}
    notes = []
    if errors and errors.left_out is not None:
        columns["left out, °"] = errors.left_out
        notes.append("left out: leave-one-out root mean square error of the line over the labelled poses")
    if errors and errors.half_width is not None and intervals is not None:
        columns[f"{percent(intervals.level)}, °"] = errors.half_width
    if not columns:
        few = "too few labels, and " if calibration.samples else ""
        console.print(f"no estimate of the errors: {few}no anchors", highlight=False, markup=False)
        return
    if intervals is not None:
        behind = f"{intervals.samples} {_FROM[intervals.source]}"
        notes.append(f"{percent(intervals.level)}: half the interval at the median σ, from {behind}")
    lines = [
        [joint_label(joint), *(degrees(values[joint]) for values in columns.values())]
        for joint in next(iter(columns.values()))
    ]
    console.print(Table(["joint", *columns], lines).terminal())
    for note in notes:
        print_line(console, note)
