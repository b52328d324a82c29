"""The inference wrapper of VAEs."""

from pathlib import Path

import torch
from torch import Tensor

from ropes.common.hardware import AskedPrecision, Precision, precision_of, warn_if_emulated
from ropes.methods.reader import Read, autocast
from ropes.methods.recipes import VAERecipe
from ropes.models.blocks import as_levels
from ropes.models.checkpoints import WEIGHTS, load_weights
from ropes.models.vae import VAE, as_images, elbo_terms


class VAEReader:
    """The VAE of methods `beta-vae` and `ada-gvae`: its coordinates are the posterior's means."""

    def __init__(
        self, recipe: VAERecipe, folder: Path, device: torch.device, precision: AskedPrecision = "auto"
    ) -> None:
        self.size = recipe.vae.image_size
        self._vae = VAE(recipe.vae)
        load_weights(self._vae, folder / "vae" / WEIGHTS)
        self._vae.to(device).eval()
        torch.nn.utils.convert_conv2d_weight_memory_format(self._vae, torch.channels_last)
        self.precision: Precision = precision_of(precision)
        warn_if_emulated(self.precision)

    def coordinates(self, images: Tensor) -> Tensor:
        """Images as `ropes.models.blocks.as_levels` takes them → means (n, latents)."""
        return self.read(images).coordinates

    @torch.no_grad()
    def read(self, images: Tensor) -> Read:
        """The same images → means, and all that the posterior says, (n, 2 · latents)."""
        with autocast(images, self.precision):
            posterior = self._vae.encode(as_levels(images))
        return Read(posterior.mean, torch.cat(posterior, dim=1))

    def reconstructions(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """What the decoder makes of the means, in the shape of the images, levels in [0, 1], twice."""
        made = self.decoded(self.coordinates(images), colour=images.ndim == 5)
        return made, made

    @torch.no_grad()
    def elbo_terms(self, images: Tensor) -> tuple[float, float]:
        """−log p(x | z) of a draw z of torch's random numbers, and KL(q(z | x) || p(z)); float32, nats an image."""
        planes = as_levels(images)
        reconstruction, divergence = elbo_terms(self._vae, planes, self._vae.encode(planes))
        return float(reconstruction), float(divergence)

    @torch.no_grad()
    def drawn(self, count: int, *, colour: bool) -> Tensor:
        """What the decoder makes of so many draws from the prior, as `decoded`."""
        latents = torch.randn(count, self._vae.config.latents).to(self._vae.mean.weight.device)
        return self.decoded(latents, colour=colour)

    @torch.no_grad()
    def decoded(self, latents: Tensor, *, colour: bool) -> Tensor:
        """(n, latents) → levels in [0, 1], (n, 1, size, size, 3), or in grey (n, cameras, size, size)."""
        return as_images(self._vae.decode(latents).sigmoid(), colour=colour)
