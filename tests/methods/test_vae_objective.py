"""β-VAE and Ada-GVAE: divergences in closed form, what pairs share, and noise."""

import math

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from ropes.methods.vae.stage import average_shared, noisy, symmetric_divergence
from ropes.models.blocks import as_levels
from ropes.models.vae import Posterior, as_images, divergence_from_prior


def posterior(rows: list[list[tuple[float, float]]]) -> Posterior:
    """Means and variances of each image's latents."""
    values = torch.tensor(rows)
    return Posterior(values[..., 0], values[..., 1].log())


def test_divergences_match_normal_distributions() -> None:
    torch.manual_seed(0)
    one, other = (Posterior(torch.randn(5, 3), torch.randn(5, 3)) for _ in range(2))
    p, q = (Normal(each.mean, (0.5 * each.log_variance).exp()) for each in (one, other))
    torch.testing.assert_close(divergence_from_prior(one), kl_divergence(p, Normal(0.0, 1.0)))
    torch.testing.assert_close(symmetric_divergence(one, other), 0.5 * (kl_divergence(p, q) + kl_divergence(q, p)))


def test_pair_shares_the_latents_that_differ_least() -> None:
    """Divergences 0, .5 and 8 (unit variances: half the squared distance); halfway between 0 and 8 is 4."""
    found = average_shared(posterior([[(0.0, 1.0), (1.0, 1.0), (0.0, 1.0)], [(0.0, 1.0), (2.0, 1.0), (4.0, 1.0)]]))
    assert found.mean.tolist() == [[0.0, 1.5, 0.0], [0.0, 1.5, 4.0]]


def test_variances_are_averaged_instead_of_log_variances() -> None:
    found = average_shared(posterior([[(0.0, 1.0), (0.0, 1.0)], [(0.0, 3.0), (9.0, 1.0)]]))
    assert found.log_variance.exp()[:, 0].tolist() == pytest.approx([2.0, 2.0])


def test_nothing_is_shared_when_all_latents_differ_equally() -> None:
    given = posterior([[(0.0, 1.0), (0.0, 1.0)], [(1.0, 1.0), (1.0, 1.0)]])
    torch.testing.assert_close(average_shared(given).mean, given.mean)


def test_pairs_of_a_batch_are_independent() -> None:
    one = [[(0.0, 1.0), (0.0, 1.0)], [(0.2, 1.0), (4.0, 1.0)]]
    other = [[(5.0, 2.0), (1.0, 1.0)], [(-5.0, 1.0), (1.1, 1.0)]]
    together = average_shared(posterior(one + other))
    for part, start in ((one, 0), (other, 2)):
        alone = average_shared(posterior(part))
        torch.testing.assert_close(together.mean[start : start + 2], alone.mean)
        torch.testing.assert_close(together.log_variance[start : start + 2], alone.log_variance)


def test_colour_channels_become_planes() -> None:
    image = torch.zeros(1, 1, 2, 2, 3, dtype=torch.uint8)
    image[0, 0, 0, 1, 2] = 255
    assert as_levels(image)[0, 2].tolist() == [[0.0, 1.0], [0.0, 0.0]]
    torch.testing.assert_close(255 * as_images(as_levels(image), colour=True), image.float())


def test_grey_images_have_one_plane_per_camera() -> None:
    images = torch.randint(0, 256, (2, 3, 4, 4), dtype=torch.uint8)
    torch.testing.assert_close(255 * as_levels(images), images.float())
    assert as_images(as_levels(images), colour=False).shape == images.shape


def test_noise_is_fine_in_colour_and_coarse_in_grey() -> None:
    """Subpixels deviate by .03 around a field that all colours share and that varies slowly."""
    torch.manual_seed(0)
    noise = noisy(torch.zeros(400, 3, 64, 64))
    between = noise - noise.mean(1, keepdim=True)
    assert float(between.std()) == pytest.approx(0.03 * math.sqrt(2 / 3), rel=0.02)
    field = noise.mean(1)
    assert 0.05 < float(field.std()) < 0.15
    step = (field[:, :, 1:] - field[:, :, :-1]).std()
    assert float(step) < 0.04
