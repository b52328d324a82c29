"""Checks arrays of images before `ropes.data.writer.write_arrays` stores them."""

from collections.abc import Mapping, Sequence

import numpy as np

from ropes.common.arrays import Images
from ropes.errors import UserError

#: Images of a split: uint8 (episodes, frames, cameras, H, W), in colour (…, H, W, 3); or camera → uint8 (episodes,
#: frames, H, W), in colour (…, H, W, 3), where the cameras' sizes differ.
SplitImages = Images | Mapping[str, Images]


def by_camera(images: Mapping[str, SplitImages], cameras: Sequence[str], regimes: int) -> dict[str, dict[str, Images]]:
    """Split → camera → uint8 (episodes, frames, H, W), in colour (…, H, W, 3).

    Args:
        images: split → images.
        cameras: names.
        regimes: number of regimes; an episode has one frame, or one for each regime.

    Raises:
        UserError: an array has another type, shape or number of frames, a camera is missing or unknown, or cameras are
            partly grey and partly in colour.
    """
    parts = {split: _split(split, given, cameras) for split, given in images.items()}
    for split, by_name in parts.items():
        counts = {pixels.shape[:2] for pixels in by_name.values()}
        if len(counts) > 1 or next(iter(counts))[1] not in (1, regimes):
            shapes = " and ".join(str(shape) for shape in dict.fromkeys(each.shape for each in by_name.values()))
            raise UserError(f"images of split {split!r} have shape {shapes} a camera: not one frame a regime")
    for camera in cameras:
        shape, *others = dict.fromkeys(by_name[camera].shape[2:] for by_name in parts.values())
        if others:
            raise UserError(
                f"images of one split have shape {shape} and of another {others[0]}: give one shape for all of a camera"
            )
    kinds = {camera: "grey" if by_name[camera].ndim == 4 else "in colour" for camera in cameras}
    if len(set(kinds.values())) > 1:
        described = ", ".join(f"{camera} {kind}" for camera, kind in kinds.items())
        raise UserError(f"cameras are {described}; make all grey or all colour")
    return parts


def shapes(parts: Mapping[str, Mapping[str, Images]]) -> dict[str, tuple[int, ...]]:
    """Camera → shape of its images, (H, W) or (H, W, 3), from the output of `by_camera`."""
    return {camera: pixels.shape[2:] for by_name in parts.values() for camera, pixels in by_name.items()}


def _split(split: str, images: SplitImages, cameras: Sequence[str]) -> dict[str, Images]:
    """The images of each camera of one split, whose types and channels are checked."""
    if isinstance(images, Mapping):
        if set(images) != set(cameras):
            raise UserError(f"images of split {split!r} have cameras {', '.join(images)}, not {', '.join(cameras)}")
        parts = {camera: np.asarray(images[camera]) for camera in cameras}
    elif images.ndim not in (5, 6) or images.shape[2] != len(cameras):
        raise UserError(f"images of split {split!r} have shape {images.shape}: not one frame a regime")
    else:
        parts = dict(zip(cameras, np.moveaxis(images, 2, 0), strict=True))
    for camera, pixels in parts.items():
        what = f"images of split {split!r}, camera {camera},"
        if pixels.dtype != np.uint8:
            raise UserError(f"{what} are {pixels.dtype}; give 8-bit levels, uint8")
        if pixels.ndim not in (4, 5) or 0 in pixels.shape[2:]:
            raise UserError(
                f"{what} have shape {pixels.shape}, not (episodes, frames, height, width) with 3 for colour"
            )
        if pixels.shape[4:] not in ((), (3,)):
            raise UserError(f"{what} have {pixels.shape[4]} channels; give grey images without that axis, or RGB")
    return parts
