"""The table against the paper in a terminal: a part a setup and method, one line a split, occlusion and joint."""

from rich.console import Console
from rich.table import Table

from ropes.report.naming import joint_label
from ropes.results import Results
from ropes.summary import Cell, calibrated_as_the_paper, over_seeds


def print_table(results: Results, console: Console | None = None) -> None:
    """Print what `results` measured beside the paper's values; 80 columns suffice.

    Args:
        results: what to show.
        console: where; standard output when left out.
    """
    console = console or Console()
    console.print(f"{results.name}, preset {results.preset}: ours (paper's)", highlight=False, markup=False)
    parts: dict[str, list[Cell]] = {}
    for cell in calibrated_as_the_paper(over_seeds(results.rows)):
        parts.setdefault(f"{cell.setup}, {cell.method}", []).append(cell)
    for heading, cells in parts.items():
        console.print(f"\n{heading}", style="bold", highlight=False, markup=False)
        console.print(_table(cells))


def _table(cells: list[Cell]) -> Table:
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
            _beside(cell.mcc, cell.paper_mcc, cell.mcc_reached),
            _beside(cell.mse, cell.paper_mse, cell.mse_reached),
        )
    return table


def _beside(ours: float | None, paper: float | None, reached: bool | None) -> str:
    if ours is None:
        return "–"
    mark = {None: "", True: " ✓", False: " ✗"}[reached]
    theirs = "" if paper is None else f" ({paper:.3f}){mark}"
    return f"{ours:.3f}{theirs}"
