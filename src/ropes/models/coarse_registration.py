"""Registers large frames by parameters that are estimated on smaller copies."""

import torch
from torch import Tensor
from torch.nn import functional

from ropes.models.alignment import inside_bars
from ropes.models.registration import Registration
from ropes.models.zoom import shrink

#: Frames that are composited at a time, if they were of the smaller size.
_CHUNK = 128


class ZoomedRegistration(Registration):
    """A registration of frames of side N, whose parameters come from the frames shrunk to side N / zoom.

    Estimates therefore cost as much as at the smaller side, and all tolerances in pixels are those of that side.
    Background and noise, by which frames are composited, are of side N.

    Args:
        views: number of cameras.
        side: of the frames, N pixels.
        channels: of each camera's images.
        zoom: divides N.
        accurate: of the registration of the shrunk frames.

    Attributes:
        small: registration of the shrunk frames.
    """

    def __init__(self, views: int, side: int, channels: int = 1, *, zoom: int, accurate: bool = False) -> None:
        super().__init__(views, side, channels)
        self.zoom, self.pixel = zoom, zoom
        self.small = Registration(views, side // zoom, channels, accurate=accurate)

    @torch.no_grad()
    def adapt(self, images: Tensor) -> Tensor:
        """As `Registration.adapt`; background and noise of the large frames come from every zoom-th frame."""
        self.inside.copy_(inside_bars(images, self.channels))
        parameters = self.small.adapt(shrink(images, self.zoom))
        levels = images[:: self.zoom].float().div_(255)
        self._set_background(levels)  # with which registered frames are compared where they are saturated
        registered = self._registered(levels, self.estimate(levels))
        self.set_noise(self._set_background(registered))
        self.mean.copy_(self.small.mean)
        self.std.copy_(self.small.std)
        return self._scaled(parameters, self.zoom)

    @torch.no_grad()
    def composite(self, images: Tensor, parameters: Tensor | None = None) -> Tensor:
        """Registered and composited frames: uint8 (n, P, N, N) → uint8 (n, P, N, N)."""
        if torch.compiler.is_exporting():
            return super().composite(images, parameters)
        parts = images.split(self._chunk)
        of_parts = [None] * len(parts) if parameters is None else parameters.split(self._chunk)
        composites = map(super().composite, parts, of_parts)
        return torch.cat(list(composites))

    def frame_parameters(self, images: Tensor) -> Tensor:
        """As `Registration.frame_parameters`, of frames uint8 (n, P, N, N)."""
        return torch.cat(list(map(super().frame_parameters, images.split(self._chunk))))

    def drifted(self, images: Tensor, parameters: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """As `Registration.drifted`, of frames uint8 (n, P, N, N)."""
        found = None if parameters is None else self._scaled(parameters, 1 / self.zoom)
        return self.small.drifted(shrink(images, self.zoom), found)

    def estimate(self, levels: Tensor) -> Tensor:
        """As `Registration.estimate`, of frames (n, P, N, N); shifts in pixels of these."""
        return self._scaled(self.small.estimate(functional.avg_pool2d(levels, self.zoom)), self.zoom)

    @property
    def _chunk(self) -> int:
        return max(1, _CHUNK // self.zoom**2)

    def _scaled(self, parameters: Tensor, factor: float) -> Tensor:
        """Parameters of frames → those of the same frames at another size."""
        moves = factor * parameters[..., 2 * self.channels :]
        return torch.cat([parameters[..., : 2 * self.channels], moves], dim=-1)


def new_registration(views: int, side: int, channels: int = 1, zoom: int = 1) -> Registration:
    """A registration of frames of `side` pixels that is not adapted; its parameters come from side / zoom pixels."""
    return ZoomedRegistration(views, side, channels, zoom=zoom) if zoom > 1 else Registration(views, side, channels)


def zoom_of(registration: Registration) -> int:
    """The zoom of a registration."""
    return registration.zoom if isinstance(registration, ZoomedRegistration) else 1
