"""Sources of live images: cameras, video files played at their speed, folders that fill, and data sets."""

import importlib
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from PIL import Image, UnidentifiedImageError

from ropes.common.arrays import Images
from ropes.data.dataset import Dataset
from ropes.data.recordings.videos import Video
from ropes.data.views import by_camera
from ropes.errors import UserError
from ropes.inference.live.frames import Capture, RecordingEnded
from ropes.inference.live.image_folder import ImageFolder
from ropes.inference.live.truth import Truth
from ropes.inference.prediction import images_of, states_of
from ropes.methods.run import Run

#: Seconds between two looks into a folder; nanoseconds within which two changes of it may have one time stamp.
_POLL, _TICK = 0.005, 100_000_000
#: Seconds after which an image that cannot be read is an error, and between captures without images if none is new.
READ_TIMEOUT, HEARTBEAT = 2.0, 1.0
#: Poses a second of a data set.
RATE = 10.0


class Source(Protocol):
    """Where images come from.

    Attributes:
        steady: whether images must keep coming; a folder may pause.
        skipped: frames since the last capture that were not decoded because newer ones had arrived.
    """

    steady: bool
    skipped: int

    @property
    def cameras(self) -> tuple[str, ...]:
        """The cameras that it shows."""
        ...

    def captures(self, start: float) -> Iterator[Capture]:
        """Images as they arrive; `start` is the time of the first frame of a recording, of `time.monotonic`.

        Raises:
            UserError: the source has failed, or `RecordingEnded`.
        """
        ...


@dataclass(kw_only=True)
class Device:
    """A camera of this machine or a network stream, read by OpenCV.

    Args:
        camera: its name in the run.
        address: its number, a device file, or an address such as rtsp://….

    Raises:
        UserError: OpenCV is not installed, or there is no such camera.
    """

    camera: str
    address: str
    steady: bool = True
    skipped: int = 0

    def __post_init__(self) -> None:
        try:
            cv2 = importlib.import_module("cv2")
        except ModuleNotFoundError as error:
            raise UserError("reading a camera needs the package opencv: pip install 'ropes[live]'") from error
        self.cameras: tuple[str, ...] = (self.camera,)
        self._capture = cv2.VideoCapture(int(self.address) if self.address.isdecimal() else self.address)
        if not self._capture.isOpened():
            raise UserError(f"camera {self.camera}: no camera at {self.address}; see ls /dev/video*")
        self._capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)

    def captures(self, start: float) -> Iterator[Capture]:
        """Images as they arrive."""
        try:
            while self._capture.grab():
                stamp = time.monotonic()
                there, image = self._capture.retrieve()
                if not there:
                    break
                rgb = image if image.ndim == 2 else np.ascontiguousarray(image[..., ::-1])
                yield Capture(stamp, {self.camera: rgb})
        finally:
            self._capture.release()
        raise UserError(f"camera {self.camera} ({self.address}) gives no more images; is it unplugged?")


@dataclass(kw_only=True)
class VideoFile:
    """A video file, played at its own speed; late frames are dropped.

    Args:
        camera: its name in the run.
        path: of the file.
        loop: play it again at its end.
        truth: the true angles; None where they are unknown.

    Raises:
        UserError: the file is missing or no video, or PyAV is not installed.
    """

    camera: str
    path: Path
    loop: bool = False
    truth: Truth | None = None
    steady: bool = True
    skipped: int = 0
    _stamp: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self.cameras: tuple[str, ...] = (self.camera,)
        self._video = Video(self.path)
        times = self._video.times - self._video.times[0]
        period = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
        self._times, self._duration = times, float(times[-1]) + period

    def captures(self, start: float) -> Iterator[Capture]:
        """Frames when they are due."""
        while True:
            for image in self._video.images(self._due(start)):
                truth = None if self.truth is None else self.truth.at(self._stamp - start)
                yield Capture(self._stamp, {self.camera: image}, truth)
            if not self.loop:
                break
            start += self._duration
        frames = len(self._times)
        raise RecordingEnded(f"camera {self.camera}: {self.path} ends after {frames} frames; --loop plays it again")

    def _due(self, start: float) -> Iterator[int]:
        """Numbers of frames, each when it is due; frames that are late are skipped."""
        number = 0
        while number < len(self._times):
            time.sleep(max(0.0, start + self._times[number] - time.monotonic()))
            newest = int(np.searchsorted(self._times, time.monotonic() - start, side="right")) - 1
            newest = min(max(newest, number), len(self._times) - 1)
            self.skipped, self._stamp = newest - number, start + float(self._times[newest])
            yield newest
            number = newest + 1


