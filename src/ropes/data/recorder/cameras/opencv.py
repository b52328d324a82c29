"""A camera that OpenCV reads: a webcam by its number or device file, or a network stream.

Drivers buffer frames.  So frames are read all the time, in a thread, and `frame` gives the next one that arrives.
"""

import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ropes.data.recorder.interfaces import Camera, Image
from ropes.errors import UserError

#: Seconds without a frame after which a camera counts as gone.
_TIMEOUT = 5.0


class Capture(Protocol):
    """The part of `cv2.VideoCapture` that is used."""

    def isOpened(self) -> bool:
        """Whether the device is open."""

    def read(self) -> tuple[bool, NDArray[np.generic] | None]:
        """Wait for the next frame, BGR (H, W, 3)."""

    def release(self) -> None:
        """Close the device."""


class OpenCVCamera(Camera):
    """Reads frames in a thread.

    Args:
        open_capture: opens the device.
        source: of the frames, for messages.

    Raises:
        UserError: the device cannot be opened.
    """

    def __init__(self, open_capture: Callable[[], Capture], source: str = "a camera") -> None:
        self._capture, self._source = open_capture(), source
        if not self._capture.isOpened():
            self._capture.release()
            raise UserError("it cannot be opened; is it plugged in, and used by no other program?")
        self._condition, self._count, self._frame = threading.Condition(), 0, np.empty((0, 0, 3), np.uint8)
        self._ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._ended:
            read, image = self._capture.read()
            with self._condition:
                if not read or image is None:
                    self._ended = True
                else:
                    self._frame, self._count = np.asarray(image, dtype=np.uint8), self._count + 1
                self._condition.notify_all()

    def frame(self) -> Image:
        """The next frame, RGB (H, W, 3), or grey (H, W) of a grey camera.

        Raises:
            UserError: none comes.
        """
        with self._condition:
            seen = self._count
            self._condition.wait_for(lambda: self._count > seen or self._ended, _TIMEOUT)
            if self._count == seen:
                raise UserError(f"{self._source} gives no frame any more; was it unplugged?")
            image = self._frame
        return np.ascontiguousarray(image[..., ::-1]) if image.ndim == 3 else image

    def close(self) -> None:
        """Release the device."""
        self._ended = True
        self._thread.join(_TIMEOUT)
        self._capture.release()


def open_opencv(source: str) -> OpenCVCamera:
    """Open a camera by its number, device file or address.

    Raises:
        UserError: OpenCV is missing, or the camera cannot be opened.
    """
    try:
        import cv2
    except ModuleNotFoundError as error:
        raise UserError("this camera needs OpenCV, which is not installed: pip install 'ropes[record]'") from error
    number = int(source) if source.isdecimal() else source
    return OpenCVCamera(lambda: cv2.VideoCapture(number), f"camera {source}")
