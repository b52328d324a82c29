"""Training times of fits, and a table that compares those of image sizes."""

from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors, over_seeds
from ropes.methods.registry import method_of
from ropes.report.curves import described
from ropes.report.table import Table, paragraphs
from ropes.report.words import fixed


def fit_times(found: Results) -> dict[tuple[str, str], float]:
    """Setup and method → seconds of the training, mean over seeds; fits of earlier versions have none."""
    times: dict[tuple[str, str], list[float]] = {}
    for row in found.fit_rows:
        if row.seconds is not None:
            times.setdefault((row.setup, row.method), []).append(row.seconds)
    return {fit: sum(seconds) / len(seconds) for fit, seconds in times.items()}


def time_entries(seconds: float, reference: float | None) -> list[str]:
    """A training time in minutes, and relative to another one; "" without another."""
    return [fixed(seconds / 60, 1), f"{fixed(seconds / reference, 2)}×" if reference else ""]


def fit_times_markdown(found: Results) -> str:
    """Training times by size of the images, relative to the fit of the smallest; "" without times."""
    times, sizes = fit_times(found), {(cell.setup, cell.method): cell for cell in over_seeds(found.rows)}
    fits = sorted((fit for fit in times if fit in sizes), key=lambda fit: (fit[0], sizes[fit].image_size or 0))
    smallest = {_kind(sizes[fit]): times[fit] for fit in reversed(fits)}
    lines = [[described(sizes[fit]), *time_entries(times[fit], smallest[_kind(sizes[fit])])] for fit in fits]
    if not lines:
        return ""
    table = Table(["training data", "minutes of training", "relative to the smallest images"], lines)
    return paragraphs(table.markdown())


def _kind(cell: JointErrors) -> tuple[str, str]:
    return cell.setup, method_of(cell.method)
