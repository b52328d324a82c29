"""The tables of `meta/` that say which episodes a LeRobot folder has and where they lie."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ropes.data import schema

if TYPE_CHECKING:
    from ropes.data.writer import Shard


def episodes_table(shards: Iterable["Shard"], tasks: Sequence[str]) -> pa.Table:
    """Content of `meta/episodes`: where the frames of each episode lie.

    Args:
        shards: all data files.
        tasks: name of each task index.
    """
    rows = []
    for shard in shards:
        start = shard.first_frame
        for k, numbers in enumerate(shard.tasks):
            row = {
                "episode_index": shard.first_episode + k,
                "tasks": [tasks[number] for number in dict.fromkeys(numbers)],
                "length": len(numbers),
                "data/chunk_index": shard.number // schema.CHUNKS_SIZE,
                "data/file_index": shard.number % schema.CHUNKS_SIZE,
                "dataset_from_index": start,
                "dataset_to_index": start + len(numbers),
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
            }
            rows.append(row)
            start += len(numbers)
    return pa.Table.from_pylist(rows)


def info(shards: Sequence["Shard"], features: Mapping[str, Any], tasks: int, robot_type: str | None) -> dict[str, Any]:
    """Content of `meta/info.json`.

    Args:
        shards: all data files.
        features: see `schema.features`.
        tasks: number of tasks.
        robot_type: name of the robot.
    """
    starts: dict[str, int] = {}
    for shard in shards:
        starts.setdefault(shard.split, shard.first_episode)
    stops = {shard.split: shard.first_episode + shard.episodes for shard in shards}
    return {
        "codebase_version": schema.CODEBASE_VERSION,
        "robot_type": robot_type,
        "fps": schema.FPS,
        "features": dict(features),
        "splits": {name: f"{start}:{stops[name]}" for name, start in starts.items()},
        "total_episodes": sum(shard.episodes for shard in shards),
        "total_frames": sum(shard.frames for shard in shards),
        "total_tasks": tasks,
        "chunks_size": schema.CHUNKS_SIZE,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 500,
        "data_path": schema.DATA_PATH,
        "video_path": None,
    }
