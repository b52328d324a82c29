"""The README's tables come from the results and from nowhere else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.paper import CAUSAL, ONE_CAMERA, TWO_CAMERAS
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import ActionRow, ModelRow
from ropes.report.markdown import markdown
from ropes.report.readme_tables import update
from tests.report.pages import squared
from tests.report.tables import found, row


def test_table_matches_hand_calculation() -> None:
    text = squared(found(row(2, 0.95, 0.06), row(4, 0.9, 0.02)))
    assert text.splitlines() == [
        "| test data | method | labels | joint 2 | joint 4 |",
        "| --- | --- | ---: | ---: | ---: |",
        "| One camera, independent joints ¹ | ropes ² | 1,000 | 0.060 ± 0.002 | **0.020** ± 0.002 |",
        "|  | the paper's ROPES | 1,000 | 0.053 | 0.029 |",
        "",
        "MCC, in brackets that of the best assignment of coordinates to joints where it differs:",
        "",
        "| test data | method | joint 2 | joint 4 |",
        "| --- | --- | ---: | ---: |",
        "| One camera, independent joints ¹ | ropes ² | **0.950** | 0.900 |",
        "|  | the paper's ROPES | 0.949 | 0.975 |",
        "",
        "Differences from the paper's rows:",
        "",
        "- ¹ joints 1, 3 and 5 stay at zero; Section 3.2 of the paper may mean that they vary.",
        "- ² smaller networks than the paper's, smoothed density ratios of three classes that learn from codes with "
        "noise, another objective than Eq. 3, and a student: a network that learns to reproduce the coordinates from "
        "images with foreign objects, white rectangles among them.",
        "",
        "Errors that ropes does not reach, as multiples of the paper's: One camera, independent joints: joint 2 1.13. "
        "MSE in rad², ± over test draws of 1 training seed, bold where it reaches the paper's ROPES. "
        "Meshes are simplified, the paper's full. The paper does not state where its cameras stand. "
        "Scene panda-gym. Preset compact, 2 cores, 10 minutes.",
    ]


def test_occlusions_and_splits_have_separate_blocks() -> None:
    rows = [row(1, 0.9, 0.05, TWO_CAMERAS, split=split, occlusion=px) for split in ("ood", "id") for px in (64, 32, 0)]
    names = [line.split(" | ")[0] for line in squared(found(*rows)).splitlines() if " | ropes ¹ | 1,000 | " in line]
    assert names == [
        "| Two cameras, independent joints",
        "| Two cameras, independent joints, 32 px occluded",
        "| Two cameras, independent joints, shifted poses",
        "| Two cameras, independent joints, 32 px occluded, shifted poses",
    ]


def test_seed_counts_are_given_per_method_where_they_differ() -> None:
    rows = [row(2, 0.95, 0.06, seed=seed) for seed in (0, 1)] + [row(2, 0.9, 0.01, method="anchored")]
    assert "of 1 (anchored) or 2 (ropes) training seeds, the second ± over training seeds" in squared(found(*rows))
    elsewhere = row(2, 0.95, 0.06, TWO_CAMERAS)
    assert "of 1 to 2 training seeds, the second ± over training seeds" in squared(found(*rows[:2], elsewhere))
    text = squared(found(*rows[:2]))
    assert "± over test draws of 2 training seeds, the second ± over training seeds, bold" in text
    assert "| ropes ² | 1,000 | 0.060 ± 0.002 ± 0.000 |" in text


def test_numbers_of_anchors_are_given_per_method_where_they_differ_and_where_they_are_not_the_papers() -> None:
    most = [row(2, 0.95, 0.06, method=method, anchors=10_000) for method in ("ropes", "ropes@logit")]
    assert "Training anchors" not in squared(found(*most))
    fewer = [row(2, 0.9, 0.01, setup, method="anchored", anchors=500) for setup in (ONE_CAMERA, TWO_CAMERAS)]
    assert "Training anchors: 500; the paper's: 10,000." in squared(found(*fewer))
    told = "Training anchors: 500 (anchored) or 10,000 (ropes); the paper's: 10,000."
    assert told in squared(found(*most, *fewer))
    variant = row(2, 0.95, 0.06, method="anchored@700-anchors", anchors=700)
    assert "Training anchors: 500 to 700; the paper's: 10,000." in squared(found(*fewer, variant))


def test_fewer_calibration_labels_do_not_change_the_table() -> None:
    plain = row(2, 0.95, 0.06)
    fewer = [row(2, 0.95, 0.5, calibration_labels=count) for count in (0, 10, 100)]
    assert squared(found(plain, *fewer)) == squared(found(plain))


def test_other_methods_are_compared_with_the_all_label_baseline() -> None:
    rows = [
        row(joint, 0.99, 0.002, TWO_CAMERAS, method=method, split=split)
        for method in ("anchored", "ropes")
        for split in ("id", "ood")
        for joint in (1, 2)
    ]
    lines = squared(found(*rows)).splitlines()
    assert lines[2:6] == [
        "| Two cameras, independent joints | anchored ¹ | 1,000 | **0.0020** ± 0.0020 | **0.0020** ± 0.0020 |",
        "|  | ropes ² | 1,000 | **0.0020** ± 0.0020 | **0.0020** ± 0.0020 |",
        "|  | the paper's ROPES | 1,000 | 0.083 | 0.015 |",
        "|  | the paper's RoboPEPP | 260,000 | 0.003 | 0.001 |",
    ]
    assert lines[9] == "|  | the paper's RoboPEPP | 260,000 | 0.007 | 0.003 |"
    alone = squared(found(*(each for each in rows if each.method == "anchored"))).splitlines()
    assert alone[2:5] == [lines[2], *lines[4:6]]
    correlations = next(place for place, line in enumerate(lines) if line.startswith("MCC, in brackets"))
    assert lines[correlations + 4 : correlations + 7] == [
        "| Two cameras, independent joints | anchored ¹ | **0.990** | **0.990** |",
        "|  | ropes ² | **0.990** | **0.990** |",
        "|  | the paper's ROPES | 0.874 | 0.979 |",
    ]
    assert not any("shifted" in line for line in lines[correlations:] if line.startswith("|"))  # which has no MCC
    assert "RoboPEPP" not in squared(found(*(each for each in rows if each.method == "ropes")))
    assert "RoboPEPP" not in squared(found(row(2, 0.95, 0.06, ONE_CAMERA, method="anchored")))


def test_lines_fitted_on_unshifted_poses_follow_the_shifted_ones() -> None:
    rows = [row(joint, 0.99, 0.002, TWO_CAMERAS, method="anchored", split="ood") for joint in (1, 2)]
    other = tuple(row(joint, 0.99, 0.1, TWO_CAMERAS, method="anchored", split="ood") for joint in (1, 2))
    lines = squared(replace(found(*rows), shift_rows=other)).splitlines()
    assert lines[2].endswith("shifted poses | anchored ¹ | 1,000 | **0.0020** ± 0.0020 | **0.0020** ± 0.0020 |")
    assert 'where the labels are called "not shifted"; the paper does not say which.' in lines[-1]
    assert lines[3:5] == [
        "|  | anchored ¹ | 1,000 not shifted | 0.100 ± 0.002 | 0.100 ± 0.002 |",
        "|  | the paper's ROPES | 1,000 | 0.084 | 0.017 |",
    ]


def test_label_free_method_has_its_own_line() -> None:
    rows = [
        replace(row(1, 0.99, mse, TWO_CAMERAS, method=method, calibration_labels=count), paper_mse=bar)
        for method in ("anchored", "ropes")
        for count, mse, bar in ((0, 0.003, None), (10, 0.2, None), (1000, 0.1, 0.083))
    ]
    assert squared(found(*rows)).splitlines()[2:5] == [
        "| Two cameras, independent joints | anchored ¹ | 1,000 | 0.100 ± 0.002 |",
        "|  | anchored ¹ | 0 | **0.0030** ± 0.0020 |",
        "|  | ropes ² | 1,000 | 0.100 ± 0.002 |",
    ]


def test_degrees_come_before_squared_errors() -> None:
    rows = [row(2, 0.95, 0.06), row(4, 0.9, 0.02)]
    caption, table, *rest = markdown(found(*rows)).split("\n\n")
    assert (caption, rest[0]) == ("RMS error, °:", "MSE, rad²:")
    lines = table.splitlines()
    assert lines[0].endswith("| labels | joint 2 | joint 4 | all joints |")
    assert lines[2].endswith("| ropes ² | 1,000 | 14.0 | **8.1** | **11.5** |")


def test_label_free_tables_have_the_error_over_all_joints() -> None:
    rows = [
        replace(row(joint, 0.99, mse, setup, method="anchored", calibration_labels=labels), paper_mse=bar)
        for setup, joint, mse, bar in (
            (ONE_CAMERA, 2, 0.01, 0.053),
            (ONE_CAMERA, 4, 0.03, 0.029),
            (CAUSAL, 1, 0.02, 0.058),
        )
        for labels in (0, 1_000)
    ]
    lines = [line for line in markdown(found(*rows), label_free=True).splitlines() if line.startswith("|")]
    assert lines[0] == "| test data | method | labels | joint 1 | joint 2 | joint 4 | all joints |"
    assert {line.count("|") for line in lines} == {8}
    assert lines[2].endswith("|  | **5.7** | 9.9 | **8.1** |")  # √((.01 + .03) / 2) rad
    assert lines[3].endswith("|  | 13.2 | 9.8 | 11.6 |")
    assert lines[4].endswith("| 8.1 |  |  | 8.1 |")


def test_joint_without_a_number_has_an_empty_cell() -> None:
    text = squared(found(row(2, 0.95, 0.06), row(1, 0.9, 0.05, TWO_CAMERAS)))
    assert "| One camera, independent joints ¹ | ropes ² | 1,000 |  | 0.060 ± 0.002 |" in text


@pytest.fixture
def readme(tmp_path: Path) -> Path:
    results.write(tmp_path / "results" / "demo-compact.json", found(row(2, 0.95, 0.06)))
    path = tmp_path / "README.md"
    path.write_text("before\n<!-- table:demo-compact -->\nold\n<!-- /table -->\nafter\n")
    return path


def test_update_writes_only_between_the_markers(readme: Path) -> None:
    folder = readme.parent / "results"
    assert update(readme, folder) == ("demo-compact",)
    text = readme.read_text()
    assert text.startswith("before\n<!-- table:demo-compact -->\nRMS error, °:\n\n| test data | method | labels |")
    assert text.endswith("minutes.\n<!-- /table -->\nafter\n")
    assert update(readme, folder, check=True) == ()
    assert update(readme, folder) == ()
    assert readme.read_text() == text


def test_check_reports_differences_without_writing(readme: Path) -> None:
    before = readme.read_text()
    with pytest.raises(UserError, match=r"README\.md: demo-compact differs from .*run `ropes tables`"):
        update(readme, readme.parent / "results", check=True)
    assert readme.read_text() == before


def test_optional_table_may_lack_results(readme: Path, tmp_path: Path) -> None:
    readme.write_text("<!-- table:other-compact/optional --><!-- /table -->")
    assert update(readme, readme.parent / "results") == ("other-compact/optional",)
    assert "No results yet. `ropes reproduce other --out FOLDER`, then `ropes tables" in readme.read_text()
    results.write(readme.parent / "results" / "other-compact.json", found(row(2, 0.95, 0.06)))
    with pytest.raises(UserError, match="other-compact/optional differs"):
        update(readme, readme.parent / "results", check=True)
    update(readme, readme.parent / "results")
    assert "| ropes ² | 1,000 | 0.060 ± 0.002 |" in readme.read_text()


def test_a_table_of_two_files_has_the_joint_errors_of_both(readme: Path) -> None:
    folder = readme.parent / "results"

    def rows(method: str, anchors: int, mse: float, labels: int) -> list[Row]:
        given: dict[str, Any] = {"method": method, "anchors": anchors, "calibration_labels": labels, "image_size": 128}
        return [row(joint, 0.9, mse, TWO_CAMERAS, **given) for joint in (1, 2)]

    few = rows("anchored@500-anchors", 500, 0.02, 1_000) + rows("anchored@500-anchors", 500, 0.0004, 0)
    results.write(folder / "curves-compact.json", replace(found(*few), name="curves"))
    many = found(*rows("anchored", 2_000, 0.0001, 0))
    results.write(folder / "panda-2c-compact.json", replace(many, name="panda-2c", device="8 cores"))
    readme.write_text("<!-- table:curves-compact+panda-2c-compact/label-free --><!-- /table -->")
    update(readme, folder)
    lines = readme.read_text().splitlines()
    assert lines[1] == "| test data | training data | joint 1 | joint 2 | all joints |"
    assert lines[3:5] == [
        "| Two cameras, independent joints | 500 anchors, 128 px ¹ | **1.1** | **1.1** | **1.1** |",
        "|  | 2,000 anchors, 128 px ¹ | **0.57** | **0.57** | **0.57** |",
    ]
    assert lines[5] == "|  | the paper's ROPES, 0 labels in training | 16.5 | 7.0 | 12.7 |"
    assert "Preset compact, 2 cores and 8 cores." in " ".join(lines)
    results.write(folder / "panda-2c-compact.json", replace(many, name="panda-2c", mesh="full"))
    with pytest.raises(
        UserError, match=r"curves-compact\.json has meshes simplified and .*panda-2c-compact\.json full;"
    ):
        update(readme, folder)
    readme.write_text("<!-- table:curves-compact+absent/optional --><!-- /table -->")
    update(readme, folder)
    assert "No results yet." in readme.read_text()


def test_bad_markers_and_missing_results_are_reported(readme: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"demo-compact\.json is missing"):
        update(readme, tmp_path / "nowhere")
    readme.write_text("<!-- table:demo-compact/short --><!-- /table -->")
    with pytest.raises(
        UserError, match="has the form 'short'; leave it out, or give label-free, labels, robot-time, summary or opt"
    ):
        update(readme, tmp_path / "results")
    readme.write_text("\n<!-- table:demo-compact -->\n<!-- table:b -->\n<!-- /table -->\n")
    with pytest.raises(UserError, match=r"line 2: table:demo-compact has no <!-- /table -->"):
        update(readme, tmp_path / "results")
    readme.write_text("no table\n")
    with pytest.raises(UserError, match="has no table: mark one by <!-- table:NAME-PRESET -->"):
        update(readme, tmp_path / "results")
    with pytest.raises(UserError, match="cannot read"):
        update(tmp_path / "absent.md", tmp_path / "results")


def test_every_kind_of_row_has_a_table(tmp_path: Path) -> None:
    model = ModelRow(setup="arm", method="ldr", seed=0, seconds=1.0, settings={}, scores={"dci": 0.4321})
    action = ActionRow(setup="arm", method="icm", seed=0, seconds=1.0, accuracy={}, pairs={}, recall={}, active=0.5)
    everything = replace(found(row(2, 0.95, 0.0006)), model_rows=(model,), action_rows=(action,))
    results.write(tmp_path / "demo-compact.json", everything)
    page = tmp_path / "README.md"
    page.write_text("<!-- table:demo-compact --><!-- /table -->")
    update(page, tmp_path)
    text = page.read_text()
    places = [text.index(part) for part in ("**0.00060** ± 0.00200", "| interventions | ", "ResNet, independence")]
    assert places == sorted(places)
