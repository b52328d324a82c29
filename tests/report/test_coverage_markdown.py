"""Coverage as the table of docs/trust.md shows it: which intervals, how many labels, over all seeds."""

from dataclasses import replace
from itertools import product

from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import CoverageRow
from ropes.report.trust import coverage_markdown

KINDS = (("labels", 1000), ("labels", 100), ("commanded", 0))


def results() -> Results:
    rows = [
        CoverageRow(
            setup="panda-2c-independent",
            method="anchored",
            split=split,
            occlusion=0,
            joint=joint,
            seed=seed,
            intervals=kind,
            level=0.9,
            calibration_labels=labels,
            coverage=0.9 + 0.01 * (seed - 1) - (split == "ood") * 0.2,
            width=0.1,
            auroc=None,
            flagged=0.01,
        )
        for split, (kind, labels), joint, seed in product(("ood", "id"), KINDS, ("panda_joint2", "other"), range(3))
    ]
    return Results(
        name="coverage", preset="compact", device="d", version="0", seconds=600, rows=(), trust_rows=tuple(rows)
    )


def test_each_label_count_has_a_line_averaged_over_seeds() -> None:
    written = coverage_markdown(results())
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in written.splitlines()[2:8]]
    assert [line[2] for line in lines] == ["0", "100", "1,000"] * 2
    assert [line[3:] for line in lines] == [["90.0 (89.0 to 91.0)"] * 2] * 3 + [["70.0 (69.0 to 71.0)"] * 2] * 3
    assert lines[0][1] == "no labels"
    assert [bool(line[0]) for line in lines] == [True, False, False] * 2
    assert "90% intervals, in percent: mean over 3 training seeds" in written
    assert written.endswith("Preset compact, d, 10 minutes.\n")


def test_several_methods_have_lines_of_their_own() -> None:
    found = results()
    others = (replace(row, method="ldr", coverage=row.coverage - 0.1) for row in found.trust_rows)
    written = coverage_markdown(replace(found, trust_rows=(*found.trust_rows, *others)))
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in written.splitlines()]
    assert lines[0] == ["test data", "method", "intervals", "labels", "other", "joint 2"]
    assert [line[1] for line in lines[2:14]] == ["anchored", "ldr"] * 6
    assert [line[4] for line in lines[2:4]] == ["90.0 (89.0 to 91.0)", "80.0 (79.0 to 81.0)"]
