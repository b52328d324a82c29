"""Replaces foreign objects in registered frames by the background."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from ropes.models.encoder import foreground, spread_of
from ropes.models.frame_changes import levels_of, parts_with
from ropes.models.student import ForeignMap
from ropes.models.zoom import shrink

#: Version of the network, its training and its use, part of fingerprints, of runs and of the names of cleaned images.
CLEANER = 3
#: Side of a part in pixels.
_PART = 4
#: Dilations of the detector: the last block sees half of the height of an image of 128 pixels.
_DILATIONS = (1, 2, 4, 8)
#: Least share of a view's changed parts that are foreign where somebody passes: in frames of the arm alone the detector
#: takes a few parts of it for foreign.
_LEAST_SHARE = 0.15
#: Size in bytes of the frames that are cleaned at a time; the work needs twelve times as many.
CHUNK_BYTES = 1 << 26


class Cleaner(nn.Module):
    """Detects foreign objects in registered frames, and replaces the parts that show them by the background.

    Parts are squares of 4 by 4 pixels of the frames, shrunk from side N to side S: N / zoom, and black rows and columns
    at the lower and the right edge up to the next multiple of 4. It learns from frames in
    which only the arm moves, with synthetic objects before and behind the arm, and then cleans frames that
    contain a passer-by.

    Args:
        background: of each plane, levels in [0, 1], (P, N, N).
        views: number of cameras; P = views · channels.
        channels: of each camera's images.
        zoom: divides N.
    """

    background: Tensor
    spread: Tensor

    def __init__(self, background: Tensor, *, views: int, channels: int = 1, zoom: int = 1) -> None:
        super().__init__()
        self.of_view, self.zoom = channels, zoom
        self.register_buffer("background", background.clone())
        self.register_buffer("spread", torch.tensor(0.125))
        self.detector = ForeignMap(views, channels, _DILATIONS)

    @property
    def levels(self) -> Tensor:
        """The background as registered frames show it, uint8 (P, N, N)."""
        return levels_of(self.background)

    @torch.no_grad()
    def adapt(self, images: Tensor) -> None:
        """Set the spread of differences from the background from images, uint8 (n, P, N, N)."""
        self.spread.copy_(spread_of(self.shrunk(images), self._small_background))

    def shrunk(self, images: Tensor) -> Tensor:
        """Frames in which the detector looks, uint8 (n, P, N, N) → (n, P, S, S); also without the first axis."""
        return _whole_parts(shrink(images, self.zoom))

    @property
    def _small_background(self) -> Tensor:
        """The background of shrunk frames, levels in [0, 1], (P, S, S)."""
        if self.zoom == 1:
            return _whole_parts(self.background)
        return self.shrunk(self.levels).to(self.background) / 255

    def forward(self, images: Tensor) -> tuple[Tensor]:
        """Registered frames, uint8 (B, P, N, N) → logits of "a foreign object is in this part", (B, V, s, s)."""
        return (self.detector(foreground(self.shrunk(images), self._small_background, self.spread)).float(),)

    @torch.no_grad()
    def clean(self, images: Tensor) -> Tensor:
        """Registered frames without their foreign parts, uint8 (n, P, N, N); memory does not grow with n."""
        parts = images.split(max(1, CHUNK_BYTES // max(1, images[:1].nbytes)))
        return torch.cat([self.without(part, self.foreign_parts(part)) for part in parts])

    @torch.no_grad()
    def foreign_parts(self, images: Tensor) -> Tensor:
        """Registered frames, uint8 (n, P, N, N) → parts that show a passer-by, bool (n, V, s, s).

        A view has none unless those that differ from the background are more than `_LEAST_SHARE` of all that do.
        """
        with torch.autocast(images.device.type, enabled=False):
            (logits,) = self(images)
        foreign = logits > 0
        changed = self.changed_parts(self.shrunk(images), *foreign.shape[1:3])
        seen: Tensor = (foreign & changed).float().sum((2, 3)) > _LEAST_SHARE * changed.float().sum((2, 3))
        return foreign & seen[..., None, None]

    def changed_parts(self, shrunk: Tensor, views: int, side: int) -> Tensor:
        """Shrunk frames, uint8 (n, P, S, S) → parts that differ from the background, bool (n, V, side, side)."""
        return parts_with(shrunk != self.shrunk(self.levels).to(shrunk.device), views, side)

    def changed_pixels(self, images: Tensor) -> Tensor:
        """Frames, uint8 (n, P, N, N) → pixels that differ from the background in a channel, bool (n, V, N, N)."""
        return (images != self.levels).unflatten(1, (-1, self.of_view)).any(2)

    def without(self, images: Tensor, foreign: Tensor) -> Tensor:
        """Registered frames, uint8 (n, P, N, N), whose parts (n, V, s, s) are replaced by the background."""
        return torch.where(self.pixels_of(foreign).repeat_interleave(self.of_view, dim=1), self.levels, images)

    def pixels_of(self, parts: Tensor) -> Tensor:
        """The pixels of parts, bool (n, V, s, s) → (n, V, N, N)."""
        side = self.background.shape[-1]
        pixels = functional.interpolate(parts.float(), size=_PART * self.zoom * parts.shape[-1]) > 0
        return pixels[..., :side, :side]


def _whole_parts(frames: Tensor) -> Tensor:
    """Frames (..., S, S), with black rows and columns at the end up to a multiple of `_PART` pixels."""
    more = -frames.shape[-1] % _PART
    return functional.pad(frames, (0, more, 0, more)) if more else frames
