"""The table against the paper in a terminal: one line a setup and occlusion, MCC and MSE of every joint."""

from rich.console import Console
from rich.table import Table

from ropes.report.naming import joint_label
from ropes.results import Results
from ropes.summary import over_seeds


def print_table(results: Results) -> None:
    """Print what `results` measured beside the paper's values, on standard output."""
    table = Table(title=f"{results.name}, preset {results.preset}: ours (paper's)")
    for heading in ("setup", "split", "occlusion", "joint", "MCC", "MSE, rad²"):
        table.add_column(heading, justify="right" if heading in ("occlusion", "MCC", "MSE, rad²") else "left")
    for cell in over_seeds(results.rows):
        table.add_row(
            cell.setup,
            cell.split,
            f"{cell.occlusion} px" if cell.occlusion else "none",
            joint_label(cell.joint),
            _beside(cell.mcc, cell.paper_mcc, cell.mcc_reached),
            _beside(cell.mse, cell.paper_mse, cell.mse_reached),
        )
    Console().print(table)


def _beside(ours: float | None, paper: float | None, reached: bool | None) -> str:
    if ours is None:
        return "–"
    mark = {None: "", True: " ✓", False: " ✗"}[reached]
    theirs = "" if paper is None else f" ({paper:.3f}){mark}"
    return f"{ours:.3f}{theirs}"
