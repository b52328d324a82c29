"""Samples training images of each regime; registers frames of a real camera, so that shake and noise are no motion."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ropes.common.arrays import Bools, Images, Ints, evenly
from ropes.common.hardware import device_kind
from ropes.common.png import bars
from ropes.common.progress import progress
from ropes.common.seeds import generator
from ropes.data.chains import has_chains
from ropes.data.dataset import Dataset
from ropes.data.pictures import letterbox
from ropes.errors import UserError
from ropes.models.coarse_registration import ZoomedRegistration
from ropes.models.frame_changes import CHANGED, are_recorded, camera_planes, changed_areas, crowded, explained_by_noise
from ropes.models.registration import Registration

#: Largest number of poses per regime: enough to estimate a contrast within 0.02 nats, and read within seconds.
MAX_POSES = 400
#: Memory for the images, bytes, which limits the number of poses; and the smallest number of poses per regime.
MAX_BYTES, MIN_POSES = 400_000_000, 40
#: Frames that a registration is fitted on, and poses of each regime that are registered.
_FRAMES, _POSES = 200, 100
#: Pixels of the frames that are registered at once.
_PIXELS = 2_000_000
#: Longer side in pixels of the images of `ropes fit`; greatest multiple of it to which larger frames are shrunk.
SIDE, MOST_ZOOM = 128, 4


@dataclass(frozen=True)
class Sample:
    """Images with their regime (task index) and anchor, (n,) each.

    Attributes:
        images: of each camera, uint8 (n, H, W), or (n, H, W, 3) in colour.
        regime: task index.
        anchor: number of the anchor or chain.
        chains: whether the images are those of whole chains, each in the order of recording.
    """

    images: tuple[Images, ...]
    regime: Ints
    anchor: Ints
    chains: bool = False

    def rows(self, regime: int | None) -> Ints:
        """The rows of a regime; none for None."""
        return np.flatnonzero(self.regime == regime)

    def __len__(self) -> int:
        return len(self.regime)


def draw_sample(dataset: Dataset, *, seed: int = 0, show: bool = True) -> Sample:
    """Read up to `MAX_POSES` training poses of each regime, as many as fit into `MAX_BYTES`, but at least `MIN_POSES`.

    Of chains it reads as many images, of whole chains.

    Args:
        dataset: the data set.
        seed: seed of the choice of anchors.
        show: show progress.

    Raises:
        UserError: no training images, or a damaged file.
    """
    frames = dataset.frames("train")
    if not len(frames):
        raise UserError(f"{dataset.path} has no training images")
    anchors, number = np.unique(frames.anchor, return_inverse=True)
    order = generator(seed, "inspect").permutation(len(anchors))
    ranked = np.argsort(order[number], kind="stable")
    size = sum(int(np.prod(shape)) for shape in dataset.image_shapes) * len(dataset.regimes)
    poses = max(MIN_POSES, min(MAX_POSES, MAX_BYTES // size))
    regimes = range(len(dataset.regimes))
    if chains := has_chains(dataset):
        places = np.flatnonzero(np.isin(frames.anchor, _first_chains(frames.anchor[ranked], poses * len(regimes))))
    else:
        places = np.sort(np.concatenate([ranked[frames.regime[ranked] == regime][:poses] for regime in regimes]))
    images = tuple(np.empty((len(places), *shape), np.uint8) for shape in dataset.image_shapes)
    rows, done = frames.index[places], 0
    with progress("reading images, poses", len(rows), show=show) as update:
        for _, _, part in dataset.by_file(rows):
            for all_of_camera, read in zip(images, dataset.read_cameras(rows[part]), strict=True):
                all_of_camera[part] = read
            done += len(part)
            update(done)
    return Sample(images, frames.regime[places], frames.anchor[places], chains)


def _first_chains(anchor: Ints, poses: int) -> Ints:
    """The first chains with at most so many poses together, at least one, from the chain of each pose, (n,)."""
    number, first, count = np.unique(anchor, return_index=True, return_counts=True)
    order = np.argsort(first)
    few = np.cumsum(count[order]) <= poses
    few[0] = True
    return number[order][few]


@dataclass(frozen=True)
class Disturbance:
    """Differences between the frames of a recording that are not the arm.

    Attributes:
        levels: (V,), greatest difference of two frames of each camera that noise explains, grey levels.
        crowded: bool (n, V), frames in which more than the arm moves.
    """

    levels: tuple[float, ...]
    crowded: Bools


def registered(sample: Sample, *, show: bool = True) -> tuple[Sample, Disturbance | None]:
    """Frames of recordings before a constant background, see `ropes.models.registration.Registration`.

    Frames with more than 128 pixels along the longer side are first shrunk to the largest multiple of 128 pixels, at
    most 512.  Their light and place are estimated at 128 pixels, as `ropes fit` does.  So memory and time are bounded.

    Args:
        sample: images of all regimes.
        show: show progress.

    Returns:
        At most 100 poses of each regime, with registered frames; the given sample and None for renderings.
    """
    first = evenly(len(sample), _FRAMES)
    recorded = [are_recorded(camera_planes(_thinned(camera)[first])) for camera in sample.images]
    if not any(recorded):
        return sample, None
    regimes = [sample.rows(regime) for regime in np.unique(sample.regime)]
    rows = np.sort(np.concatenate([rows[evenly(len(rows), _POSES)] for rows in regimes]))
    if sample.chains:
        rows = np.flatnonzero(np.isin(sample.anchor, _first_chains(sample.anchor, len(rows))))
    images: list[Images] = []
    levels: list[float] = []
    crowds: list[Bools] = []
    done = 0
    with progress("registering, frames", len(rows) * sum(recorded), show=show) as update:
        for is_recorded, camera in zip(recorded, sample.images, strict=True):
            if is_recorded:
                frames = camera_planes(_shrunk(camera, first)).to(device_kind())
                registration = _registration(frames)
                composites, areas = [], []
                chunk = max(1, _PIXELS // frames[0].numel())
                for start in range(0, len(rows), chunk):
                    frames = camera_planes(_shrunk(camera, rows[start : start + chunk])).to(device_kind())
                    composites.append(registration.composite(frames).cpu())
                    areas.append(changed_areas(composites[-1], registration.background, frames.shape[1])[:, 0])
                    done += len(frames)
                    update(done)
                images.append(_without_bars(_images(torch.cat(composites), camera.ndim), camera.shape[1:3]))
                levels.append(explained_by_noise(registration.noise[registration.inside]))
                crowds.append(crowded(np.concatenate(areas)))
            else:
                images.append(camera[rows])
                levels.append(float(CHANGED))
                crowds.append(np.zeros(len(rows), np.bool_))
    chosen = Sample(tuple(images), sample.regime[rows], sample.anchor[rows], sample.chains)
    return chosen, Disturbance(tuple(levels), np.stack(crowds, axis=1))


def _registration(frames: Tensor) -> Registration:
    """An accurate registration of one camera, fitted on frames uint8 (n, C, H, W), see `registered`."""
    zoom = max(frames.shape[2:]) // SIDE
    if zoom < 2:
        return Registration.of_camera(frames)
    zoomed = ZoomedRegistration(1, frames.shape[3], frames.shape[1], zoom=zoom, accurate=True).to(frames.device)
    zoomed.adapt(frames)
    return zoomed


def _thinned(images: Images) -> Images:
    """Every k-th pixel of images (n, H, W[, 3]), at least 128 along the longer side: pixels keep their noise."""
    step = max(1, max(images.shape[1:3]) // SIDE)
    return images[:, ::step, ::step]


def _shrunk(images: Images, rows: Ints) -> Images:
    """Rows of images (n, H, W[, 3]); those of more than 128 pixels letterboxed to a multiple, see `registered`."""
    longer = max(images.shape[1:3])
    if longer <= SIDE:
        return images[rows]
    side = SIDE * min(longer // SIDE, MOST_ZOOM)
    return np.concatenate([letterbox(images[row : row + 1], side) for row in rows])


def _without_bars(images: Images, size: tuple[int, int]) -> Images:
    """The part of images by `_shrunk` (n, S, S[, 3]) in which those of this size lie, without the black bars."""
    if images.shape[1:3] == size:
        return images
    height, width = (max(1, round(images.shape[1] * each / max(size))) for each in size)
    top, left = bars(height, width)
    return images[:, top : top + height, left : left + width]


def _images(planes: Tensor, axes: int) -> Images:
    """The inverse of `camera_planes`."""
    images: Images = (planes.squeeze(1) if axes == 3 else planes.permute(0, 2, 3, 1)).contiguous().numpy()
    return images
