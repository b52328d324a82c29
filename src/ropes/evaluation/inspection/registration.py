"""Registers a sample's frames where a real camera took them, so that light, shake and noise look like no motion."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.common.hardware import device_kind
from ropes.common.progress import progress
from ropes.evaluation.inspection.sample import Sample
from ropes.models.frame_changes import CHANGED, are_recorded, changed_areas, crowded
from ropes.models.registration import Registration

#: Frames that a registration is fitted on, and poses of each regime that are registered.
_FRAMES, _POSES = 200, 100
#: Pixels of the frames that are registered at once.
_PIXELS = 2_000_000
#: Standard deviations of the difference of two noisy pixels above which the pixel has moved.
_DEVIATIONS = 3.0


@dataclass(frozen=True)
class Disturbance:
    """Differences between the frames of a recording that are not the arm.

    Attributes:
        levels: (V,), greatest difference of two frames of each camera that noise explains, grey levels.
        crowded: bool (n, V), frames in which more than the arm moves.
    """

    levels: tuple[float, ...]
    crowded: NDArray[np.bool_]


def registered(sample: Sample, *, show: bool = True) -> tuple[Sample, Disturbance | None]:
    """Frames of recordings before a constant background, see `ropes.models.registration.Registration`.

    Args:
        sample: images of all regimes.
        show: show progress.

    Returns:
        At most 100 poses of each regime, with registered frames; the given sample and None for renderings.
    """
    first = np.unique(np.linspace(0, len(sample) - 1, _FRAMES).round().astype(np.int64))
    recorded = [are_recorded(_planes(camera[first])) for camera in sample.images]
    if not any(recorded):
        return sample, None
    regimes = [sample.rows(regime) for regime in np.unique(sample.regime)]
    evenly = [rows[np.unique(np.linspace(0, len(rows) - 1, _POSES).astype(np.int64))] for rows in regimes]
    rows = np.sort(np.concatenate(evenly))
    images: list[NDArray[np.uint8]] = []
    levels: list[float] = []
    crowds: list[NDArray[np.bool_]] = []
    done = 0
    with progress("registering, frames", len(rows) * sum(recorded), show=show) as update:
        for is_recorded, camera in zip(recorded, sample.images, strict=True):
            if is_recorded:
                registration = _fitted(_planes(camera[first]))
                composites, areas = [], []
                chunk = max(1, _PIXELS // int(np.prod(camera.shape[1:])))
                for start in range(0, len(rows), chunk):
                    frames = _planes(camera[rows[start : start + chunk]]).to(device_kind())
                    composites.append(registration.composite(frames).cpu())
                    areas.append(changed_areas(composites[-1], registration.background, frames.shape[1])[:, 0])
                    done += len(frames)
                    update(done)
                images.append(_images(torch.cat(composites), camera.ndim))
                levels.append(_noise(registration))
                crowds.append(crowded(np.concatenate(areas)))
            else:
                images.append(camera[rows])
                levels.append(float(CHANGED))
                crowds.append(np.zeros(len(rows), np.bool_))
    chosen = Sample(tuple(images), sample.regime[rows], sample.anchor[rows])
    return chosen, Disturbance(tuple(levels), np.stack(crowds, axis=1))


def _fitted(frames: Tensor) -> Registration:
    """The registration of one camera, fitted on frames (n, C, H, W)."""
    registration = Registration(1, (frames.shape[2], frames.shape[3]), frames.shape[1], accurate=True)
    registration.to(device_kind()).adapt(frames.to(device_kind()))
    return registration


def _noise(registration: Registration) -> float:
    """Greatest difference of two frames that noise explains, grey levels."""
    deviation = 255 * float(registration.noise.median())
    return max(float(CHANGED), _DEVIATIONS * 2**0.5 * deviation)


def _planes(images: NDArray[np.uint8]) -> Tensor:
    """Images of one camera → planes (n, C, H, W)."""
    planes = torch.from_numpy(images)
    return planes.unsqueeze(1) if planes.ndim == 3 else planes.permute(0, 3, 1, 2).contiguous()


def _images(planes: Tensor, axes: int) -> NDArray[np.uint8]:
    """The inverse of `_planes`."""
    images: NDArray[np.uint8] = (planes.squeeze(1) if axes == 3 else planes.permute(0, 2, 3, 1)).contiguous().numpy()
    return images
