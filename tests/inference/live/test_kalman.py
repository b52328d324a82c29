"""The filter against its closed forms, the regression that it equals, and noise on a smooth path."""

import numpy as np
import pytest

from ropes.inference.live.kalman import Kalman


def test_filter_without_acceleration_equals_linear_regression() -> None:
    rng, times = np.random.default_rng(0), np.cumsum(np.random.default_rng(1).uniform(0.02, 0.06, 40))
    std = rng.uniform(0.05, 0.3, 40)
    measured = 0.4 - 0.7 * times + std * rng.normal(size=40)
    kalman = Kalman(1e-12)
    for time, angle, each in zip(times, measured, std, strict=True):
        found = kalman(time, np.array([angle]), np.array([each]))
    # Weighted least squares with the prior of the first velocity, standard deviation 1.
    design = np.stack([np.ones(40), times - times[-1]], axis=1) / std[:, None]
    precision = design.T @ design
    prior = np.array([[0.0, 0.0], [0.0, 1.0]])
    line = np.linalg.solve(precision + prior, design.T @ (measured / std))
    np.testing.assert_allclose([found.angles[0], found.velocities[0]], line, rtol=1e-6)
    np.testing.assert_allclose(found.std[0] ** 2, np.linalg.inv(precision + prior)[0, 0], rtol=1e-6)


def test_steady_state_gain_solves_the_riccati_equation() -> None:
    from scipy.linalg import solve_discrete_are

    step, density, std = 0.1, 2.0, 0.2
    motion = np.array([[1.0, step], [0.0, 1.0]])
    noise = density * np.array([[step**3 / 3, step**2 / 2], [step**2 / 2, step]])
    predicted = solve_discrete_are(motion.T, np.array([[1.0], [0.0]]), noise, np.array([[std**2]]))
    posterior = predicted[0, 0] - predicted[0, 0] ** 2 / (predicted[0, 0] + std**2)
    kalman = Kalman(density)
    for k in range(400):
        found = kalman(k * step, np.zeros(3), np.full(3, std))
    np.testing.assert_allclose(found.std**2, posterior, rtol=1e-6)


def test_filter_halves_the_error_on_a_noisy_smooth_path() -> None:
    rng, times = np.random.default_rng(0), np.arange(600) / 30
    truth = np.stack([np.sin(times), 0.5 * np.cos(2 * times)], axis=1)
    measured = truth + 0.1 * rng.normal(size=truth.shape)
    kalman = Kalman(1.0)
    states = [kalman(time, pose, np.full(2, 0.1)) for time, pose in zip(times, measured, strict=True)]
    error = ((np.array([state.angles for state in states]) - truth) ** 2).mean()
    assert error < 0.5 * ((measured - truth) ** 2).mean()
    scores = (np.array([state.angles for state in states]) - truth) / np.array([state.std for state in states])
    assert 0.5 < scores.std() < 1.5


def test_old_measurements_are_ignored_and_a_gap_resets_the_filter() -> None:
    kalman, std = Kalman(), np.array([0.1])
    kalman(0.0, np.array([1.0]), std)
    before = kalman(0.1, np.array([1.1]), std)
    again = kalman(0.05, np.array([9.0]), std)
    assert again.angles == pytest.approx(before.angles)
    anew = kalman(5.0, np.array([-2.0]), std)
    assert (anew.angles[0], anew.velocities[0], anew.std[0]) == pytest.approx((-2.0, 0.0, 0.1))


def test_predicted_state_moves_on_without_a_measurement() -> None:
    kalman, std = Kalman(2.0), np.array([0.02])
    assert kalman.predicted(0.0) is None
    for k in range(20):
        found = kalman(0.1 * k, np.array([0.05 * k]), std)
    later = kalman.predicted(2.1)
    assert later is not None
    assert later.velocities == pytest.approx(found.velocities)
    assert later.angles == pytest.approx(found.angles + 0.2 * found.velocities)
    assert later.std[0] > found.std[0]
    after = kalman(2.2, np.array([1.1]), std)  # which the prediction has not changed
    assert after.angles[0] == pytest.approx(1.1, abs=0.01)
    assert kalman.predicted(3.3) is None
