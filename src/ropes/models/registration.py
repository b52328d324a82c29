"""Registers each frame to its camera's background, and replaces what shows the background by the background itself."""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from ropes.models.alignment import (
    SCALES,
    WIDE_SCALES,
    composed,
    inside_bars,
    other_place,
    robust_weight,
    sampling_grid,
)
from ropes.models.background_terms import SATURATED, BackgroundTerms
from ropes.models.cleaner import Cleaner
from ropes.models.frame_changes import MAD_TO_STD, levels_of

#: Version of the registration: images registered by another one are registered again.
VERSION = 2
#: Fits of an accurate registration after the first.
_ACCURATE_REFITS = 2
#: Rounds of background and registration.
ROUNDS = 3
#: Median absolute deviation of a pixel, in units of white, above which it hardly counts: the arm often covers it.
#: Edges that creep over pixels must count in an accurate registration.
_STEADY, _ACCURATE_STEADY = 0.02, 0.1
#: Pixels along the bars of letterboxed images without weight in the fits.
_MARGIN = 4
#: A pixel shows the background where the mean of its 3 × 3 neighbours differs from it by at most this many standard
#: deviations of a pixel's noise, and a foreground object where it differs by at least twice as many.  The smallest
#: standard deviation is one level.
_THRESHOLD, _LEAST_NOISE = 1.5, 1 / 255
#: A frame has drifted where a parameter differs from its mean by more than so many standard deviations, and this much.
_STDS, _TOLERATED_LIGHT, _TOLERATED_SHIFT = 4.0, 0.05, 0.5
#: A frame is blank where fewer than this share of the steady background's pixels are neither black nor saturated.
_BLANK = 0.2


