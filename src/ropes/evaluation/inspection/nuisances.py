"""Measures what a camera adds to its images: light, noise, shake, passers-by. Uses images alone.

Each frame I is registered to the camera's own background B by a trimmed least-squares fit (Lucas and Kanade, 1981,
with gain and offset): I ≈ a·B + b + dy·∂B/∂y + dx·∂B/∂x, with a the median of I / B over bright pixels.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ropes.models.registration import crowded

Array = NDArray[np.float64]
Images = NDArray[np.uint8]
#: Smallest number of frames that can be measured.
FEWEST_FRAMES = 10
#: Exponent between stored levels and light.
_GAMMA = 2.2
#: Rounds of background and registration; trims of each fit, and the share of the pixels that it keeps.
_ROUNDS, _TRIMS, _KEPT = 3, 2, 0.8
#: Share of the brightest usable pixels' level above which pixels are bright.
_BRIGHT = 0.5
#: A pixel has changed where it differs by this many standard deviations of the noise, and by this many levels.
_DEVIATIONS, _LEVELS = 6.0, 8.0
#: Slope of an edge, levels a pixel; share of such pixels without which no shift can be measured.
_EDGE, _TEXTURED = 10.0, 0.01
#: Share of the pixels below which these are too few to register a frame by.
_FEW = 0.2
#: Share of the frames in which a pixel may be saturated and still counts as background.
_SELDOM = 0.02
#: Share of the pixels of a background that must change for it to count as another one.
_OTHER_BACKGROUND = 0.02


@dataclass(frozen=True, kw_only=True)
class Nuisances:
    """What was measured of one camera.

    Attributes:
        light: standard deviation of the exposure over frames, stops.
        noise: standard deviation of the noise in still parts of the image, grey levels.
        jitter: standard deviation of a frame's shift along an axis, without slow drift, pixels; NaN where the
            background has too few edges to tell.
        creep: distance between the first and the last tenth of the frames, pixels; NaN likewise.
        blur: standard deviation of the Gaussian that would blur a sharp edge as much as the sharpest edges are, pixels;
            NaN without edges.
        saturated: share of pixels at 0 or 255.
        crowded: share of frames in which more changes than the arm; NaN where the arm does not move alike in all
            frames.
        moved_background: share of the background that differs between the first and the second half;
            NaN likewise.
    """

    light: float
    noise: float
    jitter: float
    creep: float
    blur: float
    saturated: float
    crowded: float
    moved_background: float


def measure(frames: Images, *, mixed: bool = True) -> Nuisances:
    """Measure the nuisances of one camera.

    Args:
        frames: uint8 (n, height, width), or in colour (n, height, width, 3), in the order of recording; some hundred
            are enough.  Of colour the luma is measured (BT.601), and a pixel is saturated where a channel is.
        mixed: the arm moves alike in all parts of the recording; otherwise its own motion looks like that of others,
            and `crowded` and `moved_background` are NaN.

    Raises:
        ValueError: fewer than 10 frames.
    """
    if len(frames) < FEWEST_FRAMES:
        raise ValueError(f"{len(frames)} frames; at least {FEWEST_FRAMES} are needed")
    saturated = (frames == 0) | (frames == 255)
    if frames.ndim > 3:
        saturated = saturated.any(-1)
        frames = np.round(frames @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)
    # Pixels that are saturated in some frames do not follow the gain; a rendering before white has hardly any others.
    usable = saturated.mean(0) < _SELDOM
    if usable.mean() < _FEW:
        usable[:] = True
    background, gain, shift, residuals = _registered(frames.astype(np.float64), usable)
    deviation = 1.4826 * np.median(np.abs(residuals - np.median(residuals, axis=0)), axis=0)
    noise = float(np.median(deviation))
    # Means of 3 × 3 pixels: their noise is a third.
    smooth = np.abs(ndimage.uniform_filter(residuals, (0, 3, 3)))
    changed = (smooth > max(_DEVIATIONS * noise / 3, _LEVELS)).mean((1, 2))
    tenth = max(1, len(frames) // 10)
    moved = np.median(shift[-tenth:], axis=0) - np.median(shift[:tenth], axis=0)
    still_edges = (np.hypot(*np.gradient(background)) > _EDGE) & (deviation < _LEVELS)
    textured = still_edges.mean() > _TEXTURED
    return Nuisances(
        light=_GAMMA * _deviation(np.log2(gain)),
        noise=noise,
        jitter=_deviation(np.diff(shift, axis=0)) / np.sqrt(2) if textured else float("nan"),
        creep=float(np.linalg.norm(moved)) if textured else float("nan"),
        blur=_blur(background),
        saturated=float(saturated.mean()),
        crowded=float(crowded(changed[:, None]).mean()) if mixed else float("nan"),
        moved_background=_moved_background(residuals * usable, noise) if mixed else float("nan"),
    )


def _deviation(values: Array) -> float:
    """Standard deviation by the 16% and 84% quantiles, which frames with passers-by hardly change."""
    return float(np.diff(np.quantile(values, [0.16, 0.84]))[0] / 2)


def _registered(images: Array, usable: NDArray[np.bool_]) -> tuple[Array, Array, Array, Array]:
    """The background, and each frame registered to it by its usable pixels.

    Returns:
        Background (height, width); gain (n,); shift (n, 2) in pixels, by row and column; and the difference of each
        registered frame from the background, (n, height, width), in the background's grey levels.
    """
    gain, offset, shift = np.ones(len(images)), np.zeros(len(images)), np.zeros((len(images), 2))
    aligned = images
    for _ in range(_ROUNDS):
        background = np.median(aligned, axis=0)
        bright = usable & (background >= max(_BRIGHT * np.quantile(background[usable], 0.99), 1))
        design = _design(background)
        for k, image in enumerate(aligned):
            # The frame is aligned by what is known so far; the fit finds what is left.  The median ratio of bright
            # pixels is a gain that neither passers-by nor an offset disturb.
            more = max(float(np.median(image[bright] / background[bright])), 1e-3) if bright.any() else 1.0
            level, *step = _fit(design, (image - more * background).ravel(), usable.ravel())
            gain[k], offset[k], shift[k] = gain[k] * more, offset[k] + gain[k] * level, shift[k] + np.array(step) / more
        aligned = np.stack(
            [
                (ndimage.shift(image, moved, order=1, mode="nearest") - b) / a
                for image, a, b, moved in zip(images, gain, offset, shift, strict=True)
            ]
        )
    background = np.median(aligned, axis=0)
    return background, gain, shift, aligned - background


def _design(background: Array) -> Array:
    """Columns of the regression: 1, and the background's derivatives by row and column, (pixels, 3)."""
    derivatives = np.gradient(ndimage.gaussian_filter(background, 0.7))
    return np.stack([np.ones_like(background).ravel(), *(each.ravel() for each in derivatives)], axis=1)


