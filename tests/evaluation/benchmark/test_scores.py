"""Scores by hand, and on the truth itself."""

import numpy as np
import pytest

from ropes.evaluation.benchmark import Predictions, score, task_named

TASK = task_named("panda-1c-independent")


def test_truth_has_no_error() -> None:
    angles = TASK.angles("test-id")
    for figures in score(TASK, {"test-id": Predictions(angles=angles)})["test-id"].values():
        assert (figures.rms_degrees, figures.mse, figures.r2) == (0.0, 0.0, 1.0)
        assert figures.mcc == pytest.approx(1)
        assert figures.coverage is figures.width_degrees is None


def test_constant_offset_of_each_joint_is_its_error() -> None:
    angles = TASK.angles("test-id")
    offsets = np.radians([1.0, 2.0, -3.0])
    ends = {"lower": angles + offsets - 0.04, "upper": angles + offsets + 0.04}
    found = score(TASK, {"test-id": Predictions(angles=angles + offsets, **ends)})["test-id"]
    assert tuple(found) == TASK.joints
    assert [figures.rms_degrees for figures in found.values()] == pytest.approx([1, 2, 3])
    assert [figures.mse for figures in found.values()] == pytest.approx(offsets**2)
    assert [figures.coverage for figures in found.values()] == [1, 1, 0]  # .04 rad are 2.3 degrees
    assert [figures.width_degrees for figures in found.values()] == pytest.approx([np.degrees(0.08)] * 3)
    assert [figures.mcc for figures in found.values()] == pytest.approx([1, 1, 1])


def test_constant_prediction_has_no_correlation() -> None:
    angles = TASK.angles("test-id")
    mean = np.tile(angles.mean(axis=0), (len(angles), 1))
    for k, figures in enumerate(score(TASK, {"test-id": Predictions(angles=mean)})["test-id"].values()):
        assert figures.mcc == 0
        assert figures.r2 == pytest.approx(0)
        assert figures.rms_degrees == pytest.approx(np.degrees(angles[:, k].std()))
