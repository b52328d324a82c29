"""Cameras: webcams and streams by OpenCV, images that another program writes to a file or into a folder, and videos.

Drivers buffer frames.  So OpenCV's frames are read all the time, in a thread, and `frame` gives the next one.
"""

import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image as Pictures

from ropes.common.arrays import Images
from ropes.data.recorder.interfaces import Camera
from ropes.data.recorder.stillness import asked
from ropes.data.recordings.devices import Capture, is_device, open_device
from ropes.data.recordings.source import IMAGE_SUFFIXES, VIDEO_SUFFIXES
from ropes.data.recordings.videos import shown
from ropes.errors import UserError, install_command

#: Seconds without a new image after which the other program counts as ended, and between two looks.
_TIMEOUT, _LOOK = 10.0, 0.02
#: Images of a folder, beside the new ones and the newest one, whose times a look asks for.
_OTHERS = 256
#: Seconds without a frame after which a camera counts as gone.
DEVICE_TIMEOUT = 5.0
#: Seconds without a frame after which it is opened again.
REOPEN = 1.0


class FileCamera(Camera):
    """Gives the image in a file whenever the file is replaced, or the newest one in a folder whenever one is added.

    Args:
        path: the file or the folder.
        timeout: seconds without a new image after which the camera does not answer.
    """

    def __init__(self, path: Path, timeout: float = _TIMEOUT) -> None:
        self._path, self._timeout = path, timeout
        self._folder = _Folder(path)
        self._last: tuple[str, int] | None = None

    def frame(self) -> Images:
        """Wait for the next image.

        Raises:
            UserError: none comes.
        """
        end = time.monotonic() + self._timeout
        while True:
            unreadable: Path | None = None
            if (newest := self._newest()) is not None and newest[:2] != self._last:
                name, stamp, unreadable = newest
                if (image := _whole(unreadable)) is not None:
                    self._last = name, stamp
                    return image
            if time.monotonic() > end:
                what = f"{self._path} has no new image for {self._timeout:g} s; does its program run?"
                if unreadable is not None:
                    what = f"{unreadable} is no image that can be read, for {self._timeout:g} s; may you read it?"
                raise UserError(what)
            time.sleep(_LOOK)

    def _newest(self) -> tuple[str, int, Path] | None:
        """Name, time stamp in ns and path of the newest image."""
        try:
            if self._path.is_file():
                return self._path.name, self._path.stat().st_mtime_ns, self._path
            return self._folder.newest()
        except FileNotFoundError:  # replaced at this moment
            return None