def _fit(design: Array, difference: Array, usable: NDArray[np.bool_]) -> Array:
    """Offset and shift (dy, dx) by trimmed least squares: pixels that fit worst are left out, since they move."""
    kept = usable
    scale = np.sqrt((design**2).mean(0)).clip(1e-9)
    fit = np.zeros(3)
    for _ in range(_TRIMS):
        inside = design[kept] / scale
        # On a background without edges the ridge keeps the shift at 0.
        ridge = 1e-6 * len(inside) * np.eye(3)
        fit = np.linalg.solve(inside.T @ inside + ridge, inside.T @ difference[kept]) / scale
        residual = np.abs(difference - design @ fit)
        kept = usable & (residual <= np.quantile(residual[usable], _KEPT))
    return fit


def _blur(background: Array) -> float:
    """From the steepest edges: a step of height h that a Gaussian of σ has blurred rises by h / (√(2π) σ) a pixel."""
    slope = np.hypot(*np.gradient(background))
    height = ndimage.maximum_filter(background, 9) - ndimage.minimum_filter(background, 9)
    edges = height >= max(np.quantile(height, 0.9), 10.0)
    if not edges.any():
        return float("nan")
    sigma = 1 / (np.sqrt(2 * np.pi) * np.quantile((slope / np.maximum(height, 1e-9))[edges], 0.99))
    # Central differences blur a sharp edge by .65 pixel themselves.
    return float(np.sqrt(max(sigma**2 - 0.65**2, 0.0)))


def _moved_background(residuals: Array, noise: float) -> float:
    """Share of the pixels in which the backgrounds of both halves differ."""
    half = len(residuals) // 2
    difference = np.abs(np.median(residuals[:half], axis=0) - np.median(residuals[half:], axis=0))
    changed = difference > max(_DEVIATIONS * noise / np.sqrt(half / 2), _LEVELS)
    # Lone pixels along edges are left out.
    return float(ndimage.binary_opening(changed, np.ones((3, 3))).mean())


def complaints(found: Nuisances, camera: str) -> tuple[str, ...]:
    """What to mend at the set-up, a line each.

    Args:
        found: of one camera.
        camera: its name.
    """
    lines = []
    if found.light > 0.1:
        lines.append(
            f"the exposure varies by {found.light:.2f} stops: switch automatic exposure off, draw the curtains"
        )
    if found.noise > 5:
        lines.append(f"noise of {found.noise:.0f} grey levels: more light, a lower gain")
    if found.jitter > 0.5:
        lines.append(f"frames shift by {found.jitter:.1f} pixels: take the camera off the robot's table")
    if found.creep > 1:
        lines.append(f"the camera moved by {found.creep:.1f} pixels during the recording: tighten its mount")
    if found.blur > 1.5:
        lines.append(f"edges are {found.blur:.1f} pixels wide: focus the lens, shorten the exposure")
    if found.saturated > 0.05 and found.noise > 0.5:  # else it is a rendering before white
        lines.append(f"{found.saturated:.0%} of the pixels are black or white: change the exposure")
    if found.crowded > 0.02:
        lines.append(f"in {found.crowded:.0%} of the frames more moves than the arm: keep people out of view")
    if found.moved_background > _OTHER_BACKGROUND:
        lines.append(
            f"{found.moved_background:.0%} of the background changed for good halfway: record both parts separately"
        )
    return tuple(f"camera {camera}: {line}" for line in lines)
