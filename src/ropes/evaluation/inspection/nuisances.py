"""Measures what a camera adds to its images: light, noise, shake, passers-by. Uses images alone.

Each frame is registered to the camera's own background, see `ropes.models.registration.Registration`.  The parameters
of the frames give exposure and camera shift; the residuals give noise, passers-by and a changed background.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage

from ropes.common.arrays import Floats, Images
from ropes.common.hardware import device_kind
from ropes.evaluation.drift.statistics import spread_of
from ropes.models.frame_changes import CHANGED, MAD_TO_STD, are_recorded, changed_areas, crowded_share
from ropes.models.lasting_changes import OTHER_BACKGROUND, Usual, changed_for_good
from ropes.models.pushes import FEWEST_FRAMES, PARTS, from_one_place
from ropes.models.registration import Registration
from ropes.simulation.camera_model import GAMMA

#: Longer side in pixels of the images that networks see.
_SIDE = 128
#: Share of the brightest usable pixels' level above which pixels are bright.
_BRIGHT = 0.5
#: Slope of an edge, levels a pixel; share of such pixels without which no shift can be measured.
_EDGE, _TEXTURED = 10.0, 0.01
#: Share of the pixels below which these are too few to register a frame by.
_FEW = 0.2
#: Share of the frames in which a pixel may be saturated and still counts as background.
_SELDOM = 0.02
#: Share of frames with passers-by from which on people should be kept out; few may be poses that look large.
_CROWDED = 0.05


@dataclass(frozen=True, kw_only=True)
class Nuisances:
    """Measured nuisances of one camera.

    Attributes:
        light: standard deviation of the exposure over frames, stops.
        noise: standard deviation of the noise in still parts of the image, grey levels.
        jitter: standard deviation of a frame's shift along an axis, without slow drift, pixels; NaN where the
            background has too few edges to estimate it.
        creep: how far the view moved from the first to the last tenth of the frames, shift and rotation at the edge of
            the image, pixels; NaN where the background has too few edges.  Where it moved at once, the other nuisances
            are of the longest part of the recording from one place.
        blur: standard deviation of the Gaussian that would blur a sharp edge as much as the sharpest edges are, pixels;
            NaN without edges.
        saturated: share of pixels at 0 or 255.
        crowded: share of frames in which something besides the arm moves; NaN where this cannot be estimated, see
            `ropes.models.frame_changes.crowded_share`, or where the arm's motion differs between parts of the
            recording.
        moved_background: share of the background that differs between the first and the second half; NaN for fewer than
            40 frames from one place, and where the arm moves differently in different parts of the recording.
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
        mixed: regimes are mixed in time, so that the arm's motion has the same distribution in all parts of the
            recording; otherwise the arm's motion cannot be separated from other motion, and `crowded` and
            `moved_background` are NaN.

    Raises:
        ValueError: fewer than 10 frames.
    """
    if len(frames) < FEWEST_FRAMES:
        raise ValueError(f"{len(frames)} frames; at least {FEWEST_FRAMES} are needed")
    saturated = (frames == 0) | (frames == 255)
    if frames.ndim > 3:
        saturated = saturated.any(-1)
        frames = np.round(frames @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)
    moved, still = from_one_place(frames)
    found = _measured(frames[still], saturated[still], mixed)
    return replace(found, creep=moved) if moved else found


def _measured(frames: Images, saturated: NDArray[np.bool_], mixed: bool) -> Nuisances:
    """The nuisances of grey frames (n, height, width) and their saturated pixels, see `measure`."""
    # Pixels that are saturated in some frames do not follow the gain; a rendering before white has hardly any others.
    usable = saturated.mean(0) < _SELDOM
    few = bool(usable.mean() < _FEW)
    if few:
        usable[:] = True
    if few and not are_recorded(torch.from_numpy(frames[:, None])):
        seen = _as_they_are(frames)
    else:
        seen = _registered(frames, usable, accurate=not few)
    deviation = _noise(seen.residuals)
    noise = float(np.median(deviation))
    tenth = max(1, len(frames) // 10)
    moved = np.median(seen.moves[-tenth:], axis=0) - np.median(seen.moves[:tenth], axis=0)
    still_edges = (np.hypot(*np.gradient(seen.background)) > _EDGE) & (deviation < max(CHANGED, 2 * noise))
    textured = still_edges.mean() > _TEXTURED
    crowded = moved_background = float("nan")
    if mixed:
        if len(frames) >= PARTS * FEWEST_FRAMES:  # in fewer the arm stands at some places in most frames of a half
            moved_background = _moved_background(seen.residuals * usable, noise)
        # Each half before its own background: what changed for good is no passer-by.
        parts = np.array_split(seen.composites, 2 if moved_background > OTHER_BACKGROUND else 1)
        crowded = float(np.mean([crowded_share(_areas(part)) for part in parts]))
    return Nuisances(  # spreads by quantiles, which frames with passers-by hardly change
        light=GAMMA * float(spread_of(np.log2(seen.gain))),
        noise=noise,
        jitter=float(spread_of(np.diff(seen.moves[:, :2], axis=0).ravel())) / np.sqrt(2) if textured else float("nan"),
        creep=float(np.linalg.norm(moved[:2]) + abs(moved[2])) if textured else float("nan"),
        blur=_blur(seen.background),
        saturated=float(saturated.mean()),
        crowded=crowded,
        moved_background=moved_background,
    )


def _areas(composites: Images) -> Floats:
    """Share of the pixels of each frame (n, height, width) that differ from the frames' median, (n,)."""
    background = torch.from_numpy(np.median(composites, axis=0)[None] / 255)
    return changed_areas(torch.from_numpy(composites[:, None]), background, 1)[:, 0]


