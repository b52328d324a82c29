"""Prints the scores of the benchmark; loads rich alone."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from ropes.evaluation.benchmark.scores import JointScore

_COLUMNS = ("RMS, °", "MSE, rad²", "MCC", "R²")
_OF_INTERVALS = ("covered", "width, °")


def print_scores(scores: Mapping[str, Mapping[str, JointScore]], console: Console | None = None) -> None:
    """Print a table for each test split, with a line for each joint; 80 columns suffice.

    Args:
        scores: split → joint → figures.
        console: defaults to standard output.
    """
    console = console or Console()
    for split, joints in scores.items():
        with_intervals = any(each.coverage is not None for each in joints.values())
        table = Table("joint")
        for heading in (*_COLUMNS, *(_OF_INTERVALS if with_intervals else ())):
            table.add_column(heading, justify="right", no_wrap=True)
        for joint, each in joints.items():
            cells = [f"{each.rms_degrees:.2f}", f"{each.mse:.5f}", f"{each.mcc:.3f}", f"{each.r2:.3f}"]
            if each.coverage is not None and each.width_degrees is not None:
                cells += [f"{each.coverage:.1%}", f"{each.width_degrees:.1f}"]
            table.add_row(joint, *cells)
        console.print(split, highlight=False)
        console.print(table)
