"""Backbones of action networks: a transformer, a ResNet, or an encoder of poses, with one interface."""

from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ropes.errors import UserError
from ropes.models.encoder import PoseEncoder
from ropes.models.shapes import DeltaConfig, EncoderConfig, with_tuples

#: Transformers of the library whose first token stands for the whole image.
_WITH_A_WHOLE = ("vit", "dinov2", "dinov2_with_registers")
#: Levels of ImageNet, on which DINO was trained; and of a network that begins from scratch.
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_HALF = 0.5


class Transformer(nn.Module):
    """A vision transformer of `transformers`: images → the token of the whole, and one for each patch.

    Args:
        body: the library's.
        mean: of the levels that it reads, one a channel.
        deviation: likewise.
        grid: patches along a side of an image.
        begun: whether it is a checkpoint's.
        stem: what leads to the places that the library's reads; None where it reads images.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(
        self,
        body: nn.Module,
        mean: list[float],
        deviation: list[float],
        *,
        grid: int,
        begun: bool,
        stem: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.body, self.grid, self._begun = body, grid, begun
        self.stem = nn.Identity() if stem is None else stem
        self.register_buffer("mean", torch.tensor(mean)[:, None, None])
        self.register_buffer("deviation", torch.tensor(deviation)[:, None, None])
        config: Any = body.config
        self.width = int(config.hidden_size)
        #: Tokens before those of patches.
        self._before = 1 + int(getattr(config, "num_register_tokens", 0) or 0)
        self._options = {"interpolate_pos_encoding": True} if config.model_type == "vit" else {}

    @property
    def description(self) -> dict[str, Any] | None:
        """What rebuilds it without its checkpoint; None where it had none."""
        return _described(self.body) if self._begun else None

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Levels in [0, 1], (B, C, S, S) → (B, width) and (B, patches, width)."""
        places = self.stem((images - self.mean) / self.deviation)
        tokens = self.body(places, **self._options).last_hidden_state
        return tokens[:, 0], tokens[:, self._before :]


class ResNet(nn.Module):
    """A ResNet of `transformers`: images → the mean over the last stage's places, and nothing of patches.

    Args:
        body: the library's.
        mean: of the levels that it reads, one a channel.
        deviation: likewise.
        begun: whether it is a checkpoint's.
    """

    grid = 0
    mean: Tensor
    deviation: Tensor

    def __init__(self, body: nn.Module, mean: list[float], deviation: list[float], *, begun: bool) -> None:
        super().__init__()
        self.body, self._begun = body, begun
        config: Any = body.config
        self.width = int(config.hidden_sizes[-1])
        for name, levels in (("mean", mean), ("deviation", deviation)):  # from scratch always the same
            self.register_buffer(name, torch.tensor(levels)[:, None, None], persistent=begun)

    @property
    def description(self) -> dict[str, Any] | None:
        """What rebuilds it without its checkpoint; None where it had none."""
        return _described(self.body) if self._begun else None

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Levels in [0, 1], (B, C, S, S) → (B, width) and (B, 0, width)."""
        found = self.body((images - self.mean) / self.deviation).pooler_output.flatten(1)
        return found, found[:, None][:, :0]


class PoseBackbone(nn.Module):
    """An encoder of poses: its coordinates and the features that they are read from, and nothing of patches.

    Where it looks closely stays as it was learnt: the stages that tell it are kept.

    Args:
        body: the encoder.
    """

    grid = 0

    def __init__(self, body: PoseEncoder) -> None:
        super().__init__()
        self.body, self.width = body, body.config.hidden + body.joints
        body.keep_looking()

    @property
    def description(self) -> dict[str, Any]:
        """What rebuilds it without the run that it is of."""
        return {"encoder": asdict(self.body.config), "joints": self.body.joints}

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Levels in [0, 1], (B, cameras, S, S) → (B, width) and (B, 0, width)."""
        found = torch.cat(self.body.read(images.mul(255).round().to(torch.uint8)), dim=1)
        return found, found[:, None][:, :0]


Backbone = Transformer | ResNet | PoseBackbone


