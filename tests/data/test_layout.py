import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ropes.causal.scm import Regime
from ropes.data import parquet
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.errors import UserError
from tests.data.conftest import MakeTiny, Tiny


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def replace_column(path: Path, name: str, values: pa.Array) -> None:
    table = parquet.read_table(path)
    parquet.write_table(path, table.set_column(table.column_names.index(name), table.field(name), values))


def test_written_data_set_is_read_back(tiny: Tiny) -> None:
    dataset = tiny.dataset
    assert dataset.cameras == ("right", "left")
    assert dataset.joints == ("elbow", "wrist")
    assert dataset.image_size == (16, 16)
    assert dataset.regimes[3] == Regime("wrist", 1)
    assert dataset.splits == {"train": range(7), "test-id": range(7, 16)}
    for split, images in tiny.images.items():
        frames = dataset.frames(split)
        flat = images.reshape(-1, 2, 16, 16)
        np.testing.assert_array_equal(dataset.read_images(frames.index), flat)
        np.testing.assert_allclose(dataset.states(split), tiny.states[split].reshape(-1, 2), rtol=1e-6, strict=True)
    train = dataset.frames("train")
    np.testing.assert_array_equal(train.anchor, np.repeat(np.arange(7), 5))
    np.testing.assert_array_equal(train.regime, np.tile(np.arange(5), 7))
    np.testing.assert_array_equal(dataset.frames("test-id").regime, np.zeros(9))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=20)
@given(rows=st.lists(st.integers(0, 43), max_size=50))
def test_frames_are_read_in_any_order(tiny: Tiny, rows: list[int]) -> None:
    images = np.concatenate([part.reshape(-1, 2, 16, 16) for part in tiny.images.values()])
    np.testing.assert_array_equal(tiny.dataset.read_images(rows), images[np.asarray(rows, dtype=int)], strict=True)


def test_files_longer_than_a_row_group_are_read(make_tiny: MakeTiny) -> None:
    made = make_tiny(anchors=50, images_per_shard=2000, size=4)
    rows = [249, 0, 100, 99, 101]
    images = made.images["train"].reshape(-1, 2, 4, 4)
    np.testing.assert_array_equal(made.dataset.read_images(rows), images[rows])


def test_stripping_keeps_all_training_inputs(tiny: Tiny, tmp_path: Path) -> None:
    stripped = copy_without_labels(tiny.path, tmp_path / "stripped")
    assert stripped.checksum == tiny.dataset.checksum
    assert stripped.joints == tiny.dataset.joints
    rows = stripped.frames("train").index
    np.testing.assert_array_equal(stripped.read_images(rows), tiny.dataset.read_images(rows))
    with pytest.raises(UserError, match="has no joint angles"):
        stripped.states("train")
    for path in stripped.path.rglob("*"):
        assert path.is_dir() or b"observation.state" not in path.read_bytes(), path
    shutil.rmtree(tmp_path / "stripped")
    (tmp_path / "stripped").mkdir()
    copy_without_labels(tiny.path, tmp_path / "stripped")
    with pytest.raises(UserError, match="holds something already"):
        copy_without_labels(tiny.path, tmp_path / "stripped")
    assert not list(tmp_path.rglob("*.part"))


def test_other_files_are_not_in_a_copy_without_labels(tiny: Tiny, tmp_path: Path) -> None:
    (tiny.path / "meta/mine").mkdir()
    (tiny.path / "meta/mine/keypoints.parquet").write_bytes(b"angles follow from them")
    (tiny.path / "meta/recording.json").write_text("{}")
    stripped = copy_without_labels(tiny.path, tmp_path / "stripped")
    kept = {path.name for path in stripped.path.glob("meta/*")}
    assert kept == {"episodes", "info.json", "interventions.json", "ropes.json", "stats.json", "tasks.parquet"}


def test_checksum_distinguishes_training_inputs(tiny: Tiny, make_tiny: MakeTiny) -> None:
    other = make_tiny("other", images={**tiny.images, "train": tiny.images["train"][::-1]})
    renamed = make_tiny("renamed", cameras=("right", "behind"))
    unknown = make_tiny("unknown", states=None)
    checksums = {made.dataset.checksum for made in (tiny, other, renamed)}
    assert len(checksums) == 3
    assert unknown.dataset.checksum == tiny.dataset.checksum
    (tiny.path / "meta/ropes.json").unlink()  # computed where it was not recorded
    edit_cameras = open_dataset(tiny.path)
    assert edit_cameras.cameras == ("left", "right")
    assert edit_cameras.checksum not in checksums


def test_folder_without_a_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"info.json is missing; is {tmp_path} the right folder"):
        open_dataset(tmp_path)


