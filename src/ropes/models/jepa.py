"""I-JEPA: a vision transformer that predicts the features of masked patches.

Source: ROPES Section 4.4 and App. H, after Assran et al. 2023.  The blocks are those of `transformers`.
"""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ropes.models.shapes import ViTConfig

#: Signs of collapse: deviation of mean tokens over images (of untrained encoders .05 or so), and directions used.
_LEAST_SPREAD, _LEAST_RANK = 0.005, 2.0
#: Fewer images tell nothing of either.
_FEWEST = 16
#: Of grey levels from white, in shares of the way to black, about; so that tokens and their places weigh alike.
_DEVIATION = 0.25


class PatchEncoder(nn.Module):
    """Grey images of one camera → a token for each patch, or for some of them.

    Args:
        config: its shape.
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        from transformers import IJepaModel

        self.vit = IJepaModel(_library_config(config, config.width, config.depth, config.heads))
        fixed = nn.Parameter(places(config.side, config.width)[None], requires_grad=False)
        self.vit.embeddings.position_embeddings = fixed

    def forward(self, images: Tensor, patches: Tensor | None = None) -> Tensor:
        """Images (B, 1, S, S), see `darkness`, and which patches to look at, (B, k) or all → tokens (B, k, width)."""
        tokens = self.vit.embeddings(images)
        if patches is not None:
            tokens = take(tokens, patches)
        for block in self.vit.layers:
            tokens = block(tokens)
        normed: Tensor = self.vit.layernorm(tokens)
        return normed


class Predictor(nn.Module):
    """What the encoder would make of hidden patches, from the tokens of those that it saw.

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
        self.register_buffer("places", places(config.side, width))
        self.blocks = nn.ModuleList([IJepaLayer(library) for _ in range(config.predictor_depth)])
        self.norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, config.width)

    def forward(self, tokens: Tensor, seen: Tensor, hidden: Tensor) -> Tensor:
        """Tokens (B, k, width) of the patches `seen` (B, k), and patches that are asked for, (B, m) → (B, m, width)."""
        known = self.narrow(tokens) + self.places[seen]
        every = torch.cat([known, self.asked + self.places[hidden]], dim=1)
        for block in self.blocks:
            every = block(every)
        made: Tensor = self.widen(self.norm(every[:, seen.shape[1] :]))
        return made


class JEPA(nn.Module):
    """Encoder, predictor, and the moving average of the encoder that says what is to be predicted."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.encoder, self.predictor = PatchEncoder(config), Predictor(config)
        self.average = copy.deepcopy(self.encoder).requires_grad_(False)

    @torch.no_grad()
    def targets(self, images: Tensor) -> Tensor:
        """What is to be predicted: the average's tokens of images (B, 1, S, S), layer-normed, (B, side², width)."""
        tokens = self.average(images).float()
        return functional.layer_norm(tokens, tokens.shape[-1:])

    def loss(self, images: Tensor, targets: Tensor, seen: Tensor, hidden: Tensor) -> Tensor:
        """Smooth L1 between prediction and target, over images (B, 1, S, S).

        Args:
            images: see `darkness`.
            targets: theirs, see `targets`.
            seen: patches of the context, (B, k).
            hidden: patches of the target blocks, (B, blocks, m); each block is predicted by itself.
        """
        tokens, blocks = self.encoder(images, seen), hidden.shape[1]
        asked = hidden.flatten(0, 1)
        made = self.predictor(tokens.repeat_interleave(blocks, 0), seen.repeat_interleave(blocks, 0), asked)
        wanted = take(targets.repeat_interleave(blocks, 0), asked)
        return functional.smooth_l1_loss(made.float(), wanted)

    def forward(self, images: Tensor, seen: Tensor, hidden: Tensor) -> Tensor:
        """`loss` against the images' own targets."""
        return self.loss(images, self.targets(images), seen, hidden)

    @torch.no_grad()
    def follow(self, momentum: float) -> None:
        """Move the average towards the encoder: average ← momentum · average + (1 − momentum) · encoder."""
        for ours, theirs in zip(self.average.parameters(), self.encoder.parameters(), strict=True):
            ours.lerp_(theirs, 1 - momentum)


def darkness(images: Tensor) -> Tensor:
    """Grey levels, uint8 → float32, 0 for white and 4 for black: an empty patch makes an empty token."""
    return images.float().div_(-255).add_(1).div_(_DEVIATION)


def places(side: int, width: int) -> Tensor:
    """What tells patches apart by where they are, (side², width): sines and cosines of their rows and columns.

    Source: Assran et al. 2023 (their fixed embedding in two dimensions), frequencies as in Vaswani et al. 2017.
    """
    frequencies = 10_000 ** -(torch.arange(width // 4) / (width // 4))
    turns = torch.arange(side)[:, None] * frequencies
    line = torch.cat([turns.sin(), turns.cos()], dim=1)
    rows, columns = line[:, None].expand(-1, side, -1), line[None].expand(side, -1, -1)
    return torch.cat([rows, columns], dim=2).flatten(0, 1)


def take(tokens: Tensor, patches: Tensor) -> Tensor:
    """Some tokens of every image: (B, n, width) and (B, k) → (B, k, width)."""
    return tokens.gather(1, patches[..., None].expand(-1, -1, tokens.shape[-1]))


def signs_of_collapse(pooled: Tensor, camera: Tensor) -> dict[str, float]:
    """Whether targets still tell images of a camera apart: mean tokens of the targets (n, width) → "rank" and "spread".

    Encoder and average can agree on a constant for each camera, which is predicted without error.  The spread, the
    deviation over a camera's images of a mean token's entries (each token's own entries have deviation 1), then falls
    to 0.  They can also agree on few directions; then the effective rank falls.

    Args:
        pooled: of images of any cameras, (n, width).
        camera: of each image, (n,).

    Returns:
        Nothing of fewer than sixteen images, which have few directions whatever they show.
    """
    if len(pooled) < _FEWEST:
        return {}
    own = torch.cat([pooled[camera == each] - pooled[camera == each].mean(0) for each in camera.unique()])
    return {"rank": effective_rank(own), "spread": float(own.square().mean(0).sqrt().mean())}


def collapse(rank: float, spread: float) -> str | None:
    """What is wrong with targets of these signs; None for nothing."""
    if spread < _LEAST_SPREAD:
        return f"the targets' mean tokens differ by {spread:.1e} over images, less than {_LEAST_SPREAD:g}"
    if rank < _LEAST_RANK:
        return f"the targets' mean tokens use {rank:.1f} directions, fewer than {_LEAST_RANK:g}"
    return None


def effective_rank(features: Tensor) -> float:
    """How many directions features (n, width) use: exp of the entropy of their singular values' shares.

    Source: Garrido et al. 2023, "RankMe"; 1 where all samples look alike along one line, the least of n − 1 and width
    at most.  Of samples less their mean, so that a constant counts for nothing; how far from it does not count.
    """
    values = torch.linalg.svdvals((features - features.mean(0)).double())
    share = values / values.sum().clamp_min(1e-12)
    return float(torch.special.entr(share).sum().exp())


def _library_config(config: ViTConfig, width: int, depth: int, heads: int) -> Any:
    from transformers import IJepaConfig

    settings = IJepaConfig(
        hidden_size=width,
        num_hidden_layers=depth,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        image_size=config.image_size,
        patch_size=config.patch,
        num_channels=1,
        initializer_range=width**-0.5,  # a layer's output deviates as its input does, whatever the width
    )
    # Of so few tokens; the fused kernel's backward takes three times as long on a CPU.
    settings._attn_implementation = "eager"
    return settings
