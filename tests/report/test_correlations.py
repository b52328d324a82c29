"""The MCC and R² of tables of joint errors."""

from dataclasses import replace

from ropes.evaluation.paper import CAUSAL
from tests.report.pages import squared
from tests.report.tables import found, row


def test_dependent_joints_are_compared_by_correlation() -> None:
    rows = [
        row(joint, mcc, 0.001, CAUSAL, method=method, mcc_matched=0.95 if (method, joint) == ("ropes", 1) else None)
        for method, mcc in (("anchored", 0.99), ("ropes", 0.9))
        for joint in (1, 5)
    ]
    free = [replace(each, calibration_labels=0, paper_mcc=None, paper_mse=None) for each in rows[:2]]
    without = squared(found(*rows)).splitlines()[2:5]
    text = squared(found(*rows, *free))
    lines = text.splitlines()
    assert lines[2:3] + lines[4:6] == without  # the same with a map without a label, which no correlation sees
    assert without == [
        "| Two cameras, causal joints ¹ | anchored ² | 1,000 | 0.0010 ± 0.0020 | 0.0010 ± 0.0020 |",
        "|  | ropes ³ | 1,000 | 0.0010 ± 0.0020 | 0.0010 ± 0.0020 |",
        "|  | the paper's ROPES | 1,000 | 0.058 | 0.051 |",
    ]
    table = lines.index("MCC, in brackets that of the best assignment of coordinates to joints where it differs:") + 2
    assert lines[table : table + 5] == [
        "| test data | method | joint 1 | joint 5 |",
        "| --- | --- | ---: | ---: |",
        "| Two cameras, causal joints ¹ | anchored ² | **0.990** | **0.990** |",
        "|  | ropes ³ | 0.900 (0.950) | **0.900** |",
        "|  | the paper's ROPES | 0.921 | 0.742 |",
    ]
    assert [line for line in lines if "R² |" in line] == [
        "|  | anchored ²: R² |  | **0.980** | **0.980** |",
        "|  | ropes ³: R² |  | 0.810 | **0.810** |",
        "|  | the paper's ROPES: R² |  | 0.848 | 0.551 |",
    ]
    assert [line for line in lines if "variance |" in line] == [
        "|  | our test angles: variance |  | 0.050 | 0.050 |",  # by anchored, whose MCC is larger
        "|  | the paper's: variance |  | 0.382 | 0.113 |",
    ]
    assert "- ¹ in distribution the test angles vary more or less than the paper's: compare MCC" in text
