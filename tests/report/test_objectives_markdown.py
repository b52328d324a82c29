"""Objectives of method ropes as the page on Eq. 3 shows them."""

from typing import Any

import pytest

from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import CriterionRow
from ropes.report.objectives_markdown import objectives_markdown

SETUP = "panda-1c-independent"


def rows(variant: str, seed: int, error: float, matched: float | None = None) -> list[Row]:
    return [
        Row.measured(
            setup=SETUP,
            method=f"ropes@{variant}",
            joint=f"panda_joint{joint}",
            split=split,
            occlusion=0,
            seed=seed,
            mcc=(0.9 - error, 0.1),
            mcc_matched=matched,
            mse=(error * joint, 0.001),
            anchors=4000,
        )
        for joint in (2, 4)
        for split in ("id", "ood")
    ]


def criterion(variant: str, joint: int, seed: int, **figures: float | None) -> CriterionRow:
    told: dict[str, Any] = {"contrast": 0.4, "floor": 0.38, "own": 1.0, "beside": 0.2, "tangent": 0.5} | figures
    return CriterionRow(setup=SETUP, method=f"ropes@{variant}", joint=f"panda_joint{joint}", seed=seed, **told)


def test_each_objective_has_a_line_in_order_with_the_paper() -> None:
    found = Results(
        name="eq3",
        preset="compact",
        device="d",
        version="0",
        seconds=600,
        scene="panda-gym",
        rows=(*rows("encoder", 0, 0.02), *rows("encoder", 1, 0.04), *rows("classifier", 0, 0.01, 0.95)),
        criterion_rows=(
            criterion("encoder", 2, 0),
            criterion("encoder", 4, 1, contrast=0.44, tangent=0.7, beside=0.4),
            criterion("classifier", 2, 0, own=None, beside=None, tangent=None),
        ),
    )
    written = objectives_markdown(found).splitlines()
    assert written[0].startswith("RMS error in degrees with a line fitted on 1,000 labels, and MCC")
    assert written[0].endswith(" ±: standard deviation over training seeds.")
    assert "**One camera, independent joints ¹**: 4,000 anchors, 2 training seeds" in written
    assert "- ¹ joints 1, 3 and 5 stay at zero; Section 3.2 of the paper may mean that they vary." in written
    assert "and 10,000 training anchors." in written[-1]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in written if line.startswith("|")]
    assert lines[0] == ["objective", "joint 2", "joint 4", "above floor", "own", "beside", "along"]
    assert lines[2][0] == "the density ratios' logits themselves, no AE2 (1 seed)"
    assert lines[2][1:] == ["**8.1** (0.890; 0.950)", "11.5 (0.890; 0.950)", "0.020", "", "", ""]
    assert lines[3][0] == "reconstruction and score differences of the encoder"
    assert lines[3][1:3] == ["14.0 ± 3.3 (0.870)", "19.8 ± 4.7 (0.870)"]
    assert lines[3][3:] == ["0.040 ± 0.028", "1.000 ± 0.000", "0.300 ± 0.141", "0.50 0.70"]
    assert lines[4] == ["the paper's ROPES", "13.2 (0.949)", "9.8 (0.975)", "", "", "", ""]
    assert "Squared errors in rad² of the objectives of which at least one reaches the paper's:" in written
    assert lines[5] == ["objective", "joint 2", "joint 4"]
    assert lines[7:] == [
        ["the density ratios' logits themselves, no AE2 (1 seed)", "**0.020**", "0.040"],
        ["the paper's ROPES", "0.053", "0.029"],
    ]
    assert written[-1].endswith("Scene panda-gym. Preset compact, d, 10 minutes.")


def test_dependent_joints_compare_only_correlations() -> None:
    (given,) = [row for row in rows("encoder", 0, 0.01) if (row.split, row.joint) == ("id", "panda_joint2")]
    causal = Row.measured(
        setup="panda-2c-causal",
        joint="panda_joint1",
        split="id",
        occlusion=0,
        seed=0,
        mcc=(0.99, 0.01),
        mse=(0.001, 0.001),
        method="ropes@encoder",
    )
    found = Results(name="eq3", preset="compact", device="d", version="0", seconds=6, rows=(given, causal))
    written = objectives_markdown(found)
    assert "| 1.8 (**0.990**) |" in written
    assert written.count("Squared errors in rad²") == 1  # of independent joints alone
    assert f"| the paper's ROPES | ({causal.paper_mcc:.3f}) |" in written
    assert "**Two cameras, causal joints ²**: 1 training seed" in written
    assert "- ² in distribution the test angles vary more or less than the paper's: compare MCC" in written


@pytest.mark.parametrize(
    "change", [{"contrast": -0.1}, {"floor": float("nan")}, {"tangent": 1.1}, {"joint": ""}, {"seed": -1}]
)
def test_criteria_out_of_range_are_refused(change: dict[str, object]) -> None:
    content = vars(criterion("encoder", 2, 0)) | change
    with pytest.raises(ValueError, match=next(iter(change))):
        CriterionRow(**content)
