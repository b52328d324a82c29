"""Errors by renderer and camera level: the numbers of tables, what the figures draw, and where they appear."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ropes.evaluation import results
from ropes.evaluation.paper import TWO_CAMERAS
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import CoverageRow, FitRow
from ropes.evaluation.rows.schema import Split
from ropes.evaluation.summary import over_seeds
from ropes.report.cameras import errors_by_camera, figure, tables
from ropes.report.cameras_markdown import cameras_markdown
from ropes.report.curves import label_curves, series
from ropes.report.fit_times import fit_times_markdown
from ropes.report.html import write_report
from ropes.report.readme_tables import update
from ropes.report.stills import write_figures

LEVELS = {"clean": 0.01, "webcam": 0.014, "harsh": 0.1}


def row(method: str, renderer: str, level: str, mse: float, split: str = "id", /, **changes: Any) -> Row:
    """An error of joint 1 on clean images of PyBullet, or on others."""
    number = 1000 if "1000" in method else 4000
    of_cnn = {"label_share": 1.0, "calibration_labels": 0, "labels": 26 * number} if "cnn" in method else {}
    seen = {"renderer": None if renderer == "pybullet" else renderer, "camera": None if level == "clean" else level}
    return Row.measured(
        **(
            {
                "setup": TWO_CAMERAS,
                "method": f"{method}+{renderer}+{level}",
                "joint": "panda_joint1",
                "split": split,
                "occlusion": 0,
                "seed": 0,
                "anchors": number,
                "mcc": (0.9, 0.01),
                "mse": (mse, 0.001),
                **of_cnn,
                **seen,
            }
            | changes
        )
    )


METHODS = ("anchored@4000-anchors", "anchored@1000-anchors", "cnn@4000-anchors", "cnn@1000-anchors")
#: Few anchors double an error, MuJoCo trebles it, labels halve it, shifted poses add a half.
FACTORS = {"1000": 2.0, "mujoco": 3.0, "cnn": 0.5, "ood": 1.5}


def error(*words: str) -> float:
    text = " ".join(words)
    base = next(mse for level, mse in LEVELS.items() if level in text)
    return float(base * np.prod([factor for word, factor in FACTORS.items() if word in text]))


ROWS = tuple(
    row(method, renderer, level, error(method, renderer, level, split), split)
    for renderer, level, method, split in product(("mujoco", "pybullet"), reversed(LEVELS), METHODS, ("id", "ood"))
)
TRANSFERS = (
    row(METHODS[0], "pybullet", "clean", 0.5, camera="webcam", trained_camera="clean"),
    row(
        METHODS[0],
        "pybullet",
        "harsh",
        0.3,
        renderer="mujoco",
        camera=None,
        trained_renderer="pybullet",
        trained_camera="harsh",
    ),
)
FOUND = Results(
    name="cameras",
    preset="compact",
    device="2 cores",
    version="0.1.0",
    seconds=60.0,
    rows=ROWS,
    transfer_rows=TRANSFERS,
)


def test_ratios_are_relative_to_clean_images_of_the_same_renderer() -> None:
    _, _, own, transferred = (table.markdown().splitlines() for _, table in tables(errors_by_camera(FOUND)[0]))
    assert own[0] == "| images | method | anchors | joint 1 |"
    assert own[2:10] == [
        "| PyBullet, clean | anchored | 1,000 | **0.020** ± 0.001 |",
        "|  | anchored | 4,000 | **0.010** ± 0.001 |",
        "|  | cnn | 1,000 | **0.010** ± 0.001 |",
        "|  | cnn | 4,000 | **0.0050** ± 0.0010 |",
        "| PyBullet, webcam | anchored | 1,000 | **0.028** ± 0.001 (1.40×) |",
        "|  | anchored | 4,000 | **0.014** ± 0.001 (1.40×) |",
        "|  | cnn | 1,000 | **0.014** ± 0.001 (1.40×) |",
        "|  | cnn | 4,000 | **0.0070** ± 0.0010 (1.40×) |",
    ]
    assert own[10] == "| PyBullet, harsh | anchored | 1,000 | 0.200 ± 0.001 (10.00×) |"
    assert own[14] == "| MuJoCo, clean | anchored | 1,000 | **0.060** ± 0.001 |"
    assert own[-1] == "| the paper's ROPES |  |  | 0.083 |"
    assert len(own) == 2 + 24 + 1
    assert transferred == [
        "| test images | training images | method | anchors | joint 1 |",
        "| --- | --- | --- | ---: | ---: |",
        "| PyBullet, webcam | PyBullet, clean | anchored | 4,000 | 0.500 ± 0.001 (50.00×) |",
        "| MuJoCo, clean | PyBullet, harsh | anchored | 4,000 | 0.300 ± 0.001 (10.00×) |",
    ]


def test_degrees_come_before_squared_errors() -> None:
    named = list(tables(errors_by_camera(FOUND)[0]))
    assert [words for words, _ in named] == [
        "RMS error, °, test images like the training images:",
        "RMS error, °, other test images than the training images:",
        "MSE, rad², test images like the training images:",
        "MSE, rad², other test images than the training images:",
    ]
    own = named[0][1].markdown().splitlines()
    assert own[2] == "| PyBullet, clean | anchored | 1,000 | **8.1** |"
    assert own[6] == "| PyBullet, webcam | anchored | 1,000 | **9.6** (1.40×) |"
    assert own[-1] == "| the paper's ROPES |  |  | 16.5 |"


def test_each_split_has_its_own_numbers() -> None:
    id_, ood = errors_by_camera(FOUND)
    assert (id_.split, ood.split) == ("id", "ood")
    assert ood.transferred == ()
    _, (_, table) = tables(ood)
    assert table.markdown().splitlines()[2] == "| PyBullet, clean | anchored | 1,000 | **0.030** ± 0.001 |"
    assert ood.paper("panda_joint1") == 0.084


def test_figure_has_a_line_per_renderer_method_and_anchor_count() -> None:
    (panel,) = figure(errors_by_camera(FOUND)[0]).axes
    lines = {str(line.get_label()): line for line in panel.get_lines()}
    assert list(lines)[:3] == ["the paper's ROPES", "PyBullet, anchored, 1,000", "PyBullet, anchored, 4,000"]
    assert len(lines) == 9
    pale = {label for label, line in lines.items() if line.get_alpha() == 0.5}
    assert pale == {label for label in lines if label.endswith(", 1,000")}
    assert {line.get_linestyle() for label, line in lines.items() if "anchored" in label} == {":"}
    assert {line.get_linestyle() for label, line in lines.items() if "cnn" in label} == {"-."}
    drawn = np.asarray(lines["MuJoCo, cnn, 4,000"].get_xydata())
    np.testing.assert_allclose(drawn, [(0, 7.017), (1, 8.303), (2, 22.19)], rtol=1e-3)  # .015, .021 and .15 rad²
    assert [label.get_text() for label in panel.get_xticklabels()] == ["clean", "webcam", "harsh"]
    assert lines["PyBullet, cnn, 1,000"].get_color() == lines["PyBullet, cnn, 4,000"].get_color()
    assert len({line.get_color() for line in lines.values()}) == 5


def test_single_renderer_and_level_gives_no_section() -> None:
    plain = [each for each in ROWS if each.renderer is None and each.camera is None]
    assert errors_by_camera(replace(FOUND, rows=tuple(plain), transfer_rows=())) == ()
    assert errors_by_camera(replace(FOUND, rows=())) == ()


def test_curves_do_not_mix_image_kinds() -> None:
    cells = over_seeds(ROWS)
    assert series(cells, "anchors") == {}
    assert label_curves(cells) == ()
    alike = [cell for cell in cells if cell.renderer is None and cell.camera is None]
    assert list(series(alike, "anchors")) == [(TWO_CAMERAS, "anchored")]


def test_camera_errors_appear_in_the_page_and_the_report(tmp_path: Path) -> None:
    results.write(tmp_path / "run" / "results.json", FOUND)
    write_report(tmp_path / "run", tmp_path / "report.html")
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Error by renderer and camera" in written
    assert 'aria-label="RMS error by camera level, Two cameras, independent joints"' in written
    names = [path.name for path in write_figures(tmp_path / "run", tmp_path / "results")]
    assert names == [f"cameras-compact-{TWO_CAMERAS}-cameras{end}.png" for end in ("", "-shifted")]
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("<!-- table:cameras-compact/optional --><!-- /table -->", encoding="utf-8")
    update(page, tmp_path / "results")
    assert "No results yet." in page.read_text(encoding="utf-8")
    results.write(tmp_path / "results" / "cameras-compact.json", FOUND)
    update(page, tmp_path / "results")
    text = page.read_text(encoding="utf-8")
    assert "No results yet." not in text
    for name in names:
        assert f"](../results/{name})" in text
    assert "Two cameras, independent joints, shifted poses" in text


def test_note_states_the_metric_seeds_and_preset() -> None:
    note = " ".join(cameras_markdown(FOUND).splitlines()[-1].split())
    assert note.startswith(
        "First RMS errors in degrees, then MSE in rad², ± over test draws of 1 training seed, bold where it reaches"
    )
    assert note.endswith("Preset compact, 2 cores, 1 minutes.")


def coverage_row(method: str, intervals: str, coverage: float, seed: int = 0, split: Split = "id") -> CoverageRow:
    """Coverage of joint 1 with 1,000 labels, or with those of the training."""
    return CoverageRow(
        setup=TWO_CAMERAS,
        method=method,
        split=split,
        occlusion=0,
        joint="panda_joint1",
        seed=seed,
        intervals=intervals,
        level=0.9,
        calibration_labels=1000 if intervals in ("labels", "anchors") else 0,
        coverage=coverage,
        width=0.1,
        auroc=None,
        flagged=0.1,
    )


def test_page_has_rows_without_labels_coverage_and_times() -> None:
    webcam, clean, cnn = (f"{METHODS[k]}+pybullet+{level}" for k, level in ((0, "webcam"), (0, "clean"), (2, "webcam")))
    unlabelled = row(METHODS[0], "pybullet", "webcam", np.radians(9) ** 2, calibration_labels=0)
    shares = [coverage_row(webcam, "labels", 0.90), coverage_row(webcam, "labels", 0.80, seed=1)]
    others = [coverage_row(webcam, "anchors", 0.1), coverage_row(webcam, "labels", 0.2, split="ood")]
    fits = [
        FitRow(setup=TWO_CAMERAS, method=method, seed=0, weights="a", data_checksum="b", version="1", seconds=seconds)
        for method, seconds in ((clean, 60.0), (webcam, 90.0), (cnn, None))
    ]
    found = replace(
        FOUND,
        rows=(*ROWS, unlabelled),
        trust_rows=(*shares, *others, coverage_row(cnn, "own", 0.5)),
        fit_rows=tuple(fits),
    )
    lines = cameras_markdown(found).splitlines()

    def below(words: str) -> list[str]:
        start = next(k for k, line in enumerate(lines) if words in line)
        return lines[start + 2 : lines.index("", start + 2)]

    first = next(k for k, line in enumerate(lines) if line.startswith("Test images like"))
    assert "no label, RMS error in degrees" in lines[first]
    assert below("no label, RMS")[2:] == ["| PyBullet, webcam | anchored | 4,000 | 9.0 |"]
    assert below("inside 90% intervals")[2:] == [
        "| PyBullet, webcam | anchored | 4,000 | 85.0 |",
        "|  | cnn | 4,000 | 50.0 |",
    ]
    assert below("training time:") == [
        "| images | method | anchors | minutes | relative to clean images |",
        "| --- | --- | ---: | ---: | ---: |",
        "| PyBullet, clean | anchored | 4,000 | 1.0 | 1.00× |",
        "| PyBullet, webcam | anchored | 4,000 | 1.5 | 1.50× |",
    ]
    assert "training time" not in cameras_markdown(FOUND)


def test_resolutions_are_compared_by_training_time() -> None:
    times = {"anchored@128-pixels": 600.0, "anchored@256-pixels": 900.0}
    rows = [
        row("anchored", "pybullet", "clean", 0.01, method=method, image_size=size, anchors=1500)
        for method, size in zip(times, (128, 256), strict=True)
    ]
    fits = [
        FitRow(setup=TWO_CAMERAS, method=method, seed=0, weights="a", data_checksum="b", version="1", seconds=seconds)
        for method, seconds in times.items()
    ]
    found = replace(FOUND, name="resolution", rows=tuple(rows), transfer_rows=(), fit_rows=tuple(fits))
    assert fit_times_markdown(found).splitlines()[2:] == [
        "| 1,500 anchors, 128 px | 10.0 | 1.00× |",
        "| 1,500 anchors, 256 px | 15.0 | 1.50× |",
    ]
    earlier = replace(found, fit_rows=tuple(replace(fit, seconds=None) for fit in fits))
    assert fit_times_markdown(earlier) == ""