def backbone_of(config: DeltaConfig, channels: int, stored: Mapping[str, Any] | None = None) -> Backbone:
    """The backbone that `config` describes.

    Args:
        config: its shape, or the checkpoint that has it.
        channels: of the images.
        stored: the `description` of a checkpoint's, of one that is about to be given weights; always of an encoder of
            poses.

    Raises:
        UserError: the checkpoint cannot be read, has no token for the whole, or reads other images.
    """
    match config.backbone:
        case "pose":
            assert stored is not None
            return _poses(channels, stored)
        case _ if config.checkpoint is not None:
            return _pretrained(config, channels, stored)
        case "resnet":
            return _resnet(config, channels)
        case _:
            return _transformer(config, channels)


def _described(body: nn.Module) -> dict[str, Any]:
    """A library's network; where its checkpoint lay is no part of what it is."""
    config: Any = body.config
    return {name: value for name, value in config.to_dict().items() if name != "_name_or_path"}


def _resnet(config: DeltaConfig, channels: int) -> ResNet:
    from transformers import ResNetConfig, ResNetModel

    shape = ResNetConfig(
        num_channels=channels,
        embedding_size=config.widths[0],
        hidden_sizes=list(config.widths),
        depths=[config.blocks] * len(config.widths),
        layer_type="basic",
    )
    levels = [_HALF] * channels
    return ResNet(ResNetModel(shape), levels, levels, begun=False)


def _poses(channels: int, stored: Mapping[str, Any]) -> PoseBackbone:
    shape = EncoderConfig(**with_tuples(stored["encoder"]))
    return PoseBackbone(PoseEncoder(shape, views=channels, joints=int(stored["joints"])))


def _transformer(config: DeltaConfig, channels: int) -> Transformer:
    from transformers import ViTConfig, ViTModel

    grid = config.image_size // config.patch
    stem = _stem(config, channels) if config.stem else None
    side, patch, read = (config.image_size, config.patch, channels) if stem is None else (grid, 1, config.width)
    shape = ViTConfig(
        image_size=side,
        patch_size=patch,
        num_channels=read,
        hidden_size=config.width,
        num_hidden_layers=config.depth,
        num_attention_heads=config.heads,
        intermediate_size=4 * config.width,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    # Of so few tokens; the fused kernel's backward takes three times as long on a CPU.
    shape._attn_implementation = "eager"
    body, levels = ViTModel(shape, add_pooling_layer=False), [_HALF] * channels
    return Transformer(body, levels, levels, grid=grid, begun=False, stem=stem)


def _stem(config: DeltaConfig, channels: int) -> nn.Sequential:
    """Convolutions that halve the side until a place is a patch: (B, channels, S, S) → (B, width, grid, grid).

    Source: Xiao et al. 2021, "Early Convolutions Help Transformers See Better".
    """
    halvings = config.patch.bit_length() - 1
    widths = [max(config.width >> after, 1) for after in reversed(range(halvings))]
    stages: list[nn.Module] = []
    for read, made in pairwise([channels, *widths]):
        stages += [nn.Conv2d(read, made, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(made), nn.ReLU()]
    return nn.Sequential(*stages)


def _pretrained(config: DeltaConfig, channels: int, stored: Mapping[str, Any] | None) -> Transformer | ResNet:
    """A checkpoint's transformer or ResNet, with the mean and deviation of the levels that it was trained on."""
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
    known, words = (("resnet",), "a ResNet") if config.backbone == "resnet" else (_WITH_A_WHOLE, "a ViT or DINO")
    if found.model_type not in known:
        raise UserError(f"{name} is of type {found.model_type}; give {words} ({', '.join(known)})")
    if found.num_channels != channels:
        raise UserError(f"{name} reads images of {found.num_channels} channels, and these have {channels}")
    if config.backbone == "vit" and config.image_size % found.patch_size:
        side = config.image_size // found.patch_size * found.patch_size
        raise UserError(f"{name} has patches of {found.patch_size} pixels; give --delta.image-size {side}")
    try:
        told: Mapping[str, Any] = {} if stored is not None else ImageProcessingMixin.get_image_processor_dict(name)[0]
    except (OSError, ValueError):  # a folder of weights alone
        told = {}
    mean, deviation = list(told.get("image_mean", _MEAN)), list(told.get("image_std", _DEVIATION))
    if config.backbone == "resnet":
        return ResNet(body.train(), mean, deviation, begun=True)
    grid = config.image_size // found.patch_size
    return Transformer(body.train(), mean, deviation, grid=grid, begun=True)
