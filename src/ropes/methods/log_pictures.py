"""Pictures for the log of a fit: training images, where the network looks, and reconstructions."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ropes.common.arrays import Images
from ropes.common.hardware import device_kind
from ropes.data.dataset import Dataset
from ropes.data.views import from_planes, planes, read_views, squares
from ropes.methods.readers import finished_reader
from ropes.methods.training.registration import read_registration

#: Poses in a picture, the first of the training split.
_POSES = 8
#: Share of the grey level that stays where the network does not look.
_DIMMED = 0.35


@torch.no_grad()
def log_pictures(folder: Path, dataset: Dataset) -> dict[str, Images]:
    """Pictures of a finished run of a method that reads joints: a column for each pose, a row for each camera.

    Args:
        folder: of the run.
        dataset: that it was fitted on.

    Returns:
        Name → uint8 (height, width, 3): "images" as the network gets them; "attention", the same, dark where a network
        with attention does not look; "reconstructions" of a method with a decoder.
    """
    device = torch.device(device_kind())
    run, reader = finished_reader(folder, device)
    views = squares(read_views(dataset, dataset.frames("train").index[:_POSES], run.cameras), reader.size)
    pixels = torch.from_numpy(np.ascontiguousarray(planes(views))).to(device)
    if (registration := read_registration(folder)) is not None:
        pixels = registration.to(device_kind()).cleaned(pixels)[0]
    shown = _in_colour(pixels, run.channels)
    pictures = {"images": _sheet(shown)}
    if (attention := reader.attention(pixels)) is not None:
        most = attention.flatten(2).softmax(-1).view_as(attention)
        most = most / most.amax((2, 3), keepdim=True)
        light = functional.interpolate(most.float(), size=shown.shape[2:4]).cpu().numpy()[..., None]
        pictures["attention"] = _sheet((shown * (_DIMMED + (1 - _DIMMED) * light)).astype(np.uint8))
    if (rebuilt := reader.reconstructions(pixels)) is not None:
        levels = rebuilt[-1].float().clamp(0, 1).mul(255).to(torch.uint8)
        pictures["reconstructions"] = _sheet(_in_colour(levels, run.channels))
    return pictures


def _in_colour(pixels: Tensor, channels: int) -> Images:
    """Planes (n, P, s, s) → (n, V, s, s, 3)."""
    images = from_planes(pixels.cpu().numpy(), channels)
    return images if channels > 1 else np.repeat(images[..., None], 3, axis=-1)


def _sheet(images: Images) -> Images:
    """Images (n, V, s, s, 3) → one picture (V·s, n·s, 3)."""
    poses, cameras, side = images.shape[:3]
    return np.ascontiguousarray(images.transpose(1, 2, 0, 3, 4).reshape(cameras * side, poses * side, 3))
