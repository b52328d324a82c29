"""Which coordinates are freed of joints without an intervention: rows, the page's tables, Markdown."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.evaluation import results
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import FreedRow
from ropes.report.partial_disentanglement import freed_lines, freed_markdown

JOINTS = ("panda_joint1", "panda_joint2")
ROW = FreedRow(
    setup="panda-1c-six",
    method="anchored",
    joint="panda_joint2",
    seed=0,
    correlations=dict(zip(JOINTS, (0.2, 0.9), strict=True)),
    own=0.8,
    every=0.95,
)


def found(*rows: FreedRow) -> Results:
    return Results(
        name="six-joints",
        preset="compact",
        device="2 cores",
        version="0",
        scene="panda-gym",
        seconds=600.0,
        rows=(),
        freed_rows=rows,
    )


def test_seeds_are_averaged_and_every_joint_has_a_column() -> None:
    other = replace(ROW, seed=1, own=0.6, correlations=dict(zip(JOINTS, (0.4, 0.7), strict=True)))
    ((_, joints, table),) = freed_lines([ROW, other])
    assert joints == ["joint 1", "joint 2"]
    assert table == [["anchored", "joint 2", "0.300", "0.800", "0.700", "0.950"]]
    lines = freed_markdown(found(ROW, other)).splitlines()
    assert lines[2] == "| coordinate | joint 1 | joint 2 | explained by own joint | by all joints |"
    assert lines[4] == "| anchored, coordinate of joint 2 | 0.300 | 0.800 | 0.700 | 0.950 |"
    assert lines[-1].endswith("Training seeds: 2. Scene panda-gym. Preset compact, 2 cores, 10 minutes.")


def test_rows_round_trip(tmp_path: Path) -> None:
    results.write(tmp_path / "results.json", found(ROW))
    assert results.read(tmp_path / "results.json").freed_rows == (ROW,)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"correlations": {"panda_joint2": 1.2}}, "must lie in 0 to 1"),
        ({"own": 1.5}, "own must be at most 1"),
        ({"joint": "panda_joint7"}, "and the joint is panda_joint7"),
        ({"every": float("nan")}, "every must be a finite number"),
    ],
)
def test_figures_out_of_range_are_refused(change: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        replace(ROW, **change)
