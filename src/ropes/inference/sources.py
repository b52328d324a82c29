"""Reads the images of poses from PNG and JPEG files, and labelled samples from CSV files."""

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image

from ropes.common import png
from ropes.common.arrays import Images
from ropes.data.recordings.source import IMAGE_SUFFIXES
from ropes.errors import UserError
from ropes.inference.live.frames import Fit
from ropes.methods.run import Run

Given = TypeVar("Given")
_IMAGES = {".png", ".jpeg", ".jpg"}
_OTHER_IMAGES = {*IMAGE_SUFFIXES, ".gif"} - _IMAGES
#: First bytes of a JPEG and of a PNG file, and how images of JPEG are called.
_JPEG, _PNG, _MODES = b"\xff\xd8\xff", b"\x89PNG", {"L": "grey"}


def named_images(run: Run, images: Mapping[str, Given]) -> dict[str, Given]:
    """What is given for each camera, in the order of the run.

    Raises:
        UserError: a camera is missing or unknown.
    """
    if missing := [camera for camera in run.cameras if camera not in images]:
        raise UserError(f"no image for camera {missing[0]}; this run needs {', '.join(run.cameras)}")
    if unknown := [camera for camera in images if camera not in run.cameras]:
        raise UserError(f"unknown camera {unknown[0]}; this run knows {', '.join(run.cameras)}")
    return {camera: images[camera] for camera in run.cameras}


def files_in(run: Run, folder: Path) -> list[dict[str, Path]]:
    """The image files of each pose, by camera.

    Raises:
        UserError: a file or folder is missing, or a folder holds other images than PNG and JPEG.
    """
    if folder.is_file():
        if len(run.cameras) > 1:
            form = " ".join(f"{camera}=FILE" for camera in run.cameras)
            raise UserError(f"{folder} is one image, and the run reads {len(run.cameras)} cameras: give {form}")
        return [{run.cameras[0]: folder}]
    if not folder.is_dir():
        raise UserError(f"{folder} is neither a folder nor a data set")
    if len(run.cameras) == 1 and not (folder / run.cameras[0]).is_dir():
        poses = [{run.cameras[0]: path} for path in _images_in(folder)]
    else:
        if missing := [camera for camera in run.cameras if not (folder / camera).is_dir()]:
            raise UserError(f"{folder} has no folder {missing[0]}; it needs one of images for each camera")
        names = {camera: {path.name for path in _images_in(folder / camera)} for camera in run.cameras}
        every = sorted(set().union(*names.values()))
        for camera, present in names.items():
            if absent := [name for name in every if name not in present]:
                raise UserError(f"{folder / camera / absent[0]} is missing; another camera has an image of that name")
        poses = [{camera: folder / camera / name for camera in run.cameras} for name in every]
    if not poses:
        raise UserError(f"{folder} holds no PNG or JPEG images")
    return poses


def _images_in(folder: Path) -> list[Path]:
    """The PNG and JPEG files of a folder, by name; other image files are an error."""
    paths = sorted(folder.iterdir())
    if others := [path for path in paths if path.suffix.lower() in _OTHER_IMAGES]:
        raise UserError(
            f"{others[0]} is no PNG or JPEG; convert it to 8-bit PNG, grey (BT.601) or RGB as in training, or remove it"
        )
    return [path for path in paths if path.suffix.lower() in _IMAGES]


def read_image(run: Run, camera: str, path: Path) -> Images:
    """The image of a camera, (H, W), in colour (H, W, 3).

    Of a run on a recording, the camera's whole images are turned, cropped and shrunk as the training images were.

    Raises:
        UserError: the file is missing or damaged, or its image has another size or type than the run's.
    """
    shape = run.shapes[run.cameras.index(camera)]
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    if not data.startswith((_JPEG, _PNG)):
        raise UserError(f"{path}: neither PNG nor JPEG; give an image of one of these formats")
    try:
        return _decoded_jpeg(data, shape) if data.startswith(_JPEG) else png.decode(data, shape)
    except png.DamagedImage as error:
        raise UserError(f"{path}: {error}; write it again") from error
    except png.NotAnImage as error:
        if camera in run.views and (whole := _whole(data)) is not None:
            with suppress(UserError):
                return Fit(run)(camera, whole)
        for other, its_shape in zip(run.cameras, run.shapes, strict=True):
            if its_shape != shape and png.has_shape(data, its_shape):
                raise UserError(f"{path}: {error}; camera {other} has such images, give one of {camera}") from error
        kind = "RGB" if len(shape) > 2 else "grey (BT.601)"
        raw = ", or give the camera's whole image" if camera in run.views else ""
        size = f"{shape[1]}x{shape[0]} pixels"
        raise UserError(f"{path}: {error}; convert it to 8-bit {kind} of {size}{raw}") from error


def _whole(data: bytes) -> Images | None:
    """Pixels of an 8-bit image of any size, grey (H, W) or RGB (H, W, 3); None of any other."""
    try:
        with Image.open(io.BytesIO(data), formats=["PNG", "JPEG"]) as image:
            return np.asarray(image) if image.mode in ("L", "RGB") else None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None


def _decoded_jpeg(data: bytes, shape: png.Shape) -> Images:
    """Pixels of an 8-bit JPEG of a shape, (H, W), in colour (H, W, 3).

    Raises:
        NotAnImage: another size or type; or a `DamagedImage`.
    """
    try:
        with Image.open(io.BytesIO(data), formats=["JPEG"]) as image:
            pixels, kind = np.asarray(image), _MODES.get(image.mode, image.mode)
    except Image.DecompressionBombError as error:
        raise png.NotAnImage("image of too many pixels") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise png.DamagedImage(f"damaged JPEG ({error})") from error
    if pixels.shape != shape:
        wanted = f"{shape[0]}x{shape[1]} {'RGB' if len(shape) > 2 else 'grey'}"
        raise png.NotAnImage(f"{pixels.shape[0]}x{pixels.shape[1]} {kind} image where {wanted} is expected")
    return pixels


def csv_rows(path: Path, columns: Sequence[str], content: str) -> list[dict[str, str]]:
    """The rows of a CSV file, one at least, which has the given columns; `content` names the rows in an error.

    Raises:
        UserError: the file cannot be read, is empty, or lacks a column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:  # spreadsheets begin with a mark
            rows = list(csv.DictReader(stream))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} is no CSV file ({error})") from error
    if not rows:
        raise UserError(f"{path} holds no {content}")
    if missing := [name for name in columns if name not in rows[0]]:
        raise UserError(f"{path} has no column {missing[0]}; it needs {', '.join(columns)}")
    return rows