class Registration(nn.Module):
    """Registers frames to the backgrounds of their cameras: exposure, black level, shift and rotation.

    A frame I of channels c is fitted by robust least squares (Lucas and Kanade, 1981, with gain and offset),

        I_c ≈ a_c B_c + b_c + dy ∂B_c/∂y + dx ∂B_c/∂x + θ (x ∂B_c/∂y − y ∂B_c/∂x)

    with B the background and positions x, y from the image's centre, in halves of its longer side.  A pixel with
    residual r has the weight 1 / (1 + (r/σ)²)² (Geman and McClure, 1987) with a decreasing σ, so that the arm and
    passers-by hardly count; saturated and black pixels have none.  The registered frame is then composited,

        α I' + (1 − α) B,

    with α = 0 where a pixel's neighbourhood differs from the background by no more than noise.  Images of a real camera
    thereby become like renderings before a constant background.

    Planes are as in `ropes.data.views.planes`: P = views · channels.  They have any height H and width W.  The black
    bars of letterboxed images stay black; for the fits, the bars are filled with the frame's edge pixels.

    Args:
        views: number of cameras.
        size: height and width of the planes, pixels; one number for squares.
        channels: of each camera's images.
        accurate: fit all frames three times, the first time with larger scales.  One fit underestimates shifts before
            sharp edges.

    Attributes:
        background: B, in units of white, (P, H, W).
        steadiness: weight of each pixel in the fits, (P, H, W).
        noise: standard deviation of each pixel's noise, in units of white, (P, H, W).
        inside: false in the bars of letterboxed images, bool (P, H, W).
        mean, std: of the parameters over the frames that it was fitted on, (V, 2 C + 3) each, see `estimate`.
        is_cleaned: whether frames have passers-by, which a cleaner removes.
        cleaner: that one; None until it is trained.
    """

    background: Tensor
    steadiness: Tensor
    noise: Tensor
    inside: Tensor
    mean: Tensor
    std: Tensor
    is_cleaned: bool
    cleaner: Cleaner | None
    #: Pixels of the frames in one of those of `mean` and `std`.
    pixel: int = 1
    #: Whether it was fitted on a part of a recording in which a camera was pushed.
    is_pushed: bool = False
    #: The background before which composites are, if it is another one, (P, H, W).
    shown: Tensor | None = None
    #: Registrations for earlier stretches of the recording, each with the anchor before which it ends; see `follow`.
    earlier: tuple[tuple[int, "Registration"], ...] = ()

    def __init__(self, views: int, size: int | tuple[int, int], channels: int = 1, *, accurate: bool = False) -> None:
        super().__init__()
        self.views, self.channels, self.accurate = views, channels, accurate
        self.is_cleaned, self.cleaner = False, None
        self._fixed: BackgroundTerms | None = None
        height, width = (size, size) if isinstance(size, int) else size
        for name in ("background", "steadiness", "noise"):
            self.register_buffer(name, torch.ones(views * channels, height, width))
        self.register_buffer("inside", torch.ones(views * channels, height, width, dtype=torch.bool))
        for name in ("mean", "std"):
            self.register_buffer(name, torch.zeros(views, 2 * channels + 3))

    @classmethod
    def of_camera(cls, frames: Tensor) -> "Registration":
        """An accurate registration of one camera, fitted on frames uint8 (n, C, H, W), on their device."""
        registration = cls(1, (frames.shape[2], frames.shape[3]), frames.shape[1], accurate=True).to(frames.device)
        registration.adapt(frames)
        return registration

    @torch.no_grad()
    def adapt(self, images: Tensor) -> Tensor:
        """Set background, noise and the usual parameters from frames.

        Args:
            images: uint8 (n, P, H, W), from all parts of the recording; some hundred are enough.

        Returns:
            Parameters of the frames, (n, V, 2 C + 3), see `estimate`.
        """
        self.inside.copy_(inside_bars(images, self.channels))
        levels = images.float().div_(255)
        registered = levels
        for _ in range(ROUNDS):
            self.set_steadiness(self._set_background(registered))
            parameters = self.estimate(levels)
            registered = self._registered(levels, parameters)
        self.set_noise(self._set_background(registered))
        self.mean.copy_(parameters.mean(0))
        self.std.copy_(parameters.std(0))
        return parameters

    def _set_background(self, registered: Tensor) -> Tensor:
        """Set the background to the median of registered frames; returns the median absolute deviations, (P, H, W)."""
        self.background.copy_(registered.median(dim=0).values * self.inside)
        deviation: Tensor = (registered * self.inside - self.background).abs_().median(dim=0).values
        return deviation

    def set_steadiness(self, deviation: Tensor) -> None:
        """Set the weights in the fits from the median absolute deviations of registered frames, (P, H, W)."""
        bars = functional.max_pool2d((~self.inside).float(), 2 * _MARGIN + 1, 1, _MARGIN)
        usual = _ACCURATE_STEADY if self.accurate else _STEADY
        self.steadiness.copy_((1 - bars) * robust_weight(deviation / usual))

    def set_noise(self, deviation: Tensor) -> None:
        """Set the noise from the median absolute deviations of registered frames, (P, H, W)."""
        self.noise.copy_(MAD_TO_STD * functional.avg_pool2d(deviation[None], 5, 1, 2, count_include_pad=False)[0])

    def fixed(self, solve: Callable[[Tensor, Tensor], Tensor] = torch.linalg.solve) -> "Registration":
        """A copy whose background and device stay as they are: it registers faster, and `torch.export` can export it.

        Args:
            solve: function for linear equations.
        """
        made = copy.deepcopy(self)
        for each in made.modules():
            if isinstance(each, Registration):
                each._fixed = each._terms_of_background(solve)
        made.composite(levels_of(made.background)[None])  # computes the terms
        return made

    def _terms_of_background(self, solve: Callable[[Tensor, Tensor], Tensor]) -> BackgroundTerms:
        return BackgroundTerms(self._by_channel(self.background[None])[0], self.steadiness, self.inside, solve)

    @property
    def _of_background(self) -> BackgroundTerms:
        return self._fixed or self._terms_of_background(torch.linalg.solve)

    @torch.no_grad()
    def forward(self, images: Tensor) -> Tensor:
        """Registered, composited and cleaned frames: uint8 (n, P, H, W) → uint8 (n, P, H, W)."""
        return self.cleaned(images)[0]

    @torch.no_grad()
    def frame_parameters(self, images: Tensor) -> Tensor:
        """`estimate` of frames uint8 (n, P, H, W); `cleaned` and `drifted` take it, so that it is computed once."""
        return self.estimate(images.float().div_(255))

    @torch.no_grad()
    def cleaned(self, images: Tensor, parameters: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """The same, and the parts that the cleaner has removed, bool (n, V, s, s); None without a cleaner."""
        composite = self.composite(images, parameters)
        if self.cleaner is None:
            return composite, None
        foreign = self.cleaner.foreign_parts(composite)
        return self.cleaner.without(composite, foreign), foreign

    @torch.no_grad()
    def composite(self, images: Tensor, parameters: Tensor | None = None) -> Tensor:
        """Registered and composited frames: uint8 (n, P, H, W) → uint8 (n, P, H, W)."""
        with torch.autocast(images.device.type, enabled=False):
            levels = images.float().div_(255)
            residual = self.residuals(levels, self.estimate(levels) if parameters is None else parameters)
            smooth = functional.avg_pool2d(residual, 3, 1, 1, count_include_pad=False).abs_()
            threshold = _THRESHOLD * self.noise.clamp_min(_LEAST_NOISE)
            alpha = self._by_channel(smooth.div_(threshold)).amax(2).sub_(1).clamp_(0, 1)
            alpha = alpha.repeat_interleave(self.channels, dim=1)
            composite, shown = residual.mul_(alpha).add_(self.background), self.shown
            if shown is not None:
                composite.add_((1 - alpha) * (shown - self.background))
            return composite.mul_(255).round_().clamp_(0, 255).to(torch.uint8)

    def registered(self, images: Tensor) -> Tensor:
        """Frames uint8 (n, P, H, W) in the place and the light of the background, in units of white."""
        levels = images.float().div_(255)
        return self._registered(levels, self.estimate(levels))

    def residuals(self, levels: Tensor, parameters: Tensor) -> Tensor:
        """Differences of registered frames from the background, (n, P, H, W) in units of white; see `estimate`."""
        return self._registered(levels, parameters).sub_(self.background).mul_(self.inside)

    @torch.no_grad()
    def drifted(self, images: Tensor, parameters: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Views whose light or whose place differs from those of the frames that it was fitted on, and blank views.

        Args:
            images: uint8 (n, P, H, W).
            parameters: of the frames; None estimates them.

        Returns:
            bool (n, V) each: gain or offset outside the usual range; shift or rotation outside of it; and too few
            pixels between black and white to tell.
        """
        light = 2 * self.channels
        tolerance = _STDS * self.std
        tolerance[:, :light] += _TOLERATED_LIGHT
        tolerance[:, light:] += _TOLERATED_SHIFT
        levels = images.float() / 255
        found = self.estimate(levels) if parameters is None else parameters
        outside = (found - self.mean).abs() > tolerance
        # The linear fit finds shifts of a few pixels only.
        moved_far = self._by_channel(other_place(levels, self.background)[0]).any(2)
        terms = self._of_background

        def usable(frames: Tensor) -> Tensor:
            return self._by_channel(terms.weight(functional.avg_pool2d(frames, 2))).flatten(2).sum(-1)

        blank = usable(levels) < _BLANK * usable(self.background[None])
        return outside[..., :light].any(-1), outside[..., light:].any(-1) | moved_far, blank

    def estimate(self, levels: Tensor) -> Tensor:
        """Parameters of frames (n, P, H, W) in units of white: a and b of each channel, then dy, dx, θ in pixels.

        θ is the shift at half the longer side from the centre.  All frames are registered by the first fit and fitted
        once more, since the fit is linear in the shift.

        Returns:
            (n, V, 2 C + 3).
        """
        terms = self._of_background

        def fitted_once(frames: Tensor, scales: Sequence[float] = SCALES) -> Tensor:
            halved = functional.avg_pool2d(frames, 2)
            return terms.fit(self._by_channel(halved), self._by_channel(terms.weight(halved)), scales)

        fitted = fitted_once(levels, WIDE_SCALES if self.accurate else SCALES)
        for _ in range(_ACCURATE_REFITS if self.accurate else 1):
            fitted = composed(fitted, fitted_once(self._registered(levels, fitted)), self.channels)
        return fitted

    def _registered(self, levels: Tensor, parameters: Tensor) -> Tensor:
        """Frames (n, P, H, W) in the place and the light of the background.

        A saturated pixel was at least as bright as it is: where it would be darker than the background, it is equal.
        """
        channels, (height, width) = self.channels, levels.shape[-2:]
        gain, offset = parameters[..., :channels].flatten(1), parameters[..., channels : 2 * channels].flatten(1)
        # The slopes in the fit are the background's; those of the frame are larger by the gain.
        moves = parameters[..., 2 * channels :] / parameters[..., :channels].mean(-1, keepdim=True)
        views = self._of_background.filled(levels).reshape(-1, channels, height, width)
        grid = sampling_grid(moves.flatten(0, 1), (height, width))

        def moved(frames: Tensor) -> Tensor:
            sampled = functional.grid_sample(frames, grid, padding_mode="border", align_corners=False)
            return sampled.view_as(levels)

        registered = moved(views).sub_(offset[..., None, None]).div_(gain[..., None, None])
        saturated = views >= SATURATED
        if torch.compiler.is_exporting() or bool(saturated.any()):
            darker = (moved(saturated.to(views)) > 0.5) & (registered < self.background)
            registered = torch.where(darker, self.background, registered)
        return registered

    def _by_channel(self, planes: Tensor) -> Tensor:
        """(n, P, ...) → (n, V, C, ...)."""
        return planes.unflatten(1, (self.views, self.channels))
