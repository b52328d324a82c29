import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropes.causal.scm import Regime
from ropes.data import parquet, schema, writer
from ropes.errors import UserError
from tests.data.conftest import MakeTiny, Tiny


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 13)), max_size=4),
    st.integers(1, 3),
    st.integers(1, 100),
)
def test_shards_cover_every_frame_once_in_order(sizes: list[tuple[int, int]], cameras: int, images: int) -> None:
    splits = [
        writer.SplitPlan(name=str(k), episodes=episodes, tasks=tuple(range(length)))
        for k, (episodes, length) in enumerate(sizes)
    ]
    frame = episode = 0
    for number, shard in enumerate(writer.plan_shards(splits, cameras, images)):
        assert (shard.number, shard.first_frame, shard.first_episode) == (number, frame, episode)
        assert shard.episodes == 1 or shard.frames * cameras <= images
        frame, episode = frame + shard.frames, episode + shard.episodes
    assert frame == sum(episodes * length for episodes, length in sizes)


def test_a_file_holds_episodes_of_several_tasks() -> None:
    tasks = [(0, 1, 2), (1,), (0, 2), (0, 1, 2), (2, 2), (1,)]
    plans = [writer.SplitPlan(name="train", episodes=1, tasks=each) for each in tasks]
    first, second = writer.plan_shards([*plans, writer.SplitPlan(name="test", episodes=1, tasks=(0,))], 1, 9)[:2]
    assert (first.tasks, first.lengths.tolist()) == (tuple(tasks[:4]), [3, 1, 2, 3])
    assert (second.tasks, second.first_row, second.first_episode) == (tuple(tasks[4:]), 9, 4)
    assert second.task_of_frame.tolist() == [2, 2, 1]


def test_file_numbers_continue_in_the_next_chunk() -> None:
    assert schema.data_file(999) == "data/chunk-000/file-999.parquet"
    assert schema.data_file(1000) == "data/chunk-001/file-000.parquet"
    paths = [Path(schema.data_file(number)) for number in (1000, 999, 2, 10)]
    assert sorted(paths, key=schema.file_order) == [Path(schema.data_file(n)) for n in (2, 10, 999, 1000)]


def test_written_folder_follows_the_lerobot_layout(tiny: Tiny) -> None:
    info = json.loads((tiny.path / "meta/info.json").read_text())
    assert info["codebase_version"] == "v3.0"
    assert info["splits"] == {"train": "0:7", "test-id": "7:16"}
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (16, 44, 5)
    assert info["features"]["observation.images.left"]["dtype"] == "image"
    assert info["features"]["observation.state"]["names"] == ["elbow", "wrist"]
    path = tiny.path / info["data_path"].format(chunk_index=0, file_index=0)
    arrow = pq.read_schema(path)
    assert str(arrow.field("observation.images.left").type) == "struct<bytes: binary, path: string>"
    assert str(arrow.field("observation.state").type) == "fixed_size_list<element: float>[2]"
    noted = json.loads(arrow.metadata[b"huggingface"])["info"]["features"]
    assert noted["observation.images.left"] == {"_type": "Image"}
    assert set(noted) == set(info["features"])
    tasks = pq.read_table(tiny.path / "meta/tasks.parquet")
    assert json.loads(tasks.schema.metadata[b"pandas"])["index_columns"] == ["task"]
    episode = pq.read_table(tiny.path / "meta/episodes/chunk-000/file-000.parquet").to_pylist()[8]
    assert episode["tasks"] == ["observational"]
    assert (episode["dataset_from_index"], episode["dataset_to_index"]) == (36, 37)
    assert (episode["data/chunk_index"], episode["data/file_index"]) == (0, 2)
    spelt = json.loads((tiny.path / "meta/interventions.json").read_text())
    assert spelt["observational"] == {"joint": None, "policy": 0}
    assert spelt["wrist/2"] == {"joint": "wrist", "policy": 2}


def test_statistics_match_the_arrays(tiny: Tiny) -> None:
    stats = json.loads((tiny.path / "meta/stats.json").read_text())
    angles = np.concatenate([part.reshape(-1, 2) for part in tiny.states.values()]).astype(np.float32)
    for name in ("min", "max", "mean", "std"):
        expected = getattr(angles.astype(np.float64), name)(axis=0)
        np.testing.assert_allclose(stats["observation.state"][name], expected, rtol=1e-9)
    assert stats["observation.state"]["count"] == [44]
    # Of each of the three files 16 images at most are looked at: 16, 15 and 9.
    assert stats["observation.images.left"]["count"] == [40]
    assert np.shape(stats["observation.images.left"]["mean"]) == (1, 1, 1)
    assert 0.45 < stats["observation.images.left"]["mean"][0][0][0] < 0.55


