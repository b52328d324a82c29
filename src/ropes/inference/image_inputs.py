"""Brings files, Pillow images, arrays and tensors of images to the arrays that a run reads."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard, cast

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from ropes.common.arrays import Images
from ropes.common.stores import Location, is_location, location
from ropes.data.dataset import Dataset
from ropes.data.layout import is_dataset_folder, open_dataset
from ropes.data.views import Views, joined
from ropes.errors import UserError
from ropes.inference.sources import files_in, named_images, read_image
from ropes.methods.run import Run

#: One image of a camera: a PNG file, a Pillow image, or uint8 (H, W), in colour (H, W, 3); an array may hold several.
CameraImage: TypeAlias = Path | str | Image.Image | NDArray[Any] | Tensor
#: Images of one pose or several, see `as_views`.
ImageInput: TypeAlias = (
    CameraImage | Mapping[str, "CameraImage | Sequence[CameraImage]"] | Sequence["ImageInput"] | Sequence[CameraImage]
)
#: The image of each camera, in the order of the run.
Pose = dict[str, Path | Image.Image | Images]


def opened(source: Dataset | ImageInput | Location) -> Dataset | ImageInput:
    """The data set in a folder or at a URL, and other sources as they are.

    Raises:
        UserError: a URL of something else.
    """
    if not is_location(source):
        return cast("Dataset | ImageInput", source)
    if is_dataset_folder(source):
        return open_dataset(source)
    path = location(source)
    if not isinstance(path, Path):
        raise UserError(f"{source} is no data set; copy images to this machine")
    return path


def as_views(run: Run, images: ImageInput) -> Views:
    """Bring images to the arrays that a run reads.

    Args:
        run: the run, with V cameras.  Every image has the size and type of its camera's training images.
        images: one of these, where n is the number of poses:

            - an array or tensor, uint8 (n, V, H, W), in colour (n, V, H, W, 3); without n it is one pose; with one
              camera V may be left out;
            - a dictionary camera → image or images: files, Pillow images or arrays (H, W) or (n, H, W);
            - a list of poses: each an array (V, H, W), a list of V images in the order of `run.cameras`, or a
              dictionary;
            - a list of V images, one pose; or of V arrays (n, H, W), one per camera;
            - a folder of images, or with one camera an image, see `ropes.inference.sources.files_in`.

    Raises:
        UserError: images of another form, size or type, or a camera is missing.
    """
    if isinstance(images, np.ndarray | Tensor):
        return _stacked(run, images)
    if _is_list(images) and (cameras := _by_camera(run, images)) is not None:
        return joined(cameras)
    return read_poses(run, poses_of(run, images))


def poses_of(run: Run, images: ImageInput) -> list[Pose]:
    """The image of each camera for each pose, see `as_views`; files and Pillow images are not read yet."""
    if isinstance(images, np.ndarray | Tensor):
        return [_named(run, pose) for pose in _stacked(run, images)]
    if isinstance(images, Mapping):
        return _of_mapping(run, images)
    if isinstance(images, str | Path):
        path = Path(images)
        if is_dataset_folder(path):
            raise UserError(f"{path} is a data set; Estimator.images reads its images, and ropes.predict its angles")
        return [dict(pose) for pose in files_in(run, path)]
    if isinstance(images, Image.Image):
        return _of_list(run, [images])
    if _is_list(images):
        return _of_list(run, images)
    if isinstance(images, Dataset):
        raise UserError("Estimator.images reads the images of a Dataset; give them, or use ropes.predict")
    raise _no_image(images)


def read_poses(run: Run, poses: Sequence[Pose]) -> Views:
    """The pixels of some poses.

    Raises:
        UserError: a file is missing or damaged, or an image has another size or type than the run's.
    """
    stacks = []
    for camera, shape in zip(run.cameras, run.shapes, strict=True):
        pixels = [_pixels(run, camera, pose[camera]) for pose in poses]
        stacks.append(np.stack(pixels) if pixels else np.empty((0, *shape), np.uint8))
    return joined(stacks)


def _of_mapping(run: Run, images: Mapping[str, Any]) -> list[Pose]:
    stacks = {camera: _stack(run, camera, given) for camera, given in named_images(run, images).items()}
    counts = {camera: len(stack) for camera, stack in stacks.items()}
    if len(set(counts.values())) > 1:
        each = ", ".join(f"{number} of {camera}" for camera, number in counts.items())
        raise UserError(f"the cameras have different numbers of images: {each}")
    return [dict(zip(stacks, row, strict=True)) for row in zip(*stacks.values(), strict=True)]


def _stack(run: Run, camera: str, given: Any) -> list[Path | Image.Image | Images]:
    """One image or several of a camera, as a list."""
    shape = _shape(run, camera)
    if isinstance(given, np.ndarray | Tensor):
        if tuple(given.shape[-len(shape) :]) == shape and given.ndim <= len(shape) + 1 and _is_uint8(given):
            return list(_numpy(given).reshape(-1, *shape))
        wanted = f"uint8 {_axes(shape)} of {camera}, or {shape} for one pose"
        raise _refusal([given], wanted)
    if _is_list(given):
        return [image for part in given for image in _stack(run, camera, part)]
    return [_image(given)]


def _of_list(run: Run, images: Sequence[Any]) -> list[Pose]:
    if all(isinstance(each, Mapping) for each in images):
        return [pose for each in images for pose in _of_mapping(run, each)]
    if (pose := _one_pose(run, images)) is not None:
        return [pose]
    if (cameras := _by_camera(run, images)) is not None:
        return [dict(zip(run.cameras, row, strict=True)) for row in zip(*cameras, strict=True)]
    poses = [_pose(run, each) for each in images]
    found = [pose for pose in poses if pose is not None]
    if len(found) == len(poses):
        return found
    if all(isinstance(each, np.ndarray | Tensor) for each in images):
        raise _refusal(images, _wanted(run))
    for each in images:
        if not (_is_list(each) or isinstance(each, Mapping | np.ndarray | Tensor)):
            _image(each)
    raise UserError(
        f"pose {poses.index(None)} is not one image of each camera ({', '.join(run.cameras)}); give a list of poses, "
        "each with the cameras in this order, or a dictionary camera → images"
    )


def _pose(run: Run, given: Any) -> Pose | None:
    """The pose of a list's element; None if it is none."""
    if isinstance(given, np.ndarray | Tensor):
        same = len(set(run.shapes)) == 1 and tuple(given.shape) == (len(run.cameras), *run.shapes[0])
        if same and _is_uint8(given):
            return _named(run, _numpy(given))
    return _one_pose(run, given if _is_list(given) else [given])


