"""Reads videos and folders of frames, with a log of commands and joint positions beside them."""

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image as Pictures

from ropes.data.recordings.checksums import digest
from ropes.data.recordings.source import COMMAND_INTERVAL, Episode, FrameId, Image, Joints, Options, Policies
from ropes.data.recordings.tables import Table, read_table
from ropes.data.recordings.video import Video
from ropes.errors import UserError

VIDEO_SUFFIXES = (".mp4", ".mkv", ".mov", ".avi", ".webm", ".m4v", ".mpg", ".mpeg", ".ts", ".wmv")
FRAME_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
LOG_SUFFIXES = (".csv", ".parquet")
#: Columns of a log that are no joint.
_RESERVED = ("time", "frame", "policy", "episode")


class Videos:
    """A video, or a folder of videos, one for each camera; the file's name is the camera's."""

    def recognises(self, path: Path) -> bool:
        """See `Source`."""
        return path.suffix.lower() in VIDEO_SUFFIXES if path.is_file() else bool(_files(path, VIDEO_SUFFIXES))

    def open(self, path: Path, options: Options) -> "VideoRecording":
        """See `Source`."""
        found = [path] if path.is_file() else _files(path, VIDEO_SUFFIXES)
        chosen = _chosen({file.stem: file for file in found}, options, path)
        return VideoRecording(path, chosen, _log(path, found[0], options), options)


class FrameFolders:
    """A folder of images, or a folder with one such folder for each camera."""

    def recognises(self, path: Path) -> bool:
        """See `Source`."""
        return path.is_dir() and bool(_camera_folders(path))

    def open(self, path: Path, options: Options) -> "FramesRecording":
        """See `Source`."""
        folders = _chosen({folder.name: folder for folder in _camera_folders(path)}, options, path)
        log = _log(path, None, options)
        if log is None or "frame" not in log.columns:
            raise UserError(f"{path}: a folder of frames needs a log with a column frame; give it by --log FILE")
        return FramesRecording(path, folders, log, options)


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
        """Format and checksum."""
        return {"format": "video", **_record(self.path, self.files.values(), self.log)}

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """The whole recording."""
        frames = {name: video.times - video.times[0] for name, video in self._videos.items()}
        joints = policies = None
        if self.log is not None:
            times = self.log.numbers("time") + self.options.offset
            joints, policies = _joints(self.log, times), _policies(self.log, times, self.options)
        return (Episode(name=self.path.name, frames=frames, joints=joints, policies=policies),)

    def images(self, camera: str, frames: Sequence[FrameId]) -> Generator[Image, None, None]:
        """See `Recording`."""
        yield from self._videos[camera].images([number for _, number in frames])

    @cached_property
    def _videos(self) -> dict[str, Video]:
        return {name: Video(path) for name, path in self.files.items()}


