"""Errors of poses on cases solved by hand, what leaves them alone, and the draws that they share with the protocol."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from ropes.common.arrays import Floats
from ropes.metrics import protocol
from ropes.metrics.pose import add, add_auc, calibrated_draws, orientation_error, pose_errors, position_error


def pose(turn: Rotation | None = None, at: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Floats:
    made = np.eye(4)
    made[:3, :3] = (turn or Rotation.identity()).as_matrix()
    made[:3, 3] = at
    return made[None]


def test_position_error_is_the_distance_in_millimetres() -> None:
    assert position_error(pose(at=(0.003, -0.004, 0.0)), pose()) == pytest.approx([5.0])
    assert position_error(pose(Rotation.from_rotvec([0, 0, 1])), pose()) == pytest.approx([0.0])


@pytest.mark.parametrize("degrees", [0.0, 1e-7, 30.0, 90.0, 179.999, 180.0])
@pytest.mark.parametrize("axis", [(0, 0, 1), (0.6, 0, -0.8)])
def test_orientation_error_is_the_rotation_angle(degrees: float, axis: tuple[float, ...]) -> None:
    turn = Rotation.from_rotvec(np.radians(degrees) * np.array(axis, dtype=float))
    start = Rotation.from_euler("xyz", [0.3, -1.0, 2.0])
    found = orientation_error(pose(turn * start), pose(start))
    assert found == pytest.approx([degrees], rel=1e-6, abs=1e-13 if degrees == 0 else 1e-8)


def test_add_is_the_mean_over_the_points() -> None:
    true = np.zeros((2, 2, 3))
    estimated = np.array([[[0.01, 0, 0], [0, 0.03, 0]], [[0, 0, 0], [0, 0, 0.5]]])
    assert add(estimated, true) == pytest.approx([20.0, 250.0])


def test_add_auc_matches_hand_calculation() -> None:
    assert add_auc([0.0]) == 1.0
    assert add_auc([0.0, 50.0, 100.0, 200.0]) == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert add_auc([20.0], threshold=40.0) == 0.5


@given(st.lists(st.floats(0, 300), min_size=1, max_size=30))
def test_add_auc_is_the_integral_of_accuracy_over_thresholds(distances: list[float]) -> None:
    thresholds = (np.arange(20_000) + 0.5) * 100 / 20_000
    accuracy = np.searchsorted(np.sort(distances), thresholds, side="right") / len(distances)
    assert add_auc(distances) == pytest.approx(accuracy.mean(), abs=1e-4)


@given(st.integers(0, 2**32 - 1))
def test_pose_errors_are_invariant_to_a_common_motion(seed: int) -> None:
    rng = np.random.default_rng(seed)
    moved = pose(Rotation.random(rng=rng), tuple(rng.normal(size=3)))[0]
    first, second = (np.concatenate([pose(Rotation.random(rng=rng), tuple(rng.normal(size=3)))] * 2) for _ in range(2))
    points = rng.normal(size=(2, 2, 5, 3))
    shifted = points @ moved[:3, :3].T + moved[:3, 3]
    plain, other = pose_errors(first, second, *points), pose_errors(moved @ first, moved @ second, *shifted)
    np.testing.assert_allclose(other, plain, rtol=1e-9)


def test_pose_errors_are_means() -> None:
    there = np.concatenate([pose(at=(0.01, 0, 0)), pose(Rotation.from_rotvec([0, np.pi / 2, 0]))])
    points = np.zeros((2, 1, 3))
    points[1, 0, 0] = 0.05
    found = pose_errors(there, np.concatenate([pose()] * 2), points, np.zeros((2, 1, 3)))
    assert found == pytest.approx([5.0, 45.0, 25.0, 0.75])


@pytest.mark.parametrize(
    ("estimated", "true", "line"),
    [
        (np.zeros((2, 4, 4)), np.zeros((3, 4, 4)), "expected two arrays of shape"),
        (np.zeros((2, 3, 4)), np.zeros((2, 3, 4)), "expected two arrays of shape"),
        (np.full((1, 4, 4), np.nan), np.zeros((1, 4, 4)), "every value must be finite"),
    ],
)
@pytest.mark.parametrize("metric", [position_error, orientation_error])
def test_poses_that_do_not_pair_are_refused(
    metric: Callable[[Floats, Floats], Floats], estimated: Floats, true: Floats, line: str
) -> None:
    with pytest.raises(ValueError, match=line):
        metric(estimated, true)


def test_invalid_distances_raise() -> None:
    for wrong in ([], [-1.0], [float("inf")], [[1.0]]):
        with pytest.raises(ValueError, match="expected at least one distance"):
            add_auc(wrong)
    with pytest.raises(ValueError, match="the threshold must be positive"):
        add_auc([1.0], threshold=0.0)
    with pytest.raises(ValueError, match="at least one point"):
        add(np.zeros((2, 0, 3)), np.zeros((2, 0, 3)))
    with pytest.raises(ValueError, match="expected two arrays of shape"):
        add(np.zeros((2, 3, 3)), np.zeros((2, 4, 3)))


def test_pose_errors_use_the_draws_of_the_protocol() -> None:
    rng = np.random.default_rng(0)
    angles = rng.normal(size=(60, 2))
    estimates = 3 * angles + 1 + rng.normal(size=angles.shape)
    expected = protocol(estimates, angles, np.random.default_rng(5), repeats=4, fit=20, test=10)
    drawn = calibrated_draws(estimates, angles, np.random.default_rng(5), repeats=4, fit=20, test=10)
    errors = np.stack([((read - angles[rows]) ** 2).mean(axis=0) for read, rows in drawn])
    np.testing.assert_allclose(errors.mean(axis=0), expected.mse_mean)
    np.testing.assert_allclose(errors.std(axis=0), expected.mse_std)
