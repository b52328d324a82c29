"""Reads folders of frames, of which a log names those of each pose."""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ropes.common.arrays import Images
from ropes.data.recordings import logs
from ropes.data.recordings.source import IMAGE_SUFFIXES, Episode, FrameId, Joints, Options, Policies, read_picture
from ropes.data.recordings.tables import Table
from ropes.errors import UserError


class FrameFolders:
    """A folder of images, or a folder with one such folder for each camera."""

    def recognises(self, path: Path) -> bool:
        """See `Source`."""
        return path.is_dir() and bool(_camera_folders(path))

    def open(self, path: Path, options: Options) -> "FramesRecording":
        """See `Source`."""
        folders = logs.chosen({folder.name: folder for folder in _camera_folders(path)}, options, path)
        log = logs.find(path, None, options)
        if log is None or "frame" not in log.columns:
            raise UserError(f"{path}: a folder of frames needs a log with a column frame; give it by --log FILE")
        return FramesRecording(path, folders, log, options)


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
        images = sum(len(logs.files(folder, IMAGE_SUFFIXES)) for folder in self.folders.values())
        used = [path for paths in self._paths.values() for path in paths]
        unused = images - len(set(used))
        return {
            "format": "frames",
            **logs.record(self.path, used, self.log, self.options),
            "images_without_a_row": unused,
        }

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
            times = self.log.numbers("time")
            same = np.flatnonzero((np.diff(times) <= 0) & (np.diff(numbers) == 0))
            if len(same):
                raise UserError(
                    f"{self.log.where(int(same[0]) + 1)}: its time is not later than the row's before; each row of the "
                    "log is a pose of its own: correct the times, or leave the column out"
                )
        joints = logs.joints(self.log, times, self.options)
        stated = logs.policies(self.log, times, self.options, every_row=True)
        if stated is not None:
            self._require_one_policy(stated.names)
        parts = []
        for number in np.unique(numbers):
            rows = np.flatnonzero(numbers == number)
            stamps = times[rows] - times[rows[0]]
            parts.append(
                Episode(
                    name=f"episode {number}",
                    number=int(number),
                    frames=dict.fromkeys(self.folders, stamps),
                    joints=None
                    if joints is None
                    else Joints(names=joints.names, times=stamps, positions=joints.positions[rows]),
                    policies=None
                    if stated is None
                    else Policies(times=stamps, names=tuple(stated.names[row] for row in rows)),
                )
            )
        return tuple(parts)

    def images(self, camera: str, frames: Sequence[FrameId]) -> Generator[Images, None, None]:
        """See `Recording`."""
        for path in (self.frame_file(camera, frame) for frame in frames):
            yield read_picture(path, str(path), f"{path} is no image that can be read")

    def frame_file(self, camera: str, frame: FrameId) -> Path:
        """See `Recording`."""
        episode, number = frame
        return self._paths[camera][self._begins[episode] + number]

    @cached_property
    def _begins(self) -> list[int]:
        """Row of the log with which each episode begins."""
        lengths = [len(next(iter(episode.frames.values()))) for episode in self.episodes]
        return [0, *np.cumsum(lengths).tolist()]

    @cached_property
    def _paths(self) -> dict[str, list[Path]]:
        """Camera → path of the image of each row of the log."""
        names, content = self.log.texts("frame"), {}
        for camera, folder in self.folders.items():
            files = logs.files(folder, IMAGE_SUFFIXES)
            known: dict[str, set[Path]] = {}
            for file in files:
                for key in {file.name, file.stem, _number(file.stem)} - {""}:
                    known.setdefault(key, set()).add(file)
            keys = [name if name in known else _whole(name) for name in names]
            for row, (name, key) in enumerate(zip(names, keys, strict=True)):
                if key not in known:
                    raise UserError(f"{self.log.where(row)}: frame {name} is missing in {folder}; restore it")
                if len(known[key]) > 1:
                    first, second = sorted(file.name for file in known[key])[:2]
                    raise UserError(
                        f"{self.log.where(row)}: frame {name} is {first} or {second}; give the name of the file"
                    )
            content[camera] = [file for key in keys for file in known[key]]
        return content

    def _require_one_policy(self, names: Sequence[str]) -> None:
        """Check that no image has two policies."""
        for paths in self._paths.values():
            policies: dict[Path, str] = {}
            for row, (path, name) in enumerate(zip(paths, names, strict=True)):
                if policies.setdefault(path, name) != name:
                    raise UserError(
                        f"{self.log.where(row)}: {path.name} is of policy {name or 'none'}, and of "
                        f"{policies[path] or 'none'} in a row before; remove one"
                    )


def _number(stem: str) -> str:
    """The number at the end of a file's name, without leading zeros; empty without one."""
    digits = re.search(r"\d+$", stem)
    return str(int(digits.group())) if digits else ""


def _whole(name: str) -> str:
    """A whole number as `_number` writes it, from 007 or 7.0, as tables have it where values are missing."""
    digits = re.fullmatch(r"(\d+)(\.0*)?", name)
    return str(int(digits.group(1))) if digits else name


def _camera_folders(path: Path) -> list[Path]:
    """The folders of images: those inside a folder, or the folder itself."""
    inside = [folder for folder in sorted(path.iterdir()) if folder.is_dir() and logs.files(folder, IMAGE_SUFFIXES)]
    return inside or ([path] if logs.files(path, IMAGE_SUFFIXES) else [])
