"""InfoMEC: hand-solved codes, what counts as active, what is undefined."""

import math

import numpy as np
import pytest

from ropes.common.arrays import Floats
from ropes.metrics import infomec
from ropes.metrics.disentanglement import Undefined

#: All four combinations of two binary factors, 100 times.
BINARY = np.tile(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float), (100, 1))


def noise(columns: int, scale: float = 1.0) -> Floats:
    return scale * np.random.default_rng(0).normal(size=(len(BINARY), columns))


def test_latents_that_are_the_factors_have_one_everywhere() -> None:
    found = infomec(BINARY + noise(2, 0.01), BINARY)
    assert found.modularity == pytest.approx(1, abs=0.02)
    assert found.compactness == pytest.approx(1, abs=0.02)
    assert found.explicitness == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(np.diag(found.information), 1, atol=0.05)


def test_two_latents_for_each_factor_are_modular_but_not_compact() -> None:
    """Of four latents two have a factor's information: (1/2 − 1/4) / (1 − 1/4)."""
    found = infomec(BINARY[:, [0, 0, 1, 1]] + noise(4, 0.01), BINARY)
    assert found.modularity == pytest.approx(1, abs=0.02)
    assert found.compactness == pytest.approx(1 / 3, abs=0.02)


def test_one_latent_for_both_factors_is_not_modular() -> None:
    found = infomec(BINARY @ [[1.0], [2.0]] + noise(1, 0.01), BINARY)
    assert found.modularity == pytest.approx(0, abs=0.02)
    assert isinstance(found.compactness, Undefined)
    assert found.compactness.reason == "1 of 1 latents vary"


def test_the_scores_follow_from_the_information() -> None:
    latents = BINARY @ np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.6]]) + noise(3, 0.3)
    found = infomec(latents, BINARY)
    shares = found.information / found.information.sum(axis=1, keepdims=True)
    assert found.modularity == pytest.approx((shares.max(axis=1).mean() - 1 / 2) / (1 - 1 / 2))
    shares = found.information / found.information.sum(axis=0)
    assert found.compactness == pytest.approx((shares.max(axis=0).mean() - 1 / 3) / (1 - 1 / 3))


def test_explicitness_is_the_share_of_the_log_loss_that_a_linear_classifier_saves() -> None:
    """p(v = z) = .9: H(v | z) = −.9 log .9 − .1 log .1, of log 2."""
    values = np.array([[0.0]] * 9 + [[1.0]] + [[0.0]] + [[1.0]] * 9)
    factor = np.array([0.0] * 10 + [1.0] * 10)
    factors = np.stack([np.tile(factor, 20), np.repeat([0.0, 1.0], 200)], axis=1)
    found = infomec(np.tile(values, (20, 1)), factors)
    held = (-0.9 * math.log(0.9) - 0.1 * math.log(0.1)) / math.log(2)
    assert 2 * found.explicitness == pytest.approx(1 - held, abs=0.01)  # the other factor is told by no latent


def test_noise_is_told_nothing() -> None:
    assert infomec(noise(3), BINARY).explicitness == pytest.approx(0, abs=0.03)


def test_faint_and_still_latents_are_inactive() -> None:
    latents = np.hstack([BINARY + noise(2, 0.01), noise(1, 1e-3), np.ones((len(BINARY), 1))])
    found = infomec(latents, BINARY)
    assert found.active.tolist() == [True, True, False, False]
    assert found.information[2:].tolist() == [[0, 0], [0, 0]]
    assert found.compactness == pytest.approx(1, abs=0.02)


def test_latents_that_never_vary_leave_both_undefined() -> None:
    found = infomec(np.ones((len(BINARY), 2)), BINARY)
    assert isinstance(found.modularity, Undefined)
    assert isinstance(found.compactness, Undefined)
    assert found.explicitness == pytest.approx(0, abs=1e-6)


def test_scale_sign_and_order_of_latents_do_not_count() -> None:
    latents = BINARY @ np.array([[1.0, 0.3], [0.0, 1.0]]) + noise(2, 0.3)
    one, other = infomec(latents, BINARY), infomec(latents[:, ::-1] * [-3.0, 3.0] + 7, BINARY)
    for name in ("modularity", "compactness", "explicitness"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=0.01)


def test_factors_of_many_values_are_binned() -> None:
    factors = np.random.default_rng(0).uniform(size=(600, 2))
    found = infomec(factors, factors, bins=5)
    assert found.modularity > 0.9
    assert found.explicitness > 0.9


def test_every_value_is_a_class_without_bins() -> None:
    """Parity tells half of four values, and nothing of two bins that hold both parities."""
    four = 2 * BINARY[:, 0] + BINARY[:, 1]
    factors = np.stack([four, four >= 2], axis=1)
    latents = BINARY[:, 1:] + noise(1, 0.01)
    np.testing.assert_allclose(infomec(latents, factors, bins=2).information, [[0, 0]], atol=0.03)
    np.testing.assert_allclose(infomec(latents, factors, bins=None).information, [[0.5, 0]], atol=0.03)
    with pytest.raises(ValueError, match="factor column 0 takes no value twice"):
        infomec(latents, np.stack([np.arange(400), four], axis=1), bins=None)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="InfoM needs at least two factors, got 1"):
        infomec(BINARY, BINARY[:, :1])
    with pytest.raises(ValueError, match="at least 20 samples are needed, got 8"):
        infomec(BINARY[:8], BINARY[:8])
    with pytest.raises(ValueError, match="neighbours must be at least 1, got 0"):
        infomec(BINARY, BINARY, neighbours=0)
    distinct = np.arange(20.0)[:, None] * np.ones((1, 2))
    with pytest.raises(ValueError, match="several samples"):
        infomec(distinct, distinct)
    with pytest.raises(ValueError, match="factor column 1 never changes"):
        infomec(BINARY, np.hstack([BINARY[:, :1], np.ones((len(BINARY), 1))]))
