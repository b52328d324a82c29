"""Calibration and the evaluation protocol against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropes.common.arrays import Floats
from ropes.evaluation.paper import CALIBRATION_LABELS
from ropes.metrics import PAPER_SIZES, linear_calibration, mcc, protocol
from ropes.metrics.calibration import calibrated, commanded_calibration
from ropes.metrics.joints import squared_error


def test_line_matches_hand_solved_case() -> None:
    # Points (0, 1), (1, 1), (2, 4): slope 3/2, intercept 2 - 3/2 = 1/2; residuals -1/2, 1, -1/2.
    x, y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [1.0], [4.0]])
    slope, intercept = linear_calibration(x, y)
    assert (slope[0], intercept[0]) == pytest.approx((1.5, 0.5))
    assert squared_error(slope * x + intercept, y) == pytest.approx([(0.25 + 1 + 0.25) / 3])


def test_constant_coordinate_predicts_the_mean() -> None:
    y = np.array([[1.0], [2.0], [6.0]])
    slope, intercept = linear_calibration(np.full((3, 1), 7.0), y)
    assert (slope[0], intercept[0]) == (0.0, 3.0)
    assert squared_error(slope * np.full((3, 1), 7.0) + intercept, y) == pytest.approx([y.var()])


@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(1e-3, 1e3) | st.floats(-1e3, -1e-3))
def test_the_error_does_not_depend_on_the_unit_of_the_coordinate(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(50, 2))
    guess = z + rng.normal(size=(50, 2))
    plain, scaled = (squared_error(calibrated(x, x, z), z) for x in (guess, scale * guess + 3))
    np.testing.assert_allclose(scaled, plain, rtol=1e-6)


@given(seed=st.integers(0, 2**32 - 1))
def test_error_on_fit_samples_equals_variance_times_one_minus_r_squared(seed: int) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(60, 2))
    guess = 0.3 * z + rng.normal(size=(60, 2))
    error = squared_error(calibrated(guess, guess, z), z)
    np.testing.assert_allclose(error, z.var(axis=0) * (1 - mcc(guess, z) ** 2))


def test_protocol_recovers_a_known_noise() -> None:
    # Angles of variance 1 read with noise of variance s: correlation 1/sqrt(1+s), error s/(1+s).
    rng = np.random.default_rng(1)
    noise = np.array([0.1, 1.0])
    z = rng.normal(size=(20_000, 2))
    guess = -4 * (z + rng.normal(size=z.shape) * np.sqrt(noise)) + 2
    measured = protocol(guess, z, np.random.default_rng(2))
    np.testing.assert_allclose(measured.mcc_mean, 1 / np.sqrt(1 + noise), atol=0.01)
    np.testing.assert_allclose(measured.mse_mean, noise / (1 + noise), rtol=0.05)
    # Standard deviation of a mean of 500 squared normals: s/(1+s) * sqrt(2/500).
    np.testing.assert_allclose(measured.mse_std, measured.mse_mean * np.sqrt(2 / 500), rtol=0.6)
    assert np.all(measured.mcc_std > 0)


def test_best_repeat_is_chosen_per_joint_and_matches_its_pairs() -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=(2000, 3))
    measured = protocol(z + rng.normal(size=z.shape), z, np.random.default_rng(4))
    assert measured.best_estimate.shape == measured.best_angle.shape == (3, 500)
    np.testing.assert_allclose(mcc(measured.best_estimate.T, measured.best_angle.T), measured.best_mcc)
    squared = (measured.best_estimate - measured.best_angle) ** 2
    np.testing.assert_allclose(squared.mean(axis=1), measured.best_mse)
    assert np.all(measured.best_mcc >= measured.mcc_mean)


def test_fit_and_test_poses_are_disjoint_and_redrawn() -> None:
    # Every angle is unique, so the tested angles say which poses were drawn.
    z = np.arange(30.0)[:, None]
    noisy = z + np.random.default_rng(0).normal(size=z.shape)
    one = protocol(noisy, z, np.random.default_rng(0), repeats=1, fit=20, test=10)
    assert len(np.unique(one.best_angle)) == 10
    rest = np.setdiff1d(z[:, 0], one.best_angle[0]).astype(int)
    tested = one.best_angle[0].astype(int)
    np.testing.assert_allclose(one.best_mse, squared_error(calibrated(noisy[tested], noisy[rest], z[rest]), z[tested]))
    other = protocol(noisy, z, np.random.default_rng(1), repeats=1, fit=20, test=10)
    assert set(other.best_angle[0]) != set(one.best_angle[0])


def test_a_line_may_be_fitted_on_other_poses_than_those_that_are_tested() -> None:
    rng = np.random.default_rng(0)
    here, there = rng.normal(size=(60, 1)), rng.normal(size=(70, 1))
    shifted, usual = (here, 2 * here + 1), (there, 2 * there)
    own = protocol(*shifted, np.random.default_rng(1), 4, 20, 10)
    other = protocol(*shifted, np.random.default_rng(1), 4, 20, 10, elsewhere=(*usual, np.random.default_rng(2)))
    assert own.mse_mean == pytest.approx([0.0], abs=1e-12)
    assert other.mse_mean == pytest.approx([1.0])  # the line of there is off by 1 here
    np.testing.assert_array_equal(own.best_angle, other.best_angle)
    few = there[:29], there[:29], np.random.default_rng(2)
    with pytest.raises(ValueError, match="the line needs 30 poses to draw 20 from, got 29"):
        protocol(*shifted, np.random.default_rng(1), 4, 20, 10, elsewhere=few)


def test_best_assignment_matches_permuted_coordinates() -> None:
    angles = np.random.default_rng(0).normal(size=(60, 2))
    found = protocol(angles[:, ::-1], angles, np.random.default_rng(1), 4, 20, 10)
    assert found.mcc_matched == pytest.approx([1.0, 1.0])
    assert (found.mcc_mean < 0.6).all()


def test_same_generator_gives_the_same_numbers() -> None:
    rng = np.random.default_rng(5)
    z, guess = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    first = protocol(guess, z, np.random.default_rng(7), fit=20, test=20)
    again = protocol(guess, z, np.random.default_rng(7), fit=20, test=20)
    np.testing.assert_array_equal(first.mcc_mean, again.mcc_mean)
    np.testing.assert_array_equal(first.best_estimate, again.best_estimate)


def test_hungarian_protocol_handles_permuted_coordinates() -> None:
    z = np.random.default_rng(6).normal(size=(60, 3))
    measured = protocol(z[:, [1, 2, 0]], z, np.random.default_rng(0), fit=40, test=20, matching="hungarian")
    np.testing.assert_allclose(measured.mcc_mean, 1)
    np.testing.assert_allclose(measured.mse_mean, 0, atol=1e-20)


def test_too_few_poses_are_refused() -> None:
    z = np.random.default_rng(0).normal(size=(1499, 2))
    with pytest.raises(ValueError, match=r"needs 1500 poses \(1000 to fit, 500 to test\), got 1499"):
        protocol(z, z, np.random.default_rng(0))
    with pytest.raises(ValueError, match="repeats >= 1"):
        protocol(z, z, np.random.default_rng(0), repeats=0)
    with pytest.raises(ValueError, match="at least two labelled"):
        linear_calibration([[1.0]], [[1.0]])
    with pytest.raises(ValueError, match="one coordinate a joint"):
        linear_calibration(np.zeros((3, 2)), np.zeros((3, 1)))


def test_default_sizes_are_those_of_the_paper() -> None:
    assert (PAPER_SIZES.repeats, PAPER_SIZES.fit, PAPER_SIZES.test) == (15, CALIBRATION_LABELS, 500)
    z = np.random.default_rng(0).normal(size=(PAPER_SIZES.fit + PAPER_SIZES.test - 1, 2))
    with pytest.raises(ValueError, match=f"{PAPER_SIZES.fit} to fit, {PAPER_SIZES.test} to test"):
        protocol(z, z, np.random.default_rng(0))


@pytest.mark.parametrize("means", [np.zeros((3, 2)), np.zeros((1, 2)), np.zeros(2)])
def test_commanded_means_are_those_of_two_policies(means: Floats) -> None:
    with pytest.raises(ValueError, match=r"expected \(n, d\), \(m, d\) and \(2, d\), got"):
        commanded_calibration(np.zeros((5, 2)), np.ones((5, 2)), means)
