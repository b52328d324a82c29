"""The encoder of `ldr` and `anchored` from images of all cameras to one coordinate per joint, and its head."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from ropes.models.blocks import ScaledResidual, conv
from ropes.models.shapes import EncoderConfig
from ropes.models.zoom import Window, shrink

#: Version of the network, part of the fingerprint: a run of an earlier version trains again.
NETWORK = 2
#: Stage whose features give the attention map: the first with a sufficient receptive field.
_ATTENTION_STAGE = 1
#: Grey levels: smaller differences from the background are faded; a reference beyond white, exact in bf16.
_FADES, _BEYOND_WHITE = 16, 320


class PoseEncoder(nn.Module):
    """Images of one pose → coordinates: residual stages over the whole images, and over a glimpse around the hand.

    The cameras are the channels of one image; in colour each camera has three, see `ropes.data.views.planes`. There is
    no pooling, because positions in the image matter. The last joints move few pixels, at a place that depends on the
    first joints. Therefore the second stage predicts an attention map, and separate stages read a glimpse: a
    full-resolution window of each image around the map's mean.  With `window_image_size` the network takes images of
    that side N, shrinks them to side S for the whole images, and cuts windows from them; else N = S.
    There is no normalisation: each residual branch starts at zero, and `channels` scales the pixels.

    Args:
        config: its shape.
        views: number of cameras.
        joints: number of coordinates.
        channels: of each camera's images: P = views · channels planes.
    """

    background: Tensor
    spread: Tensor
    window_background: Tensor

    def __init__(self, config: EncoderConfig, *, views: int, joints: int, channels: int = 1) -> None:
        super().__init__()
        self.config, self.joints, self.of_view = config, joints, channels
        planes = views * channels
        self.register_buffer("background", torch.ones(planes, config.image_size, config.image_size))
        self.register_buffer("spread", torch.tensor(0.125))
        self.whole = _stages(2 * planes, config.stem, config.widths, config.blocks)
        self.far = _dense(config.image_size, config.stem, config.widths, config.hidden)
        if config.zoom > 1:
            levels = torch.full((planes, config.input_size, config.input_size), 255, dtype=torch.uint8)
            self.register_buffer("window_background", levels)
        if config.window:
            self.gaze = nn.Sequential(nn.ReLU(), nn.Conv2d(config.widths[_ATTENTION_STAGE], views, 1))
            patch = config.zoom * config.window_stem
            self.window = _stages(2 * planes, patch, config.window_widths, config.window_blocks)
            self.near = _dense(config.window, config.window_stem, config.window_widths, config.hidden)
            self.place = nn.Linear(2 * views, config.hidden)
        parts = 3 if config.window else 1
        self.join = nn.Sequential(nn.ReLU(), nn.Linear(parts * config.hidden, config.hidden), nn.ReLU())
        self.read_off = nn.Sequential(nn.Dropout(config.dropout), nn.Linear(config.hidden, joints))

    @torch.no_grad()
    def adapt(self, images: Tensor) -> None:
        """Set background (median of each pixel) and spread (of differences from it) from images, uint8 (n, P, N, N)."""
        if self.config.zoom > 1:
            self.window_background.copy_(images.median(dim=0).values)
        whole = self.shrunk(images)
        levels = whole.float().div(255)
        self.background.copy_(levels.median(dim=0).values)
        self.spread.copy_(spread_of(whole, self.background))

    def freeze_attention(self) -> None:
        """Freeze the attention map and its stages, which only the attention loss trains; nothing without a window."""
        if self.config.window:
            for part in (*self.whole[: _ATTENTION_STAGE + 1], self.gaze):
                part.requires_grad_(False)

    def forward(self, images: Tensor) -> Tensor:
        """Levels, uint8 (B, P, N, N) → (B, d)."""
        return self.look(images)[0]

    def read(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """uint8 (B, P, N, N) → coordinates (B, d), and the dense features before the last layer (B, hidden)."""
        features, _ = self.features(self.channels(images), images)
        return self.read_off(features), features

    def look(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        """uint8 (B, P, N, N) → coordinates (B, d), and attention logits (B, V, s, s); None without a window."""
        features, attention = self.features(self.channels(images), images)
        return self.read_off(features), attention

    def shrunk(self, images: Tensor) -> Tensor:
        """The whole images, uint8 (B, P, N, N) → (B, P, S, S)."""
        return shrink(images, self.config.zoom)

    def channels(self, images: Tensor) -> Tensor:
        """Input of the network, uint8 (B, P, N, N) → (B, 2 P, S, S), see `foreground`."""
        return foreground(self.shrunk(images), self.background, self.spread)

    def features(
        self, channels: Tensor, images: Tensor, *, offset: Tensor | None = None, hidden: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Dense features (B, hidden), and attention logits, see `look`.

        Args:
            channels: output of `channels`, (B, 2 P, S, S).
            images: uint8 (B, P, N, N), from which windows are cut if N > S.
            offset: (B, widths[0], S / stem, S / stem), added to the output of the first stage.
            hidden: parts of each view that such windows show as background, bool (B, V, t, t); none by default.
        """
        x, attention = channels, None
        for k, stage in enumerate(self.whole):
            x = stage(x)
            if k == 0 and offset is not None:
                x = x + offset
            if self.config.window and k == _ATTENTION_STAGE:
                attention = self.gaze(x).float()
        parts = [self.far(x)]
        if attention is not None:
            side = self.config.input_size
            centres = soft_argmax(attention.detach(), side)
            if self.config.zoom == 1:
                x = glimpse(channels, self.in_planes(centres).repeat(1, 2, 1), self.config.window)
            else:
                x = self._full_resolution(images, centres, hidden)
            x = x.contiguous(memory_format=torch.channels_last)
            for stage in self.window:
                x = stage(x)
            parts += [self.near(x), self.place(2 * centres.flatten(1) / side - 1)]
        return self.join(torch.cat(parts, dim=1)), attention

    def _full_resolution(self, images: Tensor, centres: Tensor, hidden: Tensor | None) -> Tensor:
        """Input of the window's stages, cut from images (B, P, N, N) around centres (B, V, 2), see `foreground`."""
        side = images.shape[-1]
        window = Window.around(self.in_planes(centres), self.config.zoom * self.config.window, side)
        background = window.cut(self.window_background[None])
        visible = window.inside
        if hidden is not None:
            visible = visible & ~window.cut(self.in_planes(hidden), side // hidden.shape[-1])
        levels = torch.where(visible, window.cut(images), background)
        return foreground(levels, background.to(self.background) / 255, self.spread)

    def in_planes(self, of_views: Tensor) -> Tensor:
        """What belongs to each camera, (B, V, ...), for each plane: (B, P, ...)."""
        return of_views if self.of_view == 1 else of_views.repeat_interleave(self.of_view, dim=1)


def foreground(images: Tensor, background: Tensor, spread: Tensor) -> Tensor:
    """Channels of a network, (B, 2 P, S, S), that are zero where images show their background.

    The first P channels are differences from the background. The others are 320 − level where a plane differs from it,
    faded to zero where it differs by less than 16 levels: white before a dark background is then not zero. Both are in
    units of the spread, and in the precision of the convolutions, which represents differences of grey levels exactly.

    Args:
        images: uint8 (B, P, S, S).
        background: of each plane, levels in [0, 1], (P, S, S), or of each pose, (B, P, S, S).
        spread: standard deviation of differences from it.
    """
    assert images.dtype == torch.uint8
    device = images.device.type
    kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else background.dtype
    levels = images.to(kind)
    difference = levels.neg().add_(background.mul(255).round().to(kind))
    faded = difference.abs().div_(_FADES).clamp_(max=1).mul_(levels.neg_().add_(_BEYOND_WHITE))
    channels = torch.cat([difference, faded], dim=1).mul_(1 / (255 * float(spread)))
    return channels.contiguous(memory_format=torch.channels_last)  # once, at the end: twice as fast as before each step


def spread_of(images: Tensor, background: Tensor) -> Tensor:
    """Standard deviation of differences of images, uint8 (n, P, S, S), from a background in [0, 1]; at least .001."""
    return (images.float().div(255) - background).std().clamp_min(1e-3)


def _stages(channels: int, stem: int, widths: tuple[int, ...], blocks: tuple[int, ...]) -> nn.ModuleList:
    """Patches of side `stem` → residual stages; each but the first halves the side."""
    stages = []
    for k, (width, count) in enumerate(zip(widths, blocks, strict=True)):
        entry = [nn.ReLU(), conv(channels, width, stride=2)] if k else [nn.Conv2d(channels, width, stem, stride=stem)]
        stages.append(nn.Sequential(*entry, *(ScaledResidual(width) for _ in range(count))))
        channels = width
    return nn.ModuleList(stages)


def _dense(side: int, stem: int, widths: tuple[int, ...], hidden: int) -> nn.Sequential:
    last = side // stem // 2 ** (len(widths) - 1)
    return nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(widths[-1] * last**2, hidden))


