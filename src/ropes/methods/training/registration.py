"""Training images registered to their cameras' backgrounds, where the frames are those of a real camera."""

import hashlib
import sys
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.common.arrays import Rows, evenly
from ropes.common.files import read_json
from ropes.common.hardware import device_kind
from ropes.data.batches import TrainingImages
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.methods.run import REGISTRATION_FILE, TRAINING_FILE
from ropes.models.checkpoints import WEIGHTS, load_tree, load_weights, save_tree
from ropes.models.cleaner import CLEANER, Cleaner
from ropes.models.coarse_registration import new_registration, zoom_of
from ropes.models.frame_changes import are_recorded, changed_areas, crowded
from ropes.models.registration import VERSION, Registration

#: Frames that are compared with the background at a time, if they are of the smaller size.
_CHUNK = 256
#: Share of poses with passers-by above which they are worth the training of a cleaner.
_SELDOM = 0.02
#: Fewest poses without passers-by that can train anything.
_FEWEST = 32
#: Folder of the cleaner in a run's.
CLEANER_FOLDER = "cleaner"
#: Frames that the registration is fitted on, evenly over the recording.
_FRAMES = 256


def has_one_background(dataset: Dataset) -> bool:
    """Whether each camera of a data set sees one background, so that frames can be registered to it.

    Data sets of other programs are taken to have one; MPI3D's photographs say how many they have.
    """
    return bool((dataset.provenance or {}).get("setting", {}).get("backgrounds", 1) == 1)


def register(
    images: TrainingImages, *, wanted: bool = True, zoom: int = 1, show: bool = True
) -> tuple[TrainingImages, Registration | None]:
    """Register frames to their cameras' backgrounds; leaves renderings alone.

    Args:
        images: of the training split.
        wanted: False leaves all images alone.
        zoom: factor by which frames are shrunk to estimate their light and place.
        show: show progress, and say on standard error what the registration found.

    Returns:
        The images to learn from, without trust in those with passers-by, and the registration for inference; the given
        images and None for renderings.
    """
    if not wanted:
        return images, None
    rows = evenly(len(images), _FRAMES)
    frames = torch.from_numpy(images.pixels(rows))
    views = frames.shape[1] // images.channels
    if not are_recorded(frames, views):
        return images, None
    registration = new_registration(views, frames.shape[-1], images.channels, zoom).to(device_kind())
    registration.adapt(frames.to(device_kind()))
    if show:
        print(f"ropes: {variation(registration)}; each frame is registered to its camera's background", file=sys.stderr)

    trusted = register_to(images, registration, show=show)
    registration.is_cleaned = bool((~trusted.trusted).mean() > _SELDOM)
    if show and registration.is_cleaned:
        print("ropes: a cleaner learns from the other poses to remove passers-by", file=sys.stderr)
    return trusted, registration


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
    digest = hashlib.sha256(b"".join(value.cpu().numpy().tobytes() for value in registration.buffers())).hexdigest()
    name = f"registered{VERSION}-{digest[:12]}-{len(images)}"
    registered = images.transformed(name, registration.composite, "registering, frames", progress=show)
    return without_doubted(registered, registration, show=show)


def without_doubted(images: TrainingImages, registration: Registration, *, show: bool = True) -> TrainingImages:
    """Registered frames without trust in poses in which more than the arm moves.

    Where too few others remain all are trusted, and a line on standard error says so.
    """
    doubted: NDArray[np.bool_] = np.logical_or.reduce(crowded(_changed_areas(images, registration)), axis=1)
    if not doubted.any():
        return images.trusting(~doubted)
    found = f"ropes: more than the arm moves in {doubted.mean():.1%} of the poses"
    if int((~doubted).sum()) < _FEWEST:
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
