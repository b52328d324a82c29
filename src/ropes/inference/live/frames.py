"""Frames of several cameras, and the board on which the newest ones wait: newer frames replace older ones."""

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ropes.common.arrays import Floats, Images
from ropes.data.recordings.views import Box, for_image, sizes_of_crops, views_as_recorded
from ropes.errors import UserError
from ropes.methods.run import Run

#: Frames of each camera that wait for one of another camera.
_WAITING = 4


class RecordingEnded(UserError):
    """A recording was played to its end."""


@dataclass(frozen=True, eq=False)
class Capture:
    """Images taken at one time.

    Attributes:
        stamp: arrival of the images, seconds of `time.monotonic`.
        images: camera → uint8 (H, W) or (H, W, 3), as the source has them.
        truth: (d,) true angles in the order of the run's joints, radians; None where they are unknown.
    """

    stamp: float
    images: Mapping[str, Images]
    truth: Floats | None = None


@dataclass(frozen=True, eq=False)
class Frame:
    """An image of one camera, in the shape that the run reads; see `Capture`."""

    stamp: float
    image: Images
    truth: Floats | None = None


class Fit:
    """Turns, crops and shrinks each camera's images to the shape that a run reads.

    The crop of a recording is scaled to images of another resolution of the same shape, where the recording's is known.

    Args:
        run: identity of the run.
        rotate: camera → degrees clockwise; None is the key for all cameras.
        crop: camera → (left, top, width, height) in pixels after the rotation, or None for the whole image; None is the
            key for all cameras.
        raw: images are as the cameras give them: without options they are turned and cropped as those of the recording
            that the run learned from.  False for images of a data set, to which that has happened already.

    Raises:
        UserError: an option names an unknown camera.
    """

    def __init__(
        self,
        run: Run,
        rotate: Mapping[str | None, int] | None = None,
        crop: Mapping[str | None, Box | None] | None = None,
        *,
        raw: bool = True,
    ) -> None:
        rotate, crop = rotate or {}, crop or {}
        if unknown := [name for name in (*rotate, *crop) if name is not None and name not in run.cameras]:
            raise UserError(f"unknown camera {unknown[0]}; this run knows {', '.join(run.cameras)}")
        self._shapes = dict(zip(run.cameras, run.shapes, strict=True))
        self._views = views_as_recorded(self._shapes, run.views if raw else {}, rotate, crop)
        self._sources = sizes_of_crops(run.views, crop)
        self._cropped = set() if None in crop else {camera for camera in run.cameras if camera not in crop}
        self._checked: dict[str, tuple[int, ...]] = {}

    def __call__(self, camera: str, image: Images) -> Images:
        """An image of a camera in the shape that the run reads.

        Raises:
            UserError: the crop is outside the image, the recording had images of another shape, or the result has.
        """
        view, shape = self._views[camera], self._shapes[camera]
        if camera in self._cropped:
            if view.turned(image).shape[:2] == shape[:2]:
                view = replace(view, crop=None)  # a whole camera's image is larger than what was cropped from it
            else:
                view = for_image(view, camera, self._sources, image)
        if view.crop is not None and self._checked.get(camera) != image.shape:
            view.require_inside(camera, image)
            self._checked[camera] = image.shape
        fitted = np.ascontiguousarray(view.apply(image))
        if fitted.shape == shape:
            return fitted
        if fitted.ndim != len(shape):
            raise UserError(f"camera {camera} gives grey images; the run reads colour")
        height, width = view.turned(image).shape[:2]
        scale = min(height / shape[0], width / shape[1])
        if scale < 1:
            how = "use a camera with more pixels"
        else:
            across, down = int(shape[1] * scale), int(shape[0] * scale)
            box = (width - across) // 2, (height - down) // 2, across, down
            how = f"give --crop {camera}={','.join(map(str, box))} or a similar one"
        raise UserError(
            f"camera {camera} gives images of {width}x{height} pixels; the run reads {shape[1]}x{shape[0]}: {how}"
        )


class Board:
    """Holds the newest frames of each camera; a thread for each source puts them, other threads take them.

    Args:
        cameras: names, in the order of the run.
        tolerance: largest difference of the stamps of one pose, seconds.
    """

    def __init__(self, cameras: Sequence[str], tolerance: float) -> None:
        self._frames = {camera: deque[Frame](maxlen=_WAITING) for camera in cameras}
        self._tolerance, self._changed = tolerance, threading.Condition()
        self._failure: Exception | None = None
        self._last = {camera: float("-inf") for camera in cameras}
        self._arrived = dict.fromkeys(cameras, 0)
        self._used = 0

    @property
    def dropped(self) -> int:
        """Frames that no estimate used so far, of the camera with the most frames."""
        return max(self._arrived.values()) - self._used

    def put(self, frames: Mapping[str, Frame], skipped: int = 0) -> None:
        """Put the newest frames of some cameras; `skipped` more arrived before them and were not decoded."""
        with self._changed:
            for camera, frame in frames.items():
                self._frames[camera].append(frame)
                self._arrived[camera] += 1 + skipped
            self._changed.notify_all()

    def fail(self, error: Exception) -> None:
        """Store why a source has ended; `take` raises it once no frames are left."""
        with self._changed:
            self._failure = self._failure or error
            self._changed.notify_all()

    def take(self, timeout: float) -> dict[str, Frame] | None:
        """Wait for the newest frames of one time, one of each camera and each newer than the last ones taken.

        Returns:
            Camera → frame, in the order of the cameras; None after `timeout` seconds without.

        Raises:
            Exception: that of `fail`, if no frames of one time are left.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            while (found := self._newest()) is None:
                if self._failure is not None:
                    raise self._failure
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return None
                self._changed.wait(remaining)
            self._last = {camera: frame.stamp for camera, frame in found.items()}
            self._used += 1
            return found

    def drop(self) -> None:
        """Count the frames of one `take` as dropped: their estimate was not used."""
        with self._changed:
            self._used -= 1

    def ages(self) -> dict[str, float]:
        """Seconds since the newest frame of each camera; infinite without any."""
        with self._changed:
            now = time.monotonic()
            return {camera: now - frames[-1].stamp if frames else np.inf for camera, frames in self._frames.items()}

    def _newest(self) -> dict[str, Frame] | None:
        fresh = {
            camera: [frame for frame in frames if frame.stamp > self._last[camera]]
            for camera, frames in self._frames.items()
        }
        if not all(fresh.values()):
            return None
        for anchor in sorted((frame.stamp for frames in fresh.values() for frame in frames), reverse=True):
            found = {
                camera: min(frames, key=lambda frame: abs(frame.stamp - anchor)) for camera, frames in fresh.items()
            }
            stamps = [frame.stamp for frame in found.values()]
            if max(stamps) - min(stamps) <= self._tolerance:
                return found
        return None
