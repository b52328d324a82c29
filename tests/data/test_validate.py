import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from ropes.causal.scm import Regime
from ropes.common import files, png
from ropes.data import parquet
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.data.validate import factor_pair_faults, faults, validate
from ropes.errors import UserError
from ropes.simulation.finger_setting import NAMES
from tests.data.conftest import MakeTiny, Tiny

FIRST, SECOND = "data/chunk-000/file-000.parquet", "data/chunk-000/file-001.parquet"


def edit_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def replace_column(root: Path, name: str, values: list[Any], *, file: str = SECOND) -> None:
    """Change a column of a data file as if it had been written so: its checksum is made to agree."""
    table = parquet.read_table(root / file)
    field = table.field(name)
    changed = table.set_column(table.column_names.index(name), field, pa.array(values, field.type))
    parquet.write_table(root / file, changed)
    bless(root, file)


def bless(root: Path, file: str) -> None:
    digests = {"sha256": files.sha256(root / file)}
    if file.startswith("data/"):
        digests["images_sha256"] = parquet.images_digest(parquet.read_table(root / file))
    edit_json(root / "meta/ropes.json", lambda c: c["files"][file].update(digests))


def replace_image(root: Path, row: int, data: bytes | None, camera: str = "left") -> None:
    name = f"observation.images.{camera}"
    values = parquet.read_table(root / SECOND)[name].to_pylist()
    values[row]["bytes"] = data
    replace_column(root, name, values)


def encoded(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def test_a_good_data_set_passes(tiny: Tiny) -> None:
    text = validate(tiny.path)
    assert "88 images in 44 frames of 16 episodes (train 7, test-id 9)" in text
    assert "joints elbow, wrist, with angles; every checksum agrees" in text


def test_stripped_data_set_passes(tiny: Tiny, tmp_path: Path) -> None:
    copy_without_labels(tiny.path, tmp_path / "stripped")
    assert "without angles; every checksum agrees" in validate(tmp_path / "stripped")


def test_data_set_of_another_program_passes(tiny: Tiny) -> None:
    (tiny.path / "meta/ropes.json").unlink()
    (tiny.path / "meta/interventions.json").unlink()
    assert "no interventions, with angles; no checksums recorded" in validate(tiny.path)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_changed_byte_error_names_the_shard(tiny: Tiny, part: float) -> None:
    path = tiny.path / SECOND
    content = bytearray(path.read_bytes())
    content[int(part * len(content))] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(UserError, match=SECOND):
        validate(tiny.path)


def test_every_changed_byte_is_reported_for_its_shard_only(tiny: Tiny) -> None:
    path = tiny.path / SECOND
    content = path.read_bytes()
    for position in np.random.default_rng(0).integers(0, len(content), 40):
        changed = bytearray(content)
        changed[position] ^= 0x10
        path.write_bytes(bytes(changed))
        found = list(faults(open_dataset(tiny.path), progress=False))
        assert found, position
        assert {fault.file for fault in found} == {SECOND}, position


def test_truncated_shard_is_reported(tiny: Tiny) -> None:
    path = tiny.path / FIRST
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(UserError, match=f"{FIRST}: truncated or damaged; restore"):
        validate(tiny.path)


def test_missing_shard_is_reported(tiny: Tiny) -> None:
    (tiny.path / FIRST).unlink()
    with pytest.raises(UserError, match=f"{FIRST}: missing; restore"):
        validate(tiny.path)


def test_missing_shard_without_checksums_shows_in_the_frame_count(tiny: Tiny) -> None:
    (tiny.path / "meta/ropes.json").unlink()
    (tiny.path / "data/chunk-000/file-002.parquet").unlink()
    with pytest.raises(UserError, match="44 frames, but the data files hold 35"):
        validate(tiny.path)


def test_changed_metadata_is_reported(tiny: Tiny) -> None:
    edit_json(tiny.path / "meta/stats.json", lambda c: c.pop("index"))
    with pytest.raises(UserError, match=r"meta/stats.json: changed since it was written"):
        validate(tiny.path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (png.encode(np.zeros((8, 16), np.uint8)), "8x16 8-bit grey image where 16x16 8-bit grey is expected"),
        (encoded(Image.new("RGB", (16, 16))), "16x16 8-bit RGB image where"),
        (encoded(Image.new("I;16", (16, 16))), "16x16 16-bit grey image where"),
        (None, "no image bytes"),
        (b"no image", "not a PNG"),
    ],
)
def test_image_of_another_size_or_type_is_reported(tiny: Tiny, data: bytes | None, message: str) -> None:
    replace_image(tiny.path, 6, data)
    with pytest.raises(UserError, match=f"{SECOND}, row 6: camera left: {message}"):
        validate(tiny.path)


