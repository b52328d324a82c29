"""Coverage as the table of docs/trust.md shows it: which intervals, how many labels, over all seeds."""

from itertools import product

from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import CoverageRow
from ropes.report.trust import coverage_markdown

KINDS = (("labels", 1000), ("labels", 100), ("commanded", 0))


def test_each_label_count_has_a_line_averaged_over_seeds() -> None:
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
    found = Results(
        name="coverage", preset="compact", device="d", version="0", seconds=600, rows=(), trust_rows=tuple(rows)
    )
    written = coverage_markdown(found)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in written.splitlines()[2:8]]
    assert [line[2] for line in lines] == ["0", "100", "1,000"] * 2
    assert [line[3:] for line in lines] == [["90.0 (89.0 to 91.0)"] * 2] * 3 + [["70.0 (69.0 to 71.0)"] * 2] * 3
    assert lines[0][1] == "no labels"
    assert [bool(line[0]) for line in lines] == [True, False, False] * 2
    assert "90% intervals, in percent: mean over 3 training seeds" in written
    assert written.endswith("Preset compact, d, 10 minutes.\n")
