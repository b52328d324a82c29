"""Finds when a camera moved and by how many pixels, and how its light changed, by registering each frame."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from ropes.common.arrays import Floats
from ropes.models.alignment import best_place, match_strength, phase_correlation
from ropes.models.frame_changes import MAD_TO_STD
from ropes.models.registration import Registration
from ropes.simulation.camera_model import GAMMA

#: A camera moved where the running median of this many frames is off by so many pixels of the images that networks see,
#: and by so many standard errors of the median.
_WINDOW, TOLERATED, _ERRORS = 9, 1.0, 5.0
#: Longer side of those images in pixels, at which `TOLERATED` holds.
_SIDE = 128
#: Standard error of a median of n normal values, in units of σ / √n.
_MEDIAN_ERROR = 1.2533
#: Root mean square slope of a background below which no shift can be measured, levels a pixel.
_LEAST_SLOPE = 1.0
#: Running median of `match_strength` below which frames do not show the background.
_LEAST_MATCH = 1.1
#: Frames that are registered at a time.
_CHUNK = 128
#: Change of the light that counts, stops.
LIGHT_CHANGED = 0.1


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Frames in which a camera stood elsewhere.

    Attributes:
        first, last: indices of the frames.
        pixels: median distance from its usual place, pixels of the camera's images.
        most: largest distance.
    """

    first: int
    last: int
    pixels: float
    most: float


@dataclass(frozen=True, kw_only=True)
class CameraDrift:
    """How one camera moved and its light changed.

    Attributes:
        camera: its name.
        shift: running median of the distance from the usual place, pixels of the camera's images, (n,); NaN where a
            frame does not show the background, and everywhere if the background has too few edges to tell.
        stretches: frames in which the camera stood elsewhere, in order.
        tolerated: distance that counts as the same place, pixels.
        light: change of the light in each frame, stops, (n,); NaN where `shift` is.
    """

    camera: str
    shift: Floats
    stretches: tuple[Stretch, ...]
    tolerated: float
    light: Floats

    @property
    def moved(self) -> bool:
        """Whether the camera stood elsewhere in some frames."""
        return bool(self.stretches)

    @property
    def known(self) -> bool:
        """Whether the background has enough edges to tell, and frames show it."""
        return not bool(np.isnan(self.shift).all())

    @property
    def unseen(self) -> int:
        """Number of frames that do not show the background: covered, dark or noisy."""
        return int(np.isnan(self.shift).sum())

    @property
    def light_change(self) -> float:
        """Median change of the light over the frames, stops; NaN if it is not known."""
        return float(np.nanmedian(self.light)) if self.known else np.nan


@torch.no_grad()
def camera_drift(
    camera: str, frames: Tensor, registration: Registration, view: int = 0, *, scale: float = 1.0
) -> CameraDrift:
    """Measure one camera in each frame against the frames of its registration.

    The parameters of `Registration.estimate` less their mean give shift and rotation.  Where a frame matches the
    background best at another place, by phase correlation, that place is the shift.  The three components are smoothed
    by a running median of nine frames, so that a move is found within ten.  Frames that do not match the background
    at any place, see `match_strength`, do not count.

    Args:
        camera: its name.
        frames: of all of the registration's cameras, uint8 (n, P, s, s), in the order of the recording.
        registration: fitted on frames of the usual place and light.
        view: index of the camera among those of the registration.
        scale: pixels of the camera's images in one of the frames.

    Returns:
        Distances in pixels of the camera's images, light in stops; of all frames.
    """
    channels = registration.channels
    planes = slice(view * channels, (view + 1) * channels)
    background = registration.background[planes]
    found, far, places, matches = [], [], [], []
    for start in range(0, len(frames), _CHUNK):
        levels = frames[start : start + _CHUNK].float().div_(255)
        found.append(registration.estimate(levels)[:, view])
        grey = levels[:, planes].mean(1)
        grey -= grey.mean((1, 2), keepdim=True)
        match = phase_correlation(grey, background.mean(0))
        elsewhere, place = best_place(match)
        matches.append(match_strength(match))
        far.append(elsewhere)
        places.append(place)
    parameters = torch.cat(found).double().cpu().numpy()
    usual = registration.mean[view].double().cpu().numpy()
    gain = parameters[:, :channels].mean(1)
    moves = parameters[:, 2 * channels :] / gain[:, None] - usual[2 * channels :]
    is_far = torch.cat(far).cpu().numpy()
    moves[is_far] = np.column_stack([torch.cat(places).double().cpu().numpy()[is_far], np.zeros(is_far.sum())])
    moves *= scale
    light = _light(parameters, usual, background, channels)
    seen = ~unseen_frames(torch.cat(matches).double().cpu().numpy()) & _textured(background)
    tolerated = TOLERATED * max(1.0, scale * frames.shape[-1] / _SIDE)
    shift, stretches, tolerated = moved_stretches(moves, tolerated, seen)
    light[~seen] = np.nan
    return CameraDrift(camera=camera, shift=shift, stretches=stretches, tolerated=tolerated, light=light)


