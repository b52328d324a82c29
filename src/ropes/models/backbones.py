"""Backbones of action networks: a transformer, a ResNet, or an encoder of poses, with one interface."""

from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ropes.errors import UserError
from ropes.models.delta_shape import DeltaConfig
from ropes.models.encoder import PoseEncoder
from ropes.models.shapes import EncoderConfig, is_stored, with_tuples

#: Models of `transformers` with a class token.
_WITH_CLASS_TOKEN = ("vit", "dinov2", "dinov2_with_registers")
#: Mean and deviation of grey levels: of ImageNet, for DINO; of a network without pre-trained weights.
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_HALF = 0.5


class Transformer(nn.Module):
    """A vision transformer of `transformers`: images → class token, and patch tokens.

    Args:
        body: the model of the library.
        mean: of its input levels, one per channel.
        deviation: standard deviation of its input levels, one per channel.
        grid: patches along a side of an image.
        pretrained: whether its weights are a checkpoint's.
        stem: network between the images and the model; None for none.
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
        pretrained: bool,
        stem: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.body, self.grid, self._pretrained = body, grid, pretrained
        self.stem = nn.Identity() if stem is None else stem
        self.register_buffer("mean", torch.tensor(mean)[:, None, None])
        self.register_buffer("deviation", torch.tensor(deviation)[:, None, None])
        config: Any = body.config
        self.width = int(config.hidden_size)
        #: Index of the first patch token.
        self._first = 1 + int(getattr(config, "num_register_tokens", 0) or 0)
        self._options = {"interpolate_pos_encoding": True} if config.model_type == "vit" else {}

    @property
    def description(self) -> dict[str, Any] | None:
        """Configuration to rebuild it without its checkpoint; None if it has none."""
        return _config_of(self.body) if self._pretrained else None

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Levels in [0, 1], (B, C, S, S) → (B, width) and (B, patches, width)."""
        inputs = self.stem((images - self.mean) / self.deviation)
        tokens = self.body(inputs, **self._options).last_hidden_state
        return tokens[:, 0], tokens[:, self._first :]


class ResNet(nn.Module):
    """A ResNet of `transformers`: images → average-pooled features, and no patches.

    Args:
        body: the model of the library.
        mean: mean of its input levels, one per channel.
        deviation: standard deviation of its input levels, one per channel.
        pretrained: whether its weights are a checkpoint's.
    """

    grid = 0
    mean: Tensor
    deviation: Tensor

    def __init__(self, body: nn.Module, mean: list[float], deviation: list[float], *, pretrained: bool) -> None:
        super().__init__()
        self.body, self._pretrained = body, pretrained
        config: Any = body.config
        self.width = int(config.hidden_sizes[-1])
        for name, levels in (("mean", mean), ("deviation", deviation)):  # constants unless pre-trained
            self.register_buffer(name, torch.tensor(levels)[:, None, None], persistent=pretrained)

    @property
    def description(self) -> dict[str, Any] | None:
        """Configuration to rebuild it without its checkpoint; None if it has none."""
        return _config_of(self.body) if self._pretrained else None

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Levels in [0, 1], (B, C, S, S) → (B, width) and (B, 0, width)."""
        features = self.body((images - self.mean) / self.deviation).pooler_output.flatten(1)
        return features, features[:, None][:, :0]


class PoseBackbone(nn.Module):
    """A `PoseEncoder`: its coordinates and dense features, and no patches. Its attention is frozen.

    Args:
        body: the encoder.
    """

    grid = 0

    def __init__(self, body: PoseEncoder) -> None:
        super().__init__()
        self.body, self.width = body, body.config.hidden + body.joints
        body.freeze_attention()

    @property
    def description(self) -> dict[str, Any]:
        """Configuration to rebuild it without its run."""
        config = self.body.config
        values = {each.name: value for each in fields(config) if is_stored(each, value := getattr(config, each.name))}
        return {"encoder": values, "joints": self.body.joints}

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Levels in [0, 1], (B, cameras, S, S) → (B, width) and (B, 0, width)."""
        features = torch.cat(self.body.read(images.mul(255).round().to(torch.uint8)), dim=1)
        return features, features[:, None][:, :0]


Backbone = Transformer | ResNet | PoseBackbone


