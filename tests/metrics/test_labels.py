"""Few labels: the protocol's own draws, lines by hand, and the price of fewer labels as theory has it."""

from functools import partial

import numpy as np
import pytest

from ropes.metrics import few_labels, protocol
from ropes.metrics.calibration import calibrated
from ropes.metrics.joints import squared_error

RNG = np.random.default_rng(0)
ANGLES = RNG.normal(size=(200, 2))
ESTIMATES = ANGLES * [3.0, -0.5] + [1.0, 2.0] + RNG.normal(size=(200, 2)) * [0.6, 0.2]
errors_of = partial(few_labels, repeats=7, fit=60, test=40)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_all_labels_reproduce_the_protocol() -> None:
    expected = protocol(ESTIMATES, ANGLES, rng(), repeats=7, fit=60, test=40)
    found = errors_of(ESTIMATES, ANGLES, rng(), [60])
    assert list(found) == [60]
    np.testing.assert_allclose(found[60]["mse_mean"], expected.mse_mean)
    np.testing.assert_allclose(found[60]["mse_std"], expected.mse_std)


def test_fewer_labels_are_a_prefix_of_the_same_draw() -> None:
    drawn = rng().permutation(200)
    few, tested = drawn[:5], drawn[60:100]
    line = calibrated(ESTIMATES[tested], ESTIMATES[few], ANGLES[few])
    found = errors_of(ESTIMATES, ANGLES, rng(), [5], repeats=1)
    np.testing.assert_allclose(found[5]["mse_mean"], squared_error(line, ANGLES[tested]))
    np.testing.assert_array_equal(found[5]["mse_std"], 0)


def test_given_calibration_is_tested_on_the_same_poses() -> None:
    def known(estimates: np.ndarray) -> np.ndarray:
        return estimates * [1 / 3, -2.0] + [-1 / 3, 4.0]

    found = errors_of(ESTIMATES, ANGLES, rng(), [5], known=known, repeats=1)
    tested = rng().permutation(200)[60:100]
    noise = (ESTIMATES[tested] - ANGLES[tested] * [3.0, -0.5] - [1.0, 2.0]) / [3.0, -0.5]
    assert list(found) == [0, 5]
    np.testing.assert_allclose(found[0]["mse_mean"], (noise**2).mean(axis=0))


def test_error_falls_with_labels_as_least_squares_theory_predicts() -> None:
    # With normal estimates the error of a line on n poses is that of the best line times (n + 1)(n − 2)/(n(n − 3)).
    draw = np.random.default_rng(1)
    estimates = draw.normal(size=(4000, 1))
    angles = estimates + draw.normal(size=(4000, 1))
    found = few_labels(estimates, angles, draw, [10, 100, 1000], repeats=400, fit=1000, test=500)
    for count, figures in found.items():
        expected = (count + 1) * (count - 2) / (count * (count - 3))
        assert figures["mse_mean"][0] == pytest.approx(expected, rel=0.06)
    assert found[10]["mse_mean"] > found[100]["mse_mean"] > found[1000]["mse_mean"]


@pytest.mark.parametrize(
    ("counts", "n", "line"),
    [((1,), 200, "a line needs 2 to 60 labelled poses, got 1"), ((61,), 200, "got 61"), ((5,), 99, "needs 100 poses")],
)
def test_invalid_counts_raise(counts: tuple[int, ...], n: int, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        errors_of(ESTIMATES[:n], ANGLES[:n], rng(), counts)
