"""Rows on intervals and flags: what may stand in them, and their place in results.json."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import CoverageRow

ROW = CoverageRow(
    setup="tiny",
    method="anchored",
    split="id",
    occlusion=0,
    joint="elbow",
    seed=0,
    intervals="anchors",
    level=0.9,
    calibration_labels=1000,
    coverage=0.91,
    width=0.4,
    auroc=None,
    flagged=0.01,
)


def wrapped(*rows: CoverageRow) -> Results:
    return Results(name="e", preset="tiny", device="CPU", version="0", seconds=1.0, rows=(), trust_rows=rows)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"setup": ""}, "setup must be a name"),
        ({"split": "test"}, "split must be one of id, ood"),
        ({"intervals": "guesses"}, "intervals must be one of commanded, anchors, labels"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"coverage": 1.01}, "coverage must lie in 0 to 1"),
        ({"coverage": None}, "coverage must be a finite number"),
        ({"width": float("inf")}, "width must be a finite number"),
        ({"auroc": float("nan")}, "auroc must be a finite number"),
        ({"flagged": True}, "flagged must be a finite number"),
    ],
)
def test_invalid_trust_rows_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(ROW, **changes)


def test_trust_rows_round_trip_and_older_files_have_none(tmp_path: Path) -> None:
    given = wrapped(ROW, dataclasses.replace(ROW, intervals="labels"), dataclasses.replace(ROW, seed=1))
    results.write(tmp_path / "results.json", given)
    assert results.read(tmp_path / "results.json") == given
    results.write(tmp_path / "old.json", wrapped())
    assert "trust_rows" not in json.loads((tmp_path / "old.json").read_text())
    assert results.read(tmp_path / "old.json").trust_rows == ()


def test_duplicate_conditions_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two rows of the same conditions: .*elbow, anchors"):
        wrapped(ROW, ROW)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"not": "a list"}, "trust_rows must be a list"),
        ([{"setup": "tiny"}], "trust row 0: missing auroc"),
        ([dataclasses.asdict(ROW) | {"width": -1}], "trust row 0: width must lie in 0 to inf"),
    ],
)
def test_invalid_row_in_the_file_is_reported(tmp_path: Path, rows: object, message: str) -> None:
    path = tmp_path / "results.json"
    results.write(path, wrapped())
    path.write_text(json.dumps(json.loads(path.read_text()) | {"trust_rows": rows}))
    with pytest.raises(UserError, match=message):
        results.read(path)
