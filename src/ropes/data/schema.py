"""The layout of a LeRobot v3.0 folder: paths, columns and types.

LeRobot's loader and viewers open such a folder.  ropes adds two files: `meta/interventions.json` with the intervention
of each task, and `meta/ropes.json` with the provenance.  Images are PNG bytes in the parquet files (dtype "image"), not
video: methods compare images, and codec noise would enter the comparison.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ropes.common.stores import Location

if TYPE_CHECKING:
    from ropes.data.writer import Shard

CODEBASE_VERSION = "v3.0"
INFO = "meta/info.json"
STATS = "meta/stats.json"
TASKS = "meta/tasks.parquet"
INTERVENTIONS = "meta/interventions.json"
PROVENANCE = "meta/ropes.json"
#: The simulated arm's URDF without shapes.
ROBOT = "meta/robot.urdf"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
#: Files under `meta/` whose checksums the provenance records.
METADATA = (EPISODES_PATH.format(chunk_index=0, file_index=0), TASKS, INTERVENTIONS, STATS, INFO)
#: Files per chunk folder, as in LeRobot.
CHUNKS_SIZE = 1000
#: LeRobot requires a frame rate.  Frames of an anchor have no order in time and are stored one second apart.
FPS = 1
IMAGES = "observation.images."
STATE = "observation.state"
ACTION = "action"
#: LeRobot's index columns and their types.
INDEX_COLUMNS = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
_ARROW = {"float32": pa.float32(), "float64": pa.float64(), "int64": pa.int64()}


def holds_angles(feature: str) -> bool:
    """Whether a feature holds joint angles, or commanded positions, which nearly equal them."""
    return any(feature == name or feature.startswith(f"{name}.") for name in (STATE, ACTION))


def data_file(number: int) -> str:
    """Path of data file `number`, relative to the data set's folder."""
    return DATA_PATH.format(chunk_index=number // CHUNKS_SIZE, file_index=number % CHUNKS_SIZE)


def file_order(path: Location) -> tuple[int, ...]:
    """Sort key of data files: numbers of chunk and file."""
    return tuple(int(digits) for digits in re.findall(r"\d+", f"{path.parent.name}/{path.name}"))


def features(
    cameras: Sequence[str], shape: Sequence[int] | Mapping[str, Sequence[int]], joints: Sequence[str] | None
) -> dict[str, Any]:
    """The features of `meta/info.json`: images of each camera, joint angles or factors where given, index columns.

    Args:
        cameras: names of the cameras.
        shape: height and width of the images in pixels, with a third entry, 3, for colour; camera → shape where shapes
            differ.
        joints: names of the columns of `observation.state` (radians); None for a data set without angles.
    """
    content: dict[str, Any] = {}
    for camera in cameras:
        content[IMAGES + camera] = {
            "dtype": "image",
            "shape": [*(shape[camera] if isinstance(shape, Mapping) else shape), 1][:3],
            "names": ["height", "width", "channels"],
        }
    if joints is not None:
        content[STATE] = {"dtype": "float32", "shape": [len(joints)], "names": list(joints)}
    for name, dtype in INDEX_COLUMNS.items():
        content[name] = {"dtype": dtype, "shape": [1], "names": None}
    return content


def arrow_schema(content: Mapping[str, Any]) -> pa.Schema:
    """The parquet schema of `features`, with the metadata by which Hugging Face's loader recognises images."""
    fields: list[pa.Field] = []
    metadata: dict[str, Any] = {}
    for name, feature in content.items():
        value = {"dtype": feature["dtype"], "_type": "Value"}
        if feature["dtype"] == "image":
            fields.append(pa.field(name, pa.struct([("bytes", pa.binary()), ("path", pa.string())])))
            metadata[name] = {"_type": "Image"}
            continue
        kind, length = _ARROW[feature["dtype"]], feature["shape"][0]
        if length == 1:  # LeRobot stores features with one value as scalar columns
            fields.append(pa.field(name, kind))
            metadata[name] = value
        else:
            fields.append(pa.field(name, pa.list_(kind, length)))
            metadata[name] = {"feature": value, "length": length, "_type": "Sequence"}
    return pa.schema(fields, metadata={"huggingface": json.dumps({"info": {"features": metadata}})})


def tasks_table(tasks: Sequence[str]) -> pa.Table:
    """The table of `meta/tasks.parquet`; LeRobot reads it by pandas, with the task as the index."""
    types = (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    metadata = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [
            {"name": name, "field_name": name, "pandas_type": pandas, "numpy_type": numpy, "metadata": None}
            for name, pandas, numpy in types
        ],
    }
    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), "task": pa.array(list(tasks))})
    return table.replace_schema_metadata({"pandas": json.dumps(metadata)})


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
                "data/chunk_index": shard.number // CHUNKS_SIZE,
                "data/file_index": shard.number % CHUNKS_SIZE,
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
        features: see `features`.
        tasks: number of tasks.
        robot_type: name of the robot.
    """
    starts: dict[str, int] = {}
    for shard in shards:
        starts.setdefault(shard.split, shard.first_episode)
    stops = {shard.split: shard.first_episode + shard.episodes for shard in shards}
    return {
        "codebase_version": CODEBASE_VERSION,
        "robot_type": robot_type,
        "fps": FPS,
        "features": dict(features),
        "splits": {name: f"{start}:{stops[name]}" for name, start in starts.items()},
        "total_episodes": sum(shard.episodes for shard in shards),
        "total_frames": sum(shard.frames for shard in shards),
        "total_tasks": tasks,
        "chunks_size": CHUNKS_SIZE,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 500,
        "data_path": DATA_PATH,
        "video_path": None,
    }
