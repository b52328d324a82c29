"""Positions of an SO-101 in LeRobot's units become radians; wrong sizes are refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.recordings.source import Options
from ropes.errors import UserError
from tests.data.recordings.conftest import FIXTURES, ImportOne
from tests.data.recordings.so101_files import MOTORS, of_policies, so101

V2 = FIXTURES / "lerobot-v2.1-video"


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    return lambda source: Path(shutil.copytree(source, tmp_path / "source"))


def stored(dataset: Dataset) -> NDArray[np.float64]:
    """The stored positions in degrees, (n, motors), those of joints without a policy too."""
    assert dataset.info["features"][schema.STATE]["names"] == list(MOTORS)
    tables = [pq.read_table(path) for path in sorted(dataset.path.glob("data/**/*.parquet"))]
    return np.rad2deg(np.concatenate([np.stack(table[schema.STATE].to_pylist()) for table in tables]))


@pytest.mark.slow
def test_an_so101_in_degrees_and_its_gripper_in_percent(copied: Callable[[Path], Path], import_one: ImportOne) -> None:
    source = so101(copied(V2), [[90.0, -45.0, 0.0], [90.0, -45.0, 100.0]])
    table = of_policies(source)
    refused = (
        "joint gripper reaches 100.0, which is no likely angle in radians; give --state degrees, --state percent if"
    )
    with pytest.raises(UserError, match=refused):
        import_one(source, policies=table)
    dataset = import_one(source, policies=table, state="degrees").dataset
    assert dataset.joints == MOTORS[:2]
    states = stored(dataset)
    np.testing.assert_allclose(states[:, :2], np.tile([90.0, -45.0], (len(states), 1)), atol=1e-4)
    assert set(states[:, 2].round(3).tolist()) == {-10.0, 100.0}


@pytest.mark.slow
def test_an_so101_in_percent_needs_its_calibration(copied: Callable[[Path], Path], import_one: ImportOne) -> None:
    source = so101(copied(V2), [[100.0, -50.0, 50.0]])
    table, file = of_policies(source), source.parent / "mine.json"
    motor = {"id": 1, "drive_mode": 0, "homing_offset": 0, "range_min": 1024, "range_max": 3072}
    content = {"shoulder_pan": motor, "wrist_roll": motor | {"range_min": 0, "range_max": 4095}, "gripper": motor}
    file.write_text(json.dumps(content))
    streams = Options(calibration=file)
    dataset = import_one(source, policies=table, state="percent", streams=streams).dataset
    # Half of 2,048 steps of 4,095 a turn to each side, and half of half a turn.
    expected = [180 * 2048 / 4095, -90.0, 45.0]
    np.testing.assert_allclose(stored(dataset)[0], expected, atol=1e-4)
    file.write_text(json.dumps(content | {"shoulder_pan": motor | {"range_max": 2048}}))
    with pytest.raises(UserError, match="holds something else, a data set with another import"):
        import_one(source, policies=table, state="percent", streams=streams)
    file.write_text(json.dumps(content))
    with pytest.raises(UserError, match="--state percent needs --lerobot-calibration FILE"):
        import_one(source, "no-file", state="percent")
    with pytest.raises(UserError, match="goes with --state percent, not with --state degrees"):
        import_one(source, "degrees", state="degrees", streams=streams)
    for change, message in (
        ({"shoulder_pan": motor | {"drive_mode": 1}}, "motor shoulder_pan runs backwards"),
        ({"shoulder_pan": motor | {"range_max": 9000}}, "range of motor shoulder_pan is 7976 steps of 4095"),
        ({"shoulder_pan": {}}, "is no file of lerobot-calibrate"),
    ):
        file.write_text(json.dumps(content | change))
        with pytest.raises(UserError, match=message):
            import_one(source, "other", policies=table, state="percent", streams=streams)
    file.write_text(json.dumps({"shoulder_pan": motor}))
    with pytest.raises(UserError, match="joint wrist_roll is none of gripper, shoulder_pan"):
        import_one(source, "other", policies=table, state="percent", streams=streams)
    file.write_text(json.dumps(content))
    so101(source, [[120.0, 0.0, 0.0]])
    with pytest.raises(UserError, match=r"shoulder_pan reaches 120\.0, beyond 100 percent; give --state degrees"):
        import_one(source, "other", policies=table, state="percent", streams=streams)


def test_percent_is_of_lerobot_alone(import_one: ImportOne, tmp_path: Path) -> None:
    calibration = tmp_path / "mine.json"
    calibration.write_text("{}")
    with pytest.raises(UserError, match="joint panda_joint1 is none of gripper"):
        import_one(V2, state="percent", streams=Options(calibration=calibration))
