"""The inference wrapper of VAEs."""

from pathlib import Path

import torch
from torch import Tensor

from ropes.common.hardware import Precision, RequestedPrecision, resolve_precision, warn_if_emulated
from ropes.methods.reader import Read, Reader, autocast
from ropes.methods.recipes import VAERecipe
from ropes.methods.run import Run
from ropes.models.blocks import as_levels
from ropes.models.checkpoints import WEIGHTS, load_weights
from ropes.models.vae import VAE, as_images, elbo_terms

_WEIGHTS = f"vae/{WEIGHTS}"


class VAEReader(Reader):
    """The VAE of methods `beta-vae` and `ada-gvae`; its coordinates are the posterior means."""

    def __init__(
        self, recipe: VAERecipe, folder: Path, device: torch.device, precision: RequestedPrecision = "auto"
    ) -> None:
        self.size = recipe.vae.image_size
        self._vae = VAE(recipe.vae)
        load_weights(self._vae, folder / _WEIGHTS)
        self._vae.to(device).eval()
        torch.nn.utils.convert_conv2d_weight_memory_format(self._vae, torch.channels_last)
        self.precision: Precision = resolve_precision(precision)
        warn_if_emulated(self.precision)

    @torch.no_grad()
    def read(self, images: Tensor) -> Read:
        """Images as for `ropes.models.blocks.as_levels` → means (n, latents); features: means and log variances."""
        with autocast(images, self.precision):
            posterior = self._vae.encode(as_levels(images))
        return Read(posterior.mean, torch.cat(posterior, dim=1))

    def reconstructions(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The decoded means, in the shape of the images, in [0, 1]; twice, as there is one stage."""
        decoded = self.decoded(self.coordinates(images), colour=images.ndim == 5)
        return decoded, decoded

    @torch.no_grad()
    def elbo_terms(self, images: Tensor) -> tuple[float, float]:
        """−log p(x | z) for one draw z (torch's global generator), and KL(q(z | x) ‖ p(z)); float32, nats an image."""
        planes = as_levels(images)
        reconstruction, divergence = elbo_terms(self._vae.decode, planes, self._vae.encode(planes))
        return float(reconstruction), float(divergence)

    @torch.no_grad()
    def drawn(self, count: int, *, colour: bool) -> Tensor:
        """`count` decoded draws from the prior, see `decoded`."""
        latents = torch.randn(count, self._vae.config.latents).to(self._vae.mean.weight.device)
        return self.decoded(latents, colour=colour)

    @torch.no_grad()
    def decoded(self, latents: Tensor, *, colour: bool) -> Tensor:
        """(n, latents) → images in [0, 1], (n, 1, size, size, 3), or in grey (n, cameras, size, size)."""
        return as_images(self._vae.decode(latents).sigmoid(), colour=colour)


def reader(run: Run, folder: Path, device: torch.device, precision: RequestedPrecision) -> VAEReader:
    """The reader of VAEs."""
    assert isinstance(run.recipe, VAERecipe)
    return VAEReader(run.recipe, folder, device, precision)


def weights(run: Run) -> list[str]:
    """The weight file of a VAE."""
    return [_WEIGHTS]
