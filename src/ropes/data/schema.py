"""The layout of a LeRobot v3.0 folder: paths, columns and their types.

The names are LeRobot's, so that its loader and viewers open the folder as it is; two files are ours:
`meta/interventions.json` spells out which intervention each task stands for, `meta/ropes.json` where the data
came from.  Images are PNG bytes inside the parquet files (features of dtype "image"), never video: the method
differentiates between images, and codec noise would be part of the difference.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

CODEBASE_VERSION = "v3.0"
INFO = "meta/info.json"
STATS = "meta/stats.json"
TASKS = "meta/tasks.parquet"
INTERVENTIONS = "meta/interventions.json"
PROVENANCE = "meta/ropes.json"
#: Links and joints of the arm that is filmed, without shapes; of simulated arms only.
ROBOT = "meta/robot.urdf"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES_PATH = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
#: All that is written under `meta/` but the provenance, which records their checksums.
METADATA = (EPISODES_PATH.format(chunk_index=0, file_index=0), TASKS, INTERVENTIONS, STATS, INFO)
#: Files in a chunk folder; LeRobot's own number.
CHUNKS_SIZE = 1000
#: Frames of an anchor have no order in time; LeRobot wants a rate, so they are called one second apart.
FPS = 1
IMAGES = "observation.images."
STATE = "observation.state"
ACTION = "action"
#: The columns that LeRobot itself keeps, and their types.
INDEX_COLUMNS = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
_ARROW = {"float32": pa.float32(), "float64": pa.float64(), "int64": pa.int64()}


def tells_angles(feature: str) -> bool:
    """Whether a feature holds joint angles or commanded positions, which are nearly the same."""
    return any(feature == name or feature.startswith(f"{name}.") for name in (STATE, ACTION))


def data_file(number: int) -> str:
    """Path of data file `number`, relative to the data set's folder."""
    return DATA_PATH.format(chunk_index=number // CHUNKS_SIZE, file_index=number % CHUNKS_SIZE)


def file_order(path: Path) -> tuple[int, ...]:
    """Sort key of data files: chunk and file as numbers."""
    return tuple(int(digits) for digits in re.findall(r"\d+", f"{path.parent.name}/{path.name}"))


def features(cameras: Sequence[str], shape: Sequence[int], joints: Sequence[str] | None) -> dict[str, Any]:
    """The features of `meta/info.json`: an image a camera, joint angles (or factors) where known, indices.

    Args:
        cameras: names of the cameras.
        shape: of the images: height and width in pixels, and 3 for colour.
        joints: names of the columns of `observation.state` (radians), or None for a data set without angles.
    """
    content: dict[str, Any] = {}
    for camera in cameras:
        content[IMAGES + camera] = {
            "dtype": "image",
            "shape": [*shape, 1][:3],
            "names": ["height", "width", "channels"],
        }
    if joints is not None:
        content[STATE] = {"dtype": "float32", "shape": [len(joints)], "names": list(joints)}
    for name, dtype in INDEX_COLUMNS.items():
        content[name] = {"dtype": dtype, "shape": [1], "names": None}
    return content


def arrow_schema(content: Mapping[str, Any]) -> pa.Schema:
    """The parquet schema of `features`, with the note by which Hugging Face's loader knows image columns."""
    fields: list[pa.Field] = []
    noted: dict[str, Any] = {}
    for name, feature in content.items():
        value = {"dtype": feature["dtype"], "_type": "Value"}
        if feature["dtype"] == "image":
            fields.append(pa.field(name, pa.struct([("bytes", pa.binary()), ("path", pa.string())])))
            noted[name] = {"_type": "Image"}
            continue
        kind, length = _ARROW[feature["dtype"]], feature["shape"][0]
        if length == 1:  # LeRobot keeps features of one number as plain columns.
            fields.append(pa.field(name, kind))
            noted[name] = value
        else:
            fields.append(pa.field(name, pa.list_(kind, length)))
            noted[name] = {"feature": value, "length": length, "_type": "Sequence"}
    note = json.dumps({"info": {"features": noted}})
    return pa.schema(fields, metadata={"huggingface": note})


def tasks_table(tasks: Sequence[str]) -> pa.Table:
    """The table of `meta/tasks.parquet`: LeRobot reads it through pandas with the task as the index."""
    texts = {"metadata": None}
    note = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [
            {"name": "task_index", "field_name": "task_index", "pandas_type": "int64", "numpy_type": "int64"} | texts,
            {"name": "task", "field_name": "task", "pandas_type": "unicode", "numpy_type": "object"} | texts,
        ],
    }
    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), "task": pa.array(list(tasks))})
    return table.replace_schema_metadata({"pandas": json.dumps(note)})
