"""Registers each frame to its camera's background, and replaces what shows the background by the background itself."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ropes.models.cleaner import Cleaner

#: Version of the registration: images registered by another one are registered again.
VERSION = 1
#: Scales σ of the residuals in successive fits, in units of white.
_SCALES = (0.12, 0.06, 0.03, 0.03)
#: Expected standard deviations of gain − 1, offset, and shift along an axis or at the image's edge by rotation, pixels.
_GAIN, _OFFSET, _SHIFT = 0.5, 0.1, 4.0
#: Shift in pixels above which a frame is fitted twice.
_FAR = 0.75
#: Rounds of background and registration.
_ROUNDS = 3
#: Median absolute deviation of a pixel, in units of white, above which it hardly counts: the arm often covers it.
_STEADY = 0.02
#: Level from which a pixel counts as saturated.
_SATURATED = 0.99
#: A pixel shows the background where the mean of its 3 × 3 neighbours differs from it by at most this many standard
#: deviations of a pixel's noise, and something else from twice as many on.  Least standard deviation: one level.
_THRESHOLD, _LEAST_NOISE = 1.5, 1 / 255
#: Where a camera's noise or light varies, few pixels have exactly their median in most frames; in renderings most have
#: (`are_recorded`): quantile over pixels, and share of frames.
_QUANTILE, _REPEATED = 0.75, 0.5
#: Frames whose changed area exceeds the arm's mean area by this many standard deviations show more than the arm.
_MORE_AREA = 4.0
#: Difference from the background, in levels of 255, of a pixel that has changed.
CHANGED = 8
#: A frame has drifted where a parameter differs from its mean by more than so many standard deviations, and this much.
_STDS, _TOLERATED_LIGHT, _TOLERATED_SHIFT = 4.0, 0.05, 0.5
#: Largest shift in pixels that counts as the same place, and by how much another place must match better.
_NEAR, _BETTER = 2, 1.5
#: Least share of pixels, neither black nor white, that this counts on.
_FEWEST = 0.2
#: Standard deviation of a normal distribution over its median absolute deviation.
_TO_STD = 1.4826


class Registration(nn.Module):
    """Registers frames to the backgrounds of their cameras: exposure, black level, shift and rotation.

    A frame I of channels c is fitted by robust least squares (Lucas and Kanade, 1981, with gain and offset),

        I_c ≈ a_c B_c + b_c + dy ∂B_c/∂y + dx ∂B_c/∂x + θ (x ∂B_c/∂y − y ∂B_c/∂x)

    with B the background and positions x, y from the image's centre, in half sides.  A pixel with residual r has the
    weight 1 / (1 + (r/σ)²)² (Geman and McClure, 1987) with a decreasing σ, so that the arm and passers-by hardly count;
    saturated pixels have none.  The registered frame is then composited,

        α I' + (1 − α) B,

    with α = 0 where a pixel's neighbourhood differs from the background by no more than noise.  Images of a real camera
    thereby become like renderings before a constant background.

    Planes are as in `ropes.data.views.planes`: P = views · channels.

    Attributes:
        background: B, in units of white, (P, S, S).
        steadiness: weight of each pixel in the fits, (P, S, S).
        noise: standard deviation of each pixel's noise, in units of white, (P, S, S).
        mean: mean of the parameters over the frames that it was fitted on, (V, 2 C + 3), see `estimate`.
        std: their standard deviation, likewise.
        is_cleaned: whether frames have passers-by, which a cleaner removes.
        cleaner: that one; None until it is trained.
    """

    background: Tensor
    steadiness: Tensor
    noise: Tensor
    mean: Tensor
    std: Tensor
    is_cleaned: bool
    cleaner: Cleaner | None

    def __init__(self, views: int, side: int, channels: int = 1) -> None:
        super().__init__()
        self.views, self.channels = views, channels
        self.is_cleaned, self.cleaner = False, None
        for name in ("background", "steadiness", "noise"):
            self.register_buffer(name, torch.ones(views * channels, side, side))
        for name in ("mean", "std"):
            self.register_buffer(name, torch.zeros(views, 2 * channels + 3))

    @torch.no_grad()
    def adapt(self, images: Tensor) -> None:
        """Set background, noise and the usual parameters from frames.

        Args:
            images: uint8 (n, P, S, S), from all parts of the recording; some hundred are enough.
        """
        levels = images.float().div_(255)
        registered = levels
        for _ in range(_ROUNDS):
            self.background.copy_(registered.median(dim=0).values)
            deviation = (registered - self.background).abs_().median(dim=0).values
            self.steadiness.copy_(_weight(deviation / _STEADY))
            parameters = self.estimate(levels)
            registered = self._registered(levels, parameters)
        self.background.copy_(registered.median(dim=0).values)
        deviation = (registered - self.background).abs_().median(dim=0).values
        self.noise.copy_(_TO_STD * functional.avg_pool2d(deviation[None], 5, 1, 2, count_include_pad=False)[0])
        self.mean.copy_(parameters.mean(0))
        self.std.copy_(parameters.std(0))

    def summary(self) -> str:
        """What varies in the frames, in words."""
        channels = self.channels
        shift = 2**-0.5 * float(self.std[:, 2 * channels : 2 * channels + 2].norm(dim=1).max())
        light = float(self.std[:, :channels].max())
        noise = 255 * float(self.noise.median())
        return f"brightness varies by {light:.1%}, position by {shift:.2f} pixels, noise is {noise:.1f} grey levels"

    @torch.no_grad()
    def forward(self, images: Tensor) -> Tensor:
        """Registered, composited and cleaned frames: uint8 (n, P, S, S) → uint8 (n, P, S, S)."""
        composite = self.composite(images)
        return composite if self.cleaner is None else self.cleaner.clean(composite)

    @torch.no_grad()
    def composite(self, images: Tensor) -> Tensor:
        """Registered and composited frames: uint8 (n, P, S, S) → uint8 (n, P, S, S)."""
        with torch.autocast(images.device.type, enabled=False):
            levels = images.float().div_(255)
            residual = self._registered(levels, self.estimate(levels)).sub_(self.background)
            smooth = functional.avg_pool2d(residual, 3, 1, 1, count_include_pad=False).abs_()
            threshold = _THRESHOLD * self.noise.clamp_min(_LEAST_NOISE)
            alpha = self._by_channel(smooth.div_(threshold)).amax(2).sub_(1).clamp_(0, 1)
            composite = residual.mul_(alpha.repeat_interleave(self.channels, dim=1)).add_(self.background)
            return composite.mul_(255).round_().clamp_(0, 255).to(torch.uint8)

    @torch.no_grad()
    def drifted(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Views whose light, and views whose place differs from those of the frames that it was fitted on.

        Args:
            images: uint8 (n, P, S, S).

        Returns:
            bool (n, V) each: gain or offset, and shift or rotation, outside the usual range.
        """
        light = 2 * self.channels
        tolerance = _STDS * self.std
        tolerance[:, :light] += _TOLERATED_LIGHT
        tolerance[:, light:] += _TOLERATED_SHIFT
        levels = images.float() / 255
        outside = (self.estimate(levels) - self.mean).abs() > tolerance
        moved_far = self._by_channel(self._moved_far(levels)).any(2)
        return outside[..., :light].any(-1), outside[..., light:].any(-1) | moved_far

    def _moved_far(self, levels: Tensor) -> Tensor:
        """Planes (n, P, S, S) that match the background best at another place, by phase correlation: bool (n, P).

        The linear fit finds shifts of a few pixels only.
        """
        cross = torch.fft.rfft2(levels) * torch.fft.rfft2(self.background).conj()
        match = torch.fft.irfft2(cross / cross.abs().clamp_min(1e-9), s=levels.shape[-2:])
        near = match.roll((_NEAR, _NEAR), dims=(-2, -1))[..., : 2 * _NEAR + 1, : 2 * _NEAR + 1]
        return match.amax((-2, -1)) > _BETTER * near.amax((-2, -1))

    def estimate(self, levels: Tensor) -> Tensor:
        """Parameters of frames (n, P, S, S) in units of white: a and b of each channel, then dy, dx, θ in pixels.

        θ is the shift at half a side from the centre.  Frames that have moved far are registered and fitted once more,
        since the fit is linear in the shift.

        Returns:
            (n, V, 2 C + 3).
        """
        fitted = self._fit(levels)
        far = (fitted[..., 2 * self.channels :].abs() > _FAR).any(-1).any(-1)
        if bool(far.any()):
            first = fitted[far]
            again = self._fit(self._registered(levels[far], first))
            fitted[far] = self._composed(first, again)
        return fitted

    def _composed(self, first: Tensor, then: Tensor) -> Tensor:
        """Parameters of a frame whose registration by `first` has the parameters `then`."""
        count = self.channels
        gain = first[..., :count]
        moves = first[..., 2 * count :] + gain.mean(-1, keepdim=True) * then[..., 2 * count :]
        offset = first[..., count : 2 * count] + gain * then[..., count : 2 * count]
        return torch.cat([gain * then[..., :count], offset, moves], dim=-1)

    def _fit(self, levels: Tensor) -> Tensor:
        """One robust linear fit of frames, see `estimate`."""
        count, channels = 2 * self.channels + 3, self.channels
        halved = functional.avg_pool2d(levels, 2)
        target = self._by_channel(halved).flatten(2)
        unsaturated = halved < _SATURATED
        steadiness = functional.avg_pool2d(self.steadiness[None], 2)
        weight = self._by_channel(steadiness * unsaturated).flatten(2)
        design = self._design()  # (V, C · pixels, 2 C + 3)
        products = (design[..., :, None] * design[..., None, :]).flatten(2)
        prior = torch.zeros(count, device=levels.device)
        prior[:channels] = 1
        expected = torch.tensor([_GAIN] * channels + [_OFFSET] * channels + [_SHIFT] * 3, device=levels.device)
        ridge = torch.diag(expected**-2)
        fitted = prior.expand(*target.shape[:2], count)
        for scale in _SCALES:
            residual = target - torch.einsum("vpk,nvk->nvp", design, fitted)
            robust = weight * _weight(residual / scale)
            left = torch.einsum("nvp,vpk->nvk", robust, products).unflatten(-1, (count, count)) + scale**2 * ridge
            right = torch.einsum("nvp,vpk->nvk", robust * target, design) + scale**2 * (ridge @ prior)
            fitted = torch.linalg.solve(left, right)
        return fitted

    def _design(self) -> Tensor:
        """Columns of the regression at half the resolution, (V, C · pixels, 2 C + 3)."""
        background = self._by_channel(functional.avg_pool2d(self.background[None], 2))[0]  # (V, C, s, s)
        side, channels = background.shape[-1], self.channels
        down, right = (slope / 2 for slope in torch.gradient(background, dim=(2, 3)))  # for a pixel of the frame
        place = (torch.arange(side, device=background.device) + 0.5) * (2 / side) - 1
        turn = place[None, :] * down - place[:, None] * right
        of_channel = torch.eye(channels, device=background.device)[None, :, :, None, None]
        gains, offsets = of_channel * background[:, :, None], of_channel.expand(len(background), -1, -1, side, side)
        moves = torch.stack([down, right, turn], dim=2)
        return torch.cat([gains, offsets, moves], dim=2).movedim(2, -1).flatten(1, 3)

    def _registered(self, levels: Tensor, parameters: Tensor) -> Tensor:
        """Frames (n, P, S, S) in the place and the light of the background.

        A saturated pixel was at least as bright as it is: where it would be darker than the background, it is equal.
        """
        channels, side = self.channels, levels.shape[-1]
        gain, offset = parameters[..., :channels].flatten(1), parameters[..., channels : 2 * channels].flatten(1)
        # The slopes in the fit are the background's; those of the frame are larger by the gain.
        moves = parameters[..., 2 * channels :] / parameters[..., :channels].mean(-1, keepdim=True)
        down, right, turn = moves.unbind(-1)
        one, edge = torch.ones_like(turn), side / 2
        rows = [[one, turn / edge, -right / edge], [-turn / edge, one, -down / edge]]
        affine = torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2).flatten(0, 1)
        views = levels.reshape(-1, channels, side, side)
        grid = functional.affine_grid(affine, [len(views), channels, side, side], align_corners=False)

        def moved(frames: Tensor) -> Tensor:
            sampled = functional.grid_sample(frames, grid, padding_mode="border", align_corners=False)
            return sampled.view_as(levels)

        registered = moved(views).sub_(offset[..., None, None]).div_(gain[..., None, None])
        saturated = views >= _SATURATED
        if bool(saturated.any()):
            darker = (moved(saturated.to(views)) > 0.5) & (registered < self.background)
            registered = torch.where(darker, self.background, registered)
        return registered

    def _by_channel(self, planes: Tensor) -> Tensor:
        """(n, P, ...) → (n, V, C, ...)."""
        return planes.unflatten(1, (self.views, self.channels))


