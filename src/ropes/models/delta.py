"""Networks that tell what was done from two images: causal delta embeddings, and plain pairs.

Source: Causal delta embeddings (arXiv 2508.04492); baselines: Causal Triplet (Liu et al. 2023).
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ropes.errors import UserError
from ropes.models.shapes import DeltaConfig


class Reading(NamedTuple):
    """What a network makes of pairs.

    Attributes:
        logits: of the verbs, (B, K, c): of the whole, or of each of K patches.
        deltas: (B, K, l), δ = φ(x̃) − φ(x); of a pair network what it classifies.
        patches: number of each of the K patches, (B, K); 0 for the whole.
        before, after: φ of both images, (B, l), of a pair network; (B, 0) otherwise.
    """

    logits: Tensor
    deltas: Tensor
    patches: Tensor
    before: Tensor
    after: Tensor

    @property
    def shares(self) -> Tensor:
        """Probabilities of the verbs, (B, c): the mean of the patches'."""
        return self.logits.float().softmax(-1).mean(1)


class Backbone(nn.Module):
    """A vision transformer or ResNet of `transformers`: images → a vector for the whole, and one for each patch.

    Args:
        config: its shape, or the checkpoint that has it.
        channels: of the images.

    Raises:
        UserError: the checkpoint cannot be read, or reads other images.
    """

    def __init__(self, config: DeltaConfig, channels: int) -> None:
        super().__init__()
        self.kind = config.backbone
        self.body = _body(config, channels)
        found = self.body.config
        self.width = int(found.hidden_sizes[-1] if config.backbone == "resnet" else found.hidden_size)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Levels in [−1, 1], (B, C, S, S) → (B, width) and (B, patches, width)."""
        if self.kind == "resnet":
            found = self.body(images)
            return found.pooler_output.flatten(1), found.last_hidden_state.flatten(2).transpose(1, 2)
        tokens = self.body(images, interpolate_pos_encoding=True).last_hidden_state
        return tokens[:, 0], tokens[:, 1:]


class DeltaNetwork(nn.Module):
    """δ = φ(x̃) − φ(x), and a linear classifier of it: of the whole, or of the K patches that change most.

    The projector has one hidden layer, as wide as the backbone, so that it can leave out what moves along.

    Args:
        config: its shape.
        channels: of the images.
        verbs: number of them.
        patchwise: of patches.
    """

    def __init__(self, config: DeltaConfig, channels: int, verbs: int, *, patchwise: bool) -> None:
        super().__init__()
        self.backbone = Backbone(config, channels)
        width = self.backbone.width
        self.project = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, config.latents))
        self.classify = nn.Linear(config.latents, verbs)
        self.patches = config.patches if patchwise else None

    def forward(self, before: Tensor, after: Tensor) -> Reading:
        """Levels in [−1, 1], (B, C, S, S) each."""
        place = 0 if self.patches is None else 1
        features = self.backbone(torch.cat([before, after]))[place]
        first, second = self.project(features).float().chunk(2)
        deltas = second - first
        if self.patches is None:
            deltas, chosen = deltas[:, None], torch.zeros(len(deltas), 1, dtype=torch.long, device=deltas.device)
        else:
            chosen = deltas.norm(dim=-1).topk(min(self.patches, deltas.shape[1]), dim=1).indices
            deltas = deltas.take_along_dim(chosen[..., None], dim=1)
        nothing = deltas.new_empty(len(deltas), 0)
        return Reading(self.classify(deltas), deltas, chosen, nothing, nothing)


class PairNetwork(nn.Module):
    """A plain classifier of φ(x) and φ(x̃) − φ(x) side by side; with a critic of its features where there are nouns.

    Args:
        config: its shape.
        channels: of the images.
        verbs: number of them.
        nouns: number of nouns that the critic tells; 0 for no critic.
    """

    def __init__(self, config: DeltaConfig, channels: int, verbs: int, *, nouns: int = 0) -> None:
        super().__init__()
        self.backbone = Backbone(config, channels)
        size = config.latents
        self.project = nn.Sequential(nn.Linear(self.backbone.width, size), nn.ReLU())
        self.relate = nn.Sequential(nn.Linear(2 * size, size), nn.ReLU(), nn.Linear(size, size), nn.ReLU())
        self.classify = nn.Linear(size, verbs)
        self.critic = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, nouns)) if nouns else None

    def forward(self, before: Tensor, after: Tensor) -> Reading:
        """Levels in [−1, 1], (B, C, S, S) each."""
        features = self.backbone(torch.cat([before, after]))[0]
        first, second = self.project(features).float().chunk(2)
        related = self.relate(torch.cat([first, second - first], dim=1)).float()
        chosen = torch.zeros(len(first), 1, dtype=torch.long, device=first.device)
        return Reading(self.classify(related)[:, None], related[:, None], chosen, first, second)


class Reversed(torch.autograd.Function):
    """The identity, whose gradient is taken times −weight."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, values: Tensor, weight: float) -> Tensor:  # type: ignore[override]
        """Values, unchanged."""
        ctx.weight = weight  # type: ignore[attr-defined]
        return values.view_as(values)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        """The gradient, turned about."""
        return -ctx.weight * gradient, None  # type: ignore[attr-defined]


def as_levels(images: Tensor) -> Tensor:
    """uint8 (B, 1, S, S, 3), or in grey (B, cameras, S, S) → float (B, C, S, S) in [−1, 1]."""
    planes = images[:, 0].permute(0, 3, 1, 2) if images.ndim == 5 else images
    return planes.float().div(127.5).sub(1).contiguous(memory_format=torch.channels_last)


def _body(config: DeltaConfig, channels: int) -> nn.Module:
    from transformers import AutoModel, ResNetConfig, ResNetModel, ViTConfig, ViTModel

    if config.checkpoint is not None:
        try:
            body: nn.Module = AutoModel.from_pretrained(config.checkpoint)
        except (OSError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise UserError(f"no backbone can be read from {config.checkpoint} ({reason})") from error
        reads = getattr(body.config, "num_channels", None)
        if reads != channels or not hasattr(body.config, "hidden_size"):
            raise UserError(
                f"{config.checkpoint} reads images of {reads} channels, and these have {channels}; give a ViT, DINO or "
                "DINOv2 of theirs"
            )
        return body
    if config.backbone == "resnet":
        shape = ResNetConfig(
            num_channels=channels,
            embedding_size=config.widths[0],
            hidden_sizes=list(config.widths),
            depths=[config.blocks] * len(config.widths),
            layer_type="basic",
        )
        return ResNetModel(shape)
    library = ViTConfig(
        image_size=config.image_size,
        patch_size=config.patch,
        num_channels=channels,
        hidden_size=config.width,
        num_hidden_layers=config.depth,
        num_attention_heads=config.heads,
        intermediate_size=4 * config.width,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        attn_implementation="eager",  # of so few tokens faster than the fused one, whose backward is slow on processors
    )
    return ViTModel(library, add_pooling_layer=False)
