"""How the images of a camera are turned, cropped, resized and turned to grey."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import numpy as np
from PIL import Image as Pictures

from ropes.common.arrays import Images
from ropes.errors import UserError

T = TypeVar("T")
#: Left, top, width and height in pixels.
Box = tuple[int, int, int, int]
_TURNS = (0, 90, 180, 270)
#: Smallest side of an image in pixels.
SMALLEST = 16


@dataclass(frozen=True, kw_only=True)
class View:
    """What happens to each image of a camera, in this order.

    Attributes:
        rotate: degrees clockwise: 0, 90, 180 or 270.
        crop: what to keep of the turned image; None is all of it.
        size: longer side of the result in pixels; None leaves the size, and images are not enlarged.
        grey: turn RGB to grey (BT.601).
    """

    rotate: int = 0
    crop: Box | None = None
    size: int | None = None
    grey: bool = False

    def turned(self, image: Images) -> Images:
        """The image after the rotation."""
        return np.rot90(image, -self.rotate // 90) if self.rotate else image

    def apply(self, image: Images) -> Images:
        """uint8 (H, W) or (H, W, 3) → the image to store."""
        image = self.turned(image)
        if self.crop is not None:
            left, top, width, height = self.crop
            image = image[top : top + height, left : left + width]
        if self.grey and image.ndim == 3:
            image = np.asarray(Pictures.fromarray(np.ascontiguousarray(image)).convert("L"))
        height, width = self.stored_size(*image.shape[:2])
        if (height, width) == image.shape[:2]:
            return image
        picture = Pictures.fromarray(np.ascontiguousarray(image))
        return np.asarray(picture.resize((width, height), Pictures.Resampling.BOX))

    def stored_size(self, height: int, width: int) -> tuple[int, int]:
        """Height and width to which an image, turned and cropped, is averaged, pixels."""
        if self.size is None or max(height, width) <= self.size:
            return height, width
        scale = self.size / max(height, width)
        return max(1, round(height * scale)), max(1, round(width * scale))

    def require_inside(self, camera: str, image: Images) -> None:
        """Check that the crop lies inside the image.

        Raises:
            UserError: it does not, or little would be left.
        """
        height, width = self.turned(image).shape[:2]
        if self.crop is not None:
            left, top, across, down = self.crop
            if left + across > width or top + down > height:
                raise UserError(
                    f"--crop {camera}={left},{top},{across},{down} is not inside the image of {width}x{height} pixels"
                )
        stored = self.apply(image).shape
        if min(stored[:2]) < SMALLEST:
            raise UserError(f"camera {camera}: images of {stored[1]}x{stored[0]} pixels are too small; crop less")

    def to_dict(self) -> dict[str, object]:
        """A JSON-able description."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


def for_image(view: View, camera: str, sources: Mapping[str, tuple[int, int]], image: Images) -> View:
    """The view of a camera for an image that may have another size than those that its crop was made for.

    Args:
        view: with a crop.
        camera: its name.
        sources: see `sizes_of_crops`.
        image: uint8 (H, W) or (H, W, 3).

    Returns:
        The view, its crop scaled so that images are stored at the same size; the view itself of a camera without such a
        size.

    Raises:
        UserError: the two sizes differ in shape.
    """
    size = image.shape[0], image.shape[1]
    source = sources.get(camera, size)
    if source == size or view.crop is None:
        return view
    if source[0] * size[1] != source[1] * size[0]:
        raise UserError(
            f"camera {camera} gives images of {size[1]}x{size[0]} pixels; those of the recording had "
            f"{source[1]}x{source[0]}: set that resolution, or give --crop {camera}=LEFT,TOP,WIDTH,HEIGHT"
        )
    left, top, width, height = view.crop
    wanted = view.stored_size(height, width)
    edges = (left, top, left + width, top + height)
    left, top, right, bottom = (round(each * size[0] / source[0]) for each in edges)
    width, height = right - left, bottom - top
    # Rounding changes the aspect ratio by up to a pixel, and with it the stored size.
    while view.size is not None and max(wanted) == view.size < max(height, width):
        stored = view.stored_size(height, width)
        if stored == wanted:
            break
        too_high = stored[0] > wanted[0] or stored[1] < wanted[1]
        height, width = (height - 1, width) if too_high else (height, width - 1)
    return replace(view, crop=(left, top, width, height))


