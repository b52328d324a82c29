"""The VAE of the disentanglement study: gated residual stages, a Gaussian posterior, a Bernoulli decoder.

Source: Dittadi et al. 2021, Tables 2 to 4 and Fig. 8.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ropes.models.shapes import VAEConfig


class Posterior(NamedTuple):
    """Diagonal Gaussians over latents: mean and log variance, (B, d) each."""

    mean: Tensor
    log_variance: Tensor

    def sample(self) -> Tensor:
        """One reparametrised sample of each, (B, d)."""
        return self.mean + (0.5 * self.log_variance).exp() * torch.randn_like(self.mean)


class GatedResidual(nn.Module):
    """Residual block x + gate · (conv → leaky ReLU → conv → leaky ReLU); the gate starts at zero (Table 2)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.LeakyReLU(0.02),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.LeakyReLU(0.02),
        )
        self.gate = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → the same shape."""
        return x + self.gate * self.body(x)


class VAE(nn.Module):
    """Encoder and decoder.

    Deviation: the initial weights of the log variance are a tenth of PyTorch's, its initial biases −1, the slope of
    leaky ReLUs .02, and the dense layer has 512 units; the places of leaky ReLUs, average pooling and upsampling are
    ours too.  Why: the copy of the paper at hand has lost these numbers and lines of its tables, so they are our
    choices.  Effect: not measured; the network has 16.4 million weights, the paper's 16.3.

    Args:
        config: its shape.
    """

    def __init__(self, config: VAEConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = _encoder(config)
        self.mean = nn.Linear(config.hidden, config.latents)
        self.log_variance = nn.Linear(config.hidden, config.latents)
        with torch.no_grad():  # an initially narrow posterior stabilises early training (Table 3)
            self.log_variance.weight.mul_(0.1)
            self.log_variance.bias.fill_(-1.0)
        self.widen = nn.Linear(config.latents, config.hidden)
        self.decoder = _decoder(config)

    def encode(self, images: Tensor) -> Posterior:
        """Levels in [0, 1], float (B, C, S, S) → posterior."""
        hidden = self.encoder(images).float()
        with torch.autocast(images.device.type, enabled=False):  # bf16 would round means to the posterior's width
            return Posterior(self.mean(hidden), self.log_variance(hidden))

    def decode(self, latents: Tensor) -> Tensor:
        """(B, d) → logits of the levels, (B, C, S, S)."""
        with torch.autocast(latents.device.type, enabled=False):
            hidden = self.widen(latents)
        logits: Tensor = self.decoder(hidden)
        return logits.float()

    def forward(self, images: Tensor) -> tuple[Posterior, Tensor]:
        """Levels in [0, 1], (B, C, S, S) → posterior, and logits of a sample from it."""
        posterior = self.encode(images)
        return posterior, self.decode(posterior.sample())


def divergence_from_prior(posterior: Posterior) -> Tensor:
    """KL(q || N(0, 1)) of each latent, (B, d): (μ² + σ² − 1 − log σ²) / 2."""
    mean, log_variance = posterior
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance)


def elbo_terms(decode: Callable[[Tensor], Tensor], images: Tensor, posterior: Posterior) -> tuple[Tensor, Tensor]:
    """−log p(x | z) of a sample z, and KL(q(z | x) || p(z)), nats per image.

    Args:
        decode: latents → logits of the levels, see `VAE.decode`.
        images: from `as_levels`.
        posterior: q(z | x) of these images.
    """
    logits = decode(posterior.sample())
    reconstruction = functional.binary_cross_entropy_with_logits(logits, images, reduction="sum") / len(images)
    return reconstruction, divergence_from_prior(posterior).sum(1).mean()


def as_images(planes: Tensor, *, colour: bool) -> Tensor:
    """Inverse axis order of `as_levels`: (B, C, S, S) → (B, 1, S, S, 3), or in grey (B, cameras, S, S)."""
    return planes.permute(0, 2, 3, 1)[:, None] if colour else planes


def _encoder(config: VAEConfig) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Conv2d(config.channels, config.stem, 5, stride=2, padding=2), nn.LeakyReLU(0.02)]
    for before, width in pairwise((config.stem, *config.widths)):
        if before != width:
            layers.append(nn.Conv2d(before, width, 1))
        layers += [GatedResidual(width) for _ in range(config.blocks)]
        layers.append(nn.AvgPool2d(2))
    layers.pop()  # the last stage keeps its side
    flat = config.widths[-1] * config.side**2
    return nn.Sequential(
        *layers,
        nn.Flatten(),
        nn.LeakyReLU(0.02),
        nn.Linear(flat, config.hidden),
        nn.LeakyReLU(0.02),
        nn.LayerNorm(config.hidden),
    )


def _decoder(config: VAEConfig) -> nn.Sequential:
    widths = config.widths[::-1]
    flat = widths[0] * config.side**2
    layers: list[nn.Module] = [
        nn.LeakyReLU(0.02),
        nn.Linear(config.hidden, flat),
        nn.LeakyReLU(0.02),
        nn.Unflatten(1, (widths[0], config.side, config.side)),
    ]
    for width, after in pairwise((*widths, config.stem)):
        layers += [GatedResidual(width) for _ in range(config.blocks)]
        if width != after:
            layers.append(nn.Conv2d(width, after, 1))
        layers.append(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False))
    layers.append(nn.Conv2d(config.stem, config.channels, 5, padding=2))
    return nn.Sequential(*layers)
