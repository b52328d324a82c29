"""How much of a coordinate some angles explain."""

import numpy as np
import pytest

from ropes.common.arrays import Floats
from ropes.metrics import explained

ANGLES = np.random.default_rng(0).uniform(-1, 1, size=(1_000, 2))


def test_function_of_one_angle_is_explained_only_by_that_angle() -> None:
    coordinate = np.sin(2 * ANGLES[:, 0])
    assert explained(coordinate, ANGLES[:, :1]) > 0.98
    assert explained(coordinate, ANGLES) > 0.98
    assert explained(coordinate, ANGLES[:, 1:]) < 0.1


def test_mixture_needs_both_angles_to_be_explained() -> None:
    """Half of the variance of a sum is of either."""
    mixed = ANGLES.sum(axis=1)
    assert explained(mixed, ANGLES[:, :1]) == pytest.approx(0.5, abs=0.12)
    assert explained(mixed, ANGLES) > 0.95


def test_too_few_samples_raise() -> None:
    with pytest.raises(ValueError, match="at least 20 samples"):
        explained(np.arange(10.0), np.arange(10.0)[:, None])
    assert explained(np.ones(100), ANGLES[:100]) == 0


@pytest.mark.parametrize("coordinate", [np.full(len(ANGLES), np.nan), np.ones(len(ANGLES) - 1), np.ones(0)])
def test_coordinates_that_are_not_finite_or_of_another_length_are_refused(coordinate: Floats) -> None:
    with pytest.raises(ValueError, match=r"not finite|differ in length"):
        explained(coordinate, ANGLES)