def _one_pose(run: Run, images: Sequence[Any]) -> Pose | None:
    """One image of each camera in the order of the run; None for others."""
    if len(images) != len(run.cameras):
        return None
    pose: Pose = {}
    for camera, given in zip(run.cameras, images, strict=True):
        if isinstance(given, np.ndarray | Tensor):
            if tuple(given.shape) != _shape(run, camera) or not _is_uint8(given):
                return None
            pose[camera] = _numpy(given)
        elif isinstance(given, str | Path | Image.Image):
            pose[camera] = _image(given)
        else:
            return None
    return pose


def _by_camera(run: Run, images: Sequence[Any]) -> list[Images] | None:
    """One array (n, H, W[, 3]) per camera; None for others."""
    arrays = [each for each in images if isinstance(each, np.ndarray | Tensor) and _is_uint8(each)]
    if not len(arrays) == len(images) == len(run.cameras) or len({len(each) for each in arrays if each.ndim}) > 1:
        return None
    if [tuple(each.shape[1:]) for each in arrays] != list(run.shapes):
        return None
    if len(arrays) > 1 and len(set(run.shapes)) == 1 and len(arrays[0]) == len(arrays):
        shape = tuple(arrays[0].shape)
        raise UserError(
            f"{len(arrays)} arrays of shape {shape} can be poses or cameras; give one array {_axes(shape)} with the "
            "poses first, or a dictionary camera → images"
        )
    return [_numpy(each) for each in arrays]


def _stacked(run: Run, images: NDArray[Any] | Tensor) -> Images:
    """An array in any form that the run reads, as uint8 (n, V, H, W[, 3])."""
    views, shape, given = len(run.cameras), run.shapes[0], tuple(images.shape)
    if len(set(run.shapes)) == 1 and _is_uint8(images):
        if given[1:] == (views, *shape):
            return _numpy(images)
        if given == (views, *shape) or (views == 1 and shape in (given, given[1:])):
            return _numpy(images).reshape(-1, views, *shape)
    raise _refusal([images], _wanted(run))


def _pixels(run: Run, camera: str, image: Path | Image.Image | Images) -> Images:
    if isinstance(image, Path):
        return read_image(run, camera, image)
    if isinstance(image, np.ndarray):
        return image
    shape = _shape(run, camera)
    mode = "RGB" if len(shape) > 2 else "L"
    if (image.mode, image.height, image.width) != (mode, *shape[:2]):
        raise UserError(
            f"camera {camera}: a Pillow image of {image.height}x{image.width} in mode {image.mode}; this run reads "
            f"{shape[0]}x{shape[1]} in mode {mode}"
        )
    return np.asarray(image)


def _image(given: Any) -> Path | Image.Image:
    """A file or a Pillow image."""
    if isinstance(given, str | Path):
        return Path(given)
    if isinstance(given, Image.Image):
        return given
    raise _no_image(given)


def _no_image(given: object) -> UserError:
    return UserError(
        f"images of type {type(given).__name__}: give PNG or JPEG files, Pillow images, or uint8 arrays or tensors"
    )


def _refusal(parts: Sequence[NDArray[Any] | Tensor], wanted: str) -> UserError:
    """The error of arrays of another shape or type."""
    shapes = " and ".join(dict.fromkeys(f"{tuple(part.shape)}" for part in parts))
    types = " and ".join(dict.fromkeys(str(part.dtype) for part in parts))
    scaled = any("float" in str(part.dtype) for part in parts)
    hint = "; bring floats in [0, 1] to levels from 0 to 255: (255 * images).round(), as uint8" if scaled else ""
    return UserError(f"images of shape {shapes} and type {types}: this run reads {wanted}{hint}")


def _wanted(run: Run) -> str:
    views, shapes = len(run.cameras), run.shapes
    if len(set(shapes)) == 1:
        return f"uint8 {_axes((views, *shapes[0]))}, or {(views, *shapes[0])} for one pose"
    each = ", ".join(f"{_axes(shape)} of {name}" for name, shape in zip(run.cameras, shapes, strict=True))
    return f"one uint8 array a camera, {each}"


def _axes(shape: tuple[int, ...]) -> str:
    return f"(n, {', '.join(map(str, shape))})"


def _named(run: Run, pose: Images) -> Pose:
    return dict(zip(run.cameras, pose, strict=True))


def _shape(run: Run, camera: str) -> tuple[int, ...]:
    return run.shapes[run.cameras.index(camera)]


def _is_list(given: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(given, Sequence) and not isinstance(given, str | bytes)


def _is_uint8(images: NDArray[Any] | Tensor) -> bool:
    return images.dtype == (torch.uint8 if isinstance(images, Tensor) else np.uint8)


def _numpy(images: NDArray[Any] | Tensor) -> Images:
    return images.cpu().numpy() if isinstance(images, Tensor) else images
