"""The two autoencoders of ROPES: image → 8×8×1 code (AE1, Table 3) and codes → joint coordinates (AE2, Table 5)."""

import torch
from torch import Tensor, nn

from ropes.models.blocks import LeakyGradientReLU, conv, init_positive, residual_stage, upsample
from ropes.models.shapes import CODE_SIDE, AE1Config, AE2Config


class AE1(nn.Module):
    """Convolutional autoencoder from one image to an 8×8×1 feature map and back (ROPES Table 3, Eq. 4).

    Code and output are rectified as in the table; both are initialised above zero.

    Deviation: the last transposed convolution writes 128 pixels a side where Table 3 reads "Upsample 64 → 126".  Why:
    the images have 128.  Effect: none.

    With `stem` > 1 (never in the paper's preset) the first layer reads stem×stem patches and the last one writes them.
    Images have C `channels`: the paper's are grey.
    """

    def __init__(self, config: AE1Config, channels: int = 1) -> None:
        super().__init__()
        self.config, self.channels = config, channels
        self.encoder = nn.Sequential(*self._encoder_layers())
        self.decoder = nn.Sequential(*self._decoder_layers())
        init_positive(self.encoder[-2], level=1.0)
        init_positive(self.decoder[-3], level=0.7)

    def _encoder_layers(self) -> list[nn.Module]:
        config, layers, channels = self.config, list[nn.Module](), self.channels
        side = config.image_size // config.stem
        if config.stem > 1:
            channels = config.encoder_widths[0]
            layers.append(nn.Conv2d(self.channels, channels, config.stem, stride=config.stem))
        for k, (width, blocks) in enumerate(zip(config.encoder_widths, config.encoder_blocks, strict=True)):
            if k:
                layers += [conv(channels, channels, stride=2), nn.ReLU()]
                side //= 2
            layers += residual_stage(channels, width, blocks, config.groups)
            channels = width
        return [*layers, conv(channels, 1, stride=side // CODE_SIDE), LeakyGradientReLU(config.revive)]

    def _decoder_layers(self) -> list[nn.Module]:
        config, layers, channels = self.config, list[nn.Module](), 1
        side, full = CODE_SIDE, config.image_size // config.stem
        for width, blocks in zip(config.decoder_widths, config.decoder_blocks, strict=True):
            layers += residual_stage(channels, width, blocks, config.groups)
            if side < full:
                layers.append(upsample(width, width))
                side *= 2
            channels = width
        last = conv(channels, self.channels * config.stem**2)
        return [*layers, last, nn.PixelShuffle(config.stem), LeakyGradientReLU(config.revive)]

    def encode(self, images: Tensor) -> Tensor:
        """(B, C, S, S) in [0, 1] → codes (B, 1, 8, 8), at least 0."""
        return self.encoder(images)

    def encode_views(self, images: Tensor) -> Tensor:
        """Planes (B, V·C, S, S) → (B, V, 8, 8); all views share the encoder."""
        views = images.unflatten(1, (-1, self.channels))
        return self.encode(views.flatten(0, 1)).reshape(*views.shape[:2], CODE_SIDE, CODE_SIDE)

    def decode(self, codes: Tensor) -> Tensor:
        """(B, 1, 8, 8) → (B, C, S, S), at least 0."""
        return self.decoder(codes)

    def decode_views(self, codes: Tensor) -> Tensor:
        """(B, V, 8, 8) → planes (B, V·C, S, S)."""
        images = self.decode(codes.flatten(0, 1).unsqueeze(1))
        return images.reshape(len(codes), -1, *images.shape[-2:])

    def forward(self, images: Tensor) -> Tensor:
        """Reconstruct (B, C, S, S)."""
        return self.decode(self.encode(images))


class Standardise(nn.Module):
    """Fixed affine map of codes to zero mean and unit variance, with one scale per camera.

    Not one scale per position: where the background never changes the code is constant, and division by its own
    deviation would amplify noise.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, views: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(1, views, 1, 1))
        self.register_buffer("scale", torch.ones(1, views, 1, 1))

    def fit(self, codes: Tensor) -> None:
        """Set mean and deviation from codes (n, V, 8, 8).

        Raises:
            ValueError: the codes of a camera are constant.
        """
        mean = codes.double().mean((0, 2, 3), keepdim=True)
        scale = codes.double().std((0, 2, 3), keepdim=True)
        # Over samples: a code that does not depend on the image may still vary over positions.
        if not bool((codes.double().std(0).amax((1, 2)) > 1e-6).all()):
            raise ValueError("the codes of a camera are constant: AE1 has collapsed")
        self.mean.copy_(mean)
        self.scale.copy_(scale)

    def forward(self, codes: Tensor) -> Tensor:
        """(B, V, 8, 8) raw → standardised."""
        return (codes - self.mean) / self.scale

    def inverse(self, codes: Tensor) -> Tensor:
        """(B, V, 8, 8) standardised → raw."""
        return codes * self.scale + self.mean


class AE2(nn.Module):
    """Autoencoder from the codes of all views to one coordinate per joint and back (ROPES Table 5).

    The table's final ReLU acts on raw codes, which are at least 0.

    Deviation: the LDRs read, and AE2 reads and writes, standardised codes, with one scale a camera.  Why: raw codes of
    one camera may be tens of times as large as those of another one.  Effect: λ counts in other units than in Eq. 3.
    """

    def __init__(self, config: AE2Config, *, views: int, joints: int) -> None:
        super().__init__()
        self.config = config
        down: list[nn.Module] = []
        channels = views
        for width in config.encoder_widths:
            down += residual_stage(channels, width, config.blocks)
            down += [nn.Conv2d(width, width, 3, stride=2, padding=1), nn.ReLU()]
            channels = width
        self.encoder = nn.Sequential(*down, nn.Flatten(), nn.Linear(channels, joints))
        up: list[nn.Module] = [nn.Linear(joints, config.seed_width), nn.ReLU(), nn.Unflatten(1, (-1, 1, 1))]
        channels = config.seed_width
        for width in config.decoder_widths:
            up += [*residual_stage(channels, width, config.blocks), upsample(width, width)]
            channels = width
        head = nn.Conv2d(channels, views, 3, padding=1)
        self.decoder = nn.Sequential(*up, head, nn.ReLU())
        self.standardise = Standardise(views)

    def initialise(self, standardise: Standardise) -> None:
        """Copy the scale of the codes, and initialise the rectified output at their mean."""
        self.standardise.load_state_dict(standardise.state_dict())
        head = self.decoder[-2]
        assert isinstance(head, nn.Conv2d)
        assert head.bias is not None
        init_positive(head, level=0.0)
        with torch.no_grad():
            head.weight.mul_(standardise.scale.reshape(-1, 1, 1, 1))
            head.bias.copy_(standardise.mean.flatten() + 0.5 * standardise.scale.flatten())

    def encode(self, codes: Tensor) -> Tensor:
        """Standardised codes (B, V, 8, 8) → coordinates (B, d)."""
        return self.encoder(codes)

    def decode(self, coordinates: Tensor) -> Tensor:
        """Coordinates (B, d) → standardised codes (B, V, 8, 8)."""
        return self.standardise(self.decoder(coordinates))

    def forward(self, codes: Tensor) -> Tensor:
        """Reconstruct standardised codes."""
        return self.decode(self.encode(codes))

    def read(self, codes: Tensor) -> Tensor:
        """Codes of AE1, (B, V, 8, 8) → coordinates (B, d)."""
        return self.encode(self.standardise(codes))

    def rebuilt(self, codes: Tensor) -> Tensor:
        """Reconstruct codes of AE1, (B, V, 8, 8)."""
        return self.standardise.inverse(self(self.standardise(codes)))
