"""DCI-ES: explicitness from the loss-capacity curve, and size."""

import numpy as np
import pytest

from ropes.metrics import dci_es

LATENTS = np.random.default_rng(0).normal(size=(600, 2))
SMALL = (8, 16, 32, 64, 128, 256)


def test_explicitness_is_one_minus_twice_the_area_over_its_largest() -> None:
    factors = np.stack([np.sin(3 * LATENTS[:, 0]), LATENTS[:, 1]], axis=1)
    found = dci_es(LATENTS, factors, capacities=SMALL)
    capacity, above = np.log(found.capacities), found.losses - found.losses[-1]
    for j in range(2):
        area = sum(
            (capacity[t + 1] - capacity[t]) * (above[t, j] + above[t + 1, j]) / 2 for t in range(len(capacity) - 1)
        )
        assert found.explicitness_of[j] == pytest.approx(1 - 2 * area / (capacity[-1] - capacity[0]))
    assert found.explicitness == pytest.approx(found.explicitness_of.mean())
    assert (np.diff(found.losses, axis=0) <= 0).all()
    assert found.baselines.tolist() == [1, 1]


def test_a_factor_of_fine_waves_is_less_explicit_than_a_latent() -> None:
    factors = np.stack([np.sin(3 * LATENTS[:, 0]), LATENTS[:, 1]], axis=1)
    waves, line = dci_es(LATENTS, factors, capacities=SMALL).explicitness_of
    assert line > 0.98
    assert waves < line - 0.2


def test_size_is_factors_per_latent() -> None:
    wide = np.hstack([LATENTS, LATENTS, LATENTS])
    assert dci_es(wide, LATENTS, capacities=SMALL).size == pytest.approx(1 / 3)
    assert dci_es(LATENTS, LATENTS, capacities=SMALL).size == 1


def test_noise_counts_as_explicit_and_its_losses_say_that_it_is_noise() -> None:
    found = dci_es(LATENTS, np.random.default_rng(1).normal(size=(600, 1)), capacities=SMALL)
    assert found.explicitness == pytest.approx(1, abs=0.05)
    assert found.losses.min() > 0.95


def test_classes_are_measured_by_their_error_rate() -> None:
    classes = np.sign(LATENTS[:, :1]) + (LATENTS[:, :1] > 0.8)
    found = dci_es(LATENTS, np.hstack([classes, LATENTS[:, 1:]]), categorical=(0,), capacities=SMALL)
    assert found.baselines == pytest.approx([2 / 3, 1])
    assert found.losses[-1, 0] < 0.1


def test_the_same_seed_gives_the_same_and_another_one_another() -> None:
    factors = np.sin(2 * LATENTS)
    assert (
        dci_es(LATENTS, factors, capacities=SMALL).explicitness
        == dci_es(LATENTS, factors, capacities=SMALL).explicitness
    )
    assert (
        dci_es(LATENTS, factors, capacities=SMALL, seed=1).explicitness
        != dci_es(LATENTS, factors, capacities=SMALL).explicitness
    )


def test_scale_and_sign_of_latents_do_not_count() -> None:
    factors = np.sin(2 * LATENTS)
    again = dci_es(LATENTS * [100, 0.01] + 3, factors, capacities=SMALL).explicitness
    assert again == pytest.approx(dci_es(LATENTS, factors, capacities=SMALL).explicitness)


@pytest.mark.parametrize("capacities", [(16,), (32, 16), (15, 30), (0, 2), ()])
def test_capacities_must_be_even_and_increase(capacities: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at least two even, increasing numbers"):
        dci_es(LATENTS, LATENTS, capacities=capacities)


def test_bad_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        dci_es(LATENTS[:50], LATENTS)
    with pytest.raises(ValueError, match="at least 20 samples"):
        dci_es(LATENTS[:10], LATENTS[:10])
