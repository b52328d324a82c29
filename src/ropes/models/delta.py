"""Networks that tell what was done from two images: causal delta embeddings, and plain pairs.

Source: Causal delta embeddings (arXiv 2508.04492); baselines: Causal Triplet (Liu et al. 2023).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ropes.errors import UserError
from ropes.models.shapes import DeltaConfig

#: Transformers of the library whose first token stands for the whole image.
_WITH_A_WHOLE = ("vit", "dinov2", "dinov2_with_registers")
#: Levels of ImageNet, on which DINO was trained.
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


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
        stored: the library's own description of a checkpoint's body, of a network that is about to be given weights.

    Raises:
        UserError: the checkpoint cannot be read, has no token for the whole, or reads other images.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, config: DeltaConfig, channels: int, stored: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.kind = config.backbone
        if config.checkpoint is None:
            self.body, mean, deviation = _from_scratch(config, channels), [0.5] * channels, [0.5] * channels
        else:
            self.body, mean, deviation = _pretrained(config, channels, stored)
        self.register_buffer("mean", torch.tensor(mean)[:, None, None])
        self.register_buffer("deviation", torch.tensor(deviation)[:, None, None])
        found: Any = self.body.config
        self.width = int(found.hidden_sizes[-1] if self.kind == "resnet" else found.hidden_size)
        #: Patches along a side of an image, and tokens before theirs.
        self.grid = 0 if self.kind == "resnet" else config.image_size // found.patch_size
        self._before = 1 + int(getattr(found, "num_register_tokens", 0) or 0)
        self._options = {"interpolate_pos_encoding": True} if found.model_type == "vit" else {}

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Levels in [0, 1], (B, C, S, S) → (B, width) and (B, patches, width)."""
        levels = (images - self.mean) / self.deviation
        if self.kind == "resnet":
            found = self.body(levels)
            return found.pooler_output.flatten(1), found.last_hidden_state.flatten(2).transpose(1, 2)
        tokens = self.body(levels, **self._options).last_hidden_state
        return tokens[:, 0], tokens[:, self._before :]


class DeltaNetwork(nn.Module):
    """δ = φ(x̃) − φ(x), and a linear classifier of it: of the whole, or of the K patches that change most.

    The projector has one hidden layer, as wide as the backbone, so that it can leave out what moves along.

    Args:
        config: its shape.
        channels: of the images.
        verbs: number of them.
        patchwise: of patches.
        stored: see `Backbone`.

    Raises:
        UserError: see `Backbone`, or patches are asked of a ResNet.
    """

    def __init__(
        self,
        config: DeltaConfig,
        channels: int,
        verbs: int,
        *,
        patchwise: bool,
        stored: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if patchwise and config.backbone == "resnet":
            raise UserError("a ResNet has no patches; leave --delta.backbone at vit, or take --method cde-global")
        self.backbone = Backbone(config, channels, stored)
        width = self.backbone.width
        self.project = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, config.latents))
        self.classify = nn.Linear(config.latents, verbs)
        self.patches = config.patches if patchwise else None

    def forward(self, before: Tensor, after: Tensor) -> Reading:
        """Levels in [0, 1], (B, C, S, S) each."""
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
        stored: see `Backbone`.

    Raises:
        UserError: see `Backbone`.
    """

    def __init__(
        self,
        config: DeltaConfig,
        channels: int,
        verbs: int,
        *,
        nouns: int = 0,
        stored: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.backbone = Backbone(config, channels, stored)
        size = config.latents
        self.project = nn.Sequential(nn.Linear(self.backbone.width, size), nn.ReLU())
        self.relate = nn.Sequential(nn.Linear(2 * size, size), nn.ReLU(), nn.Linear(size, size), nn.ReLU())
        self.classify = nn.Linear(size, verbs)
        self.critic = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, nouns)) if nouns else None

    def forward(self, before: Tensor, after: Tensor) -> Reading:
        """Levels in [0, 1], (B, C, S, S) each."""
        features = self.backbone(torch.cat([before, after]))[0]
        first, second = self.project(features).float().chunk(2)
        related = self.relate(torch.cat([first, second - first], dim=1)).float()
        chosen = torch.zeros(len(first), 1, dtype=torch.long, device=first.device)
        return Reading(self.classify(related)[:, None], related[:, None], chosen, first, second)


def reversed_gradient(values: Tensor, weight: float) -> Tensor:
    """The same values, whose gradient is taken times −weight."""
    return (1 + weight) * values.detach() - weight * values


def as_levels(images: Tensor) -> Tensor:
    """uint8 (B, 1, S, S, 3), or in grey (B, cameras, S, S) → float (B, C, S, S) in [0, 1]."""
    planes = images[:, 0].permute(0, 3, 1, 2) if images.ndim == 5 else images
    return planes.float().div(255).contiguous(memory_format=torch.channels_last)


def _from_scratch(config: DeltaConfig, channels: int) -> nn.Module:
    from transformers import ResNetConfig, ResNetModel, ViTConfig, ViTModel

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
    )
    # Of so few tokens; the fused kernel's backward takes three times as long on a CPU.
    library._attn_implementation = "eager"
    return ViTModel(library, add_pooling_layer=False)


def _pretrained(
    config: DeltaConfig, channels: int, stored: Mapping[str, Any] | None
) -> tuple[nn.Module, list[float], list[float]]:
    """A checkpoint's body, and the mean and deviation of the levels that it was trained on."""
    from safetensors import SafetensorError
    from transformers import AutoConfig, AutoModel
    from transformers.image_processing_base import ImageProcessingMixin

    name = str(config.checkpoint)
    if stored is not None:
        told_of = dict(stored)
        body: nn.Module = AutoModel.from_config(AutoConfig.for_model(told_of.pop("model_type"), **told_of))
    else:
        try:
            body = AutoModel.from_pretrained(name)
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise UserError(f"no backbone can be read from {name} ({reason})") from error
    found: Any = body.config
    if found.model_type not in _WITH_A_WHOLE:
        raise UserError(f"{name} is of type {found.model_type}; give a ViT or DINO ({', '.join(_WITH_A_WHOLE)})")
    if found.num_channels != channels:
        raise UserError(f"{name} reads images of {found.num_channels} channels, and these have {channels}")
    if config.image_size % found.patch_size:
        side = config.image_size // found.patch_size * found.patch_size
        raise UserError(f"{name} has patches of {found.patch_size} pixels; give --delta.image-size {side}")
    try:
        told: Mapping[str, Any] = {} if stored is not None else ImageProcessingMixin.get_image_processor_dict(name)[0]
    except (OSError, ValueError):  # a folder of weights alone
        told = {}
    return body.train(), list(told.get("image_mean", _MEAN)), list(told.get("image_std", _DEVIATION))
