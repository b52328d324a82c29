"""Latents matched to the factors of a task: MCC and T-MEX, with classes and without."""

import numpy as np
import pytest

from ropes.evaluation.factor_matching import matched_correlation, violations
from ropes.metrics.disentanglement import Undefined

RNG = np.random.default_rng(0)
CLASSES, OTHER = RNG.integers(0, 3, 2_000), RNG.normal(size=2_000)
FACTORS = np.stack([CLASSES, OTHER], axis=1).astype(float)
#: The other factor, the class out of order, and a mixture of both.
LATENTS = np.stack(
    [OTHER, np.array([1, 0, 1.2])[CLASSES], OTHER + 0.3 * (CLASSES - 1) + 0.1 * RNG.normal(size=2_000)], axis=1
)


def test_mcc_matches_classes_and_leaves_them_out_of_the_mean() -> None:
    assert matched_correlation(LATENTS, FACTORS, (0,)) == pytest.approx(1)
    only = LATENTS[:, [2, 2, 1]] * [1, -1, 1]  # the class takes the latent that separates its values
    assert matched_correlation(only, FACTORS, (0,)) == pytest.approx(np.corrcoef(LATENTS[:, 2], OTHER)[0, 1])


def test_mcc_takes_classes_for_numbers_unless_they_are_named() -> None:
    """The class's number correlates with the mixture more than with the latent that separates its values."""
    with_number = abs(np.corrcoef(LATENTS[:, 2], CLASSES)[0, 1])
    assert matched_correlation(LATENTS, FACTORS) == pytest.approx((1 + with_number) / 2)


def test_a_factor_without_a_latent_counts_zero() -> None:
    assert matched_correlation(FACTORS[:, 1:], FACTORS) == pytest.approx(1 / 2)


def test_mcc_of_classes_alone_is_undefined() -> None:
    found = matched_correlation(LATENTS, FACTORS[:, :1], (0,))
    assert isinstance(found, Undefined)
    assert found.reason == "no factor has an order"


def test_violations_follow_the_matching() -> None:
    assert violations(LATENTS, FACTORS, (0,), (0,)) == 0
    assert violations(LATENTS, FACTORS, (0,)) == 1  # matched by number, the class has the mixture
    assert isinstance(violations(LATENTS[:, :1], FACTORS), Undefined)