def _noise(residuals: Floats) -> Floats:
    """Standard deviation of each pixel, (height, width), from its median absolute deviation over the frames.

    Whole grey levels are too coarse for a median of little noise, so uniform noise of one level is added first, and its
    part is taken off again.
    """
    added = np.random.default_rng(0).uniform(-0.5, 0.5, residuals.shape)
    deviation = MAD_TO_STD * np.median(np.abs(residuals - np.median(residuals, axis=0) + added), axis=0)
    return np.sqrt(np.maximum(deviation**2 - (MAD_TO_STD / 4) ** 2, 0))


class _Seen(NamedTuple):
    """Frames registered to their background.

    Attributes:
        background: (height, width), grey levels.
        gain: of bright pixels, (n,).
        moves: shift down and right, and rotation at half the longer side from the centre, (n, 3), pixels.
        residuals: differences of registered frames from the background, (n, height, width), grey levels, scaled up
            where interpolation averages noise.
        composites: frames that are equal to the background but for the arm and passers-by, uint8 (n, height, width).
    """

    background: Floats
    gain: Floats
    moves: Floats
    residuals: Floats
    composites: Images


def _registered(frames: Images, usable: NDArray[np.bool_], *, accurate: bool) -> _Seen:
    """The background, and each frame registered to it.

    Args:
        frames: uint8 (n, height, width).
        usable: pixels that are seldom saturated, (height, width).
        accurate: see `Registration`; before a saturated background wide scales would follow the arm.
    """
    images = torch.from_numpy(frames[:, None]).to(device_kind())
    registration = Registration(1, frames.shape[1:3], accurate=accurate)
    parameters = registration.to(device_kind()).adapt(images)
    residuals = registration.residuals(images.float().div_(255), parameters)[:, 0].mul_(255).double().cpu().numpy()
    background = registration.background[0].mul(255).double().cpu().numpy()
    factor, offset, *moves = parameters[:, 0].double().cpu().numpy().T
    # Gain and offset are ambiguous where the background has little contrast; the level of bright pixels is not.
    bright = usable & (background >= max(_BRIGHT * np.quantile(background[usable], 0.99), 1))
    level = float(np.median(background[bright])) / 255 if bright.any() else 1.0
    gain = np.maximum(factor + offset / level, 1e-3)
    moves = np.stack(moves, axis=1) / factor[:, None]
    # A pixel between two others is their mean, with weights u and 1 - u along each axis.
    between = moves[:, :2] % 1
    kept = np.sqrt((between**2 + (1 - between) ** 2).prod(1))
    composites = registration.composite(images, parameters)[:, 0].cpu().numpy()
    return _Seen(background, gain, moves, residuals / kept[:, None, None], composites)


