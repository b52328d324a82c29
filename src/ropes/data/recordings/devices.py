"""Opens cameras that OpenCV reads: devices of this machine and network streams."""

import importlib
import re
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ropes.errors import UserError

#: ADDRESS@WIDTHxHEIGHT.
_SIZED = re.compile(r"(.+)@(\d+)x(\d+)")


class Capture(Protocol):
    """The part of `cv2.VideoCapture` that is used."""

    def isOpened(self) -> bool:
        """Whether the device is open."""

    def read(self) -> tuple[bool, NDArray[np.generic] | None]:
        """Wait for the next frame, BGR (H, W, 3)."""

    def grab(self) -> bool:
        """Wait for the next frame, and do not decode it."""

    def retrieve(self) -> tuple[bool, NDArray[np.generic] | None]:
        """The grabbed frame, BGR (H, W, 3)."""

    def set(self, property_id: int, value: float) -> bool:
        """Set a property."""

    def get(self, property_id: int) -> float:
        """The value of a property."""

    def release(self) -> None:
        """Close the device."""


def is_device(source: str) -> bool:
    """Whether a source of images is a number or device file of a camera, or the address of a stream."""
    return source.partition("@")[0].isdecimal() or source.startswith("/dev/") or "://" in source


def open_device(address: str, extra: str) -> Capture:
    """Open a device or a stream with as few waiting frames as possible.

    Args:
        address: number of a camera, device file, or address of a stream; with @WIDTHxHEIGHT the size of its images,
            which is the driver's choice otherwise.
        extra: of this package, for the message where OpenCV is missing.

    Raises:
        UserError: OpenCV is missing, the camera cannot be opened, or does not give images of this size.
    """
    try:
        cv2: Any = importlib.import_module("cv2")
    except ModuleNotFoundError as error:
        raise UserError(f"this camera needs OpenCV, which is not installed: pip install 'ropes[{extra}]'") from error
    sized = _SIZED.fullmatch(address)
    place = address if sized is None else sized[1]
    capture: Capture = cv2.VideoCapture(int(place) if place.isdecimal() else place)
    if not capture.isOpened():
        capture.release()
        raise UserError(f"{place} cannot be opened; is it plugged in, and used by no other program? See ls /dev/video*")
    capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
    if sized is not None:
        properties = (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)
        wanted = (int(sized[2]), int(sized[3]))
        for each, value in zip(properties, wanted, strict=True):
            capture.set(each, value)
        width, height = (int(capture.get(each)) for each in properties)
        if (width, height) != wanted:
            capture.release()
            raise UserError(f"{place} gives images of {width}x{height}, not {sized[2]}x{sized[3]}")
    return capture
