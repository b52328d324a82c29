"""Error against what there was to learn from: which fits make a series, and what is drawn of them."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.evaluation import results
from ropes.evaluation.paper import TWO_CAMERAS
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.summary import over_seeds
from ropes.report.curves import described, error_curves, series
from ropes.report.html import write_report
from ropes.report.stills import write_figures
from tests.report.pages import squared

FITS: dict[str, dict[str, Any]] = {
    "anchored@250-anchors": {"anchors": 250, "image_size": 128, "erased": 0.0},
    "anchored@1000-anchors": {"anchors": 1000, "image_size": 128, "erased": 0.0},
    "anchored@500-anchors": {"anchors": 500, "image_size": 128, "erased": 0.0},
    "anchored@32-pixels": {"anchors": 500, "image_size": 32, "erased": 0.0},
    "anchored@squares": {"anchors": 1000, "image_size": 128, "erased": 0.5},
}
ROWS = tuple(
    Row.measured(
        setup=TWO_CAMERAS,
        method=method,
        joint=f"panda_joint{joint}",
        split=split,
        occlusion=occlusion,
        seed=0,
        mcc=(0.9, 0.01),
        mse=(fit["anchors"] ** -0.5 + occlusion / 100, 0.001),
        **fit,
    )
    for method, fit in FITS.items()
    for split in ("id", "ood")
    for occlusion in (0, 32)
    for joint in (1, 2)
)
WITHOUT = tuple(
    replace(row, calibration_labels=0, mse_mean=(row.mse_mean or 0) / 2, paper_mcc=None, paper_mse=None)
    for row in ROWS
    if row.occlusion == 0 and row.split == "id"
)
FOUND = Results(name="curves", preset="compact", device="2 cores", version="0.1.0", seconds=60.0, rows=ROWS + WITHOUT)


def test_fits_of_one_curve_differ_in_one_setting() -> None:
    cells = over_seeds(ROWS)
    (anchors,) = series(cells, "anchors").items()
    assert anchors[0] == (TWO_CAMERAS, "anchored")
    assert list(dict.fromkeys(cell.method for cell in anchors[1])) == [
        "anchored@250-anchors",
        "anchored@500-anchors",
        "anchored@1000-anchors",
    ]
    assert {cell.occlusion for cell in anchors[1]} == {0}
    (pixels,) = series(cells, "image_size").values()
    assert {(cell.method, cell.image_size) for cell in pixels} == {
        ("anchored@500-anchors", 128),
        ("anchored@32-pixels", 32),
    }


def test_fits_without_a_data_description_give_no_curve() -> None:
    plain = Row.measured(
        setup=TWO_CAMERAS, joint="panda_joint1", split="id", occlusion=0, seed=0, mcc=(1, 0), mse=(1, 0)
    )
    assert series(over_seeds([plain]), "anchors") == {}
    assert series(over_seeds(ROWS[:8]), "anchors") == {}


@pytest.mark.slow
def test_curves_include_the_paper() -> None:
    (cells,) = series(over_seeds(ROWS), "anchors").values()
    panels = error_curves(cells, "anchors").axes
    assert [panel.get_title() for panel in panels] == ["joint 1", "joint 2"]
    lines = {line.get_label(): line for line in panels[0].get_lines()}
    paper = ["paper's ROPES, in distribution", "RoboPEPP, all labels, in distribution"]
    assert list(lines) == ["in distribution, 1,000 labels", "shifted poses, 1,000 labels", *paper]
    x, y = lines["in distribution, 1,000 labels"].get_data()
    assert list(np.asarray(x)) == [250, 500, 1000]
    assert math.isclose(np.asarray(y)[0], math.degrees(250**-0.25))
    assert set(np.asarray(lines[paper[0]].get_ydata())) == {math.degrees(math.sqrt(0.083))}
    assert panels[0].get_xscale() == panels[0].get_yscale() == "log"


def test_label_free_calibration_has_its_own_line() -> None:
    fewer = [replace(row, calibration_labels=10) for row in WITHOUT]
    (cells,) = series(over_seeds([*ROWS, *WITHOUT, *fewer]), "anchors").values()
    lines = {line.get_label(): line for line in error_curves(cells, "anchors").axes[0].get_lines()}
    assert "shifted poses, no label" not in lines
    line, none = (lines[f"in distribution, {labels}"] for labels in ("1,000 labels", "no label"))
    x, y = none.get_data()
    assert list(np.asarray(x)) == [250, 500, 1000]
    np.testing.assert_allclose(np.sqrt(2) * np.asarray(y), np.asarray(line.get_ydata()))  # half the squared error
    assert (none.get_linestyle(), line.get_linestyle()) == ("-", ":")


def test_table_states_the_training_data_of_each_fit() -> None:
    lines = squared(FOUND).splitlines()
    assert lines[0] == "| test data | training data | joint 1 | joint 2 |"
    fits = ["250 anchors, 128 px ¹", "500 anchors, 128 px ¹", "1,000 anchors, 128 px ¹"]
    squares = "1,000 anchors, 128 px, squares in 50% of the training images ¹"
    told = [line.split(" | ")[1] for line in lines[2:] if line.startswith("| ")]
    assert {*fits, squares} < set(told)
    assert lines[2].startswith(f"| Two cameras, independent joints | {told[0]} | **")
    assert "| Two cameras, independent joints, 32 px occluded | " in "\n".join(lines)
    assert told.count("the paper's ROPES, 0 labels in training") == 4
    assert told.count("the paper's RoboPEPP, 260,000 labels in training") == 4
    assert "250 anchors, 128 px; without labels ¹" in told
    assert sum(line.startswith("| ") for line in lines) == 2 + 5 * len(FITS) + 8
    assert described(over_seeds(ROWS)[0]) == "250 anchors, 128 px"


def test_two_methods_on_the_same_data_have_separate_lines() -> None:
    others = tuple(replace(row, method=row.method.replace("anchored", "ldr"), mse_mean=1.0) for row in ROWS)
    table = squared(replace(FOUND, rows=ROWS + others))
    assert table.count("| anchored: 250 anchors, 128 px ¹ | ") == table.count("| ldr: 250 anchors, 128 px ² | ") == 4
    assert "With lines fitted on 1,000 labels (of shifted poses under shift) unless stated otherwise." in table


def test_lines_of_unshifted_poses_have_their_own_rows_on_shifted_ones() -> None:
    shifted = [replace(row, mse_mean=9.0) for row in ROWS if row.split == "ood" and row.method.startswith("anchored@5")]
    table = squared(replace(FOUND, shift_rows=tuple(shifted)))
    told = [line.split(" | ")[1:3] for line in table.splitlines() if "not shifted" in line and line.startswith("| ")]
    assert told == [["500 anchors, 128 px; not shifted ¹", "9.000 ± 0.001"]] * 2
    assert 'called "not shifted"; the paper does not say which.' in " ".join(table.split())


@pytest.mark.slow
def test_report_and_published_figures_include_the_curves(tmp_path: Path) -> None:
    results.write(tmp_path / "results.json", FOUND)
    write_report(tmp_path, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Error by training data" in text
    assert "RMS error against side of the images, px" in text
    assert "Some fits had squares in training images too" in text
    assert [path.name for path in write_figures(tmp_path, tmp_path / "out")] == [
        f"curves-compact-{TWO_CAMERAS}-anchored-anchors.png",
        f"curves-compact-{TWO_CAMERAS}-anchored-image-size.png",
    ]
