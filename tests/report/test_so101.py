"""The table of experiment so101: degrees of each joint, over training seeds, without labels first."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.evaluation import results
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.report.html import write_report
from ropes.report.readme_tables import update
from ropes.report.so101 import so101_markdown

JOINTS = ("shoulder_pan", "elbow_flex")


def row(joint: str, degrees: float | None, *, seed: int = 0, labels: int = 0, split: str = "id") -> Row:
    mse = None if degrees is None else float(np.radians(degrees) ** 2)
    made = Row.measured(
        setup="so101",
        method="anchored",
        joint=joint,
        split=split,
        occlusion=0,
        seed=seed,
        calibration_labels=labels,
        mcc=(0.9, 0.0),
        mse=(mse or 0.0, 0.0),
    )
    return replace(made, mse_mean=mse, mse_std=None if mse is None else 0.0)


def found(*rows: Row) -> Results:
    return Results(
        name="so101", preset="compact", device="2 cores", version="0", scene="panda-gym", seconds=600.0, rows=rows
    )


FOUND = found(
    *(
        row(joint, error, seed=seed, labels=labels, split=split)
        for seed, error in enumerate((3.0, 4.0, 5.0))
        for labels in (1000, 100, 0)
        for split in ("ood", "id")
        for joint in JOINTS
    )
)


def test_entries_are_degrees_over_all_seeds_with_the_range_of_a_seed() -> None:
    head, _, free, fitted, shifted, last, _, *note = so101_markdown(FOUND).splitlines()
    assert head == "| test data | method | labels | shoulder_pan | elbow_flex |"  # in the order of the arm
    assert free == "| SO-101 | anchored | 0 | 4.1 (3.0 to 5.0) | 4.1 (3.0 to 5.0) |"  # √((9 + 16 + 25) / 3)
    assert fitted == free.replace("SO-101", "").replace("| 0 |", "| 1,000 |")
    assert shifted.startswith("| SO-101, shifted poses | anchored | 0 | 4.1 ")
    assert last.startswith("|  | anchored | 1,000 | 4.1 ")
    text = " ".join(note)
    assert "of 3 training seeds" in text
    assert "The gripper moves and is not learnt" in text
    assert text.endswith("Scene panda-gym. Preset compact, 2 cores, 10 minutes.")


def test_a_seed_without_a_map_to_radians_leaves_a_dash() -> None:
    lines = so101_markdown(found(row("elbow_flex", 3.0), row("elbow_flex", None, seed=1), row("wrist_roll", 2.0)))
    assert "| SO-101 | anchored | 0 | – | 2.0 |" in lines.splitlines()


@pytest.mark.slow
def test_the_page_of_the_run_and_the_marked_table_are_written(tmp_path: Path) -> None:
    results.write(tmp_path / "results.json", FOUND)
    write_report(tmp_path, tmp_path / "report.html")
    assert "wrist" not in (page := (tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "SO-101 · anchored" in page
    (tmp_path / "results.json").rename(tmp_path / "so101-compact.json")
    (tmp_path / "page.md").write_text("<!-- table:so101-compact/optional -->\n<!-- /table -->\n", encoding="utf-8")
    assert update(tmp_path / "page.md", tmp_path) == ("so101-compact/optional",)
    assert "| SO-101 | anchored | 0 | 4.1 (3.0 to 5.0) |" in (tmp_path / "page.md").read_text(encoding="utf-8")
