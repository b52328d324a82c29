"""How much of a coordinate some angles explain."""

import numpy as np
import pytest

from ropes.metrics import explained

ANGLES = np.random.default_rng(0).uniform(-1, 1, size=(1_000, 2))


def test_a_curve_of_an_angle_is_explained_by_it_alone() -> None:
    coordinate = np.sin(2 * ANGLES[:, 0])
    assert explained(coordinate, ANGLES[:, :1]) > 0.98
    assert explained(coordinate, ANGLES) > 0.98
    assert explained(coordinate, ANGLES[:, 1:]) < 0.1


def test_a_mixture_takes_both_angles() -> None:
    """Half of the variance of a sum is of either."""
    mixed = ANGLES.sum(axis=1)
    assert explained(mixed, ANGLES[:, :1]) == pytest.approx(0.5, abs=0.12)
    assert explained(mixed, ANGLES) > 0.95


def test_too_little_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 20 samples"):
        explained(np.arange(10.0), np.arange(10.0)[:, None])
    assert explained(np.ones(100), ANGLES[:100]) == 0
