"""Reads LeRobot data sets, v3.0 and v2.1: images or video, several cameras, `observation.state`, tasks."""

import io
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ropes.common.arrays import Images
from ropes.common.progress import progress
from ropes.data import schema
from ropes.data.recordings import lerobot_layout as layout
from ropes.data.recordings.lerobot_units import POSITION, scales_of
from ropes.data.recordings.source import Episode, FrameId, Joints, Options, Policies, Scale, digest, read_picture
from ropes.data.recordings.videos import Video, versions
from ropes.data.stats import vectors
from ropes.errors import UserError, in_one_line

#: A stretch of one policy of at least as many frames, at the median, shows an arm that moves between poses.
_STRETCH = 3
_OBSERVATION = "observation."
#: Rows with images that are read at a time.
_ROWS = 16


class LeRobot:
    """LeRobot folders, recognised by `meta/info.json`."""

    def recognises(self, path: Path) -> bool:
        """See `Source`."""
        return (path / schema.INFO).is_file()

    def open(self, path: Path, options: Options) -> "LeRobotRecording":
        """See `Source`."""
        return LeRobotRecording(path, layout.read_layout(path), options)


@dataclass(frozen=True)
class LeRobotRecording:
    """A LeRobot folder; see `ropes.data.recordings.source.Recording`.

    Raises:
        UserError: a file is missing or damaged, frames are missing, or a camera or column does not exist.
    """

    path: Path
    layout: layout.Layout
    options: Options

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the imported cameras."""
        return tuple(self._features)

    @cached_property
    def _features(self) -> dict[str, str]:
        """Camera → feature: each `observation.images.CAMERA`, and others with images, such as `observation.image`."""
        found: dict[str, str] = {}
        features = self.layout.features
        for feature in sorted(features, key=lambda each: not each.startswith(schema.IMAGES)):
            if feature.startswith(_OBSERVATION) and features[feature].get("dtype") in ("image", "video"):
                name = feature.removeprefix(schema.IMAGES).removeprefix(_OBSERVATION)
                found[feature if name in found else name] = feature
        chosen = {name: found[camera] for name, camera in self.options.named(found, self.path).items()}
        if not chosen:
            raise UserError(f"{self.path} has no feature {schema.IMAGES}CAMERA of dtype image or video")
        return chosen

    @cached_property
    def record(self) -> Mapping[str, object]:
        """Format, versions of the decoder, checksum and frame rate."""
        paths = [path for path in sorted(self.path.rglob("*")) if path.is_file()]
        return {
            "format": f"LeRobot {self.layout.version}",
            **({"libraries": versions()} if any(map(self._is_video, self.cameras)) else {}),
            "sha256": digest(self.path, paths, progress=self.options.progress),
            "robot": self.layout.robot,
            "fps": self.layout.fps,
            "cameras": self._features,
        }

    @cached_property
    def moves(self) -> bool:
        """Whether stretches of one policy last several frames."""
        lengths = []
        for episode in self.episodes:
            total = len(next(iter(episode.frames.values())))
            changes = 1 if episode.policies is None else len(episode.policies.names)
            lengths.append(total / changes)
        return float(np.median(lengths)) >= _STRETCH

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """Time stamps, states and tasks of each episode."""
        _ = self._videos
        return tuple(self._episode(number) for number in range(len(self.layout.episodes)))

    def images(self, camera: str, frames: Sequence[FrameId]) -> Generator[Images, None, None]:
        """See `Recording`."""
        read = self._video_images if self._is_video(camera) else self._stored_images
        return read(camera, frames)

    def _is_video(self, camera: str) -> bool:
        return bool(self.layout.features[self._features[camera]]["dtype"] == "video")

    @cached_property
    def _videos(self) -> dict[tuple[str, int], tuple[Video, np.ndarray]]:
        """(Camera, episode) → video, and number in it of each frame of the episode."""
        opened: dict[Path, Video] = {}
        content = {}
        wanted_videos = [
            (camera, number, episode)
            for camera in filter(self._is_video, self.cameras)
            for number, episode in enumerate(self.layout.episodes)
        ]
        what, show = "reading time stamps, videos of episodes", self.options.progress and bool(wanted_videos)
        with progress(what, len(wanted_videos), show=show) as update:
            for done, (camera, number, episode) in enumerate(wanted_videos, start=1):
                path, begin = self.layout.video(self._features[camera], episode)
                video = opened.setdefault(path, opened.get(path) or Video(path))
                wanted = begin + self._contents[number]["timestamp"]
                nearest = np.searchsorted(video.times, wanted - 0.5 / self.layout.fps)
                nearest = np.minimum(nearest, len(video.times) - 1)
                late = np.flatnonzero(np.abs(video.times[nearest] - wanted) > 0.5 / self.layout.fps)
                if len(late):
                    raise UserError(f"{path}: no frame at {wanted[late[0]]:.3f} s, of episode {number}; copy it again")
                content[camera, number] = video, nearest
                update(done)
        return content

    def _video_images(self, camera: str, frames: Sequence[FrameId]) -> Generator[Images, None, None]:
        videos = {episode: self._videos[camera, episode] for episode, _ in frames}
        opened = {video.path: video for video, _ in videos.values()}
        places = ((videos[episode][0].path, int(videos[episode][1][frame])) for episode, frame in frames)
        for path, numbers in _runs(places):
            yield from opened[path].images(numbers)

    def _stored_images(self, camera: str, frames: Sequence[FrameId]) -> Generator[Images, None, None]:
        """Decode images that the data files hold, a few rows at a time."""
        column = self._features[camera]
        rows = (self._rows[episode][frame] for episode, frame in frames)
        for path, numbers in _runs((self.layout.data_files[file], row) for file, row in rows):
            wanted = set(numbers)
            try:
                with pq.ParquetFile(path) as table:
                    first = 0
                    for batch in table.iter_batches(batch_size=_ROWS, columns=[column]):
                        for k in sorted(wanted.intersection(range(first, first + len(batch)))):
                            yield _decoded(batch[column][k - first].as_py(), f"{path}, row {k}, camera {camera}")
                        first += len(batch)
            except (OSError, pa.ArrowException) as error:
                raise UserError(f"{path} is damaged ({in_one_line(error)}); copy it again") from error

    @cached_property
    def _scales(self) -> dict[str, Scale]:
        return scales_of(self.layout.robot, self.options.calibration)

    @cached_property
    def _rows(self) -> list[list[tuple[int, int]]]:
        """Data file and row of each frame of each episode."""
        rows: list[list[tuple[int, int]]] = [[] for _ in self.layout.episodes]
        for file, table in enumerate(self._tables):
            for row, episode in enumerate(table["episode_index"].to_pylist()):
                if not isinstance(episode, int) or not 0 <= episode < len(rows):
                    raise UserError(f"{self.layout.data_files[file]}, row {row}: no episode {episode} in meta/")
                rows[episode].append((file, row))
        return rows

    @cached_property
    def _tables(self) -> list[pa.Table]:
        """The data files without images."""
        chosen = self.options.policy_column
        names = ["timestamp", "frame_index", "episode_index", "task_index", *([chosen] if chosen else [])]
        names += [schema.STATE] if schema.STATE in self.layout.features else []
        return [layout.read_parquet(path, names) for path in self.layout.data_files]

    @cached_property
    def _contents(self) -> list[dict[str, Any]]:
        return [self._columns(number) for number in range(len(self.layout.episodes))]

    def _columns(self, number: int) -> dict[str, Any]:
        """Columns of one episode as arrays; policies as texts."""
        rows, expected = self._rows[number], self.layout.episodes[number].length
        if len(rows) != expected:
            raise UserError(f"{self.path}: episode {number} has {len(rows)} of its {expected} frames; copy it again")
        files = sorted({file for file, _ in rows})
        table = pa.concat_tables(self._tables[f].take([r for k, r in rows if k == f]) for f in files)
        content: dict[str, Any] = {name: table[name].to_numpy() for name in ("timestamp", "frame_index")}
        try:
            known = np.isfinite(content["timestamp"].astype(np.float64)).all()
        except (TypeError, ValueError) as error:
            raise UserError(f"{self.path}: episode {number} has time stamps that are no numbers ({error})") from error
        if not known:
            raise UserError(f"{self.path}: episode {number} has a frame without a time stamp; copy it again")
        if not np.array_equal(content["frame_index"], np.arange(expected)):
            raise UserError(f"{self.path}: episode {number} has frames that are not 0 to {expected - 1}; copy it again")
        texts = table[self.options.policy_column or "task_index"].to_pylist()
        if self.options.policy_column is None:
            if unknown := [index for index in texts if index not in self.layout.tasks]:
                raise UserError(f"{self.path}: episode {number} has task {unknown[0]}, which meta/ does not name")
            texts = [self.layout.tasks[index] for index in texts]
        content["policy"] = ["" if text is None else str(text) for text in texts]
        if schema.STATE in table.column_names:
            try:
                content["state"] = vectors(table[schema.STATE].combine_chunks()).astype(np.float64)
            except ValueError as error:
                raise UserError(f"{self.path}: {schema.STATE} of episode {number} has {error}") from error
        return content

    def _episode(self, number: int) -> Episode:
        content = self._contents[number]
        times, policies = content["timestamp"].astype(np.float64), content["policy"]
        joints = None
        if "state" in content:
            names = self.layout.state_names(content["state"].shape[1])
            names = tuple(name.removesuffix(POSITION) for name in names)
            joints = Joints(names=names, times=times, positions=content["state"], scales=self._scales)
        begins = [k for k, name in enumerate(policies) if k == 0 or name != policies[k - 1]]
        return Episode(
            name=f"episode {number}",
            frames=dict.fromkeys(self.cameras, times),
            joints=joints,
            policies=Policies(times=times[begins], names=tuple(policies[k] for k in begins)),
        )


def _runs(places: Iterable[tuple[Path, int]]) -> Iterator[tuple[Path, list[int]]]:
    """Successive places (file, number in it) that are in one file and ascend: episodes may have another order there."""
    file, numbers = Path(), list[int]()
    for path, number in places:
        if numbers and (path != file or number <= numbers[-1]):
            yield file, numbers
            numbers = []
        file = path
        numbers.append(number)
    if numbers:
        yield file, numbers


def _decoded(value: object, where: str) -> Images:
    """Pixels of an image that a data file holds."""
    data = value.get("bytes") if isinstance(value, Mapping) else None
    if not isinstance(data, bytes):
        raise UserError(f"{where}: no image; embed the images in the data files with LeRobot")
    return read_picture(io.BytesIO(data), where, f"{where}: no image that can be read")