def moved_stretches(
    moves: Floats, tolerated: float, seen: NDArray[np.bool_]
) -> tuple[Floats, tuple[Stretch, ...], float]:
    """Where the running median of the moves leaves the usual place.

    Args:
        moves: components of each frame's move, (n, c), pixels.
        tolerated: least distance that counts as a move, pixels.
        seen: frames whose moves count, bool (n,).

    Returns:
        Running median of the distance, (n,), pixels, NaN in other frames; the stretches of at least five frames beyond
        the bound; and the bound: `tolerated`, or five standard errors of a running median where frames shake more.
    """
    distance, rows_seen = np.full(len(moves), np.nan), np.flatnonzero(seen)
    if len(rows_seen) == 0:
        return distance, (), tolerated
    moves = moves[rows_seen]
    smooth = ndimage.median_filter(moves, size=(_WINDOW, 1), mode="nearest")
    distance[rows_seen] = np.linalg.norm(smooth, axis=1)
    shake = np.diff(moves, axis=0) if len(moves) > 1 else np.zeros_like(moves)
    noise = MAD_TO_STD * float(np.median(np.abs(shake - np.median(shake, axis=0)), axis=0).max()) / np.sqrt(2)
    bound = max(tolerated, _ERRORS * _MEDIAN_ERROR * noise / np.sqrt(_WINDOW))
    labels, count = ndimage.label(distance > bound)
    stretches = []
    for number in range(1, count + 1):
        rows = np.flatnonzero(labels == number)
        if len(rows) > _WINDOW // 2:
            first, last = int(rows[0]), int(rows[-1])
            pixels, most = float(np.median(distance[rows])), float(distance[rows].max())
            stretches.append(Stretch(first=first, last=last, pixels=pixels, most=most))
    return distance, tuple(stretches), bound


def unseen_frames(strength: Floats) -> NDArray[np.bool_]:
    """Frames that do not show the background, from their `match_strength` (n,): where its running median is low.

    Single frames with a low match, as noise brings them about, show it.
    """
    low = ndimage.median_filter(strength, size=_WINDOW, mode="nearest") <= _LEAST_MATCH
    beside = ndimage.binary_dilation(low, iterations=_WINDOW // 2)
    return np.asarray(low | (beside & (strength <= _LEAST_MATCH)))


def _textured(background: Tensor) -> bool:
    """Whether a background (C, s, s), in units of white, has slopes by which a shift can be measured."""
    down, right = np.gradient(255 * background.mean(0).double().cpu().numpy())
    return bool(np.sqrt((down**2 + right**2).mean()) > _LEAST_SLOPE)


def _light(parameters: Floats, usual: Floats, background: Tensor, channels: int) -> Floats:
    """Change of the light, stops, (n,): of the background's bright pixels."""
    levels: NDArray[np.float32] = background.mean(0).cpu().numpy()
    level = max(float(np.quantile(levels, 0.75)), 0.05)

    def brightness(each: Floats) -> Floats:
        return np.maximum(each[..., :channels].mean(-1) + each[..., channels : 2 * channels].mean(-1) / level, 1e-3)

    return np.asarray(GAMMA * np.log2(brightness(parameters) / brightness(usual)))
