"""The training stage of VAEs: β-VAE's objective, and Ada-GVAE's on pairs.

Source: Higgins et al. 2017; Locatello et al. 2020, with the symmetrised divergence of Dittadi et al. 2021, App. A.
"""

import math
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from ropes.methods.recipes import VAERecipe
from ropes.methods.training.stage import Stage
from ropes.models.blocks import as_levels
from ropes.models.vae import VAE, Posterior, elbo_terms

_CHUNK = 128
#: Standard deviations of the encoder's noise: of each subpixel, and of a grey field on a grid 16 times as coarse.
_FINE, _COARSE, _GRID = 0.03, 0.15, 16


class VAEStage(Stage):
    """The objective of β-VAE: minus the ELBO, with a weighted divergence.

        L = E_q(z|x)[−log p(x | z)] + β KL(q(z | x) ‖ p(z))

    Deviation: standard deviations of the input noise, .03 and .15, are ours.  Why: the paper's text at hand does not
    give them.  Effect: not measured.

    Args:
        network: to train.
        recipe: its settings.
        pairs: batches are pairs, whose shared latents are averaged, see `average_shared`.
        steps: number of training steps.
        seed: of its noise.
        held_out: images in the format of `ropes.models.blocks.as_levels`.
    """

    network: VAE
    rate_option = "--training.learning-rate"

    def __init__(
        self, network: VAE, recipe: VAERecipe, *, pairs: bool, steps: int, seed: int, held_out: Tensor
    ) -> None:
        super().__init__(network, recipe.training, steps=steps, seed=seed)
        self.recipe, self.pairs, self.held_out = recipe, pairs, held_out

    def training_step(self, batch: Tensor, batch_idx: int) -> Tensor:
        """Images in the format of `ropes.models.blocks.as_levels`, pairs in adjacent rows → loss."""
        images = as_levels(batch)
        posterior = self.spread(self.network.encode, noisy(images) if self.recipe.noise else images)
        if self.pairs:
            posterior = average_shared(posterior)
        reconstruction, divergence = elbo_terms(partial(self.spread, self.network.decode), images, posterior)
        ramp = min(1.0, (self.global_step + 1) / self.recipe.warm_up) if self.recipe.warm_up else 1.0
        self.note(reconstruction=reconstruction, divergence=divergence)
        return reconstruction + ramp * self.recipe.beta * divergence

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """ELBO of held-out images and its two terms, by one draw of each: β = 1, no input noise, nothing averaged."""
        sums = torch.zeros(2)
        for part in self.held_out.split(_CHUNK):
            images = as_levels(part.to(self.device))
            terms = elbo_terms(self.network.decode, images, self.network.encode(images))
            sums += len(part) * torch.stack(terms).float().cpu()
        reconstruction, divergence = (sums / len(self.held_out)).tolist()
        return {
            "held_out": -(reconstruction + divergence),
            "held_out_reconstruction": reconstruction,
            "held_out_divergence": divergence,
        }


def noisy(images: Tensor) -> Tensor:
    """Images plus independent noise of each subpixel plus a coarse grey field (App. A), (B, C, S, S)."""
    count, _, side, _ = images.shape
    coarse = torch.randn(count, 1, max(1, side // _GRID), max(1, side // _GRID), device=images.device)
    field = functional.interpolate(coarse, size=(side, side), mode="bilinear", align_corners=False)
    return images + _FINE * torch.randn_like(images) + _COARSE * field


def symmetric_divergence(one: Posterior, other: Posterior) -> Tensor:
    """(KL(p ‖ q) + KL(q ‖ p)) / 2 of each latent, (B, d)."""
    gap = (one.mean - other.mean).square()
    first, second = one.log_variance.exp(), other.log_variance.exp()
    return 0.25 * ((first + gap) / second + (second + gap) / first - 2)


def average_shared(posterior: Posterior) -> Posterior:
    """Ada-GVAE's aggregation: averages the latents that the two images of a pair share, (2n, d) → (2n, d).

    The images of a pair are in adjacent rows.  A latent is shared if its `symmetric_divergence` is below
    (min + max) / 2 over the pair's latents.  Means are averaged, and variances.
    """
    pairs = Posterior(*(each.unflatten(0, (-1, 2)) for each in posterior))
    one, other = (Posterior(pairs.mean[:, k], pairs.log_variance[:, k]) for k in (0, 1))
    with torch.no_grad():
        divergence = symmetric_divergence(one, other)
        threshold = 0.5 * (divergence.amin(1, keepdim=True) + divergence.amax(1, keepdim=True))
        shared = (divergence < threshold)[:, None]
    mean = torch.where(shared, pairs.mean.mean(1, keepdim=True), pairs.mean)
    averaged = pairs.log_variance.logsumexp(1, keepdim=True) - math.log(2)
    log_variance = torch.where(shared, averaged, pairs.log_variance)
    return Posterior(mean.flatten(0, 1), log_variance.flatten(0, 1))
