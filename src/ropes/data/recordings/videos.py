"""Reads videos, with a log of commands or samples beside them."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ropes.data.recordings import logs
from ropes.data.recordings.source import Episode, FrameId, Image, Options
from ropes.data.recordings.tables import Table
from ropes.data.recordings.video import Video, versions

VIDEO_SUFFIXES = (".mp4", ".mkv", ".mov", ".avi", ".webm", ".m4v", ".mpg", ".mpeg", ".ts", ".wmv")


class Videos:
    """A video, or a folder of videos, one for each camera; the file's name is the camera's."""

    def recognises(self, path: Path) -> bool:
        """See `Source`."""
        return path.suffix.lower() in VIDEO_SUFFIXES if path.is_file() else bool(logs.files(path, VIDEO_SUFFIXES))

    def open(self, path: Path, options: Options) -> "VideoRecording":
        """See `Source`."""
        found = [path] if path.is_file() else logs.files(path, VIDEO_SUFFIXES)
        chosen = logs.chosen({file.stem: file for file in found}, options, path)
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
        return {"format": "video", "libraries": versions(), **logs.record(self.path, self.files.values(), self.log)}

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """The whole recording."""
        frames = {name: video.times - video.times[0] for name, video in self._videos.items()}
        joints = policies = None
        if self.log is not None:
            times = self.log.numbers("time") + self.options.offset
            joints, policies = logs.joints(self.log, times, self.options), logs.policies(self.log, times, self.options)
        return (Episode(name=self.path.name, frames=frames, joints=joints, policies=policies),)

    def images(self, camera: str, frames: Sequence[FrameId]) -> Generator[Image, None, None]:
        """See `Recording`."""
        yield from self._videos[camera].images([number for _, number in frames])

    @cached_property
    def _videos(self) -> dict[str, Video]:
        return {name: Video(path) for name, path in self.files.items()}