def crowded(areas: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Frames of which a larger share differs from the background than the arm alone changes.

    The smallest areas show what the arm alone changes, even where most frames show more: the mean and the standard
    deviation of a normal distribution come from its 5% and 20% quantiles.

    Args:
        areas: share of each frame's changed pixels, (n, cameras).
    """
    low, middle = np.quantile(areas, [0.05, 0.2], axis=0)
    deviation = np.maximum(np.maximum((middle - low) / 0.80, 0.1 * middle), 1e-3)
    crowd: NDArray[np.bool_] = areas > middle + (0.84 + _MORE_AREA) * deviation
    return crowd


def are_recorded(images: Tensor) -> bool:
    """Whether a real camera took the frames: even where nothing moves, pixels hardly ever repeat exactly.

    Args:
        images: uint8 (n, P, S, S).
    """
    median = images.median(dim=0).values
    repeated = (images == median).float().mean(0)
    usable = (median > 2) & (median < 253)  # saturated pixels repeat in recordings too
    if usable.float().mean() >= _FEWEST:
        repeated = repeated[usable]
    return float(repeated.flatten().quantile(_QUANTILE)) < _REPEATED


def _weight(residual: Tensor) -> Tensor:
    """Weight of a residual in units of its scale, after Geman and McClure."""
    return residual.square().add_(1).square_().reciprocal_()
