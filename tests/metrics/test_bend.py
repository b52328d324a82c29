"""The monotone map from how values are spread to how they should be."""

import numpy as np
import pytest

from ropes.metrics import bend, matched_means, posterior_shrinkage

RNG = np.random.default_rng(0)


def test_bend_is_inverted() -> None:
    angles = RNG.normal(size=20_000)
    read = np.arctan(angles)
    knots = matched_means(read, RNG.normal(size=20_000))
    inner = np.abs(angles) < 1.5
    assert np.abs(bend(read, knots) - angles)[inner].max() < 0.1
    assert np.mean((bend(read, knots) - angles) ** 2) < 0.2 * np.mean(
        (np.std(angles) / np.std(read) * read - angles) ** 2
    )


def test_matching_distribution_is_left_unchanged() -> None:
    values = RNG.normal(size=5000)
    np.testing.assert_allclose(bend(values, matched_means(values, values)), values, atol=1e-12)


def test_bend_is_increasing_and_linear_beyond_the_knots() -> None:
    knots = matched_means(RNG.normal(size=500) ** 3, RNG.uniform(-1, 1, 700))
    at = np.linspace(knots[0, 0] - 3, knots[0, -1] + 3, 4001)
    found = bend(at, knots)
    assert (np.diff(found) > 0).all()
    np.testing.assert_allclose(bend(knots[0], knots), knots[1])
    for end, before, beyond in ((0, 1, -2.0), (-1, -2, 2.0)):
        steepness = (knots[1, end] - knots[1, before]) / (knots[0, end] - knots[0, before])
        assert bend(knots[0, end] + beyond, knots) == pytest.approx(knots[1, end] + beyond * steepness)


@pytest.mark.parametrize(
    ("values", "message"),
    [(np.zeros(39), "at least 40"), (np.full(50, np.nan), "finite"), (np.zeros(50), "equal"), (np.eye(50), "in a row")],
)
def test_too_few_values_to_match_are_refused(values: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        matched_means(values, np.arange(50.0))


@pytest.mark.parametrize("noise", [0.4, 0.8, 1.5])
def test_narrower_distribution_gives_posterior_means_and_their_errors(noise: float) -> None:
    angles, drawn = RNG.normal(0.3, 1, 50_000), RNG.normal(0.3, 1, 50_000)
    read = angles + noise * RNG.normal(size=50_000)
    share = posterior_shrinkage(read, drawn)
    assert share == pytest.approx(1 / np.sqrt(1 + noise**2), rel=0.02)
    means, spread = (matched_means(read, 0.3 + part * (drawn - 0.3)) for part in (share, 1.0))
    errors = [np.mean((bend(read, knots) - angles) ** 2) for knots in (means, spread)]
    assert errors[0] == pytest.approx(noise**2 / (1 + noise**2), rel=0.05)  # that of the posterior mean
    assert errors[1] == pytest.approx(2 * (1 - share), rel=0.08)
    low, high = (bend(read + sign * 1.645 * noise / share, means) for sign in (-1, 1))
    assert np.mean((low <= angles) & (angles <= high)) == pytest.approx(0.9, abs=0.015)


def test_readings_without_noise_are_not_narrowed() -> None:
    assert posterior_shrinkage(RNG.normal(0, 0.9, 500), RNG.normal(size=500)) == 1.0
    with pytest.raises(ValueError, match="all values are equal"):
        posterior_shrinkage(np.ones(50), np.arange(50.0))