class _Folder:
    """Finds the newest image of a folder without asking for the time stamp of each one.

    A look asks for the time stamps of new images, of the newest one, and of `_OTHERS` others in turn.  When one of the
    others has been replaced, any image may be: from then on a look asks for all time stamps.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._stamps, self._newest = path, dict[str, int](), ""
        self._begin, self._replaced = 0, False

    def newest(self) -> tuple[str, int, Path] | None:
        """Name, time stamp in ns and path of the newest image; None without images.

        Raises:
            FileNotFoundError: the folder is gone at this moment.
        """
        listed = set(os.listdir(self._path))
        for name in self._stamps.keys() - listed:
            del self._stamps[name]
        # Programs write hidden files and rename them when they are whole.
        images = {name for name in listed if Path(name).suffix.lower() in IMAGE_SUFFIXES and not name.startswith(".")}
        added = list(images - self._stamps.keys())
        others = [name for name in self._stamps if name != self._newest]
        if not self._replaced and len(others) > _OTHERS:
            self._begin %= len(others)
            others = others[self._begin : self._begin + _OTHERS]
            self._begin += _OTHERS
        examined = [*added, *others, *({self._newest} & self._stamps.keys())]
        stamps = dict[str, int]()
        for name in examined:
            with suppress(FileNotFoundError):  # a link to an image that is gone, or an image that is just removed
                stamps[name] = (self._path / name).stat().st_mtime_ns
        replaced = any(name in stamps and stamps[name] != self._stamps[name] for name in others)
        self._stamps |= stamps
        if replaced and not self._replaced:
            self._replaced = True
            return self.newest()
        if not self._stamps:
            return None
        self._newest = max(self._stamps, key=lambda name: (self._stamps[name], name))
        return self._newest, self._stamps[self._newest], self._path / self._newest


def _whole(path: Path) -> Images | None:
    """The image in a file; None while another program writes it.

    Raises:
        UserError: the image has more than 8 bits.
    """
    try:
        with Pictures.open(path) as picture:
            if picture.mode.startswith(("I", "F")):
                raise UserError(f"{path}: {picture.mode} image; images must be 8-bit grey or RGB")
            return np.asarray(picture if picture.mode == "L" else picture.convert("RGB"))
    except (OSError, SyntaxError, ValueError):
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
            raise UserError(f"videos need PyAV, which is not installed: {install_command('import')}") from error
        try:
            self._container = av.open(str(path.absolute()))  # FFmpeg takes 12:30.mp4 for an address
        except (OSError, ValueError) as error:
            raise UserError(f"{path} is no video ({error})") from error
        if not self._container.streams.video:
            self._container.close()
            raise UserError(f"{path} holds no video")
        self._path, self._frames = path, self._decoded()

    def _decoded(self) -> Generator[Images, None, None]:
        for frame in self._container.decode(video=0):
            yield shown(frame)

    def frame(self) -> Images:
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
    return VideoCamera(path) if path.suffix.lower() in VIDEO_SUFFIXES else FileCamera(path)


class OpenCVCamera(Camera):
    """Reads frames in a thread.

    Single reads fail on USB and network cameras; a device that gives no frame for a second is opened again.  It then
    has its own settings again, as automatic exposure.

    Args:
        open_capture: opens the device.
        source: of the frames, for messages.

    Raises:
        UserError: the device cannot be opened.
    """

    def __init__(self, open_capture: Callable[[], Capture], source: str = "a camera") -> None:
        self._open, self._capture, self._source = open_capture, open_capture(), source
        self._condition, self._count, self._frame = threading.Condition(), 0, np.empty((0, 0, 3), np.uint8)
        self._ended = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        last = time.monotonic()
        while not self._ended:
            read, image = self._capture.read()
            now = time.monotonic()
            if read and image is not None:
                last = now
                with self._condition:
                    self._frame, self._count = np.asarray(image, dtype=np.uint8), self._count + 1
                    self._condition.notify_all()
            elif now - last > DEVICE_TIMEOUT:
                with self._condition:
                    self._ended = True
                    self._condition.notify_all()
            elif now - last > REOPEN:
                self._capture.release()
                with suppress(UserError):
                    self._capture = self._open()
                    self.interruptions += 1
                time.sleep(REOPEN)
            else:
                time.sleep(_LOOK)

    def frame(self) -> Images:
        """The next frame, RGB (H, W, 3), or grey (H, W) of a grey camera.

        Raises:
            UserError: none comes.
        """
        with self._condition:
            seen = self._count
            self._condition.wait_for(lambda: self._count > seen or self._ended, DEVICE_TIMEOUT)
            if self._count == seen:
                if seen:
                    raise UserError(f"{self._source} gives no frame any more; was it unplugged?")
                shared = "where two cameras share a USB bus, give both @640x480@30 or fewer pixels"
                raise UserError(f"{self._source} gives no frame; {shared}")
            image = self._frame
        return np.ascontiguousarray(image[..., ::-1]) if image.ndim == 3 else image

    def close(self) -> None:
        """Release the device."""
        self._ended = True
        self._thread.join(DEVICE_TIMEOUT)
        self._capture.release()


def open_camera(name: str, source: str) -> Camera:
    """Open a camera.

    Args:
        name: of the camera, for messages.
        source: number or device file of a camera that OpenCV reads, or the address of a stream (scheme://…), each with
            @WIDTHxHEIGHT for the size of its images, and a device with @RATE after it, see `open_device`; an image that
            another program replaces, or a folder to which it adds images; or a video.

    Raises:
        UserError: nothing reads such a source, or it does not answer.
    """
    path = Path(source)
    try:
        if is_device(source):
            return asked(
                f"camera {name}", lambda: OpenCVCamera(partial(open_device, source, "record"), f"camera {source}")
            )
        if path.is_dir() or (path.is_file() and path.suffix.lower() in (*IMAGE_SUFFIXES, *VIDEO_SUFFIXES)):
            return asked(f"camera {name}", lambda: open_file(path))
    except UserError as error:
        raise UserError(f"--cameras {name}={source}: {error}") from error
    raise UserError(
        f"--cameras {name}={source}: give the number of a camera, a device file, the address of a stream, or an "
        "existing image, folder of images or video"
    )
