"""Figures of an arm's moves, by hand."""

import numpy as np

from ropes.evaluation.arm_moves import delta_figures


def test_joint_that_stands_still_has_no_direction() -> None:
    deltas = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [0.0, 3.0], [1.0, 0.0], [0.0, 1.0]])
    verbs = np.array(["elbow up", "elbow up", "elbow down", "elbow up", "wrist up", "wrist up"])
    joints = np.array(["elbow", "elbow", "elbow", "elbow", "wrist", "wrist"])
    found = delta_figures(deltas, verbs, {}, (joints, np.array([0.1, 0.2, -0.1, 0.0, 0.1, 0.0])))["moves"]
    # The fourth pair would turn the mean delta of moves down; the wrist only moves up.
    assert found.keys() == {"elbow"}
    assert found["elbow"] == {"direction": 1.0, "opposite": -1.0, "length": 1.0}
