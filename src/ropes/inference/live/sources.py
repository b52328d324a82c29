"""Sources of live images other than cameras: videos played at their speed, folders that fill, and data sets."""

import itertools
import math
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from ropes.data.dataset import Dataset
from ropes.data.recordings.videos import Video
from ropes.data.views import by_camera
from ropes.errors import UserError
from ropes.inference.live.frames import Capture, RecordingEnded
from ropes.inference.live.image_folder import ImageFolder, changed, read
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
class VideoFile:
    """A video file, played at its own speed; late frames are dropped.

    Args:
        camera: its name in the run.
        path: of the file.
        loop: play it again at its end.
        truth: the true angles; None where they are unknown.

    Attributes:
        duration: seconds until it is played again; of the shortest video where several are played together.

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
        self._times, self.duration = times, float(times[-1]) + period

    def captures(self, start: float) -> Iterator[Capture]:
        """Frames when they are due."""
        while True:
            for image in self._video.images(self._due(start)):
                truth = None if self.truth is None else self.truth.at(self._stamp - start)
                yield Capture(self._stamp, {self.camera: image}, truth)
            if not self.loop:
                break
            start += self.duration
        time.sleep(max(0.0, start + self.duration - time.monotonic()))  # the last frames of other cameras arrive
        frames = len(self._times)
        raise RecordingEnded(f"camera {self.camera}: {self.path} ends after {frames} frames; --loop plays it again")

    def _due(self, start: float) -> Iterator[int]:
        """Numbers of frames, each when it is due; frames that are late are skipped."""
        number, count = 0, int(np.searchsorted(self._times, self.duration))
        while number < count:
            time.sleep(max(0.0, start + self._times[number] - time.monotonic()))
            newest = int(np.searchsorted(self._times, time.monotonic() - start, side="right")) - 1
            newest = min(max(newest, number), count - 1)
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
        folders, waiting, fresh = [ImageFolder(path) for path in self.folders.values()], set[str](), list[str]()
        stamp, looked, earliest = -math.inf, last_yield, last_yield
        while True:
            before, looked = looked, time.monotonic()
            now = tuple(path.stat().st_mtime_ns for path in self.folders.values())
            if now != changes or time.time_ns() - max(now) < _TICK:
                changes = now
                for added, removed in [folder.look() for folder in folders]:
                    known -= removed
                    waiting = (waiting | added) - known
                    earliest = before if added else earliest
                fresh = [name for name in waiting if all(name in folder.files for folder in folders)]
                fresh.sort(key=lambda name: (changed(each.path(name) for each in folders), name))
            if not fresh:
                if time.monotonic() - last_yield > HEARTBEAT:
                    last_yield = time.monotonic()
                    yield Capture(last_yield, {})  # the reader may have gone
                time.sleep(_POLL)
                continue
            newest, last, stamp = [folder.path(fresh[-1]) for folder in folders], stamp, time.monotonic()
            if known:  # when the images were written, not when the folder was listed
                written = stamp - max(0.0, (time.time_ns() - changed(newest)) / 1e9)
                # An image that was moved here may keep the time at which it was recorded.
                stamp = max(written, earliest, math.nextafter(last, math.inf))
            images = [read(path) for path in newest]
            if any(image is None for image in images):
                waiting_since = min(waiting_since, time.monotonic())
                if time.monotonic() - waiting_since > READ_TIMEOUT:
                    broken = next(path for path, image in zip(newest, images, strict=True) if image is None)
                    raise UserError(f"{broken} is not a readable image; remove it")
                time.sleep(_POLL)
                continue
            self.skipped = len(fresh) - 1 if known else 0  # what lay there before is no stream
            known.update(fresh)
            waiting.difference_update(fresh)
            fresh, waiting_since, last_yield = [], float("inf"), time.monotonic()
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
        self.split = name = self.split or next(iter(tests or self.dataset.splits))
        self._rows = self.dataset.frames(name).index
        labelled = set(self.dataset.labelled_joints)
        if labelled and not labelled & set(self.run.joints):
            print(
                f"ropes: warning: {self.dataset.path} has joints {', '.join(self.dataset.labelled_joints)}, the run "
                f"{', '.join(self.run.joints)}; angles of another arm mean nothing",
                file=sys.stderr,
            )
        has_angles = set(self.run.joints) <= labelled
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


def cameras_of(run: Run, texts: Sequence[str]) -> dict[str, str]:
    """Camera → its source, from texts NAME=SOURCE or SOURCE in the order of the run's cameras.

    Raises:
        UserError: another number of sources than the run's cameras, an unknown camera, or a camera given twice.
    """
    named = [text.partition("=") for text in texts]
    plain = not any(equals and name in run.cameras for name, equals, _ in named)
    cameras = ", ".join(run.cameras)
    if len(texts) != len(run.cameras):
        given = f"{len(texts)} given"
        raise UserError(f"--camera: this run reads {cameras}; give a source for each ({given})")
    if plain:
        for text, (name, equals, _) in zip(texts, named, strict=True):
            if equals and re.fullmatch(r"[\w-]+", name) and not Path(text).exists():
                raise UserError(f"--camera {text}: this run has no camera {name}; its cameras are {cameras}")
        return dict(zip(run.cameras, texts, strict=True))
    sources: dict[str, str] = {}
    for text, (name, equals, source) in zip(texts, named, strict=True):
        if not equals or name not in run.cameras:
            raise UserError(f"--camera {text}: give NAME=SOURCE with a name of {cameras}")
        if name in sources:
            raise UserError(f"--camera has {name} twice; give each camera once")
        sources[name] = source
    return {camera: sources[camera] for camera in run.cameras}
