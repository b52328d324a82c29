"""The table of joint metrics agrees with the protocol's results and with the rows; figures over draws by hand."""

from dataclasses import fields

import numpy as np
import pytest

from ropes.evaluation.rows.joint import JointConditions, Row
from ropes.metrics.joints import (
    CALIBRATED,
    JOINT_METRICS,
    Evaluation,
    JointMetric,
    over_draws,
    r_squared,
    squared_error,
)


def test_every_protocol_and_row_figure_has_a_table_entry() -> None:
    names = {name for metric in JOINT_METRICS for name in metric.fields}
    figures = {field.name for field in fields(Row)} - {field.name for field in fields(JointConditions)} - {"seed"}
    assert figures == names
    assert {field.name for field in fields(Evaluation) if not field.name.startswith("best_")} == names


def test_labels_change_the_error_and_not_the_correlation() -> None:
    changed = {name for metric in CALIBRATED for name in metric.fields}
    assert {"mse_mean", "mse_std", "r2_mean"} <= changed
    assert not {"mcc_mean", "mcc_std", "mcc_matched"} & changed


def test_squared_error_matches_hand_solved_case() -> None:
    estimates, angles = np.array([[1.0, 0.0], [3.0, 2.0]]), np.array([[0.0, 0.0], [0.0, 4.0]])
    assert squared_error(estimates, angles).tolist() == [5.0, 2.0]


def test_r_squared_of_hand_solved_cases() -> None:
    angles = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    assert r_squared(angles, angles).tolist() == [1.0, 1.0]
    assert r_squared(np.full((3, 2), 2.0), angles) == pytest.approx([0.0, -3 / 8])
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 50))
    line = np.polyval(np.polyfit(x, y, 1), x)
    assert r_squared(line[:, None], y[:, None]) == pytest.approx([np.corrcoef(x, y)[0, 1] ** 2])


def test_means_and_deviations_are_over_the_draws() -> None:
    spread = JointMetric(mean="error", std="error_std", estimates="calibrated", compute=squared_error)
    alone = JointMetric(mean="score", std=None, estimates="coordinates", compute=squared_error)
    drawn = [{"error": np.array([1.0, 5.0]), "score": np.array([0.0, 1.0])}, {"error": np.array([3.0, 5.0])}]
    drawn[1]["score"] = np.array([1.0, 1.0])
    found = over_draws((spread, alone), drawn)
    assert list(found) == ["error", "error_std", "score"]
    assert found["error"] == pytest.approx([2.0, 5.0])
    assert found["error_std"] == pytest.approx([1.0, 0.0])  # the population form
    assert found["score"] == pytest.approx([0.5, 1.0])
