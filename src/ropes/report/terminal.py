"""Terminal tables of results and calibrations."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from ropes.evaluation.results import Results
from ropes.evaluation.rows.action import ActionRow
from ropes.evaluation.rows.model import ModelRow
from ropes.evaluation.summary import Cell, calibrated_as_the_paper, over_seeds, without_labels
from ropes.inference.calibration import Calibration
from ropes.report.naming import joint_label
from ropes.report.numbers import error, fixed
from ropes.report.study_numbers import score_text
from ropes.report.verdict import map_of

#: What the errors behind intervals are of.
_FROM = {"anchors": "held-out poses, without a label", "labels": "labelled poses"}


def print_table(results: Results, console: Console | None = None) -> None:
    """Print what `results` measured beside the paper's values; 80 columns suffice.

    Args:
        results: what to show.
        console: where; standard output when left out.
    """
    console = console or Console()
    beside = ": ours (paper's)" if results.rows else ""
    console.print(f"{results.name}, preset {results.preset}{beside}", highlight=False, markup=False)
    every = over_seeds(results.rows)
    for setup, method in dict.fromkeys((cell.setup, cell.method) for cell in every):
        own = [cell for cell in every if (cell.setup, cell.method) == (setup, method)]
        console.print(f"\n{setup}, {method}", style="bold", highlight=False, markup=False)
        for cells in filter(None, (without_labels(own), calibrated_as_the_paper(own))):
            console.print(map_of(cells[0]), highlight=False, markup=False)
            console.print(_table(cells))
    if results.action_rows:
        say = "\nshare of the pairs whose action was told; cosine of the mean deltas of antonyms"
        console.print(say, highlight=False, soft_wrap=True)
        console.print(_actions(results.action_rows))
    if results.model_rows:
        console.print("\nmean absolute errors of boosted trees, in shares of the factors' ranges", highlight=False)
        console.print(_models(results.model_rows))
        if any("trees_ood2_b" in row.scores for row in results.model_rows):
            console.print("OOD2-B: a second simulated domain, a stand-in for photographs", highlight=False)


def _actions(rows: Sequence[ActionRow]) -> Table:
    """A line a model: accuracy under each shift, and how deltas lie."""
    splits = list(dict.fromkeys(split for row in rows for split in row.accuracy))
    table = Table()
    for heading in ("images", "method"):
        table.add_column(heading, overflow="fold")
    for heading in ("seed", *(split.removeprefix("test-") for split in splits), "antonyms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        figures = [*(row.accuracy.get(split) for split in splits), row.cosines.get("antonyms")]
        table.add_row(row.setup, row.method, str(row.seed), *map(fixed, figures))
    return table


def _models(rows: Sequence[ModelRow]) -> Table:
    """A line a model: what of its disentanglement and transfer is looked at first, where any model has it."""
    shown = {"dci": "DCI", "mig": "MIG", "informativeness": "inform.", "trees_id": "trees", "trees_ood1_a": "OOD1-A"}
    shown |= {"trees_ood2_a": "OOD2-A", "trees_ood2_b": "OOD2-B"}
    shown = {score: heading for score, heading in shown.items() if any(score in row.scores for row in rows)}
    table = Table()
    table.add_column("method", overflow="fold")
    for heading in ("seed", *shown.values()):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.method, str(row.seed), *(score_text(score, row.scores.get(score)) for score in shown))
    return table


def print_calibration(calibration: Calibration, console: Console | None = None) -> None:
    """Print what is known of a calibration's errors, one line a joint; 80 columns suffice.

    Args:
        calibration: just made.
        console: where; standard output when left out.
    """
    console = console or Console()
    errors, intervals = calibration.errors, calibration.intervals
    columns: dict[str, Mapping[str, float]] = {}
    if errors and errors.left_out is not None:
        columns["left out, rad"] = errors.left_out
    if errors and errors.half_width is not None and intervals is not None:
        columns[f"{intervals.level:.0%}, rad"] = errors.half_width
    if not columns:
        few = "too few labels, and " if calibration.samples else ""
        console.print(f"nothing is known of the errors: {few}no anchors", highlight=False, markup=False)
        return
    table = Table()
    table.add_column("joint", overflow="fold")
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for joint in next(iter(columns.values())):
        table.add_row(joint_label(joint), *(error(values[joint]) for values in columns.values()))
    console.print(table)
    if errors and errors.left_out is not None:
        say = "left out: root mean square error of each labelled pose from the line fitted without it"
        console.print(say, highlight=False, markup=False, soft_wrap=True)
    if intervals is not None:
        behind = f"{intervals.samples} {_FROM[intervals.source]}"
        say = f"{intervals.level:.0%}: half the interval at the median σ, from {behind}"
        console.print(say, highlight=False, markup=False, soft_wrap=True)


def _table(cells: Sequence[Cell]) -> Table:
    table = Table()
    for heading in ("split", "occlusion", "joint", "MCC", "MSE, rad²"):
        table.add_column(
            heading,
            justify="right" if heading in ("occlusion", "MCC", "MSE, rad²") else "left",
            no_wrap=heading != "joint",
            overflow="fold",
        )
    for cell in cells:
        table.add_row(
            cell.split,
            f"{cell.occlusion} px" if cell.occlusion else "none",
            joint_label(cell.joint),
            _beside(fixed(cell.mcc), cell.paper_mcc, cell.mcc_reached),
            _beside(error(cell.mse), cell.paper_mse, cell.mse_reached),
        )
    return table


def _beside(ours: str, paper: float | None, reached: bool | None) -> str:
    """Ours and, in brackets, the paper's; ours alone where there is nothing to compare."""
    if reached is None:
        return ours
    return f"{ours} ({fixed(paper)}) {'✓' if reached else '✗'}"
