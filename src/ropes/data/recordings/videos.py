"""Reads videos by PyAV, with a log of commands or samples beside them.

Time stamps are read without decoding, then only the frames that are needed are decoded.  Of a whole video only the time
stamps are in memory.
"""

import importlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats, Images
from ropes.common.progress import progress as show_progress
from ropes.data.recordings import logs
from ropes.data.recordings.source import VIDEO_SUFFIXES, Episode, FrameId, Options
from ropes.data.recordings.tables import Table
from ropes.errors import UserError, install_command

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

#: Frames that are decoded rather than skipped by seeking to a key frame behind them.
_SEEK = 8
#: Formats in which seeking is not exact.
_WITHOUT_INDEX = ("mpegts", "mpeg", "avi")
#: Seconds that a truncated video lacks at least.
_MISSING = 1.0
_MEGABYTE = 1_000_000


def import_extra(name: str) -> ModuleType:
    """Import a module of the extra `import`.

    Raises:
        UserError: it is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UserError(
            f"reading this recording needs the package {error.name}: {install_command('import')}"
        ) from error


def versions() -> dict[str, str]:
    """Versions of PyAV and of FFmpeg's decoders, which decide the pixels of a decoded frame.

    Raises:
        UserError: PyAV is not installed.
    """
    av = import_extra("av")
    decoders = ".".join(map(str, av.library_versions["libavcodec"]))
    return {"av": version("av"), "libavcodec": decoders}


class Video:
    """One video file; shows `progress` while its time stamps are read.

    Attributes:
        path: of the file.
        stamps: presentation time stamps of the frames in units of the stream, ascending, (frames,).
        times: the same in seconds.

    Raises:
        UserError: PyAV is not installed, or the file is missing, truncated or no video, or it is an AVI file with
            reordered frames.
    """

    def __init__(self, path: Path, *, progress: bool = False) -> None:
        self._av = import_extra("av")
        self.path = path
        with (
            self._opened() as container,
            show_progress(f"reading {path.name}, MB", path.stat().st_size // _MEGABYTE, show=progress) as update,
        ):
            stream = self._stream(container)
            base = stream.time_base
            stamps, keys, left_out, damaged, read = list[int](), list[int](), 0, False, 0
            try:
                for packet in container.demux(stream):
                    read += packet.size
                    update(read // _MEGABYTE)
                    damaged |= packet.is_corrupt
                    if packet.is_discard:  # before the first frame that the file shows
                        left_out += 1
                    elif packet.pts is not None:
                        stamps.append(packet.pts)
                        keys += [packet.pts] if packet.is_keyframe else []
            except self._av.error.FFmpegError as error:
                raise self._fault(error) from error
            expected = max(0, stream.frames - left_out)
            if not expected and len(container.streams) == 1 and container.duration and stamps and base is not None:
                # Matroska does not count frames, but says how long the video is, in microseconds, with the last frame.
                interval = float(np.median(np.diff(np.sort(stamps)))) if len(stamps) > 1 else 0.0
                damaged |= container.duration / 1e6 - float(max(stamps) * base) > _MISSING + interval * float(base)
            # Where a codec reorders frames, ascending time stamps are those of decoding, as for H.264 in AVI.
            in_avi = container.format.name == "avi"
            reordered = in_avi and stream.codec_context.has_b_frames and stamps == sorted(stamps)
            keys = [] if container.format.name in _WITHOUT_INDEX else keys
        if damaged or len(stamps) < expected or base is None or not stamps:
            count = f"{len(stamps)} of its {expected} frames" if expected else f"only {len(stamps)} frames"
            raise UserError(f"{path} is truncated: it holds {count}; copy it again, or write it again with ffmpeg")
        if reordered:
            raise UserError(
                f"{path}: AVI does not store when the reordered frames (B-frames) of this video are shown; encode it "
                f"again, without -c copy: ffmpeg -i {path.name} -c:v libx264 -crf 15 {path.stem}.mkv"
            )
        self.stamps: NDArray[np.int64] = np.sort(np.array(stamps, dtype=np.int64))
        if (np.diff(self.stamps) <= 0).any():
            raise UserError(f"{path}: two frames have one time stamp; write the video again with ffmpeg")
        self._keys = np.searchsorted(self.stamps, np.sort(np.array(keys, dtype=np.int64)))
        self.times: Floats = self.stamps.astype(np.float64) * float(base)

    def images(self, frames: Iterable[int]) -> Generator[Images, None, None]:
        """Decode frames by their numbers, in ascending order, as uint8 (H, W, 3) RGB; a number is taken when needed.

        Frames are turned as players show them: phones store how they were held.

        Raises:
            UserError: a frame cannot be decoded.
        """
        with self._opened() as container:
            stream = self._stream(container)
            stream.thread_type = "AUTO"
            try:
                position, source = -1, self._in_order(container.decode(stream))
                current: Images | None = None
                for number in frames:
                    if number == position and current is not None:  # a slower camera repeats frames
                        yield current
                        continue
                    key = int(np.searchsorted(self._keys, number, side="right")) - 1
                    if key >= 0 and self._keys[key] > position + _SEEK:
                        container.seek(int(self.stamps[self._keys[key]]), stream=stream)
                        source = self._in_order(container.decode(stream))
                    stamp = int(self.stamps[number])
                    frame = next((each for each in source if each.pts is not None and each.pts >= stamp), None)
                    if frame is None or frame.pts != stamp or frame.is_corrupt:
                        raise UserError(f"{self.path}: frame {number} is missing or damaged; write the video again")
                    position, current = number, shown(frame)
                    yield current
            except self._av.error.FFmpegError as error:
                raise self._fault(error) from error

    def _in_order(self, frames: Iterable["VideoFrame"]) -> Generator["VideoFrame", None, None]:
        """The frames, whose time stamps must ascend."""
        last = None
        for frame in frames:
            if last is not None and frame.pts is not None and frame.pts < last:
                raise UserError(
                    f"{self.path}: its time stamps are in another order than its frames, as after ffmpeg -c copy from "
                    "AVI; encode the first file instead: ffmpeg -i FIRST.avi -c:v libx264 -crf 15 NEW.mkv"
                )
            last = last if frame.pts is None else frame.pts
            yield frame

    def _opened(self) -> "InputContainer":
        try:
            # FFmpeg takes a colon in a name without a folder, as in 12:30.mp4, for the end of a protocol's name.
            container: InputContainer = self._av.open(str(self.path.absolute()))
        except FileNotFoundError as error:
            raise UserError(f"{self.path} is missing") from error
        except self._av.error.FFmpegError as error:
            raise self._fault(error) from error
        return container

    def _stream(self, container: "InputContainer") -> "VideoStream":
        if not container.streams.video:
            raise UserError(f"{self.path} is truncated or no video (it has no pictures); copy it again")
        return container.streams.video[0]

    def _fault(self, error: Exception) -> UserError:
        reason = getattr(error, "strerror", None) or error
        return UserError(f"{self.path} is truncated or no video ({reason}); copy it again")


def shown(frame: "VideoFrame") -> Images:
    """RGB of a frame, turned by the display rotation of its file, degrees counter-clockwise."""
    pixels = np.asarray(frame.to_ndarray(format="rgb24"), dtype=np.uint8)
    return np.ascontiguousarray(np.rot90(pixels, round(frame.rotation / 90)))


class Videos:
    """A video, or a folder of videos, one for each camera; the file's name is the camera's."""

    def recognises(self, path: Path) -> bool:
        """See `Source`."""
        return path.suffix.lower() in VIDEO_SUFFIXES if path.is_file() else bool(logs.files(path, VIDEO_SUFFIXES))

    def open(self, path: Path, options: Options) -> "VideoRecording":
        """See `Source`."""
        found = [path] if path.is_file() else logs.files(path, VIDEO_SUFFIXES)
        by_camera: dict[str, Path] = {}
        for file in found:
            if (other := by_camera.setdefault(file.stem, file)) != file:
                raise UserError(
                    f"{path} has two videos of camera {file.stem}, {other.name} and {file.name}; remove one"
                )
        chosen = logs.chosen(by_camera, options, path)
        return VideoRecording(path, chosen, logs.find(path, found[0], options), options)


@dataclass(frozen=True)
class VideoRecording:
    """Videos that began at the same time, as one episode; see `ropes.data.recordings.source.Recording`.

    Raises:
        UserError: a video is truncated, or a column of the log is missing or wrong.
    """

    path: Path
    files: Mapping[str, Path]
    log: Table | None
    options: Options
    moves = True

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras: those of the files."""
        return tuple(self.files)

    @cached_property
    def record(self) -> Mapping[str, object]:
        """Format, versions of the decoder, checksums."""
        checksums = logs.record(self.path, self.files.values(), self.log, self.options)
        return {"format": "video", "libraries": versions(), **checksums}

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """The whole recording."""
        frames = {name: video.times - video.times[0] for name, video in self._videos.items()}
        joints = policies = None
        if self.log is not None:
            times = self.log.numbers("time") + self.options.offset
            joints, policies = logs.joints(self.log, times, self.options), logs.policies(self.log, times, self.options)
        return (Episode(name=self.path.name, frames=frames, joints=joints, policies=policies),)

    def images(self, camera: str, frames: Sequence[FrameId]) -> Generator[Images, None, None]:
        """See `Recording`."""
        yield from self._videos[camera].images([number for _, number in frames])

    @cached_property
    def _videos(self) -> dict[str, Video]:
        return {name: Video(path, progress=self.options.progress) for name, path in self.files.items()}