def test_other_layout_version_is_refused(tiny: Tiny) -> None:
    edit(tiny.path / "meta/info.json", codebase_version="v2.1")
    with pytest.raises(UserError, match=r"LeRobot layout v2.1, not v3.0"):
        open_dataset(tiny.path)


def test_an_unfinished_folder_is_refused(tiny: Tiny) -> None:
    edit(tiny.path / "meta/ropes.json", complete=False)
    with pytest.raises(UserError, match="is unfinished; run the same ropes simulate"):
        open_dataset(tiny.path)


def test_a_folder_of_videos_is_refused(tiny: Tiny) -> None:
    edit(tiny.path / "meta/info.json", features={"observation.images.left": {"dtype": "video", "shape": [16, 16, 3]}})
    with pytest.raises(UserError, match="has no feature"):
        open_dataset(tiny.path)


def test_metadata_that_is_not_an_object_is_refused(tiny: Tiny) -> None:
    (tiny.path / "meta/info.json").write_text("[]")
    with pytest.raises(UserError, match="not a JSON object"):
        open_dataset(tiny.path)


IMAGE = "observation.images.left"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"features": []}, "'features' is not an object"),
        ({"features": {IMAGE: None}}, f"feature '{IMAGE}' is not an object"),
        ({"features": {IMAGE: {"shape": [16, 16, 1]}}}, f"feature '{IMAGE}' has no 'dtype'"),
        ({"features": {IMAGE: {"dtype": "image"}}}, f"feature '{IMAGE}' has no 'shape'"),
        ({"features": {IMAGE: {"dtype": "image", "shape": ["16", 16]}}}, f"feature '{IMAGE}' has no 'shape'"),
        ({"features": {IMAGE: {"dtype": "image", "shape": [16]}}}, "'shape' [16], not height, width"),
        ({"splits": "0:7"}, "'splits' is not an object"),
        ({"total_frames": "44"}, "'total_frames' is '44', not a count"),
        ({"total_frames": True}, "'total_frames' is True, not a count"),
        ({"total_episodes": -1}, "'total_episodes' is -1, not a count"),
        ({"total_tasks": [5]}, "'total_tasks' is [5], not a count"),
        ({"fps": 0}, "'fps' is 0, not a rate"),
    ],
)
def test_malformed_metadata_error_names_file_and_key(tiny: Tiny, change: dict[str, object], line: str) -> None:
    edit(tiny.path / "meta/info.json", **change)
    with pytest.raises(UserError, match=re.escape(line)) as caught:
        open_dataset(tiny.path)
    assert str(caught.value).startswith(f"{tiny.path / 'meta/info.json'}: ")


def test_invalid_joint_names_are_reported(tiny: Tiny) -> None:
    info = json.loads((tiny.path / "meta/info.json").read_text())
    info["features"]["observation.state"]["names"] = {"motors": 2}
    edit(tiny.path / "meta/info.json", features=info["features"])
    with pytest.raises(UserError, match=r"info.json: 'names' of 'observation.state' are no list"):
        open_dataset(tiny.path).states("train")


def test_editing_the_interventions_changes_the_checksum(tiny: Tiny) -> None:
    path, before = tiny.path / "meta/interventions.json", tiny.dataset.checksum
    content = json.loads(path.read_text())
    content["elbow/1"], content["elbow/2"] = content["elbow/2"], content["elbow/1"]
    path.write_text(json.dumps(content))
    assert open_dataset(tiny.path).checksum != before


def test_missing_interventions_raise_only_when_regimes_are_read(tiny: Tiny) -> None:
    (tiny.path / "meta/interventions.json").unlink()
    dataset = open_dataset(tiny.path)
    assert len(dataset.checksum) == 64
    with pytest.raises(UserError, match=rf"interventions.json is missing; is {tiny.path} the right folder"):
        _ = dataset.regimes


def test_unknown_split_error_lists_the_splits(tiny: Tiny) -> None:
    with pytest.raises(UserError, match=r"no split 'test-ood'; it has train, test-id"):
        tiny.dataset.frames("test-ood")


def test_rows_beyond_the_end_are_refused(tiny: Tiny) -> None:
    with pytest.raises(UserError, match="has frames 0 to 43"):
        tiny.dataset.read_images([44])


def test_task_without_intervention_is_reported(tiny: Tiny) -> None:
    path = tiny.path / "meta/interventions.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({task: content[task] for task in content if task != "elbow/2"}))
    with pytest.raises(UserError, match="for task 'elbow/2'"):
        _ = open_dataset(tiny.path).regimes
    path.write_text(json.dumps({**content, "elbow/2": {"joint": "elbow", "policy": 3}}))
    with pytest.raises(UserError, match="no such regime"):
        _ = open_dataset(tiny.path).regimes
    path.write_text(json.dumps({**content, "elbow/2": {"joint": ["elbow"], "policy": 2}}))
    with pytest.raises(UserError, match=r"joint \['elbow'\] is no name; give joint and policy 1 or 2"):
        _ = open_dataset(tiny.path).regimes


