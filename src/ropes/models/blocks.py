"""Building blocks of the networks: normalisation, convolutions, residual blocks, rectifiers."""

import torch
from torch import Tensor, nn
from torch.nn import functional

GROUPS = 32


def group_norm(channels: int, groups: int = GROUPS) -> nn.GroupNorm:
    """GroupNorm with `groups` groups, or the largest number below that divides the channels.

    Deviation: GroupNorm has 32 groups, or the largest number below that divides the channels.  Why: the paper does not
    give the number; 32 is the usual one.  Effect: not measured.
    """
    return nn.GroupNorm(max(k for k in range(1, min(groups, channels) + 1) if channels % k == 0), channels)


def conv(channels_in: int, channels_out: int, *, stride: int = 1) -> nn.Conv2d:
    """3×3 convolution with 'SAME' padding: output side = ceil(input side / stride).

    Deviation: convolutions of stride 2 pad one pixel at both sides.  Why: PyTorch pads both sides equally; 'SAME' of
    JAX pads one pixel at the far side alone.  Effect: each output is centred one input pixel nearer to the top left.
    """
    return nn.Conv2d(channels_in, channels_out, 3, stride=stride, padding=1)


def upsample(channels_in: int, channels_out: int) -> nn.Sequential:
    """Transposed 4×4 convolution that doubles the side, then ReLU."""
    return nn.Sequential(nn.ConvTranspose2d(channels_in, channels_out, 4, stride=2, padding=1), nn.ReLU())


class ResBlockGN(nn.Module):
    """GroupNorm → ReLU → conv → GroupNorm → ReLU → conv, plus the input (Table 3)."""

    def __init__(self, channels: int, groups: int = GROUPS) -> None:
        super().__init__()
        self.body = nn.Sequential(
            group_norm(channels, groups),
            nn.ReLU(),
            conv(channels, channels),
            group_norm(channels, groups),
            nn.ReLU(),
            conv(channels, channels),
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → the same shape."""
        return x + self.body(x)


class ScaledResidual(nn.Module):
    """Residual block x + scale · (ReLU → conv → ReLU → conv) without normalisation; the scale starts at zero.

    The scale is that of SkipInit (De and Smith, "Batch Normalization Biases Residual Blocks Towards the Identity
    Function in Deep Networks", 2020).  It multiplies the weights of the last convolution, which takes less time than to
    multiply that convolution's output.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.ReLU(), conv(channels, channels), nn.ReLU(), conv(channels, channels))
        self.scale = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → the same shape."""
        *layers, last = self.body
        inner = x
        for layer in layers:
            inner = layer(inner)
        assert isinstance(last, nn.Conv2d)
        assert last.bias is not None
        weight, bias = self.scale * last.weight, self.scale * last.bias
        # every argument is given: torch's conversion to int8 knows none of their defaults
        return x + functional.conv2d(inner, weight, bias, last.stride, last.padding, last.dilation, last.groups)


def residual_stage(channels_in: int, channels: int, blocks: int, groups: int = GROUPS) -> list[nn.Module]:
    """A convolution to `channels`, then `blocks` residual blocks."""
    return [conv(channels_in, channels), *(ResBlockGN(channels, groups) for _ in range(blocks))]


def as_levels(images: Tensor) -> Tensor:
    """uint8 (B, 1, S, S, 3), or in grey (B, cameras, S, S) → float (B, C, S, S) in [0, 1], channels last in memory."""
    planes = images[:, 0].permute(0, 3, 1, 2) if images.ndim == 5 else images
    return planes.float().div(255).contiguous(memory_format=torch.channels_last)


class LeakyGradientReLU(nn.Module):
    """ReLU with a leaky surrogate gradient: the backward pass has slope `slope` for negative inputs.

    Deviation: the backward pass has a slope for negative inputs, where Tables 3 to 5 have a plain ReLU, so a unit that
    has fallen below zero for every input can recover.  Why: high learning rates need it.  Effect: compact preset alone;
    outputs are those of a ReLU.
    """

    def __init__(self, slope: float) -> None:
        super().__init__()
        self.slope = slope

    def forward(self, x: Tensor) -> Tensor:
        """Any shape → the same, at least 0."""
        below = x.clamp(max=0)
        return x.relu() + self.slope * (below - below.detach())


def init_positive(layer: nn.Module, level: float, spread: float = 0.1) -> None:
    """Initialise the last convolution before a ReLU so that all its units start positive, near `level`.

    A unit that starts negative everywhere gets no gradient and never recovers.
    """
    assert isinstance(layer, nn.Conv2d)
    assert layer.bias is not None
    with torch.no_grad():
        layer.weight.mul_(spread)
        layer.bias.fill_(level)
