"""Opens cameras that OpenCV reads: devices of this machine and network streams."""

import importlib
import re
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ropes.errors import UserError, install_command

#: ADDRESS, ADDRESS@WIDTHxHEIGHT, or ADDRESS@WIDTHxHEIGHT@RATE.
_SOURCE = re.compile(r"(.+?)(?:@(\d+)x(\d+)(?:@(\d+(?:\.\d+)?))?)?")
#: Largest difference from the rate that is asked for, images a second: drivers call 29.97 30.
_RATE_OFF = 0.5


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
            which is the driver's choice otherwise; with @WIDTHxHEIGHT@RATE also the images a second of a device, which
            then sends Motion JPEG if it can: many USB cameras have no other format at this rate.
        extra: of this package, for the message where OpenCV is missing.

    Raises:
        UserError: OpenCV is missing, the camera cannot be opened, or does not give images of this size and rate.
    """
    try:
        cv2: Any = importlib.import_module("cv2")
    except ModuleNotFoundError as error:
        raise UserError(f"this camera needs OpenCV, which is not installed: {install_command(extra)}") from error
    parts = _SOURCE.fullmatch(address)
    place, width, height, rate = (address, None, None, None) if parts is None else parts.groups()
    if rate is not None and "://" in place:
        raise UserError(f"{place}: the sender chooses the images a second of a stream; leave @{rate} out")
    capture: Capture = cv2.VideoCapture(int(place) if place.isdecimal() else place)
    try:
        if not capture.isOpened():
            raise UserError(
                f"{place} cannot be opened; is it plugged in, and used by no other program? See ls /dev/video*"
            )
        capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        if rate is not None:  # first: the sizes that a device has depend on its format
            capture.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter_fourcc(*"MJPG"))
        if width is not None and height is not None:
            _set_size(capture, (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT), (int(width), int(height)), place)
        if rate is not None:
            _set_rate(capture, cv2.CAP_PROP_FPS, float(rate), f"{place} at {width}x{height}")
    except UserError:
        capture.release()
        raise
    return capture


def _set_size(capture: Capture, properties: tuple[int, int], wanted: tuple[int, int], place: str) -> None:
    for each, value in zip(properties, wanted, strict=True):
        capture.set(each, value)
    width, height = (int(capture.get(each)) for each in properties)
    if (width, height) != wanted:
        raise UserError(f"{place} gives images of {width}x{height}, not {wanted[0]}x{wanted[1]}")


def _set_rate(capture: Capture, fps: int, wanted: float, place: str) -> None:
    """Set the images a second; drivers that do not tell theirs, and say 0, are believed."""
    capture.set(fps, wanted)
    if (rate := capture.get(fps)) > 0 and abs(rate - wanted) > _RATE_OFF:
        raise UserError(
            f"{place} gives {rate:g} images a second, not {wanted:g}; v4l2-ctl --list-formats-ext shows what it can"
        )
