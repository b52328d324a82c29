"""Training images registered to their cameras' backgrounds, where the frames are those of a real camera."""

import hashlib
import sys
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.common.files import read_json
from ropes.common.hardware import device_kind
from ropes.data.batches import TrainingImages
from ropes.errors import UserError
from ropes.methods.run import REGISTRATION_FILE, TRAINING_FILE
from ropes.models.checkpoints import load_tree, save_tree
from ropes.models.registration import VERSION, Registration, are_recorded

#: Frames that the registration is fitted on, evenly over the recording.
_FRAMES = 256


def register(
    images: TrainingImages, *, wanted: bool = True, show: bool = True
) -> tuple[TrainingImages, Registration | None]:
    """Register frames to their cameras' backgrounds; leaves renderings alone.

    Args:
        images: of the training split.
        wanted: False leaves all images alone.
        show: show progress, and say on standard error what the registration found.

    Returns:
        The images to learn from, and the registration for inference; the given images and None for renderings.
    """
    if not wanted:
        return images, None
    rows = np.unique(np.linspace(0, len(images) - 1, _FRAMES).round().astype(np.int64))
    frames = torch.from_numpy(images.pixels(rows))
    if not are_recorded(frames):
        return images, None
    views = frames.shape[1] // images.channels
    registration = Registration(views, frames.shape[-1], images.channels).to(device_kind())
    registration.adapt(frames.to(device_kind()))
    if show:
        print(f"ropes: {registration.summary()}; each frame is registered to its camera's background", file=sys.stderr)

    def transform(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return registration(torch.from_numpy(pixels).to(device_kind())).cpu().numpy()

    # The state depends on the images alone; its digest distinguishes subsets of them, and processors' last bits.
    digest = hashlib.sha256(b"".join(value.cpu().numpy().tobytes() for value in registration.buffers())).hexdigest()
    name = f"registered{VERSION}-{digest[:12]}-{len(images)}"
    return images.transformed(name, transform, "registering, frames", progress=show), registration


def write_registration(folder: Path, registration: Registration | None) -> None:
    """Store a run's registration in its folder, or remove that of an earlier fit."""
    path = folder / REGISTRATION_FILE
    if registration is None:
        path.unlink(missing_ok=True)
        return
    shape = {"views": registration.views, "channels": registration.channels}
    save_tree(path, {"version": VERSION, **shape, "state": dict(registration.state_dict())})


def read_registration(folder: Path) -> Registration | None:
    """The registration of a finished run; None where its images need none.

    Raises:
        UserError: the file is missing, damaged or of another version.
    """
    if not read_json(folder / TRAINING_FILE).get("registered", False):
        return None
    path = folder / REGISTRATION_FILE
    tree = load_tree(path)
    try:
        if tree["version"] != VERSION:
            raise UserError(f"{path} is of version {tree['version']}; run the same ropes fit command again")
        state = tree["state"]
        registration = Registration(tree["views"], state["background"].shape[-1], tree["channels"])
        registration.load_state_dict(state)
    except (KeyError, TypeError, RuntimeError) as error:
        raise UserError(f"{path} is damaged ({error}); run the same ropes fit command again") from error
    return registration
