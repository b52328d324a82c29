"""The encoder of `ldr` and `anchored`: images of all cameras to one coordinate per joint, and its training head."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from ropes.models.blocks import ScaledResidual, conv
from ropes.models.shapes import EncoderConfig

#: Counts the changes of the network: a training of an earlier one begins anew.
NETWORK = 2
#: Which stage's features tell where to look: the first that sees enough of the arm around.
_LOOKED_FROM = 1
#: Grey levels: what differs from the background by less fades; and the one beyond white that others are told from,
#: which bf16 holds exactly.
_FADES, _BEYOND_WHITE = 16, 320


class PoseEncoder(nn.Module):
    """Images of one pose → coordinates: residual stages over the whole images, and over a window around the hand.

    The cameras are the channels of one image.  Nothing is pooled: where something is in the image is what counts.
    The last joints move few pixels, wherever the first ones carry them, so a map of where to look is read from the
    second stage; a window around its mean is cut from each image at full resolution and seen by stages of its own.
    There is no normalisation: each residual branch begins at zero, and pixels enter as `channels` has them.
    """

    background: Tensor
    spread: Tensor

    def __init__(self, config: EncoderConfig, *, views: int, joints: int) -> None:
        super().__init__()
        self.config, self.joints = config, joints
        self.register_buffer("background", torch.ones(views, config.image_size, config.image_size))
        self.register_buffer("spread", torch.tensor(0.125))
        self.whole = _stages(2 * views, config.stem, config.widths, config.blocks)
        self.far = _dense(config.image_size, config.stem, config.widths, config.hidden)
        if config.window:
            self.gaze = nn.Sequential(nn.ReLU(), nn.Conv2d(config.widths[_LOOKED_FROM], views, 1))
            self.window = _stages(2 * views, config.window_stem, config.window_widths, config.window_blocks)
            self.near = _dense(config.window, config.window_stem, config.window_widths, config.hidden)
            self.place = nn.Linear(2 * views, config.hidden)
        parts = 3 if config.window else 1
        self.join = nn.Sequential(nn.ReLU(), nn.Linear(parts * config.hidden, config.hidden), nn.ReLU())
        self.read_off = nn.Sequential(nn.Dropout(config.dropout), nn.Linear(config.hidden, joints))

    @torch.no_grad()
    def adapt(self, images: Tensor) -> None:
        """Take background (median of each pixel) and spread (of what differs) from images, uint8 (n, V, S, S)."""
        levels = images.float().div(255)
        self.background.copy_(levels.median(dim=0).values)
        self.spread.copy_((levels - self.background).std().clamp_min(1e-3))

    def keep_looking(self) -> None:
        """Train no longer what tells where to look, which its own loss alone teaches; nothing without a window."""
        if self.config.window:
            for part in (*self.whole[: _LOOKED_FROM + 1], self.gaze):
                part.requires_grad_(False)

    def forward(self, images: Tensor) -> Tensor:
        """Grey levels, uint8 (B, V, S, S) → (B, d)."""
        return self.look(images)[0]

    def read(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """uint8 (B, V, S, S) → coordinates (B, d), and the dense features (B, hidden) that they are read from."""
        features, _ = self.features(self.channels(images))
        return self.read_off(features), features

    def look(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        """Coordinates (B, d), and the logits (B, V, s, s) of the map of where to look; None without a window."""
        features, gaze = self.features(self.channels(images))
        return self.read_off(features), gaze

    def channels(self, images: Tensor) -> Tensor:
        """What is read of images, uint8 (B, V, S, S) → (B, 2 V, S, S), zero where a view shows its background.

        First each view's difference from its background; then the grey level of what differs, as its distance from a
        level beyond white, so that white before a dark background is told from nothing.  Both are in units of the
        spread, and in the precision of the convolutions, which holds every difference of two grey levels exactly.
        """
        assert images.dtype == torch.uint8
        device = images.device.type
        kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else self.background.dtype
        levels = images.to(kind, memory_format=torch.channels_last)
        apart = levels.neg().add_(self.background.mul(255).round().to(kind))
        shown = apart.abs().div_(_FADES).clamp_(max=1).mul_(levels.neg_().add_(_BEYOND_WHITE))
        return torch.cat([apart, shown], dim=1).mul_(1 / (255 * float(self.spread)))

    def features(self, seen: Tensor, told: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """What `channels` makes of images → dense features (B, hidden), and where it looked, see `look`.

        Args:
            seen: (B, 2 V, S, S).
            told: (B, widths[0], S / stem, S / stem), added to what the first stage makes of the whole images.
        """
        x, gaze = seen, None
        for k, stage in enumerate(self.whole):
            x = stage(x)
            if k == 0 and told is not None:
                x = x + told
            if self.config.window and k == _LOOKED_FROM:
                gaze = self.gaze(x).float()
        parts = [self.far(x)]
        if gaze is not None:
            centres = _centres(gaze.detach(), seen.shape[-1])
            x = _cut(seen, centres.repeat(1, 2, 1), self.config.window).contiguous(memory_format=torch.channels_last)
            for stage in self.window:
                x = stage(x)
            parts += [self.near(x), self.place(2 * centres.flatten(1) / seen.shape[-1] - 1)]
        return self.join(torch.cat(parts, dim=1)), gaze


def _stages(channels: int, stem: int, widths: tuple[int, ...], blocks: tuple[int, ...]) -> nn.ModuleList:
    """Patches of side `stem` → residual stages, each but the first at half the side of the one before."""
    stages, before = [], channels
    for k, (width, count) in enumerate(zip(widths, blocks, strict=True)):
        entry = [nn.ReLU(), conv(before, width, stride=2)] if k else [nn.Conv2d(before, width, stem, stride=stem)]
        stages.append(nn.Sequential(*entry, *(ScaledResidual(width) for _ in range(count))))
        before = width
    return nn.ModuleList(stages)


def _dense(side: int, stem: int, widths: tuple[int, ...], hidden: int) -> nn.Sequential:
    left = side // stem // 2 ** (len(widths) - 1)
    return nn.Sequential(nn.ReLU(), nn.Flatten(), nn.Linear(widths[-1] * left**2, hidden))


def _centres(gaze: Tensor, side: int) -> Tensor:
    """Mean of the softmax of each map (B, V, s, s), in whole pixels of an image of that side: (B, V, 2), row first."""
    cells = gaze.shape[-1]
    share = gaze.flatten(2).softmax(dim=-1).unflatten(2, (cells, cells))
    middle = (torch.arange(cells, device=gaze.device) + 0.5) * (side / cells)
    return torch.stack([(share.sum(3) * middle).sum(-1), (share.sum(2) * middle).sum(-1)], dim=-1).round()


def _cut(images: Tensor, centres: Tensor, side: int) -> Tensor:
    """The window of that side around a centre of every image, zero outside it: (B, V, S, S) → (B, V, side, side)."""
    padded = functional.pad(images, (side // 2,) * 4)
    first = centres.long().clamp(0, images.shape[-1] - 1)
    steps = torch.arange(side, device=images.device)
    rows, columns = first[..., 0, None] + steps, first[..., 1, None] + steps
    sample = torch.arange(len(images), device=images.device)[:, None, None, None]
    view = torch.arange(images.shape[1], device=images.device)[None, :, None, None]
    return padded[sample, view, rows[..., :, None], columns[..., None, :]]


class RegimeHead(nn.Module):
    """Coordinates → the log density ratio of every regime against the observational one.

    An intervention replaces one mechanism, and all others cancel: log q_i^m(z_i) − log p(z_i | parents).  The
    second term is the same for both policies on joint i; with o_i for what they share,

        logit(i, 1) = o_i(ẑ) + ẑ_i / 2,    logit(i, 2) = o_i(ẑ) − ẑ_i / 2,    logit(observational) = 0,

    so that ẑ_i is the log ratio of the two policies: a function of joint i alone, and affine in its angle where
    both policies have the same variance and bounds (ROPES Section 3.1).
    """

    def __init__(self, joints: int, hidden: int = 64) -> None:
        super().__init__()
        self.joints = joints
        self.shared = nn.Sequential(nn.Linear(joints, hidden), nn.ReLU(), nn.Linear(hidden, joints))

    def forward(self, coordinates: Tensor) -> Tensor:
        """(B, d) → logits (B, 1 + 2 d): observational, then both policies of each joint in turn."""
        shared = self.shared(coordinates)
        both = torch.stack([shared + coordinates / 2, shared - coordinates / 2], dim=-1)
        return torch.cat([torch.zeros_like(coordinates[:, :1]), both.flatten(1)], dim=1)


class ContrastNetwork(nn.Module):
    """Encoder and head together: what is trained; the encoder alone is what reads an image."""

    def __init__(self, config: EncoderConfig, *, views: int, joints: int) -> None:
        super().__init__()
        self.encoder = PoseEncoder(config, views=views, joints=joints)
        self.head = RegimeHead(joints)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """uint8 (B, V, S, S) → coordinates (B, d), logits (B, 1 + 2 d), and where it looked, see `PoseEncoder.look`."""
        coordinates, gaze = self.encoder.look(images)
        return coordinates, self.head(coordinates), gaze
