"""Network shapes as plain data, importable without torch. The defaults are Tables 3 to 5."""

from dataclasses import dataclass
from typing import Any, Literal

CODE_SIDE = 8


def with_tuples(content: dict[str, Any]) -> dict[str, Any]:
    """The fields of a shape as read back from JSON, which knows lists alone."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in content.items()}


def _positive(network: str, *widths: int) -> None:
    if min(widths) < 1:
        raise ValueError(f"every width of {network} must be at least 1, got {min(widths)}")


@dataclass(frozen=True, kw_only=True)
class AE1Config:
    """Shape of AE1.

    Attributes:
        image_size: side of the images in pixels.
        stem: side of the patches that the first layer reads and the last one writes; 1 for the paper's network.
        encoder_widths: channels of the encoder's stages; the first works at image_size / stem, each at half the
            side of the one before, the last at 16 or at 8.
        encoder_blocks: residual blocks in each of them.
        decoder_widths: channels of the decoder's stages; the first works at 8, each at twice the side of the one
            before, the last at image_size / stem or at half of it.
        decoder_blocks: residual blocks in each of them.
        groups: of a group normalisation, at most.
        revive: share of the gradient that passes below zero at the code and at the output; 0 for plain ReLU.

    Raises:
        ValueError: the stages do not lead from the images to a code of side 8 and back.
    """

    image_size: int = 128
    stem: int = 1
    encoder_widths: tuple[int, ...] = (64, 128, 256, 512)
    encoder_blocks: tuple[int, ...] = (2, 2, 2, 2)
    decoder_widths: tuple[int, ...] = (512, 256, 128, 64)
    decoder_blocks: tuple[int, ...] = (2, 2, 2, 2)
    groups: int = 32
    revive: float = 0.0

    def __post_init__(self) -> None:
        _positive("AE1", self.image_size, self.stem, self.groups, *self.encoder_widths, *self.decoder_widths)
        if min(*self.encoder_blocks, *self.decoder_blocks) < 0 or not 0 <= self.revive <= 1:
            raise ValueError("AE1: numbers of blocks must be at least 0, and revive lie in 0 to 1")
        for name, widths, blocks in (
            ("encoder", self.encoder_widths, self.encoder_blocks),
            ("decoder", self.decoder_widths, self.decoder_blocks),
        ):
            if len(widths) != len(blocks):
                raise ValueError(f"{name}: {len(widths)} widths but {len(blocks)} numbers of blocks")
            sides = [self.stem * CODE_SIDE * 2 ** (len(widths) - k) for k in (0, 1)]
            if self.image_size not in sides:
                raise ValueError(
                    f"{len(widths)} {name} stages and a stem of {self.stem} need images of side "
                    f"{sides[1]} or {sides[0]}, not {self.image_size}"
                )


@dataclass(frozen=True, kw_only=True)
class AE2Config:
    """Shape of AE2: channels of the encoder's three stages, of the decoder's three, and blocks in a stage."""

    encoder_widths: tuple[int, int, int] = (64, 128, 256)
    decoder_widths: tuple[int, int, int] = (512, 256, 128)
    seed_width: int = 256
    blocks: int = 2

    def __post_init__(self) -> None:
        _positive("AE2", *self.encoder_widths, *self.decoder_widths, self.seed_width)
        if self.blocks < 0:
            raise ValueError(f"AE2 cannot have {self.blocks} residual blocks")


@dataclass(frozen=True, kw_only=True)
class LDRConfig:
    """Shape of the LDR network.

    Attributes:
        widths: channels of its three convolutions.
        hidden: width of its hidden layer.
        dropout: before its last two layers.
        others: tell the poses of all other regimes from both policies' as well, as a third kind.
    """

    widths: tuple[int, int, int] = (32, 64, 128)
    hidden: int = 128
    dropout: float = 0.0
    others: bool = False

    def __post_init__(self) -> None:
        _positive("the LDR", *self.widths, self.hidden)
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """Shape of the encoder that reads coordinates straight from images.

    Attributes:
        image_size: side of the images in pixels.
        stem: side of the patches that the first layer reads.
        widths: channels of the stages; the first works at image_size / stem, each at half the side of the one before.
        blocks: residual blocks in each of them.
        hidden: width of the dense layers before the coordinates.
        dropout: before the last layer.
        window: side in pixels of the window that is looked at once more, closely, where the hand is; 0 for none.
        window_stem: side of the patches in it.
        window_widths: channels of its stages.
        window_blocks: residual blocks in each of them.

    Raises:
        ValueError: the stages do not fit the images or the window.
    """

    image_size: int = 128
    stem: int = 4
    widths: tuple[int, ...] = (32, 64, 128, 160)
    blocks: tuple[int, ...] = (1, 1, 1, 1)
    hidden: int = 256
    dropout: float = 0.0
    window: int = 40
    window_stem: int = 2
    window_widths: tuple[int, ...] = (32, 64, 128)
    window_blocks: tuple[int, ...] = (1, 1, 1)

    def __post_init__(self) -> None:
        _positive("the encoder", self.image_size, self.stem, self.hidden, *self.widths)
        _positive("the encoder's window", self.window_stem, *self.window_widths)
        _stages_fit("images", self.image_size, self.stem, self.widths, self.blocks)
        if not 0 <= self.window <= self.image_size:
            raise ValueError(f"a window of side {self.window} does not lie in images of side {self.image_size}")
        if self.window:
            _stages_fit("windows", self.window, self.window_stem, self.window_widths, self.window_blocks)
            if len(self.widths) < 2:
                raise ValueError("where to look closely is read from the second stage, and there is only one")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """Shape of I-JEPA's encoder and predictor, and of JointNet; the defaults are ViT-Huge (ROPES App. H).

    Attributes:
        image_size: side of the images in pixels.
        patch: side of the patches, each of which becomes a token.
        width: of a token in the encoder.
        depth: blocks of the encoder.
        heads: of its attention.
        predictor_width: of a token in the predictor.
        predictor_depth: blocks of the predictor.
        predictor_heads: of its attention.
        hidden: width of JointNet's two hidden layers.
        rounds: how often JointNet corrects its estimate.

    Raises:
        ValueError: patches do not tile the images, heads do not share out a width, or 4 does not divide it.
    """

    image_size: int = 128
    patch: int = 16
    width: int = 1280
    depth: int = 32
    heads: int = 16
    predictor_width: int = 384
    predictor_depth: int = 12
    predictor_heads: int = 16
    hidden: int = 1024
    rounds: int = 4

    def __post_init__(self) -> None:
        _positive("the vision transformer", self.image_size, self.patch, self.width, self.depth, self.heads)
        _positive("the predictor", self.predictor_width, self.predictor_depth, self.predictor_heads)
        _positive("JointNet", self.hidden, self.rounds)
        if self.image_size % self.patch or self.side < 4:
            raise ValueError(
                f"patches of side {self.patch} do not tile images of side {self.image_size} into at least 4 by 4"
            )
        for word, width, heads in (
            ("the encoder", self.width, self.heads),
            ("the predictor", self.predictor_width, self.predictor_heads),
        ):
            if width % heads:
                raise ValueError(f"{heads} heads do not share out the width {width} of {word}")
            if width % 4:
                raise ValueError(f"the width of {word} must be a multiple of 4 to tell places by, got {width}")

    @property
    def side(self) -> int:
        """Patches along a side of an image."""
        return self.image_size // self.patch


@dataclass(frozen=True, kw_only=True)
class VAEConfig:
    """Shape of the VAE's encoder and of the decoder that mirrors it; the defaults are Tables 3 and 4 of the study.

    Attributes:
        image_size: side of the images in pixels.
        channels: 3 for colour images, or one for each camera of grey ones; a fit sets them by its data.
        stem: channels of the first convolution, which halves the side.
        widths: channels of the stages, each of which halves the side but the last.
        blocks: residual blocks in each of them.
        hidden: width of the dense layer before the posterior.
        latents: dimensions of the latent space.

    Raises:
        ValueError: the stages do not lead from the images to a side of at least 2.
    """

    image_size: int = 128
    channels: int = 3
    stem: int = 64
    widths: tuple[int, ...] = (64, 128, 128, 256, 256)
    blocks: int = 2
    hidden: int = 512
    latents: int = 10

    def __post_init__(self) -> None:
        _positive("the VAE", self.image_size, self.channels, self.stem, self.hidden, self.latents, *self.widths)
        if self.blocks < 0:
            raise ValueError(f"a stage of the VAE cannot have {self.blocks} residual blocks")
        if self.image_size % 2 ** len(self.widths) or self.side < 2:
            raise ValueError(
                f"{len(self.widths)} stages need images whose side is a multiple of {2 ** len(self.widths)} and at "
                f"least twice that, not {self.image_size}"
            )

    @property
    def side(self) -> int:
        """Of the last stage's features."""
        return self.image_size // 2 ** len(self.widths)


