"""Robust linear fit of frames to a background: gain and offset of each channel, shift and rotation."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

#: Scales σ of the residuals in successive fits, in units of white.
SCALES = (0.12, 0.06, 0.03, 0.03)
#: Larger scales, which also fit sharp edges that moved by a pixel.
WIDE_SCALES = (0.5, 0.25, 0.12, 0.06)
#: Largest shift in pixels that counts as the same place, and how many times better another place must match.
NEAR, _BETTER = 2, 1.5
#: Expected standard deviations of gain − 1, offset, and shift along an axis or at the image's edge by rotation, pixels.
_GAIN, _OFFSET, _SHIFT = 0.5, 0.1, 4.0


class RobustFit:
    """Fits frames at half their resolution by iteratively reweighted least squares, see `Registration`.

    Args:
        background: in units of white, (V, C, h, w).
        size: height and width at the full resolution, pixels.
        solve: of linear equations.
    """

    def __init__(self, background: Tensor, size: tuple[int, int], solve: Callable[[Tensor, Tensor], Tensor]) -> None:
        channels, device = background.shape[1], background.device
        self._solve, self._design = solve, _design(background, size)
        self._products = (self._design[..., :, None] * self._design[..., None, :]).flatten(2)
        expected = torch.tensor([_GAIN] * channels + [_OFFSET] * channels + [_SHIFT] * 3, device=device)
        self._ridge = torch.diag(expected**-2)
        self._prior = torch.zeros(len(expected), device=device)
        self._prior[:channels] = 1

    def __call__(self, frames: Tensor, weight: Tensor, scales: Sequence[float]) -> Tensor:
        """Fit frames.

        Args:
            frames: in units of white, (n, V, C, h, w).
            weight: of each pixel, (n, V, C, h, w).
            scales: σ of each iteration.

        Returns:
            a and b of each channel, then dy, dx and θ in pixels at the full resolution, (n, V, 2 C + 3).
        """
        design, products, ridge, prior = self._design, self._products, self._ridge, self._prior
        count = design.shape[-1]
        target, weight = frames.flatten(2), weight.flatten(2)
        fitted = prior.expand(*target.shape[:2], count)
        for scale in scales:
            residual = target - torch.einsum("vpk,nvk->nvp", design, fitted)
            robust = weight * robust_weight(residual / scale)
            left = torch.einsum("nvp,vpk->nvk", robust, products).unflatten(-1, (count, count)) + scale**2 * ridge
            right = torch.einsum("nvp,vpk->nvk", robust * target, design) + scale**2 * (ridge @ prior)
            fitted = self._solve(left, right)
        return fitted


def composed(first: Tensor, then: Tensor, channels: int) -> Tensor:
    """Parameters of a frame whose registration by `first` has the parameters `then`, (..., 2 C + 3) each."""
    gain = first[..., :channels]
    moves = first[..., 2 * channels :] + gain.mean(-1, keepdim=True) * then[..., 2 * channels :]
    offset = first[..., channels : 2 * channels] + gain * then[..., channels : 2 * channels]
    return torch.cat([gain * then[..., :channels], offset, moves], dim=-1)


def other_place(frames: Tensor, background: Tensor) -> tuple[Tensor, Tensor]:
    """Whether frames match a background best at another place, by phase correlation, and at which place.

    Args:
        frames: (n, ..., H, W).
        background: (..., H, W).

    Returns:
        bool (n, ...), and the best shift, down and right in whole pixels, (n, ..., 2).
    """
    return best_place(phase_correlation(frames, background))


def phase_correlation(frames: Tensor, background: Tensor) -> Tensor:
    """Match of frames with a background shifted down and right by each number of whole pixels, (n, ..., H, W).

    Arguments as of `other_place`.
    """
    cross = torch.fft.rfft2(frames) * torch.fft.rfft2(background).conj()
    return torch.fft.irfft2(cross / cross.abs().clamp_min(1e-9), s=frames.shape[-2:])


def best_place(match: Tensor) -> tuple[Tensor, Tensor]:
    """`other_place` from the phase correlation, (n, ..., H, W)."""
    around = match.roll((NEAR, NEAR), dims=(-2, -1))[..., : 2 * NEAR + 1, : 2 * NEAR + 1].amax((-2, -1))
    peak, index = match.flatten(-2).max(-1)
    height, width = match.shape[-2:]
    place, size = torch.stack([index // width, index % width], dim=-1), index.new_tensor([height, width])
    return peak > _BETTER * around, torch.where(place > size // 2, place - size, place)


def match_strength(match: Tensor) -> Tensor:
    """Largest phase correlation of frames with a background, (n, ...); about 1 if they have nothing in common.

    The phase correlation of unrelated images has the standard deviation 1/√N at each of its N places, so the unit is
    √(2 ln N / N), the expected maximum.

    Args:
        match: the phase correlation, (n, ..., H, W).
    """
    places = match.shape[-2] * match.shape[-1]
    return match.amax((-2, -1)) / math.sqrt(2 * math.log(places) / places)


def sampling_grid(moves: Tensor, size: tuple[int, int]) -> Tensor:
    """Where to sample frames so that they are in the place of the background, for `grid_sample`, (n, H, W, 2).

    Args:
        moves: shift down and right, and rotation at half the longer side from the centre, pixels, (n, 3).
        size: H and W.
    """
    (height, width), (down, right, turn) = size, moves.unbind(-1)
    one, radians = torch.ones_like(turn), turn / (max(height, width) / 2)
    rows = [  # in half widths and half heights
        [one, radians * (height / width), -right / (width / 2)],
        [-radians * (width / height), one, -down / (height / 2)],
    ]
    affine = torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)
    # In an exported graph `len` would be a constant.
    return functional.affine_grid(affine, [affine.shape[0], 1, height, width], align_corners=False)


def inside_bars(images: Tensor, channels: int) -> Tensor:
    """Where letterboxed frames have no bars.  Bars are rows and columns along the edges that are black in all frames.

    Args:
        images: uint8 (n, P, H, W).
        channels: planes of a view.

    Returns:
        bool (P, H, W).
    """
    inside = torch.ones_like(images[0], dtype=torch.bool)
    for planes, dark in zip(inside.split(channels), (images == 0).all(0).split(channels), strict=True):
        rows, columns = ((~dark.all(0)).any(axis).nonzero() for axis in (1, 0))
        if len(rows):
            planes.fill_(False)
            planes[:, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = True
    return inside


def nearest_inside(inside: Tensor) -> tuple[Tensor, Tensor] | None:
    """Rows (P, H) and columns (P, W) of the nearest pixels inside the bars.

    Args:
        inside: false in the bars, bool (P, H, W).

    Returns:
        None where no plane has bars.
    """
    if bool(inside.all()):
        return None
    places = []
    for axis in (2, 1):
        lines = [plane.any(axis - 1) for plane in inside]
        ends = [line.nonzero()[[0, -1], 0].tolist() for line in lines]
        index = torch.arange(inside.shape[3 - axis], device=inside.device)
        places.append(torch.stack([index.clamp(*each) for each in ends]))
    return places[0], places[1]


def eliminate(left: Tensor, right: Tensor) -> Tensor:
    """`torch.linalg.solve` by Gauss and Jordan's elimination, for ONNX, which has no operator for it.

    Args:
        left: positive definite, (..., k, k).
        right: (..., k).
    """
    rows = torch.cat([left, right[..., None]], dim=-1)
    size = left.shape[-1]
    unit = torch.eye(size, device=left.device)
    for k in range(size):
        pivot = rows[..., k : k + 1, :] / rows[..., k : k + 1, k : k + 1]
        rows = rows - (rows[..., k : k + 1] - unit[:, k : k + 1]) * pivot
    return rows[..., -1]


def robust_weight(residual: Tensor) -> Tensor:
    """Weight of a residual in units of its scale (Geman and McClure, 1987)."""
    return residual.square().add_(1).square_().reciprocal_()


def _design(background: Tensor, size: tuple[int, int]) -> Tensor:
    """Columns of the regression, (V, C h w, 2 C + 3)."""
    channels, longer = background.shape[1], max(size)
    down, right = (slope / 2 for slope in torch.gradient(background, dim=(2, 3)))  # for a pixel at full resolution
    y, x = ((torch.arange(side // 2, device=background.device) + 0.5) * (4 / longer) - side / longer for side in size)
    turn = x[None, :] * down - y[:, None] * right
    of_channel = torch.eye(channels, device=background.device)[None, :, :, None, None]
    gains = of_channel * background[:, :, None]
    offsets = of_channel.expand(len(background), -1, -1, *turn.shape[-2:])
    moves = torch.stack([down, right, turn], dim=2)
    return torch.cat([gains, offsets, moves], dim=2).movedim(2, -1).flatten(1, 3)