def test_damaged_image_is_reported_without_checksums(tiny: Tiny) -> None:
    data = bytearray(png.encode(np.zeros((16, 16), np.uint8)))
    data[45] ^= 1
    replace_image(tiny.path, 3, bytes(data))
    (tiny.path / "meta/ropes.json").unlink()
    with pytest.raises(UserError, match="row 3: camera left: damaged PNG"):
        validate(tiny.path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nonfinite_angle_is_reported(tiny: Tiny, value: float) -> None:
    angles = np.zeros((15, 2), np.float32)
    angles[9, 0] = value
    replace_column(tiny.path, "observation.state", list(angles))
    with pytest.raises(UserError, match=f"{SECOND}, row 9: observation.state holds an angle"):
        validate(tiny.path)


def test_missing_angle_is_reported(tiny: Tiny) -> None:
    replace_column(tiny.path, "observation.state", [None] * 15)
    with pytest.raises(UserError, match=f"{SECOND}: observation.state has missing values"):
        validate(tiny.path)


def test_camera_missing_from_one_file_is_reported(tiny: Tiny) -> None:
    table = parquet.read_table(tiny.path / FIRST).drop_columns(["observation.images.left"])
    parquet.write_table(tiny.path / FIRST, table)
    bless(tiny.path, FIRST)
    with pytest.raises(UserError, match=f"{FIRST}: lacks the camera 'left'"):
        validate(tiny.path)


def test_camera_missing_from_all_files_is_reported(tiny: Tiny) -> None:
    edit_json(tiny.path / "meta/info.json", lambda c: c["features"].pop("observation.images.left"))
    bless(tiny.path, "meta/info.json")
    with pytest.raises(UserError, match="camera 'left' is missing"):
        validate(tiny.path)


def test_regime_without_images_is_reported(tiny: Tiny) -> None:
    for file in (FIRST, SECOND):
        tasks = parquet.read_table(tiny.path / file)["task_index"].to_pylist()
        replace_column(tiny.path, "task_index", [0 if task == 3 else task for task in tasks], file=file)
    with pytest.raises(UserError, match=r"tasks.parquet, row 3: regime 'wrist/1' has no images"):
        validate(tiny.path)


def test_joint_with_one_intervention_is_reported(make_tiny: MakeTiny) -> None:
    regimes = (Regime(), Regime("elbow", 1), Regime("elbow", 2), Regime("wrist", 1))
    images = {"train": np.zeros((3, 4, 2, 8, 8), np.uint8)}
    made = make_tiny(images=images, states={"train": np.zeros((3, 4, 2))}, regimes=regimes)
    with pytest.raises(UserError, match=r"joint wrist has only one of its two interventions \(wrist/1\)"):
        validate(made.path)


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("index", 5, 99, "row 5: index is not 20 plus the row"),
        ("frame_index", 7, 0, "row 7: frame_index does not count up"),
        ("timestamp", 8, 7.5, "row 8: timestamp is not frame_index / fps"),
        ("episode_index", 14, 16, "row 14: .*episode_index is not below 16"),
        ("task_index", 2, 5, "row 2: task_index is not below 5"),
    ],
)
def test_wrong_indices_are_reported(tiny: Tiny, column: str, row: int, value: float, message: str) -> None:
    values = parquet.read_table(tiny.path / SECOND)[column].to_pylist()
    values[row] = value
    replace_column(tiny.path, column, values)
    found = [str(fault) for fault in faults(open_dataset(tiny.path), progress=False)]
    assert any(message.rpartition(".*")[2].removeprefix(f"row {row}: ") in fault for fault in found), found
    with pytest.raises(UserError, match=f"{SECOND}, row"):
        validate(tiny.path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"total_episodes": 17}, "16 episodes, not the 17"),
        ({"total_frames": 45}, "44 frames, not the 45"),
        ({"total_tasks": 4}, "5 tasks, not 4"),
        ({"splits": {"train": "0:17"}}, "split 'train' is 0:17, of 16 episodes"),
        ({"splits": {"train": "0:7", "test": "6:16"}}, "split 'test' is 6:16"),
        ({"splits": {"train": "all"}}, "split 'train' is 'all', not START:STOP"),
    ],
)
def test_wrong_counts_are_reported(tiny: Tiny, change: dict[str, object], message: str) -> None:
    edit_json(tiny.path / "meta/info.json", lambda c: c.update(change))
    bless(tiny.path, "meta/info.json")
    with pytest.raises(UserError, match=message):
        validate(tiny.path)