def views_as_recorded(
    shapes: Mapping[str, tuple[int, ...]],
    records: Mapping[str, Mapping[str, Any]],
    rotate: Mapping[str | None, int],
    crop: Mapping[str | None, Box | None],
) -> dict[str, View]:
    """Camera → what makes its images like those of a data set: rotation and crop by the options, else as recorded.

    Args:
        shapes: camera → shape of its images in the data set.
        records: camera → its view as a dictionary, where known.
        rotate: camera → degrees clockwise; None is the key for all cameras.
        crop: camera → box in pixels after the rotation, or None for the whole image; None is the key for all cameras.
    """
    views = {}
    for camera, shape in shapes.items():
        known = records.get(camera, {})
        box = None if known.get("crop") is None else tuple(known["crop"])
        views[camera] = View(
            rotate=rotate.get(camera, rotate.get(None, known.get("rotate", 0))),
            crop=crop.get(camera, crop.get(None, box)),
            size=max(shape[:2]),
            grey=len(shape) == 2,
        )
    return views


def sizes_of_crops(
    records: Mapping[str, Mapping[str, Any]], crop: Mapping[str | None, Box | None]
) -> dict[str, tuple[int, int]]:
    """Camera → height and width of the images that its recorded crop was made for, pixels, see `for_image`.

    Without cameras whose crop the options give, or whose size is not known.  Arguments as of `views_as_recorded`.
    """
    if None in crop:
        return {}
    known = {name: record["source_size"] for name, record in records.items() if "source_size" in record}
    return {name: (size[0], size[1]) for name, size in known.items() if name not in crop}


def parse_rotation(text: str) -> int:
    """Degrees of a rotation.

    Raises:
        UserError: not 0, 90, 180 or 270.
    """
    if text not in map(str, _TURNS):
        raise UserError(f"--rotate: {text!r} is not {', '.join(map(str, _TURNS[:-1]))} or {_TURNS[-1]}")
    return int(text)


def parse_box(text: str) -> Box:
    """A box from LEFT,TOP,WIDTH,HEIGHT.

    Raises:
        UserError: not four numbers, or empty.
    """
    parts = text.split(",")
    if len(parts) != 4 or not all(part.isdecimal() for part in parts) or 0 in map(int, parts[2:]):
        raise UserError(f"--crop: {text!r} is not LEFT,TOP,WIDTH,HEIGHT in pixels")
    left, top, width, height = map(int, parts)
    return left, top, width, height


def parse_crop(text: str) -> Box | None:
    """The box of `parse_box`, or None for the text none.

    Raises:
        UserError: neither of them.
    """
    return None if text == "none" else parse_box(text)


def parse_size(text: str) -> int:
    """Side of an image in pixels.

    Raises:
        UserError: no whole number, or too small.
    """
    if not text.isdecimal() or int(text) < SMALLEST:
        raise UserError(f"--image-size is {text!r}; it must be a number of pixels, {SMALLEST} or more")
    return int(text)


def by_camera(option: str, texts: Sequence[str], parse: Callable[[str], T]) -> dict[str | None, T]:
    """Camera → value, from texts CAMERA=VALUE, or VALUE for all cameras (under None).

    Raises:
        UserError: a camera has two values.
    """
    values: dict[str | None, T] = {}
    for text in texts:
        camera, equals, value = text.rpartition("=")
        key = camera if equals else None
        if key in values:
            raise UserError(f"{option} has two values for {key or 'all cameras'}; give one")
        values[key] = parse(value)
    return values
