"""How many labels a method without labels is worth: the curve, the number, the table."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.paper import JOINTS, TWO_CAMERAS
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import FitRow
from ropes.evaluation.summary import over_seeds
from ropes.report.curves import efficiency_figure, label_curves, overtaken, overtaken_markdown, overtaken_table
from ropes.report.html import write_report
from ropes.report.markdown import markdown
from ropes.report.stills import write_figures
from tests.report.pages import squared

SHARES = {0.01: 1300, 0.05: 6500, 0.1: 13000, 1.0: 130000}


def row(joint: str, split: str, mse: float, seed: int = 0, **changes: Any) -> Row:
    conditions: dict[str, Any] = {"setup": TWO_CAMERAS, "occlusion": 0} | changes
    deviation = 0.0 if "labels" in changes else 0.001
    return Row.measured(joint=joint, split=split, seed=seed, mcc=(0.9, 0.0), mse=(mse, deviation), **conditions)


def a_table(seeds: tuple[int, ...] = (0, 1)) -> Results:
    rows = []
    for seed in seeds:
        for split in ("id", "ood"):
            for joint in JOINTS:
                rows.append(row(joint, split, 0.02, seed, method="anchored"))
                rows.append(row(joint, split, 0.01, seed, method="anchored", calibration_labels=0))
                for share, labels in SHARES.items():
                    read = {"labels": labels, "calibration_labels": 0, "label_share": share}
                    rows.append(row(joint, split, 100 / labels, seed, method=f"cnn@{100 * share:g}-percent", **read))
    return Results(name="table2", preset="compact", device="cpu", version="0", seconds=60.0, rows=tuple(rows))


def fit_of(method: str, seed: int, seconds: float | None) -> FitRow:
    known = {"weights": "a" * 64, "data_checksum": "b" * 64, "version": "0"}
    return FitRow(setup=TWO_CAMERAS, method=method, seed=seed, seconds=seconds, **known)


def test_table_has_seconds_of_training_where_fits_have_them() -> None:
    found = a_table()
    bare = markdown(found)
    assert "| test data | method | labelled images | joint 1 |" in bare
    assert markdown(replace(found, fit_rows=(fit_of("anchored", 0, None),))) == bare
    fits = [fit_of("anchored", 0, 1000.0), fit_of("anchored", 1, 1500.0), fit_of("cnn@5-percent", 0, 90.4)]
    lines = markdown(replace(found, fit_rows=tuple(fits))).splitlines()
    head = lines.index(next(line for line in lines if line.startswith("| test data ")))
    assert lines[head].startswith("| test data | method | labelled images | training, s | joint 1 |")
    assert all(line.count("|") == lines[head].count("|") for line in lines[head : lines.index("", head)])
    entries = [[entry.strip() for entry in line.split("|")[2:5]] for line in lines[head + 2 :] if "|" in line]
    assert [name.split()[0] for name, _, seconds in entries if seconds == "1,250"] == ["anchored"] * 4  # two tables
    assert ["6,500", "90"] in [entry[1:] for entry in entries]  # one seed
    assert ["1,300", "–"] in [entry[1:] for entry in entries]
    assert {seconds for name, _, seconds in entries if "the paper's" in name} == {""}
    assert "Training time is the mean over training seeds." in " ".join(lines)


def test_curve_includes_labelled_and_label_free_methods() -> None:
    found = label_curves(over_seeds(a_table().rows))
    assert [(curves.setup, curves.split) for curves in found] == [(TWO_CAMERAS, "id"), (TWO_CAMERAS, "ood")]
    curves = found[0]
    assert [cell.labels for cell in curves.supervised["cnn"]["panda_joint1"]] == list(SHARES.values())
    assert curves.unlabelled["anchored"]["panda_joint1"].calibration_labels == 0
    assert label_curves(over_seeds([each for each in a_table().rows if each.label_share is None])) == ()


@pytest.mark.parametrize(
    ("mse", "words"),
    [(0.01, "10,000"), (0.02, "5,000"), (1.0, "fewer than 1,300"), (1e-9, "more than 130,000"), (0.05, "2,000")],
)
def test_crossing_lies_between_measured_label_counts(mse: float, words: str) -> None:
    """The error here falls as one over the number of labels: 100 / labels."""
    cells = label_curves(over_seeds(a_table().rows))[0].supervised["cnn"]["panda_joint1"]
    assert overtaken(cells, mse) == words


def test_last_crossing_counts() -> None:
    """An error that falls, rises and falls again: the last crossing counts."""
    cells = label_curves(over_seeds(a_table().rows))[0].supervised["cnn"]["panda_joint1"]
    bumpy = [replace(cell, mse=mse) for cell, mse in zip(cells, (0.05, 0.005, 0.04, 0.0025), strict=True)]
    assert overtaken(bumpy, 0.01) == "41,000"
    assert overtaken(bumpy[:3], 0.01) == "more than 13,000"


def test_label_efficiency_table_and_figure_agree() -> None:
    curves = label_curves(over_seeds(a_table().rows))[0]
    assert overtaken_table(curves).lines == [["anchored", "cnn", *["10,000"] * 6]]
    panel = efficiency_figure(curves).axes[0]
    labels = panel.get_legend_handles_labels()[1]
    assert {"cnn", "anchored, no label", "paper's RoboPEPP", "paper's ROPES"} == set(labels)
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")


def test_pages_have_the_number_of_labels_for_equal_errors() -> None:
    table = overtaken_markdown(a_table()).splitlines()
    assert [line.split(" | ")[0].strip("| ") for line in table[2:4]] == [
        "Two cameras, independent joints",
        "Two cameras, independent joints, shifted poses",
    ]
    assert all(line.endswith("| anchored | cnn |" + " 10,000 |" * 6) for line in table[2:4])
    unlabelled = replace(a_table(), rows=tuple(each for each in a_table().rows if each.label_share is None))
    with pytest.raises(UserError, match="table2 has no errors by the number of labels; leave /labels out"):
        overtaken_markdown(unlabelled)


def test_readme_has_a_line_per_label_count() -> None:
    table = squared(a_table())
    lines = [[part.strip() for part in line.strip("|").split("|")] for line in table.splitlines() if "|" in line]
    block = [line[1:3] for line in lines[2:]][: len(lines[2:]) // 2]
    assert block == [
        ["anchored ¹", "0"],
        *(["cnn ²", f"{labels:,}"] for labels in SHARES.values()),
        ["the paper's ROPES", "0 + 1,000"],
        *(["the paper's RoboPEPP", f"{images:,}"] for images in (2600, 13000, 26000, 260000)),
    ]
    anchored, first = lines[2], lines[3]
    assert anchored[3] == "**0.010** ± 0.001 ± 0.000"  # the paper's ROPES: .083
    assert first[3] == "**0.077** ± 0.000 ± 0.000"  # the paper's RoboPEPP with that share: .136
    assert "bold where it reaches the paper's counterpart" in table


def test_table_has_a_block_per_square_size() -> None:
    """Also of the sides that Table 1 leaves out, each beside the paper's figures under that square."""
    hidden = [
        replace(each, occlusion=16, paper_mse=None)
        for each in a_table().rows
        if each.split == "id" and each.label_share is None
    ]
    lines = squared(replace(a_table(), rows=a_table().rows + tuple(hidden))).splitlines()
    start = next(index for index, line in enumerate(lines) if "independent joints, 16 px occluded |" in line)
    assert lines[start + 1].startswith("|  | the paper's ROPES | 0 + 1,000 | 0.089 |")
    assert lines[start + 5].startswith("|  | the paper's RoboPEPP | 260,000 | 0.016 |")


def test_label_free_figure_needs_all_seeds() -> None:
    rows = [each for each in a_table().rows if not (each.seed == 1 and each.labels == each.calibration_labels == 0)]
    curves = label_curves(over_seeds(rows))[0]
    assert curves.unlabelled["anchored"]["panda_joint1"].calibration_labels == 1000
    assert "| anchored ¹ | 0 + 1,000 |" in squared(replace(a_table(), rows=tuple(rows)))


@pytest.mark.slow
def test_report_and_published_figures_include_the_curve(tmp_path: Path) -> None:
    results.write(tmp_path / "results.json", a_table())
    write_report(tmp_path, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Error by number of training labels" in page
    assert "10,000" in page
    names = {path.name for path in write_figures(tmp_path, tmp_path / "out")}
    assert names == {f"table2-compact-{TWO_CAMERAS}-labels{end}.png" for end in ("", "-shifted")}
