"""What benchmarks of an estimator on newly rendered poses of its setting do alike: their options, and their figures."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.figures import described, keep, options
from ropes.inference.estimator import Estimator
from ropes.models.registry import find_run
from ropes.simulation.settings import Setting, setting_named


def main_of(
    description: str | None,
    name: str,
    page: Path,
    measured: Callable[[Estimator, Setting, int], list[dict[str, Any]]],
    written: Callable[[Mapping[str, Any]], str],
    *,
    count: int,
    poses: str,
) -> None:
    """Read the options, measure, and print and keep the figures.

    Args:
        description: of the benchmark, shown with its options.
        name: of the figures.
        page: with the tables, written with --page.
        measured: estimator, its setting, number of poses → rows.
        written: figures → tables in Markdown, and what they are of.
        count: number of poses unless another one is given.
        poses: of what it is the number.
    """
    parser = options(description)
    parser.add_argument("run", nargs="?", default="panda-2c", help="packaged or calibrated estimator")
    parser.add_argument("--count", type=int, default=count, help=f"poses of each {poses}")
    parser.add_argument("--page", action="store_true", help=f"also write the tables of docs/{page.name}")
    given, began = parser.parse_args(), time.monotonic()
    estimator = Estimator.load(find_run(given.run))
    setting = setting_named(estimator.run.setting)
    rows = measured(estimator, setting, given.count)
    found = {"run": given.run, "setting": setting.name, "count": given.count, "rows": rows, **described(began)}
    keep(found, name, written(found), given.out, page if given.page else None)
