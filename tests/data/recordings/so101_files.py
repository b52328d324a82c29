"""A recording of an SO-101 as LeRobot writes it: degrees or percent, and a gripper from 0 to 100."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ropes.data import schema
from tests.data.recordings.conftest import PANDA

MOTORS = ("shoulder_pan", "wrist_roll", "gripper")
POLICIES = ("observational", "shoulder_pan/1", "shoulder_pan/2", "wrist_roll/1", "wrist_roll/2")


def so101(source: Path, values: list[list[float]]) -> Path:
    """Turn a copy of the fixture into a recording of an SO-101 of three motors, with five policies."""
    info = json.loads((source / "meta/info.json").read_text())
    info["robot_type"] = "so101_follower"
    info["features"][schema.STATE] |= {"shape": [3], "names": [f"{name}.pos" for name in MOTORS]}
    (source / "meta/info.json").write_text(json.dumps(info))
    for path in source.glob("data/**/*.parquet"):
        table = pq.read_table(path)
        states = pa.array([values[k % len(values)] for k in range(len(table))], pa.list_(pa.float32(), 3))
        place = table.column_names.index(schema.STATE)
        pq.write_table(table.set_column(place, schema.STATE, states), path)
    return source


def of_policies(source: Path) -> Path:
    """A table that gives the fixture's tasks the names of five policies."""
    table = source.parent / "policies.csv"
    names = dict(zip(list(PANDA)[:5], POLICIES, strict=True))
    table.write_text("task,policy\n" + "".join(f"{task},{names.get(task, '')}\n" for task in PANDA))
    return table
