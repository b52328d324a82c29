"""I-JEPA: a vision transformer that predicts the features of masked patches.

Source: ROPES Section 4.4 and App. H, after Assran et al. 2023.  The blocks are those of `transformers`.
"""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ropes.models.shapes import ViTConfig

#: Thresholds of collapse: standard deviation of mean tokens over images (about .05 for untrained encoders), and
#: effective rank.
_LEAST_SPREAD, _LEAST_RANK = 0.005, 2.0
#: Least number of images for either.
_FEWEST = 16
#: Scale of inverted grey levels; patch and position embeddings then have similar norms.
_DEVIATION = 0.25


class PatchEncoder(nn.Module):
    """Vision transformer: images of one camera → a token for each patch, or for some patches.

    Args:
        config: its shape.
        channels: C, of the images.
    """

    def __init__(self, config: ViTConfig, channels: int = 1) -> None:
        super().__init__()
        from transformers import IJepaModel

        self.vit = IJepaModel(_library_config(config, config.width, config.depth, config.heads, channels))
        fixed = nn.Parameter(position_embedding(config.side, config.width)[None], requires_grad=False)
        self.vit.embeddings.position_embeddings = fixed

    def forward(self, images: Tensor, patches: Tensor | None = None) -> Tensor:
        """Images (B, C, S, S) from `invert_levels`, and patch indices (B, k) or None for all → tokens (B, k, width)."""
        tokens = self.vit.embeddings(images)
        if patches is not None:
            tokens = gather_tokens(tokens, patches)
        for block in self.vit.layers:
            tokens = block(tokens)
        normed: Tensor = self.vit.layernorm(tokens)
        return normed


class Predictor(nn.Module):
    """Predicts the target encoder's tokens of masked patches from the tokens of visible ones.

    Args:
        config: shape of encoder and predictor.
    """

    places: Tensor

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        from transformers.models.ijepa.modeling_ijepa import IJepaLayer

        width = config.predictor_width
        library = _library_config(config, width, config.predictor_depth, config.predictor_heads)
        self.narrow = nn.Linear(config.width, width)
        self.asked = nn.Parameter(torch.zeros(width))
        self.register_buffer("places", position_embedding(config.side, width))
        self.blocks = nn.ModuleList([IJepaLayer(library) for _ in range(config.predictor_depth)])
        self.norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, config.width)

    def forward(self, tokens: Tensor, visible: Tensor, masked: Tensor) -> Tensor:
        """Tokens (B, k, width) of the patches `visible` (B, k), and patches `masked` (B, m) → (B, m, width)."""
        context = self.narrow(tokens) + self.places[visible]
        sequence = torch.cat([context, self.asked + self.places[masked]], dim=1)
        for block in self.blocks:
            sequence = block(sequence)
        predicted: Tensor = self.widen(self.norm(sequence[:, visible.shape[1] :]))
        return predicted


class JEPA(nn.Module):
    """Encoder, predictor, and target encoder: the moving average of the encoder."""

    def __init__(self, config: ViTConfig, channels: int = 1) -> None:
        super().__init__()
        self.encoder, self.predictor = PatchEncoder(config, channels), Predictor(config)
        self.average = copy.deepcopy(self.encoder).requires_grad_(False)

    @torch.no_grad()
    def targets(self, images: Tensor) -> Tensor:
        """Layer-normed tokens of the target encoder for images (B, C, S, S), (B, side², width)."""
        tokens = self.average(images).float()
        return functional.layer_norm(tokens, tokens.shape[-1:])

    def predictions(self, images: Tensor, targets: Tensor, visible: Tensor, masked: Tensor) -> tuple[Tensor, Tensor]:
        """Predicted and target tokens of the masked patches of images (B, C, S, S), (B, blocks, m, width) each.

        Args:
            images: see `invert_levels`.
            targets: of these images, see `targets`.
            visible: patches of the context, (B, k).
            masked: patches of the target blocks, (B, blocks, m); each block is predicted separately.
        """
        tokens, blocks = self.encoder(images, visible), masked.shape[1]
        patches = masked.flatten(0, 1)
        predicted = self.predictor(tokens.repeat_interleave(blocks, 0), visible.repeat_interleave(blocks, 0), patches)
        target = gather_tokens(targets.repeat_interleave(blocks, 0), patches)
        shape = masked.shape[:2]
        return predicted.float().unflatten(0, shape), target.unflatten(0, shape)

    def forward(self, images: Tensor, visible: Tensor, masked: Tensor) -> tuple[Tensor, Tensor]:
        """`predictions` with the targets of the images."""
        return self.predictions(images, self.targets(images), visible, masked)

    @torch.no_grad()
    def follow(self, momentum: float) -> None:
        """Update the target encoder: average ← momentum · average + (1 − momentum) · encoder."""
        for average, weight in zip(self.average.parameters(), self.encoder.parameters(), strict=True):
            average.lerp_(weight, 1 - momentum)


