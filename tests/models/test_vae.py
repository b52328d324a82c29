"""The study's VAE: its size, its stages, and where it starts."""

from typing import Any

import pytest
import torch

from ropes.methods.recipes import vae_recipe
from ropes.models.shapes import VAEConfig
from ropes.models.vae import VAE, GatedResidual

SMALL = VAEConfig(image_size=32, stem=4, widths=(4, 8, 8), blocks=1, hidden=16, latents=3)


def weights(network: torch.nn.Module) -> int:
    return sum(each.numel() for each in network.parameters())


@pytest.mark.parametrize("latents", [10, 25, 50])
def test_paper_vae_has_16_3_million_weights(latents: int) -> None:
    with torch.device("meta"):
        network = VAE(VAEConfig(latents=latents))
    assert weights(network) == pytest.approx(16.3e6, rel=0.02)
    convolutions = [each for each in network.encoder.modules() if isinstance(each, torch.nn.Conv2d)]
    assert len(convolutions) == 23  # Section 3


def test_decoded_images_keep_their_size() -> None:
    posterior, logits = VAE(SMALL)(torch.rand(2, 3, 32, 32))
    assert posterior.mean.shape == posterior.log_variance.shape == (2, 3)
    assert logits.shape == (2, 3, 32, 32)


def test_residual_blocks_start_as_the_identity() -> None:
    x = torch.rand(2, 4, 8, 8)
    block = GatedResidual(4)
    torch.testing.assert_close(block(x), x)
    block.gate.data.fill_(1.0)
    assert not torch.allclose(block(x), x)


def test_initial_posterior_variance_is_nearly_constant() -> None:
    torch.manual_seed(0)
    posterior = VAE(SMALL).encode(torch.rand(64, 3, 32, 32))
    assert float((posterior.log_variance + 1).detach().abs().max()) < 0.2


def test_compact_vae_is_smaller() -> None:
    with torch.device("meta"):
        assert weights(VAE(vae_recipe("compact").vae)) < 3e6


@pytest.mark.parametrize("change", [{"image_size": 33}, {"widths": (4,) * 5}, {"blocks": -1}, {"latents": 0}])
def test_incompatible_shapes_raise(change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"image_size": 32} | change
    with pytest.raises(ValueError, match=r"VAE|stages need images"):
        VAEConfig(**given)