def test_data_set_without_its_checksums_does_not_pass(tiny: Tiny) -> None:
    edit_json(tiny.path / "meta/ropes.json", lambda c: c.update(files={}))
    with pytest.raises(UserError, match=f"no checksum of {FIRST}"):
        validate(tiny.path, progress=False)


def test_changed_checksum_is_distinguished_from_a_changed_shard(tiny: Tiny) -> None:
    def change(content: dict[str, Any]) -> None:
        content["files"][FIRST]["images_sha256"] = "0" * 64

    edit_json(tiny.path / "meta/ropes.json", change)
    with pytest.raises(UserError, match=f"meta/ropes.json: the checksum of the images of {FIRST}"):
        validate(tiny.path, progress=False)


@pytest.mark.parametrize(
    ("anchors", "said"),
    [
        ([], []),
        ([0, 1, 2], []),
        ([0, 1, 1, 2, 2, 2], []),
        ([0, 1, 1, 2, 2], ["training pair 1 differs in no factors, not in one"]),
    ],
)
def test_pair_faults_are_found_among_other_episodes(anchors: list[int], said: list[str]) -> None:
    factors = np.zeros((len(anchors), 7))
    factors[2:3, 4] = 0.1
    data: Any = SimpleNamespace(
        state_names=NAMES,
        provenance=None,
        splits={"train": range(3)},
        frames=lambda _: SimpleNamespace(anchor=np.array(anchors, dtype=np.int64)),
        factors=lambda _: factors,
    )
    assert [fault.what for fault in factor_pair_faults(data)] == said


def test_episode_table_without_lengths_is_reported(tiny: Tiny) -> None:
    (path,) = tiny.path.glob("meta/episodes/**/*.parquet")
    parquet.write_table(path, parquet.read_table(path).drop_columns(["length"]))
    (tiny.path / "meta/ropes.json").unlink()
    with pytest.raises(UserError, match=r"meta/episodes: lacks the column 'length'"):
        validate(tiny.path, progress=False)


def test_frame_of_another_camera_is_reported(make_tiny: MakeTiny) -> None:
    rng = np.random.default_rng(0)
    walls = np.kron(rng.uniform(40, 200, (2, 8, 10)), np.ones((16, 16)))
    images = (walls + rng.normal(0, 4, (8, 5, *walls.shape))).clip(0, 255).astype(np.uint8)
    parts = {"images": {"train": images}, "states": {"train": np.zeros((8, 5, 2))}, "images_per_shard": 40}
    assert "valid" in validate(make_tiny("good", **parts).path, progress=False)
    images[5, 2, 1] = images[5, 3, 0]
    expected = rf"{SECOND}, row 7: camera left: shows what camera right sees; restore"
    with pytest.raises(UserError, match=expected):
        validate(make_tiny("mixed", **parts).path, progress=False)
