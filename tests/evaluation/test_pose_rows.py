"""What may stand in a pose row, the round trip, and files from before there were any."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from ropes.common.files import read_json, write_json
from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import PoseRow
from ropes.report.joints import pose_entries

CONDITIONS = {
    "setup": "panda-2c-independent",
    "method": "anchored",
    "split": "id",
    "occlusion": 0,
    "seed": 0,
    "labels": 0,
    "calibration_labels": 1000,
    "link": "panda_hand",
    "frame": "panda_link0",
}


def a_row(**changes: Any) -> PoseRow:
    given: dict[str, Any] = {"means": (30.0, 5.0, 20.0, 0.8), "deviations": (1.0, 0.5, 2.0, 0.01)}
    return PoseRow.measured(**(given | CONDITIONS | changes))


def some_results(*rows: PoseRow) -> Results:
    return Results(name="demo", preset="compact", device="CPU", version="0.1.0", seconds=1.0, rows=(), pose_rows=rows)


def test_results_round_trip_and_older_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    wanted = some_results(a_row(), a_row(seed=1), a_row(occlusion=32))
    results.write(path, wanted)
    assert results.read(path) == wanted
    content = read_json(path)
    assert len(content["pose_rows"]) == 3
    del content["pose_rows"]
    write_json(path, content)
    assert results.read(path) == some_results()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"means": (float("nan"), 5.0, 20.0, 0.8)}, "position_mm_mean must be a finite number, got nan"),
        ({"means": (1.0, 181.0, 20.0, 0.8)}, "orientation_deg_mean must lie in 0 to 180"),
        ({"means": (1.0, 5.0, 20.0, 1.1)}, "add_auc_mean must lie in 0 to 1"),
        ({"deviations": (1.0, 5.0, -1.0, 0.1)}, "add_mm_std must lie in 0 to inf"),
        ({"link": ""}, "link must be a name"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_a_wrong_row_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        a_row(**changes)


def test_duplicate_conditions_are_refused() -> None:
    with pytest.raises(ValueError, match="two rows of the same conditions: panda-2c-independent, anchored, id, 0"):
        some_results(a_row(), a_row(means=(1.0, 1.0, 1.0, 1.0)))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda c: c.update(pose_rows={}), "pose_rows must be a list"),
        (lambda c: c["pose_rows"][0].pop("frame"), "pose row 0: missing frame"),
        (lambda c: c["pose_rows"][0].update(more=1), "pose row 0: unknown more"),
        (lambda c: c["pose_rows"][0].update(add_auc_mean="good"), "pose row 0: add_auc_mean must be a finite number"),
        (lambda c: c["pose_rows"].__setitem__(0, 3), "pose row 0: missing add_auc_mean"),
    ],
)
def test_damaged_file_is_reported(spoil: Any, message: str, tmp_path: Path) -> None:
    content = some_results(a_row()).to_dict()
    spoil(content)
    write_json(tmp_path / "results.json", content)
    with pytest.raises(UserError, match=re.escape(message)):
        results.read(tmp_path / "results.json")


def test_the_table_pools_training_seeds() -> None:
    other = dataclasses.replace(a_row(seed=1), position_mm_mean=34.0, position_mm_std=1.0)
    (first, entries), (covered, others) = pose_entries([a_row(), other, a_row(occlusion=32)])
    assert (first.setup, first.method, first.split, first.occlusion) == ("panda-2c-independent", "anchored", "id", 0)
    assert str(entries[0]) == "32.0 ± 2.2"  # √(1² over repeats + 2² over seeds)
    assert covered.occlusion == 32
    assert list(map(str, others)) == ["30.0 ± 1.0", "5.00 ± 0.50", "20.0 ± 2.0", "0.800 ± 0.010"]