@dataclass(frozen=True)
class FramesRecording:
    """Images in folders, of which a log names those of each pose; see `ropes.data.recordings.source.Recording`.

    Raises:
        UserError: an image is missing or damaged, or a column of the log is missing or wrong.
    """

    path: Path
    folders: Mapping[str, Path]
    log: Table
    options: Options
    moves = False

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras: those of the folders."""
        return tuple(self.folders)

    @cached_property
    def record(self) -> Mapping[str, object]:
        """Format and checksum; images without a row of the log are counted."""
        images = sum(len(_files(folder, FRAME_SUFFIXES)) for folder in self.folders.values())
        used = [path for paths in self._paths.values() for path in paths]
        return {"format": "frames", **_record(self.path, used, self.log), "images_without_a_row": images - len(used)}

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """The rows of the log in order, as one episode, or as one for each value of its column `episode`."""
        _ = self._paths
        numbers = self.log.counts("episode") if "episode" in self.log.columns else np.zeros(len(self.log), np.int64)
        if (np.diff(numbers) < 0).any():
            row = int(np.flatnonzero(np.diff(numbers) < 0)[0]) + 1
            raise UserError(f"{self.log.where(row)}: episode {numbers[row]} after {numbers[row - 1]}; sort the log")
        times = np.arange(len(self.log), dtype=np.float64)
        if "time" in self.log.columns:
            times = self.log.numbers("time") + self.options.offset
            same = np.flatnonzero((np.diff(times) <= 0) & (np.diff(numbers) == 0))
            if len(same):
                raise UserError(
                    f"{self.log.where(int(same[0]) + 1)}: its time is not later than the row's before; each row of the "
                    "log is a pose of its own: correct the times, or leave the column out"
                )
        joints, stated = _joints(self.log, times), _policies(self.log, times, self.options, every_row=True)
        parts = []
        for number in np.unique(numbers):
            rows = np.flatnonzero(numbers == number)
            parts.append(
                Episode(
                    name=f"episode {number}",
                    frames=dict.fromkeys(self.folders, times[rows]),
                    joints=None
                    if joints is None
                    else Joints(names=joints.names, times=times[rows], positions=joints.positions[rows]),
                    policies=None
                    if stated is None
                    else Policies(times=times[rows], names=tuple(stated.names[row] for row in rows)),
                )
            )
        return tuple(parts)

    def images(self, camera: str, frames: Sequence[FrameId]) -> Generator[Image, None, None]:
        """See `Recording`."""
        begins = np.cumsum([0, *(len(next(iter(episode.frames.values()))) for episode in self.episodes)])
        for episode, number in frames:
            path = self._paths[camera][int(begins[episode]) + number]
            try:
                with Pictures.open(path) as picture:
                    if picture.mode not in ("L", "RGB"):
                        raise UserError(f"{path}: {picture.mode} image; images must be 8-bit grey or RGB")
                    yield np.asarray(picture)
            except (OSError, SyntaxError, ValueError) as error:
                raise UserError(f"{path} is no image that can be read ({error})") from error

    @cached_property
    def _paths(self) -> dict[str, list[Path]]:
        """Camera → path of the image of each row of the log."""
        names, content = self.log.texts("frame"), {}
        for camera, folder in self.folders.items():
            files = _files(folder, FRAME_SUFFIXES)
            known: dict[str, set[Path]] = {}
            for file in files:
                for key in {file.name, file.stem, _number(file.stem)} - {""}:
                    known.setdefault(key, set()).add(file)
            for row, name in enumerate(names):
                if name not in known:
                    raise UserError(f"{self.log.where(row)}: frame {name} is missing in {folder}; restore it")
                if len(known[name]) > 1:
                    first, second = sorted(file.name for file in known[name])[:2]
                    raise UserError(
                        f"{self.log.where(row)}: frame {name} is {first} or {second}; give the name of the file"
                    )
            content[camera] = [file for name in names for file in known[name]]
        return content


def _number(stem: str) -> str:
    """The number at the end of a file's name, without leading zeros; empty without one."""
    digits = re.search(r"\d+$", stem)
    return str(int(digits.group())) if digits else ""


def _joints(log: Table, times: np.ndarray) -> Joints | None:
    """The joint positions of a log: its columns of numbers.  A position holds until the next row."""
    names = tuple(name for name in log.numeric() if name not in _RESERVED)
    if not names:
        return None
    return Joints(names=names, times=times, positions=np.stack([log.numbers(name) for name in names], 1), hold=True)


def _policies(log: Table, times: np.ndarray, options: Options, *, every_row: bool = False) -> Policies | None:
    """When which policy acts.  Rows at long intervals are commands: each begins a stretch, also of the same policy."""
    column = options.policy_column or "policy"
    if column not in log.columns and options.policy_column is None:
        return None
    names = log.texts(column)
    commands = every_row or (len(times) > 1 and float(np.median(np.diff(times))) > COMMAND_INTERVAL)
    begins = [k for k, name in enumerate(names) if commands or k == 0 or name != names[k - 1]]
    return Policies(times=times[begins], names=tuple(names[k] for k in begins))


def _chosen(found: Mapping[str, Path], options: Options, path: Path) -> dict[str, Path]:
    """The cameras that the options name; all without such an option."""
    return {name: found[name] for name in options.named(tuple(found), path)}


def _log(path: Path, video: Path | None, options: Options) -> Table | None:
    """The log that the options name, or else the one beside the video, or the only one in the folder."""
    if options.log is not None:
        return read_table(options.log)
    if path.is_file() and video is not None:
        found = [video.with_suffix(suffix) for suffix in LOG_SUFFIXES if video.with_suffix(suffix).is_file()]
    else:
        found = _files(path, LOG_SUFFIXES)
    if len(found) > 1:
        raise UserError(f"{path} has several logs ({', '.join(file.name for file in found)}); choose one by --log")
    if not found and not options.policies_elsewhere:
        raise UserError(f"{path} has no log of time stamps and policies; give it by --log FILE")
    return read_table(found[0]) if found else None


def _record(path: Path, files: Iterable[Path], log: Table | None) -> dict[str, object]:
    """Checksums of images and log."""
    root = path if path.is_dir() else path.parent
    return {"sha256": digest(root, sorted(files)), "log_sha256": None if log is None else digest(log.path, [log.path])}


def _files(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """Files of a folder with one of the suffixes, by name."""
    if not folder.is_dir():
        return []
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in suffixes and file.is_file())


def _camera_folders(path: Path) -> list[Path]:
    """The folders of images: those inside a folder, or the folder itself."""
    inside = [folder for folder in sorted(path.iterdir()) if folder.is_dir() and _files(folder, FRAME_SUFFIXES)]
    return inside or ([path] if _files(path, FRAME_SUFFIXES) else [])
