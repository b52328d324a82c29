"""Live images of a camera of this machine, or of a network stream."""

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ropes.data.recordings.devices import open_device
from ropes.errors import UserError
from ropes.inference.live.frames import Capture

#: Seconds without an image after which a device is opened again, and after which it counts as gone.
REOPEN, DEVICE_TIMEOUT = 1.0, 8.0
#: Seconds between two reads of a device that gives no image.
_POLL = 0.005


@dataclass(kw_only=True)
class Device:
    """A camera of this machine or a network stream, read by OpenCV; one that gives no images is opened again.

    Args:
        camera: its name in the run.
        address: its number, a device file, or an address such as rtsp://…, see `open_device`.

    Raises:
        UserError: OpenCV is not installed, or there is no such camera.
    """

    camera: str
    address: str
    steady: bool = True
    skipped: int = 0

    def __post_init__(self) -> None:
        self.cameras: tuple[str, ...] = (self.camera,)
        try:
            self._capture = open_device(self.address, "live")
        except UserError as error:
            raise UserError(f"camera {self.camera}: {error}") from error

    def captures(self, start: float) -> Iterator[Capture]:
        """Images as they arrive; single reads may fail."""
        last = opened = time.monotonic()
        try:
            while time.monotonic() - last < DEVICE_TIMEOUT:
                if time.monotonic() - max(last, opened) > REOPEN:
                    self._open_again(first=opened <= last)
                    opened = time.monotonic()
                grabbed = self._capture.grab()
                stamp = time.monotonic()
                there, image = self._capture.retrieve() if grabbed else (False, None)
                if not there or image is None:
                    time.sleep(_POLL)
                    continue
                last, pixels = stamp, np.asarray(image, dtype=np.uint8)
                rgb = pixels if pixels.ndim == 2 else np.ascontiguousarray(pixels[..., ::-1])
                yield Capture(stamp, {self.camera: rgb})
        finally:
            self._capture.release()
        raise UserError(f"camera {self.camera} ({self.address}) gives no more images; is it unplugged?")

    def _open_again(self, *, first: bool) -> None:
        """Try to open the device; say so at the first try."""
        if first:
            print(f"ropes: camera {self.camera} ({self.address}) gives no images; opening it again", file=sys.stderr)
        self._capture.release()
        with suppress(UserError):
            self._capture = open_device(self.address, "live")