def soft_argmax(attention: Tensor, side: int) -> Tensor:
    """Mean position under the softmax of an attention map.

    Args:
        attention: logits, (B, V, s, s).
        side: side of the image that the map covers, pixels.

    Returns:
        Row and column in the image, (B, V, 2), rounded to whole pixels.
    """
    cells = attention.shape[-1]
    weight = attention.flatten(2).softmax(dim=-1).unflatten(2, (cells, cells))
    position = (torch.arange(cells, device=attention.device) + 0.5) * (side / cells)
    return torch.stack([(weight.sum(3) * position).sum(-1), (weight.sum(2) * position).sum(-1)], dim=-1).round()


def glimpse(images: Tensor, centres: Tensor, side: int) -> Tensor:
    """Cut a window around a centre of each plane.

    Args:
        images: (B, k, S, S).
        centres: row and column of each window's centre, (B, k, 2), pixels; moved inside the image.
        side: side of the windows, pixels.

    Returns:
        (B, k, side, side), zero beyond the border.
    """
    padded = functional.pad(images, (side // 2,) * 4)
    first = centres.long().clamp(0, images.shape[-1] - 1)
    steps = torch.arange(side, device=images.device)
    rows, columns = first[..., 0, None] + steps, first[..., 1, None] + steps
    sample = torch.arange(images.shape[0], device=images.device)[:, None, None, None]
    view = torch.arange(images.shape[1], device=images.device)[None, :, None, None]
    return padded[sample, view, rows[..., :, None], columns[..., None, :]]


class RegimeHead(nn.Module):
    """Coordinates → the log density ratio of every regime against the observational one.

    An intervention replaces one mechanism, and all others cancel: log q_i^m(z_i) − log p(z_i | parents).  The second
    term is the same for both policies on joint i. With o_i for their common part,

        logit(i, 1) = o_i(ẑ) + ẑ_i / 2,    logit(i, 2) = o_i(ẑ) − ẑ_i / 2,    logit(observational) = 0,

    so that ẑ_i is the log ratio of the two policies: a function of joint i only, and affine in its angle if both
    policies have the same variance and bounds (ROPES Section 3.1).
    """

    def __init__(self, joints: int, hidden: int = 64) -> None:
        super().__init__()
        self.joints = joints
        self.shared = nn.Sequential(nn.Linear(joints, hidden), nn.ReLU(), nn.Linear(hidden, joints))

    def forward(self, coordinates: Tensor) -> Tensor:
        """(B, d) → logits (B, 1 + 2 d): observational, then the two policies of each joint."""
        shared = self.shared(coordinates)
        both = torch.stack([shared + coordinates / 2, shared - coordinates / 2], dim=-1)
        return torch.cat([torch.zeros_like(coordinates[:, :1]), both.flatten(1)], dim=1)


class ContrastNetwork(nn.Module):
    """Encoder and head for training; inference uses the encoder only."""

    def __init__(self, config: EncoderConfig, *, views: int, joints: int, channels: int = 1) -> None:
        super().__init__()
        self.encoder = PoseEncoder(config, views=views, joints=joints, channels=channels)
        self.head = RegimeHead(joints)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """uint8 (B, P, N, N) → coordinates (B, d), logits (B, 1 + 2 d), and attention, see `PoseEncoder.look`."""
        coordinates, attention = self.encoder.look(images)
        return coordinates, self.head(coordinates), attention