def _as_they_are(frames: Images) -> _Seen:
    """The same for renderings before white, which hardly any pixel could register."""
    background = np.median(frames, axis=0)
    return _Seen(background, np.ones(len(frames)), np.zeros((len(frames), 3)), frames - background, frames)


def _blur(background: Floats) -> float:
    """From the steepest edges: a step of height h that a Gaussian of σ has blurred rises by h / (√(2π) σ) a pixel.

    The window in which h is measured grows until it holds four σ: a narrow one would take a wide edge for a low one.
    """
    slope, window = np.hypot(*np.gradient(background)), 9
    while True:
        height = ndimage.maximum_filter(background, window) - ndimage.minimum_filter(background, window)
        edges = height >= max(np.quantile(height, 0.9), 10.0)
        if not edges.any():
            return float("nan")
        sigma = 1 / (np.sqrt(2 * np.pi) * np.quantile((slope / np.maximum(height, 1e-9))[edges], 0.99))
        if 4 * sigma < window or window > max(background.shape) // 4:
            # Central differences blur a sharp edge by .65 pixel themselves.
            return float(np.sqrt(max(sigma**2 - 0.65**2, 0.0)))
        window = 2 * window - 1


def _moved_background(residuals: Floats, noise: float) -> float:
    """Share of the pixels in which the backgrounds of both halves differ."""
    half = len(residuals) // 2
    return float(changed_for_good(Usual(residuals[:half]), Usual(residuals[half:]), noise).mean())


def complaints(found: Nuisances, camera: str, side: int = _SIDE) -> tuple[str, ...]:
    """What to mend at the set-up, a line each.

    Args:
        found: of one camera.
        camera: its name.
        side: longer side of its images, pixels: lengths are judged as networks see them, at `_SIDE` pixels.
    """
    lines, scale = [], max(1.0, side / _SIDE)
    if found.light > 0.1:
        lines.append(
            f"the exposure varies by {found.light:.2f} stops: switch automatic exposure off, draw the curtains"
        )
    if found.noise > 5:
        lines.append(f"noise of {found.noise:.0f} grey levels: more light, a lower gain")
    if found.jitter > 0.5 * scale:
        lines.append(f"frames shift by {found.jitter:.1f} pixels: take the camera off the robot's table")
    if found.creep > scale:
        lines.append(f"the camera moved by {found.creep:.1f} pixels during the recording: tighten its mount")
    if found.blur > 1.5 * scale:
        lines.append(f"edges are blurred, σ {found.blur:.1f} pixels: focus the lens, shorten the exposure")
    if found.saturated > 0.05 and found.noise > 0.5:  # else it is a rendering before white
        lines.append(f"{found.saturated:.0%} of the pixels are black or white: more even light, or another exposure")
    if np.isnan(found.crowded) and not np.isnan(found.moved_background):
        lines.append(
            "the changed area varies more than that of an arm, so frames with people cannot be detected: keep people "
            "out of view, and the arm in view"
        )
    if found.crowded > _CROWDED:
        lines.append(f"in {found.crowded:.0%} of the frames more moves than the arm: keep people out of view")
    if found.moved_background > OTHER_BACKGROUND:
        lines.append(
            f"{found.moved_background:.0%} of the background changed for good halfway: leave the room as it is; "
            "ropes fit follows the change"
        )
    return tuple(f"camera {camera}: {line}" for line in lines)
