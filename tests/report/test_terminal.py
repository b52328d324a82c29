import io
import textwrap
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import ModelRow
from ropes.inference.calibration import Calibration, CalibrationErrors
from ropes.methods.uncertainty.conformal import Intervals
from ropes.report.differences import of_method
from ropes.report.terminal import print_calibration, print_table
from ropes.report.words import error
from tests.report.conftest import SETUPS, made_up_rows


def printed(rows: Sequence[Row], models: Sequence[ModelRow] = ()) -> list[str]:
    results = Results(
        name="table1",
        preset="compact",
        device="d",
        version="0.1.0",
        seconds=1.0,
        rows=tuple(rows),
        model_rows=tuple(models),
    )
    stream = io.StringIO()
    print_table(results, Console(file=stream, width=80))
    return stream.getvalue().splitlines()


def test_eighty_columns_fit_every_value_on_one_line() -> None:
    made = made_up_rows(np.random.default_rng(0), seeds=(0,))
    rows = [replace(row, r2_mean=0.5, mse_mean=0.00076, mse_std=0.00005) for row in made]
    lines = printed(rows)
    assert max(map(len, lines)) <= 80
    assert "…" not in "".join(lines)
    assert [line for line in lines if line.startswith("panda")] == [f"{setup}, ropes" for setup in SETUPS]
    bodies = [line for line in lines if line.startswith("│")]
    assert len(bodies) == len(rows)
    for row, line in zip(rows, bodies, strict=True):
        cells = [cell.strip() for cell in line.strip("│").split("│")]
        split = f"{row.split}, {row.occlusion} px" if row.occlusion else row.split
        assert cells[:2] == [split, row.joint.replace("panda_joint", "joint ")]
        assert float(cells[2]) == pytest.approx(np.degrees(np.sqrt(row.mse_mean or 0.0)), abs=0.05)
        assert cells[3].startswith(f"{row.mcc_mean:.3f}")
        assert cells[4].startswith(error(row.mse_mean))
        assert cells[5] == "0.500"


@pytest.mark.parametrize(("scores", "heading"), [({}, "DCI"), ({"trees_ood2_b": 0.2}, "DCI OOD2-B")])
def test_model_table_has_only_measured_columns(scores: dict[str, float], heading: str) -> None:
    scores = {"dci": 0.5, **scores}
    model = ModelRow(setup="arm", method="ldr", seed=0, seconds=1.0, settings={}, scores=scores)
    lines = printed([], [model])
    assert lines[0] == "table1, preset compact"
    (found,) = [line for line in lines if line.startswith("┃")]
    assert found.replace("┃", " ").split() == ["method", "seed", *heading.split()]


def test_table_shows_the_paper_beside_our_figures() -> None:
    (row, *_) = made_up_rows(np.random.default_rng(0), seeds=(0,))
    (line,) = [line for line in printed([row]) if line.startswith("│")]
    assert row.paper_mcc is not None
    reached = "✓" if round(row.mcc_mean or 0, 3) >= row.paper_mcc else "✗"
    assert f"{row.mcc_mean:.3f} ({row.paper_mcc:.3f}) {reached}" in line


def test_calibrations_on_fewer_labels_are_omitted_and_methods_separated() -> None:
    (row, *_) = made_up_rows(np.random.default_rng(0), seeds=(0,))
    others = [replace(row, calibration_labels=count, mse_mean=9.0) for count in (10, 100)]
    anchored = replace(row, method="anchored")
    assert printed([row, *others, anchored]) == printed([row, anchored])
    assert [line for line in printed([row, anchored]) if line.startswith("panda")] == [
        f"{row.setup}, ropes",
        f"{row.setup}, anchored",
    ]


def test_label_free_figures_come_first_and_tables_are_labelled() -> None:
    (row, *_) = made_up_rows(np.random.default_rng(0), seeds=(0,))
    row = replace(row, mse_mean=0.0005)
    free = replace(row, calibration_labels=0, mse_mean=0.0003, paper_mcc=None, paper_mse=None)
    labelled = replace(row, method="cnn", labels=100, label_share=0.01, calibration_labels=0)
    lines = printed([row, free, labelled])
    joints = "joints 1, 3 and 5 stay at zero; Section 3.2 of the paper may mean that they vary."
    begun = "Differences from the paper's row:"
    ropes = f"{begun} {of_method('ropes', 'compact')}; {joints}"
    cnn = f"{begun} not in the paper; {joints}"
    assert [line.rstrip() for line in lines if line and line[0] not in "┏┡┃└│"][1:] == [
        f"{row.setup}, ropes",
        "without labels",
        "with a line fitted on 1,000 labels",
        *textwrap.wrap(ropes, 80),
        f"{row.setup}, cnn",
        "as predicted",
        *textwrap.wrap(cnn, 80),
    ]
    assert [figure for line in lines for figure in ("0.00030 (0.053) ✓", "0.00050 (0.053) ✓") if figure in line] == [
        "0.00030 (0.053) ✓",
        "0.00050 (0.053) ✓",
        "0.00050 (0.053) ✓",
    ]


def test_long_joint_name_is_wrapped_and_never_truncated() -> None:
    row = Row.measured(setup="arm", joint="q" * 60, split="id", occlusion=0, seed=0, mcc=(0.5, 0.0), mse=(1234.5, 0.0))
    lines = printed([row])
    assert max(map(len, lines)) <= 80
    assert "".join(lines).count("q") == 60
    assert "1234.500" in "".join(lines)


def test_names_are_not_markup() -> None:
    row = Row.measured(setup="arm", joint="arm[left]2", split="id", occlusion=0, seed=0, mcc=(0.5, 0.0), mse=(1, 0.0))
    assert any("arm[left]2" in line for line in printed([row]))


def told(calibration: Calibration) -> list[str]:
    stream = io.StringIO()
    print_calibration(calibration, Console(file=stream, width=80))
    return stream.getvalue().splitlines()


def test_calibration_errors_have_a_line_per_joint() -> None:
    intervals = Intervals(0.95, np.ones(2), np.ones(2), "labels", 40)
    left_out, half = {"panda_joint1": 0.0312, "elbow": 1.5}, {"panda_joint1": 0.05, "elbow": 2.0}
    lines = Calibration(np.ones(2), np.zeros(2), 40, intervals)
    found = told(replace(lines, errors=CalibrationErrors(left_out=left_out, half_width=half)))
    cells = [[cell.strip() for cell in line.strip("┃│").replace("┃", "│").split("│")] for line in found]
    assert ["joint", "left out, °", "95%, °"] in cells
    assert ["joint 1", "1.8", "2.9"] in cells
    assert ["elbow", "85.9", "114.6"] in cells
    assert found[-2:] == [
        "left out: leave-one-out root mean square error of the line over the labelled poses",
        "95%: half the interval at the median σ, from 40 labelled poses",
    ]
    unlabelled = replace(lines, intervals=replace(intervals, level=0.995, source="anchors"))
    found = told(replace(unlabelled, errors=CalibrationErrors(left_out=None, half_width=half)))
    assert "left out" not in "".join(found)
    assert found[-1] == "99.5%: half the interval at the median σ, from 40 held-out poses, without labels"


def test_missing_error_estimate_is_stated() -> None:
    lines = Calibration(np.ones(1), np.zeros(1), 2, errors=CalibrationErrors(left_out=None, half_width=None))
    assert told(lines) == ["no estimate of the errors: too few labels, and no anchors"]
