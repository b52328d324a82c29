"""How many labels a calibration needs, table by table."""

from dataclasses import replace

from ropes.evaluation.paper import TWO_CAMERAS
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.summary import over_seeds
from ropes.report.joints import label_tables


def row(joint: int, mse: float, labels: int, split: str = "ood", occlusion: int = 0) -> Row:
    return Row.measured(
        setup=TWO_CAMERAS,
        method="anchored",
        joint=f"panda_joint{joint}",
        split=split,
        occlusion=occlusion,
        seed=0,
        mcc=(0.9, 0.0),
        mse=(mse, 0.0),
        calibration_labels=labels,
    )


def test_each_label_count_has_a_column_and_unshifted_lines_their_own() -> None:
    cases = [(joint, labels) for joint in (1, 2) for labels in (0, 1000)]
    rows = [row(joint, labels / 1e4, labels, split) for split in ("id", "ood") for joint, labels in cases]
    others = over_seeds([row(1, 0.7, 1000), row(1, 0.9, 1000, occlusion=16)])
    (heading, plain), (_, shifted) = label_tables(over_seeds(rows), others)
    assert heading == "Two cameras, independent joints · anchored, id"
    assert [column.heading for column in plain.columns] == ["joint", "0", "1,000"]
    assert [column.heading for column in shifted.columns] == ["joint", "0", "1,000", "1,000 not shifted"]
    cells = [[f"joint {joint}", "0.0 ± 0.0 (0.000)", "18.1 ± 0.0 (0.100)"] for joint in (1, 2)]  # degrees (rad²)
    assert [list(map(str, line)) for line in plain.lines] == cells
    assert [list(map(str, line)) for line in shifted.lines] == [[*cells[0], "47.9 ± 0.0 (0.700)"], [*cells[1], "–"]]


def test_errors_in_degrees_have_the_deviations_of_squared_errors_to_first_order() -> None:
    rows = [replace(row(1, 0.04, labels), mse_std=0.004) for labels in (0, 100)]
    ((_, table),) = label_tables(over_seeds(rows))
    # √.04 = .2 rad; .004 / (2 · .2) = .01 rad
    assert list(map(str, table.lines[0])) == ["joint 1", "11.5 ± 0.6 (0.040)", "11.5 ± 0.6 (0.040)"]


def test_single_label_count_gives_no_table() -> None:
    assert list(label_tables(over_seeds([row(1, 0.1, 1000)]))) == []
