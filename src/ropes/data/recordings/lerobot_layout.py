"""Where LeRobot v3.0 and v2.1 folders keep data, videos, episodes and tasks."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ropes.common.files import read_json
from ropes.data import schema
from ropes.errors import UserError, in_one_line

VERSIONS = ("v3.0", "v2.1")
#: What a wrong value in the metadata raises.
_WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class EpisodeEntry:
    """An episode: index, number of frames, and its row of the episodes' table."""

    index: int
    length: int
    row: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The metadata of a folder.

    Attributes:
        path: of the folder.
        version: of the layout.
        info: content of `meta/info.json`.
        episodes: in order.
        tasks: task index → text.
        data_files: paths, in order.
    """

    path: Path
    version: str
    info: Mapping[str, Any]
    episodes: Sequence[EpisodeEntry]
    tasks: Mapping[int, str]
    data_files: Sequence[Path]

    @property
    def features(self) -> Mapping[str, Any]:
        """Feature → its description."""
        features: Mapping[str, Any] = self.info["features"]
        return features

    @property
    def fps(self) -> float:
        """Frames a second."""
        return float(self.info["fps"])

    @property
    def robot(self) -> str | None:
        """Type of the robot."""
        robot = self.info.get("robot_type")
        return robot if isinstance(robot, str) else None

    def state_names(self, width: int) -> tuple[str, ...]:
        """Names of the columns of `observation.state`; joint_1, joint_2, … where the folder has none."""
        names = self.features[schema.STATE].get("names")
        groups = list(names.values()) if isinstance(names, dict) else [names or []]
        flat = [str(name) for group in groups if isinstance(group, list) for name in group]
        if not flat:
            return tuple(f"joint_{k + 1}" for k in range(width))
        if len(flat) != width:
            raise UserError(f"{self.path}: {schema.STATE} has {width} values and {len(flat)} names")
        return tuple(flat)

    def video(self, feature: str, episode: EpisodeEntry) -> tuple[Path, float]:
        """Path of the video with the frames of an episode, and the time in it of the episode's first frame, seconds."""
        try:
            if self.version == "v3.0":
                chunk, file, begin = (
                    episode.row[f"videos/{feature}/{name}"] for name in ("chunk_index", "file_index", "from_timestamp")
                )
                name = self.info["video_path"].format(video_key=feature, chunk_index=chunk, file_index=file)
            else:
                name, begin = self._of_episode("video_path", episode.index, video_key=feature), 0.0
            return self.path / name, float(begin)
        except _WRONG as error:
            raise UserError(f"{self.path}: meta/ does not say where the video {feature} lies ({error!r})") from error

    def _of_episode(self, key: str, index: int, **names: str) -> str:
        chunk = index // int(self.info.get("chunks_size", 1000))
        text: str = self.info[key].format(episode_chunk=chunk, episode_index=index, **names)
        return text


def read_layout(path: Path) -> Layout:
    """Read the metadata of a LeRobot folder.

    Raises:
        UserError: the version is unknown, or a file is missing or damaged.
    """
    info = read_json(path / schema.INFO, folder=path)
    version = info.get("codebase_version") if isinstance(info, dict) else None
    if version not in VERSIONS:
        raise UserError(
            f"{path / schema.INFO}: LeRobot layout {version}, not {' or '.join(VERSIONS)}; convert it with LeRobot"
        )
    features, fps = info.get("features"), info.get("fps")
    if not isinstance(features, dict) or not all(isinstance(each, dict) for each in features.values()):
        raise UserError(f"{path / schema.INFO} has no 'features'; copy it again")
    if isinstance(fps, bool) or not isinstance(fps, int | float) or not 0 < fps < math.inf:
        raise UserError(f"{path / schema.INFO}: 'fps' is {fps!r}, not a rate; copy it again")
    rows, tasks = _episodes(path, version)
    episodes = [_entry(path, number, row) for number, row in enumerate(rows)]
    found = Layout(path=path, version=version, info=info, episodes=episodes, tasks=tasks, data_files=())
    if version == "v3.0":
        files = sorted(path.glob("data/chunk-*/file-*.parquet"), key=schema.file_order)
    else:
        try:
            files = [path / found._of_episode("data_path", episode.index) for episode in episodes]
        except _WRONG as error:
            raise UserError(f"{path / schema.INFO} does not say where the data lie ({error!r})") from error
    if not episodes or not files:
        raise UserError(f"{path} has no episodes; record some")
    return Layout(path=path, version=version, info=info, episodes=episodes, tasks=tasks, data_files=files)


def read_parquet(path: Path, columns: Sequence[str] | None = None, *, without: str | None = None) -> pa.Table:
    """Some columns of a Parquet file; all if None, `without` those whose names begin so.

    Raises:
        UserError: the file is missing or damaged, or lacks a column.
    """
    try:
        names = pq.read_schema(path).names
        if absent := [name for name in columns or () if name not in names]:
            raise UserError(f"{path} has no column {absent[0]!r}; it has {', '.join(names)}")
        chosen = [name for name in columns or names if without is None or not name.startswith(without)]
        return pq.read_table(path, columns=chosen)
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; copy the data set again") from error
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path} is damaged ({in_one_line(error)}); copy it again") from error


def _episodes(path: Path, version: str) -> tuple[list[Mapping[str, Any]], dict[int, str]]:
    """Rows of the episodes' table in the order of the episodes, and task index → text."""
    if version == "v2.1":
        rows = _lines(path / "meta" / "episodes.jsonl")
        entries = _lines(path / "meta" / "tasks.jsonl")
    else:
        files = sorted(path.glob("meta/episodes/**/*.parquet"), key=schema.file_order)
        rows = [row for file in files for row in read_parquet(file, without="stats/").to_pylist()]
        table = read_parquet(path / schema.TASKS)
        texts = "task" if "task" in table.column_names else "__index_level_0__"
        entries = table.rename_columns({texts: "task"} if texts in table.column_names else {}).to_pylist()
    try:
        tasks = {int(entry["task_index"]): str(entry["task"]) for entry in entries}
        return sorted(rows, key=lambda row: int(row["episode_index"])), tasks
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: the episodes or tasks in meta/ are damaged ({error!r}); copy it again") from error


def _entry(path: Path, number: int, row: Mapping[str, Any]) -> EpisodeEntry:
    index, length = row.get("episode_index"), row.get("length")
    if index != number or not isinstance(length, int) or length < 1:
        raise UserError(f"{path}: meta/ describes no episode {number} with a length; copy the data set again")
    return EpisodeEntry(index, length, row)


def _lines(path: Path) -> list[Mapping[str, Any]]:
    """The objects of a file with one JSON object a line."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing; copy the data set again") from error
    except ValueError as error:
        raise UserError(f"{path} is damaged ({error}); copy it again") from error
    if not all(isinstance(row, dict) for row in rows):
        raise UserError(f"{path} is damaged (a line is no object); copy it again")
    return rows
