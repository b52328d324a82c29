"""Shapes of the networks as plain data, importable without torch. The defaults are Tables 3 to 5."""

from dataclasses import Field, dataclass, field
from typing import Any

CODE_SIDE = 8


def with_tuples(content: dict[str, Any]) -> dict[str, Any]:
    """The fields of a shape read from JSON, with its lists as tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in content.items()}


#: Metadata of a field of a later version, see `added`.
ADDED = {"added": True}


def added(default: Any) -> Any:
    """A field of a later version: JSON and digests leave it out at its default, so that older runs open and resume."""
    return field(default=default, metadata=ADDED)


def is_stored(each: Field[Any], value: Any) -> bool:
    """Whether JSON and digests have a dataclass's field with this value, see `added`."""
    return not each.metadata.get("added") or value != each.default


def require_positive(network: str, *widths: int, blocks: tuple[int, ...] = (0,)) -> None:
    """Check widths and numbers of blocks.

    Raises:
        ValueError: a width is below 1, or a number of blocks below 0.
    """
    if min(widths) < 1:
        raise ValueError(f"every width of {network} must be at least 1, got {min(widths)}")
    if min(blocks) < 0:
        raise ValueError(f"numbers of blocks of {network} must be at least 0, got {min(blocks)}")


@dataclass(frozen=True, kw_only=True)
class AE1Config:
    """Shape of AE1.

    Attributes:
        image_size: side of the images in pixels.
        stem: patch size of the first and of the last layer; 1 for the paper's network.
        encoder_widths: channels of the encoder's stages, at sides image_size / stem, half of it, …, 16 or 8.
        encoder_blocks: residual blocks of each encoder stage.
        decoder_widths: channels of the decoder's stages, at sides 8, 16, …, image_size / stem or half of it.
        decoder_blocks: residual blocks of each decoder stage.
        groups: upper bound on the groups of a group normalisation.
        revive: slope of the surrogate gradient below zero at the code and at the output; 0 for plain ReLU.

    Raises:
        ValueError: the stages do not connect the images with a code of side 8.
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
        sizes, blocks = (self.image_size, self.stem, self.groups), (*self.encoder_blocks, *self.decoder_blocks)
        require_positive("AE1", *sizes, *self.encoder_widths, *self.decoder_widths, blocks=blocks)
        if not 0 <= self.revive <= 1:
            raise ValueError(f"revive must be between 0 and 1, got {self.revive}")
        for name in ("encoder", "decoder"):
            widths, blocks = getattr(self, f"{name}_widths"), getattr(self, f"{name}_blocks")
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
    """Shape of AE2.

    Attributes:
        encoder_widths: channels of the encoder's stages.
        decoder_widths: channels of the decoder's stages.
        seed_width: width of the decoder's dense layer.
        blocks: residual blocks of each stage.
    """

    encoder_widths: tuple[int, int, int] = (64, 128, 256)
    decoder_widths: tuple[int, int, int] = (512, 256, 128)
    seed_width: int = 256
    blocks: int = 2

    def __post_init__(self) -> None:
        require_positive("AE2", *self.encoder_widths, *self.decoder_widths, self.seed_width, blocks=(self.blocks,))


@dataclass(frozen=True, kw_only=True)
class LDRConfig:
    """Shape of the LDR network.

    Attributes:
        widths: channels of the three convolutions.
        hidden: width of the hidden layer.
        dropout: dropout rate before the last two layers.
        others: use the poses of all other regimes as a third class.
    """

    widths: tuple[int, int, int] = (32, 64, 128)
    hidden: int = 128
    dropout: float = 0.0
    others: bool = False

    def __post_init__(self) -> None:
        require_positive("the LDR", *self.widths, self.hidden)
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """Shape of the encoder from images to coordinates.

    Attributes:
        image_size: side in pixels of the whole images.
        stem: patch size of the first layer.
        widths: channels of the stages; the first works at image_size / stem, each further one at half the side.
        blocks: residual blocks of each stage.
        hidden: width of the dense layers before the coordinates.
        dropout: dropout rate before the last layer.
        window: side of the window (the crop around the hand), in pixels of the whole images; 0 for none.
        window_stem: patch size in the window, in pixels of the whole images.
        window_widths: channels of the window's stages.
        window_blocks: residual blocks of each of the window's stages.
        window_image_size: resolution from which the window is cut, side in pixels; must be a multiple of image_size.
            The window shows the same part of the image, in more pixels. None for image_size.

    Raises:
        ValueError: the stages do not fit the images or the window, or windows cannot be cut from larger images.
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
    window_image_size: int | None = added(None)

    def __post_init__(self) -> None:
        sizes = self.image_size, self.stem, self.window_stem, self.hidden
        require_positive("the encoder", *sizes, *self.widths, *self.window_widths)
        _stages_fit("images", self.image_size, self.stem, self.widths, self.blocks)
        if not 0 <= self.window <= self.image_size:
            raise ValueError(f"a window of side {self.window} does not lie in images of side {self.image_size}")
        if self.window:
            _stages_fit("windows", self.window, self.window_stem, self.window_widths, self.window_blocks)
            if len(self.widths) < 2:
                raise ValueError("the second stage gives the attention of the window, and there is only one")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {self.dropout}")
        self._require_larger_images()

    @property
    def input_size(self) -> int:
        """Side in pixels of the images that the network takes: those that windows are cut from."""
        return self.window_image_size or self.image_size

    @property
    def zoom(self) -> int:
        """Pixels of the images that windows are cut from along a pixel of the whole images."""
        return self.input_size // self.image_size

    def _require_larger_images(self) -> None:
        """Check `window_image_size`; equal to `image_size` it becomes None."""
        size = self.window_image_size
        if size is None:
            return
        if not self.window:
            raise ValueError("without a window no window_image_size has an effect; leave it out")
        if size < self.image_size or size % self.image_size:
            raise ValueError(
                f"window_image_size must be a multiple of the image_size of {self.image_size}, for example "
                f"{2 * self.image_size}, not {size}"
            )
        if size == self.image_size:  # configurations of one network are equal
            object.__setattr__(self, "window_image_size", None)


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """Shape of I-JEPA's encoder and predictor, and of JointNet; the defaults are ViT-Huge (ROPES App. H).

    Attributes:
        image_size: side of the images in pixels.
        patch: patch size in pixels.
        width: token width of the encoder.
        depth: blocks of the encoder.
        heads: attention heads of the encoder.
        predictor_width: token width of the predictor.
        predictor_depth: blocks of the predictor.
        predictor_heads: attention heads of the predictor.
        hidden: width of JointNet's two hidden layers.
        rounds: refinement rounds of JointNet.

    Raises:
        ValueError: patches do not tile the images, or a width is no multiple of its heads or of 4.
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
        require_positive("the vision transformer", self.image_size, self.patch, self.width, self.depth, self.heads)
        require_positive("the predictor", self.predictor_width, self.predictor_depth, self.predictor_heads)
        require_positive("JointNet", self.hidden, self.rounds)
        if self.image_size % self.patch or self.side < 4:
            raise ValueError(f"patches of {self.patch} pixels do not tile images of {self.image_size}, at least 4x4")
        predictor = "predictor", self.predictor_width, self.predictor_heads
        for name, width, heads in (("encoder", self.width, self.heads), predictor):
            if width % heads:
                raise ValueError(f"the width of the {name} must be a multiple of its {heads} heads, got {width}")
            if width % 4:
                raise ValueError(f"the width of the {name} must be a multiple of 4 for its positions, got {width}")

    @property
    def side(self) -> int:
        """Patches along a side of an image."""
        return self.image_size // self.patch


@dataclass(frozen=True, kw_only=True)
class VAEConfig:
    """Shape of the VAE's encoder and of the decoder that mirrors it; the defaults are Tables 3 and 4 of the study.

    Attributes:
        image_size: side of the images in pixels.
        channels: 3 for colour images, one per camera for grey images; a fit sets it from its data.
        stem: channels of the first convolution, which halves the side.
        widths: channels of the stages; each but the last halves the side.
        blocks: residual blocks of each stage.
        hidden: width of the dense layer before the posterior.
        latents: dimensions of the latent space.

    Raises:
        ValueError: the image size does not fit the stages.
    """

    image_size: int = 128
    channels: int = 3
    stem: int = 64
    widths: tuple[int, ...] = (64, 128, 128, 256, 256)
    blocks: int = 2
    hidden: int = 512
    latents: int = 10

    def __post_init__(self) -> None:
        sizes = self.image_size, self.channels, self.stem, self.hidden, self.latents
        require_positive("the VAE", *sizes, *self.widths, blocks=(self.blocks,))
        if self.image_size % (step := 2 ** len(self.widths)) or self.side < 2:
            sides = f"{2 * step}, {3 * step}, {4 * step}, …"
            raise ValueError(f"{len(self.widths)} stages need images of side {sides}, not {self.image_size}")

    @property
    def side(self) -> int:
        """Side of the last stage's features."""
        return self.image_size // 2 ** len(self.widths)


def _stages_fit(what: str, side: int, stem: int, widths: tuple[int, ...], blocks: tuple[int, ...]) -> None:
    if len(widths) != len(blocks) or min(blocks) < 0:
        raise ValueError(f"the encoder needs as many numbers of blocks as widths, got {blocks}, {widths}")
    if side % (multiple := stem * 2 ** (len(widths) - 1)):
        raise ValueError(
            f"{len(widths)} stages and a stem of {stem} need {what} whose side is a multiple of {multiple}, not {side}"
        )
