"""Checks names and arrays of images and angles before `ropes.data.writer.write_arrays` stores them."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.causal.scm import Regime
from ropes.common.arrays import Floats, Images
from ropes.errors import UserError

#: Images of a split: uint8 (episodes, frames, cameras, H, W), in colour (…, H, W, 3); or camera → uint8 (episodes,
#: frames, H, W), in colour (…, H, W, 3), where the cameras' sizes differ.
SplitImages = Images | Mapping[str, Images]


def require_names(cameras: Sequence[str], joints: Sequence[str], regimes: Sequence[Regime]) -> None:
    """Check the names of a data set.

    Raises:
        UserError: there is no camera or no regime, one is named twice, or a camera's name cannot name a folder.
    """
    for kind, names in (("camera", cameras), ("joint", joints), ("regime", [regime.name for regime in regimes])):
        if not names and kind != "joint":
            raise UserError(f"there is no {kind}; give at least one")
        if twice := [name for name in dict.fromkeys(names) if list(names).count(name) > 1]:
            raise UserError(f"{kind} {twice[0]!r} is given twice; give each {kind} once")
    for camera in cameras:
        if camera in ("", "..") or PurePosixPath(camera).name != camera:
            raise UserError(f"camera {camera!r} cannot name a folder; give a name without slashes")


def by_camera(images: Mapping[str, SplitImages], cameras: Sequence[str], regimes: int) -> dict[str, dict[str, Images]]:
    """Split → camera → uint8 (episodes, frames, H, W), in colour (…, H, W, 3).

    Args:
        images: split → images.
        cameras: names.
        regimes: number of regimes; an episode has one frame, or one for each regime.

    Raises:
        UserError: there are no images, an array has another type, shape or number of frames, a camera is missing or
            unknown, or cameras are partly grey and partly in colour.
    """
    if not images:
        raise UserError("there are no images; give those of at least one split")
    parts = {split: _split(split, given, cameras) for split, given in images.items()}
    for split, by_name in parts.items():
        counts = {pixels.shape[:2] for pixels in by_name.values()}
        if (0, regimes) in counts or (0, 1) in counts:
            raise UserError(f"split {split!r} has no episode; leave it out")
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


def states_of(
    states: Mapping[str, ArrayLike], parts: Mapping[str, Mapping[str, Images]], joints: Sequence[str]
) -> dict[str, Floats]:
    """Split → radians (episodes, frames, joints).

    Args:
        states: split → angles.
        parts: output of `by_camera`.
        joints: names.

    Raises:
        UserError: splits differ from those of the images, an array has another shape, or an angle is not finite.
    """
    if set(states) != set(parts):
        raise UserError(
            f"states have splits {', '.join(states) or 'none'}, and images {', '.join(parts)}; give equal splits"
        )
    found = {}
    for split, by_name in parts.items():
        angles = _array(states[split], f"states of split {split!r}", np.float64)
        shape = (*next(iter(by_name.values())).shape[:2], len(joints))
        if angles.shape != shape:
            raise UserError(
                f"states of split {split!r} have shape {angles.shape}, not {shape}: episodes, frames, joints"
            )
        if not np.isfinite(angles).all():
            raise UserError(
                f"states of split {split!r} hold an angle that is not a finite number; leave its frames out"
            )
        found[split] = angles
    return found


def _array(values: ArrayLike, what: str, dtype: type[np.float64] | None = None) -> NDArray[Any]:
    """An array of values, which may be nested lists."""
    try:
        return np.asarray(values, dtype)
    except (TypeError, ValueError) as error:
        raise UserError(f"{what} are no array of numbers ({error})") from error


def shapes(parts: Mapping[str, Mapping[str, Images]]) -> dict[str, tuple[int, ...]]:
    """Camera → shape of its images, (H, W) or (H, W, 3), from the output of `by_camera`."""
    return {camera: pixels.shape[2:] for by_name in parts.values() for camera, pixels in by_name.items()}


def _split(split: str, images: SplitImages, cameras: Sequence[str]) -> dict[str, Images]:
    """The images of each camera of one split, whose types and channels are checked."""
    if isinstance(images, Mapping):
        if set(images) != set(cameras):
            raise UserError(f"images of split {split!r} have cameras {', '.join(images)}, not {', '.join(cameras)}")
        parts = {camera: _array(images[camera], f"images of split {split!r}, camera {camera},") for camera in cameras}
    else:
        together = _array(images, f"images of split {split!r}")
        if together.ndim not in (5, 6) or together.shape[2] != len(cameras):
            raise UserError(f"images of split {split!r} have shape {together.shape}: not one frame a regime")
        parts = dict(zip(cameras, np.moveaxis(together, 2, 0), strict=True))
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
