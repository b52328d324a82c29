"""T-MEX: hand-solved tests, false alarms at their level, classes, and dependent factors."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from ropes.common.arrays import Floats
from ropes.metrics import tmex
from ropes.metrics.disentanglement import association


def normal(samples: int, columns: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(samples, columns))


def test_latents_that_are_the_factors_violate_nothing() -> None:
    factors = normal(500, 4)
    found = tmex(factors[:, [2, 0, 3, 1]] * [1, -2, 3, 4] + 5, factors)
    assert found.score == 0
    assert found.latents.tolist() == [1, 3, 0, 2]
    np.testing.assert_array_equal(found.dependent, np.eye(4))


def test_a_latent_that_mixes_two_factors_violates_one_entry() -> None:
    factors = normal(500, 3)
    mixed = factors + 0.5 * factors[:, [1, 0, 0]] * [1, 0, 0]
    found = tmex(mixed, factors)
    assert found.score == 1
    assert found.dependent.tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]


def test_a_latent_of_noise_misses_its_factor() -> None:
    factors = normal(400, 2)
    latents = np.hstack([factors[:, :1], normal(400, 1, seed=1)])
    found = tmex(latents, factors, level=1e-3)
    assert found.score == 1
    assert not found.dependent[1].any()


def test_the_p_value_by_hand() -> None:
    """Residuals of regressions on a constant alone but for one factor: √n r̄ / s against a standard normal."""
    factors, latent = normal(60, 2), normal(60, 1, seed=5)
    found = tmex(latent, factors, expected=[[False, False]])
    line = LinearRegression().fit(factors[:, 1:], np.hstack([latent, factors[:, :1]]))
    one, other = (np.hstack([latent, factors[:, :1]]) - line.predict(factors[:, 1:])).T
    statistic = np.sqrt(60) * np.mean(one * other) / np.std(one * other)
    assert found.p_values[0, 0] == pytest.approx(2 * norm.sf(abs(statistic)))


def test_false_alarms_come_at_the_level() -> None:
    """Of 400 tests of noise a twentieth rejects: 20, with a standard deviation of 4.4."""
    found = tmex(normal(300, 100), normal(300, 4, seed=1), expected=np.zeros((100, 4)))
    assert 5 <= found.score <= 36
    assert tmex(normal(300, 100), normal(300, 4, seed=1), expected=np.zeros((100, 4)), level=1e-6).score == 0


def test_a_measurement_model_may_expect_blocks() -> None:
    factors = normal(500, 2)
    latents = factors @ np.array([[1.0, 1.0], [1.0, -1.0]])
    assert tmex(latents, factors, expected=np.ones((2, 2))).score == 0
    assert tmex(latents, factors).score == 2


def test_classes_have_no_order() -> None:
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, 900).astype(float)
    factors = np.stack([classes, rng.normal(size=900)], axis=1)
    middle = np.stack([classes == 1, factors[:, 1]], axis=1) + 0.01 * rng.normal(size=(900, 2))
    found = tmex(middle, factors, categorical=(0,), expected=np.eye(2))
    assert found.score == 0
    assert found.p_values[0, 0] < 1e-6
    assert tmex(middle, factors, expected=np.eye(2)).p_values[0, 0] > 1e-3  # in order, the middle class tells nothing


def test_the_correlation_ratio_by_hand() -> None:
    """Of latent 0 the classes' means 1 and 3 explain 4 of a sum of squares of 8."""
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 3]], dtype=float)
    latents = np.array([[0, 5, 1], [2, 5, 1], [2, 3, 1], [4, 3, 1]], dtype=float)
    ratio, line = association(latents, factors, (0,)).T
    np.testing.assert_allclose(ratio, [np.sqrt(0.5), 1, 0])
    np.testing.assert_allclose(ratio, association(latents, factors).T[0])  # for two classes it is the correlation
    np.testing.assert_allclose(line, association(latents, factors).T[1])
    three = association(latents[:, :1], np.array([[2], [2], [0], [1]]), (0,))
    np.testing.assert_allclose(three, [[np.sqrt(6 / 8)]])  # within class 2 remains 2 of the sum of 8
    with pytest.raises(ValueError, match="are not all among the 2 factors"):
        association(latents, factors, (2,))


def test_a_class_is_matched_to_the_latent_that_separates_its_values() -> None:
    """The class is a function of latent 1, though not an increasing one; latent 2 mixes it with the other factor."""
    rng = np.random.default_rng(0)
    classes, other = rng.integers(0, 3, 2_000), rng.normal(size=2_000)
    mixed = other + 0.3 * (classes - 1) + 0.1 * rng.normal(size=2_000)
    latents = np.stack([other, np.array([1, 0, 1.2])[classes], mixed], axis=1)
    found = tmex(latents, np.stack([classes, other], axis=1), categorical=(0,))
    assert found.latents.tolist() == [1, 0]
    assert found.score == 0


def test_dependent_factors_need_a_regressor_of_their_form() -> None:
    first = normal(800, 1)
    factors = np.hstack([first, first**3 + normal(800, 1, seed=1)])
    latents = np.hstack([first**3, factors[:, 1:]])
    assert tmex(latents, factors, expected=np.eye(2)).dependent[0, 1]
    cubic = make_pipeline(PolynomialFeatures(3), LinearRegression())
    assert not tmex(latents, factors, expected=np.eye(2), regressor=cubic).dependent[0, 1]


def test_bad_input_is_refused() -> None:
    factors = normal(100, 3)
    for latents, given, options, line in (
        (factors, factors[:, :1], {}, "need at least two factors, got 1"),
        (factors[:, :2], factors, {}, "2 latents cannot measure 3 factors one by one; give expected"),
        (factors, factors, {"level": 0}, "the level of a test lies between 0 and 1, got 0"),
        (factors, factors, {"expected": np.eye(2)}, r"expected dependences must be \(3, 3\), got \(2, 2\)"),
        (factors[:10], factors[:10], {}, "at least 20 samples are needed, got 10"),
        (factors, factors, {"categorical": (5,)}, "are not all among the 3 factors"),
    ):
        with pytest.raises(ValueError, match=line):
            tmex(latents, given, **options)  # type: ignore[arg-type]