def test_single_joint_is_stored_as_a_plain_column(make_tiny: MakeTiny) -> None:
    rng = np.random.default_rng(1)
    images = {"train": rng.integers(0, 256, (3, 3, 2, 8, 8), dtype=np.uint8)}
    made = make_tiny(
        images=images,
        states={"train": np.arange(9.0).reshape(3, 3, 1)},
        joints=("elbow",),
        regimes=(Regime(), Regime("elbow", 1), Regime("elbow", 2)),
    )
    np.testing.assert_array_equal(made.dataset.states("train")[:, 0], np.arange(9.0))


def test_failed_write_leaves_no_partial_file(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tiny.path / "data/chunk-000/file-000.parquet"
    table, before = parquet.read_table(path), path.read_bytes()

    def full(table: pa.Table, where: Path, **options: object) -> None:
        where.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(OSError, match="No space left"):
        parquet.write_table(path, table)
    assert path.read_bytes() == before
    assert not list(tiny.path.rglob("*.part"))


def test_folder_with_a_data_set_is_not_modified(make_tiny: MakeTiny) -> None:
    make_tiny()
    with pytest.raises(UserError, match="holds a data set already"):
        make_tiny()


@pytest.mark.parametrize("angle", [np.nan, np.inf])
def test_nonfinite_angles_are_refused_before_writing(angle: float, make_tiny: MakeTiny, tmp_path: Path) -> None:
    states = {"train": np.zeros((7, 5, 2)), "test-id": np.zeros((9, 1, 2))}
    states["test-id"][3, 0, 1] = angle
    line = "states of split 'test-id' hold an angle that is not a finite number; leave its frames out"
    with pytest.raises(UserError, match=line):
        make_tiny(states=states)
    assert not list((tmp_path / "tiny").rglob("*.*"))


def test_mismatched_shapes_are_refused(make_tiny: MakeTiny) -> None:
    with pytest.raises(UserError, match="not one frame a regime"):
        make_tiny(images={"train": np.zeros((2, 3, 2, 8, 8), np.uint8)})


TRAIN, TEST = np.zeros((7, 5, 2)), np.zeros((9, 1, 2))


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"states": {"train": np.zeros((14, 5, 2)), "test-id": TEST}}, r"have shape \(14, 5, 2\), not \(7, 5, 2\)"),
        ({"states": {"train": TRAIN.transpose(0, 2, 1), "test-id": TEST}}, r"have shape \(7, 2, 5\), not \(7, 5, 2\)"),
        (
            {"states": {"train": TRAIN[:5], "test-id": TEST}},
            r"have shape \(5, 5, 2\), not .*: episodes, frames, joints",
        ),
        ({"states": {"train": TRAIN}}, "states have splits train, and images train, test-id; give equal splits"),
        ({"states": {"train": [[0, 1], [2]], "test-id": TEST}}, "states of split 'train' are no array of numbers"),
        ({"cameras": ("left", "left")}, "camera 'left' is given twice; give each camera once"),
        ({"cameras": ("left", "a/b")}, "camera 'a/b' cannot name a folder; give a name without slashes"),
        ({"cameras": ()}, "there is no camera; give at least one"),
        ({"joints": ("elbow", "elbow")}, "joint 'elbow' is given twice"),
        ({"regimes": (Regime(),) * 5}, "regime 'observational' is given twice"),
        ({"regimes": ()}, "there is no regime; give at least one"),
        ({"images": {}}, "there are no images; give those of at least one split"),
        ({"images": {"train": np.zeros((0, 5, 2, 8, 8), np.uint8)}}, "split 'train' has no episode; leave it out"),
        ({"images": {"train": np.zeros((2, 5, 2, 8, 8), np.uint8).tolist()}}, "are int64; give 8-bit levels, uint8"),
    ],
)
def test_wrong_arrays_are_refused_before_writing(
    options: dict[str, Any], line: str, make_tiny: MakeTiny, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=line):
        make_tiny(**options)
    assert not (tmp_path / "tiny").exists()