def _stages_fit(what: str, side: int, stem: int, widths: tuple[int, ...], blocks: tuple[int, ...]) -> None:
    if len(widths) != len(blocks) or min(blocks) < 0:
        raise ValueError(f"the encoder needs as many numbers of blocks as widths, got {blocks}, {widths}")
    if side % (multiple := stem * 2 ** (len(widths) - 1)):
        raise ValueError(
            f"{len(widths)} stages after a stem of {stem} need {what} whose side is a multiple of {multiple}, "
            f"not {side}"
        )


@dataclass(frozen=True, kw_only=True)
class DeltaConfig:
    """Shape of a network that tells an action from two images.

    Attributes:
        image_size: side of the images in pixels.
        backbone: a vision transformer (also DINO, DINOv2), a ResNet, or an encoder of poses that goes on learning.
        checkpoint: folder, or name on the hub, of a pretrained transformer or ResNet of `transformers`; of an encoder
            of poses the run, or packaged estimator (packaged:NAME), that it is of; None to begin from scratch.
        patch, width, depth, heads: of a transformer: side of a patch in pixels, width of the tokens, blocks, heads.
        stem: whether, from scratch, convolutions that halve the side lead to its patches (Xiao et al. 2021).
        widths, blocks: of a ResNet: channels of the stages, and blocks in each of them.
        latents: dimensions of φ.
        patches: of greatest change that are asked, of method cde-patch; all where an image has fewer.
        change, aggregate: what tells how much a patch changes; whether the mean of their deltas is classified.

    Raises:
        ValueError: patches or heads do not share out the sides, a stem's patch is no power of 2, or a
            checkpoint is missing or one too many.
    """

    image_size: int = 64
    backbone: Literal["vit", "resnet", "pose"] = "vit"
    checkpoint: str | None = None
    patch: int = 8
    width: int = 96
    depth: int = 3
    heads: int = 3
    stem: bool = True
    widths: tuple[int, ...] = (32, 64, 128, 256)
    blocks: int = 1
    latents: int = 64
    patches: int = 16
    change: Literal["deltas", "features"] = "deltas"
    aggregate: bool = False

    def __post_init__(self) -> None:
        sizes = self.image_size, self.patch, self.width, self.depth, self.heads, self.blocks, self.latents, self.patches
        _positive("the network of actions", *sizes, *self.widths)
        if self.checkpoint is None and self.backbone == "pose":
            raise ValueError("backbone pose is that of a run; give --delta.checkpoint RUN, or packaged:NAME")
        if self.checkpoint is None and self.image_size % self.patch:
            raise ValueError(f"patches of {self.patch} pixels do not share out images of {self.image_size}")
        scratch = self.backbone == "vit" and self.checkpoint is None
        if scratch and self.stem and (self.patch < 2 or self.patch.bit_count() > 1):
            raise ValueError(f"a stem leads to patches of 2, 4, 8, … pixels, not {self.patch}; or take --delta.no-stem")
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads do not share out the width {self.width}")