@dataclass(kw_only=True)
class Folders:
    """Folders that fill with images, one for each camera; equal names (without suffix) are one pose.

    Of several new poses the one written last counts.  An image that is still being written is read when it is complete.

    Args:
        folders: camera → its folder.

    Raises:
        UserError: a folder is missing.
    """

    folders: Mapping[str, Path]
    steady: bool = False
    skipped: int = 0

    def __post_init__(self) -> None:
        self.cameras = tuple(self.folders)
        if missing := [path for path in self.folders.values() if not path.is_dir()]:
            raise UserError(f"no folder {missing[0]}")

    def captures(self, start: float) -> Iterator[Capture]:
        """Yields the images of each newest pose; while there is none, an empty capture at regular intervals."""
        known, changes, waiting_since, last_yield = set[str](), tuple[int, ...](), float("inf"), time.monotonic()
        folders, names, fresh = [ImageFolder(path) for path in self.folders.values()], set[str](), list[str]()
        while True:
            now = tuple(path.stat().st_mtime_ns for path in self.folders.values())
            if now != changes or time.time_ns() - max(now) < _TICK:
                changes = now
                for folder in folders:
                    folder.look()
                names = set(folders[0].files).intersection(*(folder.files for folder in folders[1:]))
                fresh = sorted(names - known, key=lambda name: (_changed(each.path(name) for each in folders), name))
            if not fresh:
                if time.monotonic() - last_yield > HEARTBEAT:
                    last_yield = time.monotonic()
                    yield Capture(last_yield, {})  # the reader may have gone
                time.sleep(_POLL)
                continue
            stamp = time.monotonic()
            newest = [folder.path(fresh[-1]) for folder in folders]
            images = [_read(path) for path in newest]
            if any(image is None for image in images):
                waiting_since = min(waiting_since, stamp)
                if stamp - waiting_since > READ_TIMEOUT:
                    broken = next(path for path, image in zip(newest, images, strict=True) if image is None)
                    raise UserError(f"{broken} is not a readable image; remove it")
                time.sleep(_POLL)
                continue
            self.skipped = len(fresh) - 1 if known else 0  # what lay there before is no stream
            known, fresh, waiting_since, last_yield = names, [], float("inf"), stamp
            shown = {camera: image for camera, image in zip(self.cameras, images, strict=True) if image is not None}
            yield Capture(stamp, shown)


@dataclass(kw_only=True)
class Recorded:
    """A data set of the run's cameras, played at a rate; the true angles are known where it stores them.

    Args:
        run: identity of the run.
        dataset: the data set.
        split: of the images; the first test split if None, else the first split.
        rate: poses a second.
        loop: play it again at its end.

    Raises:
        UserError: no such split, or cameras or images of another kind.
    """

    run: Run
    dataset: Dataset
    split: str | None = None
    rate: float = RATE
    loop: bool = False
    steady: bool = False
    skipped: int = 0

    def __post_init__(self) -> None:
        self.cameras = self.run.cameras
        tests = [name for name in self.dataset.splits if name.startswith("test")]
        name = self.split or next(iter(tests or self.dataset.splits))
        self._rows = self.dataset.frames(name).index
        has_angles = set(self.run.joints) <= set(self.dataset.labelled_joints)
        self._truth = states_of(self.run, self.dataset, name) if has_angles else None
        images_of(self.run, self.dataset, self._rows[:1])

    def captures(self, start: float) -> Iterator[Capture]:
        """Poses when they are due."""
        for number in itertools.count() if self.loop else range(len(self._rows)):
            due = start + number / self.rate
            time.sleep(max(0.0, due - time.monotonic()))
            if time.monotonic() > due + 1 / self.rate:
                self.skipped += 1
                continue
            row = number % len(self._rows)
            images = [views[0] for views in by_camera(images_of(self.run, self.dataset, self._rows[row : row + 1]))]
            truth = None if self._truth is None else self._truth[row]
            yield Capture(due, dict(zip(self.cameras, images, strict=True)), truth)
            self.skipped = 0
        raise RecordingEnded(f"{self.dataset.path} ends after {len(self._rows)} poses; --loop plays it again")


def _changed(paths: Iterable[Path]) -> int:
    """When the last of some files was written, nanoseconds since 1970; 0 if one is gone."""
    try:
        return max(path.stat().st_mtime_ns for path in paths)
    except FileNotFoundError:
        return 0


def _read(path: Path) -> Images | None:
    """A complete image, or None."""
    try:
        with Image.open(path) as image:
            return np.asarray(image if image.mode in ("L", "RGB") else image.convert("RGB"))
    except (OSError, SyntaxError, ValueError, UnidentifiedImageError):
        return None


def cameras_of(run: Run, texts: Sequence[str]) -> dict[str, str]:
    """Camera → its source, from texts NAME=SOURCE or SOURCE in the order of the run's cameras.

    Raises:
        UserError: another number of sources than the run's cameras, an unknown camera, or a camera given twice.
    """
    named = [text.partition("=") for text in texts]
    plain = not any(equals and name in run.cameras for name, equals, _ in named)
    if len(texts) != len(run.cameras):
        kind = "camera" if len(run.cameras) == 1 else "cameras"
        raise UserError(
            f"--camera has {len(texts)} sources; this run reads {len(run.cameras)} {kind}: {', '.join(run.cameras)}"
        )
    if plain:
        return dict(zip(run.cameras, texts, strict=True))
    sources: dict[str, str] = {}
    for text, (name, equals, source) in zip(texts, named, strict=True):
        if not equals or name not in run.cameras:
            raise UserError(f"--camera {text}: give NAME=SOURCE with a name of {', '.join(run.cameras)}")
        if name in sources:
            raise UserError(f"--camera has {name} twice; give each camera once")
        sources[name] = source
    return {camera: sources[camera] for camera in run.cameras}