def backbone_of(config: DeltaConfig, channels: int, stored: Mapping[str, Any] | None = None) -> Backbone:
    """The backbone that `config` describes.

    Args:
        config: its shape, or its checkpoint.
        channels: of the images.
        stored: its `description`, if its weights are loaded afterwards; required for a `PoseEncoder`.

    Raises:
        UserError: the checkpoint cannot be read, has no class token, or needs other images.
    """
    if config.backbone == "pose":
        assert stored is not None
        shape = EncoderConfig(**with_tuples(stored["encoder"]))
        return PoseBackbone(PoseEncoder(shape, views=channels, joints=int(stored["joints"])))
    if config.checkpoint is not None:
        return _pretrained(config, channels, stored)
    return _resnet(config, channels) if config.backbone == "resnet" else _transformer(config, channels)


def _config_of(body: nn.Module) -> dict[str, Any]:
    """Configuration of a library's model, without the location of its checkpoint."""
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
    return ResNet(ResNetModel(shape), levels, levels, pretrained=False)


def _transformer(config: DeltaConfig, channels: int) -> Transformer:
    from transformers import ViTConfig, ViTModel

    grid = config.image_size // config.patch
    stem = _stem(config, channels) if config.stem else None
    side, patch, inputs = (config.image_size, config.patch, channels) if stem is None else (grid, 1, config.width)
    shape = ViTConfig(
        image_size=side,
        patch_size=patch,
        num_channels=inputs,
        hidden_size=config.width,
        num_hidden_layers=config.depth,
        num_attention_heads=config.heads,
        intermediate_size=4 * config.width,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    # With so few tokens the fused kernel's backward pass takes three times as long on a CPU.
    shape._attn_implementation = "eager"
    body, levels = ViTModel(shape, add_pooling_layer=False), [_HALF] * channels
    return Transformer(body, levels, levels, grid=grid, pretrained=False, stem=stem)


def _stem(config: DeltaConfig, channels: int) -> nn.Sequential:
    """Convolutions that halve the side until a pixel is a patch: (B, channels, S, S) → (B, width, grid, grid).

    Source: Xiao et al. 2021, "Early Convolutions Help Transformers See Better".
    """
    halvings = config.patch.bit_length() - 1
    widths = [max(config.width >> after, 1) for after in reversed(range(halvings))]
    stages: list[nn.Module] = []
    for inputs, outputs in pairwise([channels, *widths]):
        stages += [nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*stages)


def _pretrained(config: DeltaConfig, channels: int, stored: Mapping[str, Any] | None) -> Transformer | ResNet:
    """A transformer or ResNet of a checkpoint, with the mean and deviation of its training images."""
    from safetensors import SafetensorError
    from transformers import AutoConfig, AutoModel
    from transformers.image_processing_base import ImageProcessingMixin

    name = str(config.checkpoint)
    if stored is not None:
        settings = dict(stored)
        body: nn.Module = AutoModel.from_config(AutoConfig.for_model(settings.pop("model_type"), **settings))
    else:
        try:
            body = AutoModel.from_pretrained(name)
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise UserError(f"no backbone can be read from {name} ({reason})") from error
    model: Any = body.config
    types, words = (("resnet",), "a ResNet") if config.backbone == "resnet" else (_WITH_CLASS_TOKEN, "a ViT or DINO")
    if model.model_type not in types:
        raise UserError(f"{name} is of type {model.model_type}; give {words} ({', '.join(types)})")
    if model.num_channels != channels:
        raise UserError(f"{name} needs images of {model.num_channels} channels, and these have {channels}")
    if config.backbone == "vit" and config.image_size % model.patch_size:
        side = config.image_size // model.patch_size * model.patch_size
        raise UserError(f"{name} has patches of {model.patch_size} pixels; give --delta.image-size {side}")
    try:
        levels: Mapping[str, Any] = {} if stored is not None else ImageProcessingMixin.get_image_processor_dict(name)[0]
    except (OSError, ValueError):  # a folder with weights only
        levels = {}
    mean, deviation = list(levels.get("image_mean", _MEAN)), list(levels.get("image_std", _DEVIATION))
    if config.backbone == "resnet":
        return ResNet(body.train(), mean, deviation, pretrained=True)
    grid = config.image_size // model.patch_size
    return Transformer(body.train(), mean, deviation, grid=grid, pretrained=True)
