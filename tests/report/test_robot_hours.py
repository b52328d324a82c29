"""Errors by robot time: what the figure and the tables show, and where they appear."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from ropes.evaluation import results
from ropes.evaluation.paper import TWO_CAMERAS
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.report.html import write_report
from ropes.report.readme_tables import update
from ropes.report.robot_hours import figure, recorded, tables
from ropes.report.stills import write_figures

#: Variant → number of anchors or chains.
VARIANTS = {"2-hours": 375, "8-hours": 1500, "chains-2-hours": 141, "chains-8-hours": 565}


def mse(variant: str, labels: int, split: str) -> float:
    """Four times the hours divide the error by four, chains halve it, labels and poses in distribution too."""
    hours = 8 if "8" in variant else 2
    return 0.08 / hours / (1 + ("chains" in variant)) / (1 + (labels > 0)) / (1 + (split == "id"))


ROWS = tuple(
    Row.measured(
        setup=TWO_CAMERAS,
        method=f"anchored@{variant}",
        joint="panda_joint1",
        split=split,
        occlusion=size,
        seed=0,
        anchors=number,
        calibration_labels=labels,
        mcc=(0.9, 0.01),
        mse=(mse(variant, labels, split), 0.001),
    )
    for (variant, number), labels, split, size in product(VARIANTS.items(), (1000, 0, 10), ("id", "ood"), (0, 32))
)
WITH_LABELS = tuple(
    replace(row, method=row.method.replace("anchored", "cnn"), calibration_labels=0, label_share=1.0, labels=26)
    for row in ROWS
    if row.calibration_labels == 1000
)
FOUND = Results(
    name="robot-hours", preset="compact", device="2 cores", version="0.1.0", seconds=60.0, rows=ROWS + WITH_LABELS
)


def test_tables_are_in_degrees_by_recording_and_hours() -> None:
    told = dict(tables(recorded(FOUND)))
    assert list(told) == [
        "Poses in distribution, no label:",
        "Poses in distribution, 1,000 labels:",
        "Poses in distribution, cnn, all labels:",
        "Poses in distribution, 32 px occluded, no label:",
        "Poses in distribution, 32 px occluded, 1,000 labels:",
        "Poses in distribution, 32 px occluded, cnn, all labels:",
        "Shifted poses, no label:",
        "Shifted poses, 1,000 labels:",
        "Shifted poses, cnn, all labels:",
        "Shifted poses, 32 px occluded, no label:",
        "Shifted poses, 32 px occluded, 1,000 labels:",
        "Shifted poses, 32 px occluded, cnn, all labels:",
    ]
    assert told["Poses in distribution, no label:"].markdown().splitlines() == [
        "| recorded | robot time | number | joint 1 |",
        "| --- | --- | ---: | ---: |",
        "| anchors | 2 h | 375 | **8.1** |",
        "|  | 8 h | 1,500 | **4.1** |",
        "| chains | 2 h | 141 | **5.7** |",
        "|  | 8 h | 565 | **2.9** |",
        "| the paper's ROPES, 1,000 labels |  | 10,000 | 16.5 |",  # .083 rad²
    ]
    supervised = told["Shifted poses, 32 px occluded, cnn, all labels:"].markdown().splitlines()
    assert supervised[2] == "| anchors | 2 h | 375 | **8.1** |"
    assert supervised[-1] == "| the paper's RoboPEPP, 260,000 labels |  | 10,000 | 20.7 |"  # .130 rad²


def test_errors_above_the_papers_are_not_bold() -> None:
    worse = replace(FOUND, rows=tuple(replace(row, mse_mean=0.09) for row in ROWS))
    told = dict(tables(recorded(worse)))
    assert "**" not in told["Poses in distribution, no label:"].markdown()
    assert "**" in told["Shifted poses, 32 px occluded, no label:"].markdown()  # the paper has .103 rad²


def test_several_seeds_have_their_spread_in_table_figure_and_page(tmp_path: Path) -> None:
    """Squared errors of .9, 1 and 1.1 times the mean vary by 10%, their roots by 5%."""
    others = tuple(
        replace(row, seed=seed, mse_mean=share * row.mse_mean)
        for seed, share in ((1, 0.9), (2, 1.1))
        for row in ROWS
        if row.mse_mean is not None
    )
    found = replace(FOUND, rows=ROWS + others)
    lines = dict(tables(recorded(found)))["Poses in distribution, no label:"].markdown().splitlines()
    assert lines[2] == "| anchors | 2 h | 375 | **8.1** ± 0.4 |"
    (panel,) = figure([each for each in recorded(found) if (each.cell.split, each.cell.occlusion) == ("id", 0)]).axes
    assert len(panel.containers) == 4
    results.write(tmp_path / "robot-hours-compact.json", found)
    page = tmp_path / "page.md"
    page.write_text("<!-- table:robot-hours-compact/optional -->\n<!-- /table -->\n", encoding="utf-8")
    update(page, tmp_path)
    assert "mean over 3 training seeds ± standard deviation over them." in page.read_text(encoding="utf-8")


def test_figure_has_a_line_for_each_recording_with_and_without_labels() -> None:
    (panel,) = figure([each for each in recorded(FOUND) if (each.cell.split, each.cell.occlusion) == ("id", 0)]).axes
    lines = {str(line.get_label()): line for line in panel.get_lines()}
    assert sorted(lines) == [
        "anchors, 1,000 labels",
        "anchors, cnn, all labels",
        "anchors, no label",
        "chains, 1,000 labels",
        "chains, cnn, all labels",
        "chains, no label",
        "paper's ROPES, 1,000 labels",
    ]
    drawn = np.asarray(lines["chains, no label"].get_xydata())
    np.testing.assert_allclose(drawn, [(2, np.degrees(0.1)), (8, np.degrees(0.05))])
    assert lines["chains, no label"].get_linestyle() == "-"
    assert lines["chains, 1,000 labels"].get_linestyle() == ":"
    assert lines["chains, cnn, all labels"].get_linestyle() == "-."


def test_filmed_and_longer_anchors_have_lines_of_their_own() -> None:
    added = tuple(
        replace(row, method=f"anchored@{prefix}8-hours")
        for prefix in ("filmed-", "longer-")
        for row in ROWS
        if row.method == "anchored@8-hours"
    )
    found = recorded(replace(FOUND, rows=ROWS + added))
    lines = dict(tables(found))["Poses in distribution, no label:"].markdown().splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        *("anchors", "", "anchors, as many training steps as chains", "anchors with filmed moves", "chains", ""),
        "the paper's ROPES, 1,000 labels",
    ]
    (panel,) = figure([each for each in found if (each.cell.split, each.cell.occlusion) == ("id", 0)]).axes
    assert "anchors with filmed moves, no label" in {str(line.get_label()) for line in panel.get_lines()}


def test_other_experiments_have_no_robot_time() -> None:
    assert recorded(replace(FOUND, name="curves")) == ()


def test_report_figures_and_page_show_the_robot_time(tmp_path: Path) -> None:
    results.write(tmp_path / "results.json", FOUND)
    write_report(tmp_path, tmp_path / "report.html")
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Error by robot time" in report
    assert "Error by training data" not in report  # chains are no anchors
    names = {path.name for path in write_figures(tmp_path, tmp_path)}
    assert names == {"robot-hours-compact-hours.png", "robot-hours-compact-hours-shifted.png"}
    (tmp_path / "results.json").rename(tmp_path / "robot-hours-compact.json")
    page = tmp_path / "page.md"
    page.write_text("<!-- table:robot-hours-compact/optional -->\n<!-- /table -->\n", encoding="utf-8")
    update(page, tmp_path)
    written = page.read_text(encoding="utf-8")
    assert "![Error against robot time](../results/robot-hours-compact-hours.png)" in written
    assert "RMS errors in degrees, mean over 1 training seed. " in written
