"""Training images registered to their cameras' backgrounds, where the frames are those of a real camera."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.common.arrays import Images, Ints, Rows, evenly
from ropes.common.files import read_json
from ropes.common.hardware import device_kind
from ropes.data.batches import TrainingImages
from ropes.data.dataset import Dataset
from ropes.data.own_camera import exchanged
from ropes.errors import UserError
from ropes.methods.run import REGISTRATION_FILE, TRAINING_FILE
from ropes.methods.training.stretches import following
from ropes.models.checkpoints import WEIGHTS, load_tree, load_weights, save_tree
from ropes.models.cleaner import CLEANER, Cleaner
from ropes.models.coarse_registration import new_registration, zoom_of
from ropes.models.frame_changes import are_recorded, changed_areas, crowded
from ropes.models.pushes import from_one_place
from ropes.models.registration import VERSION, Registration
from ropes.models.zoom import shrink

#: Frames that are compared with the background at a time, if they are of the smaller size.
_CHUNK = 256
#: Share of poses with passers-by above which they are worth the training of a cleaner.
_SELDOM = 0.02
#: Fewest poses without passers-by that can train anything.
_FEWEST = 32
#: Folders of the cleaner in a run's: of its training on synthetic objects, and of its last one.
FIRST_CLEANER_FOLDER, CLEANER_FOLDER = "first-cleaner", "cleaner"
#: Frames that the registration is fitted on, evenly over the recording.
_FRAMES = 256


def has_one_background(dataset: Dataset) -> bool:
    """Whether each camera of a data set sees one background, so that frames can be registered to it.

    Data sets of other programs are taken to have one; MPI3D's photographs say how many they have.
    """
    return bool((dataset.provenance or {}).get("setting", {}).get("backgrounds", 1) == 1)


def register(
    images: TrainingImages, cameras: Sequence[str], *, wanted: bool = True, zoom: int = 1, show: bool = True
) -> tuple[TrainingImages, Registration | None]:
    """Register frames to their cameras' backgrounds; leaves renderings alone.

    Where a camera was pushed, a line on standard error says so; poses from another place than most are not `still`.

    Args:
        images: of the training split, in the order of recording.
        cameras: names of the cameras.
        wanted: False leaves all images alone.
        zoom: factor by which frames are shrunk to estimate their light and place.
        show: show progress, and say on standard error what the registration found.

    Returns:
        The images to learn from, without trust in those with passers-by, and the registration for inference; the given
        images and None for renderings.

    Raises:
        UserError: cameras were pushed, and too few poses are from one place of all, or none of a regime.
    """
    if not wanted:
        return images, None
    rows = evenly(len(images), _FRAMES)
    frames = torch.from_numpy(images.pixels(rows))
    views = frames.shape[1] // images.channels
    if not are_recorded(frames, views):
        return images, None
    registration = new_registration(views, frames.shape[-1], images.channels, zoom).to(device_kind())
    parameters = registration.adapt(frames.to(device_kind()))
    seen = _seen(images, frames, registration, cameras)
    for camera, (other, share) in exchanged(seen).items():
        found = f"ropes: warning: {share:.1%} of the frames of camera {camera} show what camera {other} sees"
        print(f"{found}; exchange or remove them", file=sys.stderr)
    first, last = _still(images, rows, seen, frames.shape[-1] // registration.pixel)
    registration.is_pushed = last - first + 1 < len(rows)
    if registration.is_pushed:
        images, rows, frames = (
            _from_one_place(images, rows[first], rows[last]),
            rows[first : last + 1],
            frames[first : last + 1],
        )
        parameters = registration.adapt(frames.to(device_kind()))
    registration = following(images, rows, frames, registration, parameters, cameras)
    if show:
        print(f"ropes: {variation(registration)}; each frame is registered to its camera's background", file=sys.stderr)

    trusted = register_to(images, registration, show=show)
    registration.is_cleaned = bool((~trusted.trusted[images.still]).mean() > _SELDOM)
    if show and registration.is_cleaned:
        print("ropes: a cleaner learns from the other poses to remove passers-by", file=sys.stderr)
    return trusted, registration


def _seen(
    images: TrainingImages, frames: Tensor, registration: Registration, cameras: Sequence[str]
) -> dict[str, Images]:
    """Each camera's frames in grey and without bars, of the side of the whole images, uint8 (n, h, w).

    Args:
        images: of the training split.
        frames: uint8 (n, P, H, W).
        registration: adapted to them.
        cameras: names.
    """
    seen = {}
    for view, camera in enumerate(cameras):
        planes = slice(view * images.channels, (view + 1) * images.channels)
        inside = registration.inside[planes][0, :: registration.pixel, :: registration.pixel].cpu()
        grey = shrink(frames[:, planes], registration.pixel).float().mean(1)[:, inside.any(1)][..., inside.any(0)]
        seen[camera] = grey.round().byte().numpy()
    return seen


def _still(images: TrainingImages, rows: Ints, seen: Mapping[str, Images], side: int) -> tuple[int, int]:
    """The first and the last of the frames between which no camera was pushed; warns of pushed cameras.

    Args:
        images: of the training split.
        rows: of the frames, (n,).
        seen: camera → frames, uint8 (n, h, w).
        side: of the images, pixels.
    """
    first, last = 0, len(rows) - 1
    for camera, grey in seen.items():
        moved, still = from_one_place(grey)
        found = f"ropes: warning: camera {camera} moved by {moved:.0f} of {side} pixels"
        if still.stop - still.start == len(rows):
            if moved:
                print(f"{found} during the recording: tighten its mount and record again", file=sys.stderr)
            continue
        since = " and ".join(str(images.anchor[rows[k]]) for k in (still.start, still.stop) if 0 < k < len(rows))
        learnt = "methods without labels learn from the longest part alone: fix the camera and record the rest again"
        print(f"{found} at anchor {since}; {learnt}", file=sys.stderr)
        first, last = max(first, still.start), min(last, still.stop - 1)
    return first, last


def _from_one_place(images: TrainingImages, first: int, last: int) -> TrainingImages:
    """Images of a recording in which no camera was pushed from the first of these rows to the last.

    Raises:
        UserError: too few rows, or none of a regime.
    """
    pose = np.arange(len(images))
    found = images.from_one_place((pose >= first) & (pose <= last))
    missing = np.setdiff1d(images.regime, images.regime[found.still])
    if last - first + 1 < _FEWEST or len(missing):
        poses = f"no image under regime {images.regimes[missing[0]].name} is" if len(missing) else "too few images are"
        raise UserError(f"{poses} from one place of all cameras; fix the cameras and record again")
    return found


def variation(registration: Registration) -> str:
    """What varies in the frames that a registration was fitted on, in words."""
    channels = registration.channels
    moves = registration.std[:, 2 * channels : 2 * channels + 2]
    shift = 2**-0.5 * registration.pixel * float(moves.norm(dim=1).max())
    light = float(registration.std[:, :channels].max())
    noise = 255 * float(registration.noise.median())
    return f"brightness varies by {light:.1%}, position by {shift:.2f} pixels, noise is {noise:.1f} grey levels"


def register_to(images: TrainingImages, registration: Registration, *, show: bool = True) -> TrainingImages:
    """Frames registered to the backgrounds of a registration, without trust in those with passers-by."""
    # The state depends on the images alone; its digest distinguishes subsets of them, and processors' last bits.
    stretches = [part for _, part in registration.earlier] + [registration]
    state = [value.cpu().numpy().tobytes() for part in stretches for value in part.buffers()]
    state += [str(anchor).encode() for anchor, _ in registration.earlier]
    name = f"registered{VERSION}-{hashlib.sha256(b''.join(state)).hexdigest()[:12]}-{len(images)}"
    number = np.searchsorted([anchor for anchor, _ in registration.earlier], images.anchor, side="right")

    def composite(planes: Tensor, rows: slice) -> Tensor:
        composites = torch.empty_like(planes)
        for k in np.unique(number[rows]):
            there = torch.from_numpy(number[rows] == k).to(planes.device)
            composites[there] = stretches[k].composite(planes[there])
        return composites

    registered = images.transformed(name, composite, "registering, frames", progress=show)
    return without_doubted(registered, registration, show=show)


def without_doubted(images: TrainingImages, registration: Registration, *, show: bool = True) -> TrainingImages:
    """Registered frames without trust in poses in which more than the arm moves.

    Where too few others remain all are trusted, and a line on standard error says so.  Poses with a
    camera at another place stay without trust.
    """
    still, doubted = images.still, np.zeros(len(images), np.bool_)
    doubted[still] = crowded(_changed_areas(images, registration)[still]).any(1)
    if not doubted.any():
        return images.trusting(~doubted)
    found = f"ropes: more than the arm moves in {doubted.mean():.1%} of the poses"
    if int((still & ~doubted).sum()) < _FEWEST:
        print(f"{found}; too few others remain, so all are used: record without people in view", file=sys.stderr)
        return images.trusting(np.ones_like(doubted))
    if show:
        print(f"{found}, which do not train", file=sys.stderr)
    return images.trusting(~doubted)


def _changed_areas(images: TrainingImages, registration: Registration) -> NDArray[np.float64]:
    """Share of each view's pixels that differ from the background, (n, V)."""
    areas, chunk = Rows[np.float64](len(images)), max(1, _CHUNK // zoom_of(registration) ** 2)
    for start in range(0, len(images), chunk):
        pixels = torch.from_numpy(images.pixels(np.arange(start, min(start + chunk, len(images)))))
        areas.put(start, changed_areas(pixels, registration.background, images.channels))
    return areas.all()


def write_registration(folder: Path, registration: Registration | None) -> None:
    """Store a run's registration in its folder, or remove that of an earlier fit."""
    path = folder / REGISTRATION_FILE
    if registration is None:
        path.unlink(missing_ok=True)
        return
    shape = {"views": registration.views, "channels": registration.channels, "cleaned": registration.is_cleaned}
    if registration.is_cleaned:
        shape["cleaner"] = CLEANER
    if (zoom := zoom_of(registration)) > 1:
        shape["zoom"] = zoom
    save_tree(path, {"version": VERSION, **shape, "state": registration.state_dict()})


def read_registration(folder: Path) -> Registration | None:
    """The registration of a finished run, with its cleaner; None where its images need none.

    Raises:
        UserError: a file is missing, damaged or of another version.
    """
    if not read_json(folder / TRAINING_FILE).get("registered", False):
        return None
    path = folder / REGISTRATION_FILE
    tree = load_tree(path)
    try:
        if tree["version"] != VERSION:
            raise UserError(f"{path} is of version {tree['version']}; run the same ropes fit command again")
        if tree["cleaned"] and tree.get("cleaner") != CLEANER:
            raise UserError(f"{folder} has a cleaner of an earlier ropes; run the same ropes fit command again")
        state = tree["state"]
        side, zoom = state["background"].shape[-1], tree.get("zoom", 1)
        registration = new_registration(tree["views"], side, tree["channels"], zoom)
        registration.load_state_dict(state)
        cleaned = tree["cleaned"]
    except (KeyError, TypeError, RuntimeError) as error:
        raise UserError(f"{path} is damaged ({error}); run the same ropes fit command again") from error
    if cleaned:
        registration.is_cleaned = True
        registration.cleaner = new_cleaner(registration)
        load_weights(registration.cleaner, folder / CLEANER_FOLDER / WEIGHTS)
        registration.eval()
    return registration


def new_cleaner(registration: Registration) -> Cleaner:
    """An untrained cleaner of registered frames."""
    background, views, channels = registration.background.cpu(), registration.views, registration.channels
    cleaner = Cleaner(background, views=views, channels=channels, zoom=zoom_of(registration))
    torch.nn.utils.convert_conv2d_weight_memory_format(cleaner, torch.channels_last)
    return cleaner