def invert_levels(images: Tensor) -> Tensor:
    """Inverted grey levels, uint8 → float32, 0 for white and 4 for black: a white patch gives a zero token."""
    return images.float().div_(-255).add_(1).div_(_DEVIATION)


def position_embedding(side: int, width: int) -> Tensor:
    """Fixed position embedding of patches, (side², width): sines and cosines of their rows and columns.

    Source: Assran et al. 2023 (their fixed embedding in two dimensions), frequencies as in Vaswani et al. 2017.
    """
    frequencies = 10_000 ** -(torch.arange(width // 4) / (width // 4))
    phase = torch.arange(side)[:, None] * frequencies
    line = torch.cat([phase.sin(), phase.cos()], dim=1)
    rows, columns = line[:, None].expand(-1, side, -1), line[None].expand(side, -1, -1)
    return torch.cat([rows, columns], dim=2).flatten(0, 1)


def gather_tokens(tokens: Tensor, patches: Tensor) -> Tensor:
    """Tokens of the patches (B, k) of each image: (B, n, width) → (B, k, width)."""
    return tokens.gather(1, patches[..., None].expand(-1, -1, tokens.shape[-1]))


def collapse_indicators(pooled: Tensor, camera: Tensor) -> dict[str, float]:
    """Indicators of collapsed targets: the effective "rank" and the "spread" of mean tokens.

    Encoder and target encoder can converge to a constant for each camera, which is predicted without error. Then the
    spread falls to 0: the standard deviation of a mean token's entries over the images of a camera (the entries of each
    token have a standard deviation of 1). They can also converge to few directions; then the effective rank falls.

    Args:
        pooled: mean target tokens of images of any cameras, (n, width).
        camera: of each image, (n,).

    Returns:
        Empty for fewer than sixteen images, whose rank is always small.
    """
    if len(pooled) < _FEWEST:
        return {}
    centred = torch.cat([pooled[camera == each] - pooled[camera == each].mean(0) for each in camera.unique()])
    return {"rank": effective_rank(centred), "spread": float(centred.square().mean(0).sqrt().mean())}


def collapse(rank: float, spread: float) -> str | None:
    """Describes the collapse that these indicators show; None for none."""
    if spread < _LEAST_SPREAD:
        return f"the targets' mean tokens differ by {spread:.1e} over images, less than {_LEAST_SPREAD:g}"
    if rank < _LEAST_RANK:
        return f"the targets' mean tokens use {rank:.1f} directions, fewer than {_LEAST_RANK:g}"
    return None


def effective_rank(features: Tensor) -> float:
    """Effective rank of centred features (n, width): exp of the entropy of their normalised singular values.

    Source: Garrido et al. 2023, "RankMe". It lies between 1 (all samples on one line) and min(n − 1, width), and does
    not depend on the features' mean or scale.
    """
    values = torch.linalg.svdvals((features - features.mean(0)).double())
    normalised = values / values.sum().clamp_min(1e-12)
    return float(torch.special.entr(normalised).sum().exp())


def _library_config(config: ViTConfig, width: int, depth: int, heads: int, channels: int = 1) -> Any:
    from transformers import IJepaConfig

    settings = IJepaConfig(
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        image_size=config.image_size,
        patch_size=config.patch,
        num_channels=channels,
        initializer_range=width**-0.5,  # keeps the scale of a layer's input, at any width
    )
    # With so few tokens the fused kernel's backward pass takes three times as long on a CPU.
    settings._attn_implementation = "eager"
    return settings
