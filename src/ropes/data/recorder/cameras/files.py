"""Images that another program writes, to one file or into a folder; or the frames of a video."""

import time
from collections.abc import Generator
from pathlib import Path

import numpy as np
from PIL import Image as Pictures
from PIL import UnidentifiedImageError

from ropes.data.recorder.interfaces import Camera, Image
from ropes.errors import UserError

#: Seconds without a new image after which the other program counts as ended, and between two looks.
_TIMEOUT, _LOOK = 10.0, 0.02
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".ppm", ".pgm")
VIDEOS = (".mp4", ".mkv", ".avi", ".mov", ".webm")


class FileCamera(Camera):
    """Gives the image in a file whenever the file is replaced, or the newest one in a folder whenever one is added.

    Args:
        path: the file or the folder.
        timeout: seconds without a new image after which the camera does not answer.
    """

    def __init__(self, path: Path, timeout: float = _TIMEOUT) -> None:
        self._path, self._timeout = path, timeout
        self._last: tuple[str, int] | None = None

    def frame(self) -> Image:
        """Wait for the next image.

        Raises:
            UserError: none comes.
        """
        end = time.monotonic() + self._timeout
        while True:
            if (newest := self._newest()) is not None and newest[:2] != self._last:
                name, stamp, path = newest
                if (image := _whole(path)) is not None:
                    self._last = name, stamp
                    return image
            if time.monotonic() > end:
                raise UserError(f"{self._path} has no new image for {self._timeout:g} s; does its program run?")
            time.sleep(_LOOK)

    def _newest(self) -> tuple[str, int, Path] | None:
        """Name, time stamp in ns and path of the newest image."""
        try:
            paths = [self._path] if self._path.is_file() else list(self._path.iterdir())
            images = [path for path in paths if path.suffix.lower() in SUFFIXES]
            found = [(path.stat().st_mtime_ns, path.name, path) for path in images]
        except FileNotFoundError:  # replaced at this moment
            return None
        if not found:
            return None
        stamp, name, path = max(found)
        return name, stamp, path


def _whole(path: Path) -> Image | None:
    """The image in a file; None while another program writes it."""
    try:
        with Pictures.open(path) as picture:
            return np.asarray(picture if picture.mode == "L" else picture.convert("RGB"))
    except (OSError, SyntaxError, UnidentifiedImageError):
        return None


class VideoCamera(Camera):
    """Gives the frames of a video in turn: for trials, as no arm moves the pictures.

    Args:
        path: the video.

    Raises:
        UserError: PyAV is missing, or the file holds no video.
    """

    def __init__(self, path: Path) -> None:
        try:
            import av
        except ModuleNotFoundError as error:
            raise UserError("videos need PyAV, which is not installed: pip install 'ropes[import]'") from error
        try:
            self._container = av.open(str(path))
        except (OSError, ValueError) as error:
            raise UserError(f"{path} is no video ({error})") from error
        if not self._container.streams.video:
            self._container.close()
            raise UserError(f"{path} holds no video")
        self._path, self._frames = path, self._decoded()

    def _decoded(self) -> Generator[Image, None, None]:
        for frame in self._container.decode(video=0):
            yield np.asarray(frame.to_ndarray(format="rgb24"), dtype=np.uint8)

    def frame(self) -> Image:
        """The next frame.

        Raises:
            UserError: the video has ended.
        """
        if (image := next(self._frames, None)) is None:
            raise UserError(f"{self._path} has no more frames")
        return image

    def close(self) -> None:
        """Close the file."""
        self._frames.close()
        self._container.close()


def open_file(path: Path) -> Camera:
    """The camera of a file or a folder."""
    return VideoCamera(path) if path.suffix.lower() in VIDEOS else FileCamera(path)