def test_two_tasks_with_one_intervention_are_refused(tiny: Tiny) -> None:
    path = tiny.path / "meta/interventions.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "elbow/2": content["elbow/1"]}))
    with pytest.raises(UserError, match="tasks 'elbow/1' and 'elbow/2' are one intervention, elbow/1; merge"):
        _ = open_dataset(tiny.path).regimes


def test_missing_file_is_detected(tiny: Tiny) -> None:
    (tiny.path / "data/chunk-000/file-001.parquet").unlink()
    with pytest.raises(UserError, match="do not hold the 44 frames"):
        open_dataset(tiny.path).frames("train")


def test_truncated_file_is_reported(tiny: Tiny) -> None:
    path = tiny.path / "data/chunk-000/file-001.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match=r"file-001.parquet is truncated or damaged"):
        open_dataset(tiny.path).frames("train")


def test_nonfinite_angle_is_reported(tiny: Tiny) -> None:
    path = tiny.path / "data/chunk-000/file-001.parquet"
    angles = np.zeros((15, 2), np.float32)
    angles[4, 1] = np.nan
    replace_column(path, "observation.state", pa.array(list(angles), pa.list_(pa.float32(), 2)))
    with pytest.raises(UserError, match=r"file-001.parquet, row 4: a joint angle is not a finite number"):
        open_dataset(tiny.path).states("train")


def test_joint_without_measurements_is_reported(tiny: Tiny) -> None:
    info = json.loads((tiny.path / "meta/info.json").read_text())
    info["features"]["observation.state"]["names"] = {"motors": ["elbow", "grip"]}
    edit(tiny.path / "meta/info.json", features=info["features"])
    with pytest.raises(UserError, match="has no joint wrist"):
        open_dataset(tiny.path).states("train")


def test_camera_missing_from_a_file_is_reported(tiny: Tiny) -> None:
    path = tiny.path / "data/chunk-000/file-000.parquet"
    parquet.write_table(path, parquet.read_table(path).drop_columns(["observation.images.left"]))
    with pytest.raises(UserError, match=r"file-000.parquet lacks the camera 'left'"):
        open_dataset(tiny.path).read_images([0])


@pytest.mark.slow
def test_reading_needs_neither_torch_nor_a_simulator() -> None:
    code = "import sys, ropes.data.cache, ropes.data.generate, ropes.data.validate as _; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "pybullet", "trimesh"} & set(loaded.stdout.split())


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"files": []}, "'files' is no object of objects with a 'sha256'"),
        ({"files": {"a": {}}}, "'files' is no object of objects with a 'sha256'"),
        ({"cameras": None}, "'cameras' is no list of objects with a 'name'"),
        ({"cameras": [{"yaw": 45}]}, "'cameras' is no list of objects with a 'name'"),
        ({"setting": {"splits": 3}}, "'setting' is no object with 'splits'"),
    ],
)
def test_malformed_provenance_error_names_the_key(tiny: Tiny, change: dict[str, object], line: str) -> None:
    edit(tiny.path / "meta/ropes.json", **change)
    with pytest.raises(UserError, match=rf"meta/ropes\.json: {line}"):
        open_dataset(tiny.path)


def test_task_table_without_its_columns_is_reported(tiny: Tiny) -> None:
    path = tiny.path / "meta/tasks.parquet"
    parquet.write_table(path, parquet.read_table(path).drop_columns(["task_index"]))
    with pytest.raises(UserError, match=r"tasks\.parquet has no column task_index"):
        _ = open_dataset(tiny.path).tasks


def test_commanded_positions_are_stripped_too(tiny: Tiny, tmp_path: Path) -> None:
    info = json.loads((tiny.path / "meta/info.json").read_text())
    info["features"]["action"] = {**info["features"]["observation.state"]}
    (tiny.path / "meta/info.json").write_text(json.dumps(info))
    for path in sorted(tiny.path.glob("data/*/*.parquet")):
        table = parquet.read_table(path)
        parquet.write_table(path, table.append_column("action", table["observation.state"]))
    stripped = copy_without_labels(tiny.path, tmp_path / "stripped")
    assert "action" not in stripped.info["features"]
    for path in stripped.path.rglob("*.parquet"):
        assert "action" not in parquet.read_table(path).column_names


def test_copy_into_an_empty_current_folder_works(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert copy_without_labels(tiny.path, ".").checksum == tiny.dataset.checksum
