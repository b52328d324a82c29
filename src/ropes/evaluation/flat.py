"""All figures of results files as one flat table, one row a figure."""

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ropes.common import files
from ropes.evaluation.results import FURTHER, Results
from ropes.evaluation.rows.schema import MeasuredRow

#: A value of the table.
Value = str | int | float
#: Fields of rows that are conditions, besides the first columns and `joint`, which is in the column `target`.
_CONDITIONS = (
    *("split", "occlusion", "labels", "calibration_labels", "label_share", "anchors", "image_size", "erased"),
    *("renderer", "camera", "trained_renderer", "trained_camera", "images", "intervals", "level", "link", "frame"),
)
#: Columns of the table, in their order.  New ones are added at the end.
COLUMNS = (
    *("experiment", "preset", "kind", "setting", "method", "seed", *_CONDITIONS),
    *("target", "metric", "value", "unit", "hiding", "scene", "mesh", "source"),
)
#: Tables of figures whose keys are factors or joints: field → how many keys come before the target.
_OF_TARGETS = {"informativeness": 0, "errors": 1, "recall": 1, "moves": 0}
#: Tables of figures whose first keys are splits.
_OF_SPLITS = ("accuracy", "pairs", "recall")
#: Squared errors of joints, rad² → their roots in degrees, which are figures too.
_IN_DEGREES = {"mse_mean": "rms_deg", "paper_mse": "paper_rms_deg"}
#: Metric, or the field that holds it → unit; 1 for all others.
_UNITS = {
    **dict.fromkeys(("mse_mean", "mse_std", "paper_mse"), "rad²"),
    **dict.fromkeys(("position_mm_mean", "position_mm_std", "add_mm_mean", "add_mm_std"), "mm"),
    **dict.fromkeys(("orientation_deg_mean", "orientation_deg_std", *_IN_DEGREES.values()), "°"),
    **dict.fromkeys(("contrast", "floor", "elbo", "reconstruction"), "nat"),
    "width": "rad",
    "seconds": "s",
}


def write_csv(path: Path, found: Mapping[str, Results]) -> int:
    """Write the figures of some results as CSV (RFC 4180, UTF-8, a header of `COLUMNS`), atomically.

    Args:
        path: the file.
        found: name of the file of results, for the column `source` → results.

    Returns:
        The number of figures.
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    count = 0
    for source, results in found.items():
        for figure in figures(results):
            writer.writerow({**figure, "source": source})
            count += 1
    files.write_text(path, stream.getvalue())
    return count


def figures(results: Results) -> Iterator[dict[str, Value]]:
    """Every figure of some results with its conditions: columns of `COLUMNS` → value.

    Conditions that do not apply are left out, and so are figures that are undefined or were not measured.
    """
    conditions_of_all = {"hiding": results.hiding, "scene": results.scene, "mesh": results.mesh}
    whole = {name: value for name, value in conditions_of_all.items() if value is not None}
    for name in ("rows", *FURTHER):
        kind = name.removesuffix("rows").rstrip("_") or "joint"
        for row in getattr(results, name):
            for conditions, metric, value in _of_row(row):
                unit = _UNITS.get(metric, "1")
                origin: dict[str, Value] = {"experiment": results.name, "preset": results.preset, "kind": kind, **whole}
                yield {**origin, **conditions, "metric": metric, "value": value, "unit": unit}


def _of_row(row: MeasuredRow) -> Iterator[tuple[dict[str, Value], str, float]]:
    """Conditions, metric and value of each figure of a row."""
    content = {name: value for name, value in asdict(row).items() if value is not None}
    shared = {"setting": content.pop("setup"), "method": content.pop("method"), "seed": content.pop("seed")}
    of_row = {*row.keys, "level"}.intersection(content)
    shared |= {name: content.pop(name) for name in _CONDITIONS if name in of_row}
    if "joint" in content:
        shared["target"] = content.pop("joint")
    for name, value in content.items():
        if isinstance(value, Mapping):
            for keys, figure in _leaves(value):
                yield _of_table(name, keys, shared, figure)
        elif not isinstance(value, str):
            if name in _IN_DEGREES:
                yield shared, _IN_DEGREES[name], math.degrees(math.sqrt(value))
            yield shared, name, value


def _of_table(
    name: str, keys: Sequence[str], shared: Mapping[str, Value], figure: float
) -> tuple[dict[str, Value], str, float]:
    """Conditions, metric and value of a figure of the field `name`, a table with these keys."""
    conditions, rest = dict(shared), list(keys)
    if name in _OF_TARGETS:
        conditions["target"] = rest.pop(_OF_TARGETS[name])
    if name in _OF_SPLITS:
        conditions["split"] = rest.pop(0)
    if name in ("scores", "errors"):  # their keys are the metrics' own names
        return conditions, ".".join(rest), figure
    return conditions, ".".join([name, *rest]), figure


def _leaves(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], float]]:
    """The keys and the value of each figure of a table; undefined ones are left out."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from (((key, *further), figure) for further, figure in _leaves(value))
        elif isinstance(value, int | float):
            yield (key,), value
