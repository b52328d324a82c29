"""LeRobot's own data sets, v3.0 and v2.1."""

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from ropes.data import schema
from ropes.data.recordings.source import Options
from ropes.data.validate import validate
from ropes.errors import UserError
from tests.data.conftest import Tiny
from tests.data.recordings.conftest import FIXTURES, PANDA, ImportOne, damaged, require_fit_accepts

EPISODES, BEGIN = "meta/episodes/**/*.parquet", "videos/observation.images.left/from_timestamp"
V3, V2 = FIXTURES / "lerobot-v3.0-video", FIXTURES / "lerobot-v2.1-video"


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    return lambda source: Path(shutil.copytree(source, tmp_path / "source"))


@pytest.mark.slow
@pytest.mark.parametrize("source", [V3, V2], ids=lambda path: path.name)
def test_lerobot_data_set_is_imported(source: Path, import_one: ImportOne) -> None:
    imported = import_one(source)
    dataset = imported.dataset
    assert str(imported).startswith("lerobot: 156 poses in 12 anchors; cameras left 320x240, right 320x240")
    assert [regime.name for regime in dataset.regimes] == list(PANDA)
    assert "valid" in validate(dataset.path, progress=False)
    require_fit_accepts(dataset)
    frames = dataset.frames("train")
    assert np.array_equal(np.bincount(frames.anchor), [13] * 12)
    recorded = sorted(source.glob("data/**/*.parquet"))
    states = np.concatenate([np.stack(pq.read_table(path)[schema.STATE].to_pylist()) for path in recorded])
    assert np.array_equal(dataset.states("train"), states.astype(np.float64))
    recorded_tasks = np.concatenate([pq.read_table(path)["task_index"].to_numpy() for path in recorded])
    names = _tasks(source)
    assert [names[task] for task in recorded_tasks] == [PANDA[regime] for regime in frames.regime]


def _tasks(source: Path) -> dict[int, str]:
    lines = source / "meta" / "tasks.jsonl"
    if lines.exists():
        return {row["task_index"]: row["task"] for row in map(json.loads, lines.read_text().splitlines())}
    table = pq.read_table(source / "meta" / "tasks.parquet")
    return dict(zip(table["task_index"].to_pylist(), table["__index_level_0__"].to_pylist(), strict=True))


@pytest.mark.slow
def test_imported_images_match_the_video_at_their_time_stamps(import_one: ImportOne) -> None:
    of_v3, of_v2 = import_one(V3, "3").dataset, import_one(V2, "2").dataset
    with av.open(str(V3 / "videos/observation.images.right/chunk-000/file-000.mp4")) as container:
        decoded = {frame.pts: frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)}
    right = of_v3.read_cameras([40, 155])[of_v3.cameras.index("right")]
    assert np.array_equal(right, np.stack([decoded[40 * 1024], decoded[155 * 1024]]))
    ours, theirs = (dataset.read_images([7, 100]).astype(int) for dataset in (of_v3, of_v2))
    between_poses = np.abs(ours[0] - ours[1]).mean()
    assert between_poses > 2
    assert np.abs(ours - theirs).mean() < 0.2 * between_poses  # the same frames, compressed twice


@pytest.mark.slow
def test_one_grey_camera_is_rotated_cropped_and_resized(import_one: ImportOne) -> None:
    dataset = import_one(
        V3,
        streams=Options(cameras=("right",)),
        state="none",
        grey=True,
        rotate={"right": 90},
        crop={None: (20, 40, 200, 240)},
        size={None: 120},
    ).dataset
    assert (dataset.cameras, dataset.image_shapes) == (("right",), ((120, 100),))
    assert dataset.state_names is None
    assert dataset.provenance is not None
    assert dataset.provenance["cameras"][0]["view"] == {
        "rotate": 90,
        "crop": [20, 40, 200, 240],
        "size": 120,
        "grey": True,
    }
    with av.open(str(V3 / "videos/observation.images.right/chunk-000/file-000.mp4")) as container:
        first = next(container.decode(video=0)).to_ndarray(format="rgb24")
    turned = np.flip(first.transpose(1, 0, 2), axis=1)[40:280, 20:220]
    halved = (turned @ [0.299, 0.587, 0.114]).reshape(120, 2, 100, 2).mean(axis=(1, 3))
    assert np.abs(dataset.read_cameras([0])[0][0] - halved).max() <= 1.5


@pytest.mark.slow
def test_table_maps_tasks_to_policies(copied: Callable[[Path], Path], import_one: ImportOne) -> None:
    source = copied(V2)
    lines = source / "meta" / "tasks.jsonl"
    lines.write_text(lines.read_text().replace("panda_joint1/", "turn the base "))
    with pytest.raises(
        UserError, match=r"'turn the base 1' is no policy \(observational, or a joint, a slash and 1 or"
    ):
        import_one(source)
    table = source.parent / "policies.csv"
    rows = [f"{name},{name}" for name in PANDA if "joint1" not in name]
    table.write_text("\n".join(["task,policy", *rows, "turn the base 1,panda_joint1/1", "turn the base 2,"]) + "\n")
    with pytest.raises(UserError, match="joint panda_joint1 has policy 1 alone; record both, or leave it out"):
        import_one(source, policies=table)
    table.write_text("\n".join(["task,policy", *rows, "turn the base 1,", "turn the base 2,"]) + "\n")
    imported = import_one(source, policies=table)
    assert "132 poses in 12 anchors" in str(imported)
    assert "24 left out: no policy" in str(imported)
    assert imported.dataset.joints == tuple(f"panda_joint{k}" for k in range(2, 7))


@pytest.mark.slow
def test_images_in_parquet_files_and_a_policy_column_are_imported(
    import_one: ImportOne, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = import_one(V3, "stored").dataset
    for path in stored.data_files:  # a data set of ours is one of LeRobot with images
        table = pq.read_table(path)
        tasks = [stored.tasks[number] for number in table["task_index"].to_pylist()]
        pq.write_table(table.append_column("policy", [tasks]), path)
    again = import_one(stored.path, "again", streams=Options(policy_column="policy"))
    assert again.dataset.checksum == stored.checksum
    with pytest.raises(UserError, match="has no column 'polcy'; it has"):
        import_one(stored.path, "third", streams=Options(policy_column="polcy"))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda path: damaged(path / "videos/observation.images.left/chunk-000/file-000.mp4", 0.5), "is truncated"),
        (lambda path: (path / "videos/observation.images.left/chunk-000/file-000.mp4").unlink(), "is missing"),
        (lambda path: damaged(path / "data/chunk-000/file-000.parquet", 0.5), "is damaged"),
        (lambda path: damaged(path / "meta/tasks.parquet", 0.5), "is damaged"),
        (lambda path: _edit_info(path, codebase_version="v1.6"), "LeRobot layout v1.6, not v3.0 or v2.1; convert it"),
        (lambda path: _edit_info(path, fps=0), "'fps' is 0, not a rate"),
        (lambda path: _edit_info(path, fps=float("inf")), "'fps' is inf, not a rate"),
        (lambda path: _drop_row(path, 20), r"episode 1 has 12 of its 13 frames; copy it again"),
        (lambda path: damaged(next(path.glob(EPISODES)), 0.3), r"file-000\.parquet is damaged"),
        (lambda path: _clear(path, "data/*/*.parquet", "episode_index"), r"row 3: no episode None in meta/"),
        (lambda path: _clear(path, "data/*/*.parquet", "timestamp"), "episode 0 has a frame without a time stamp"),
        (lambda path: _clear(path, EPISODES, BEGIN), "meta/ does not say where the video observation.images.left lies"),
    ],
    ids=[
        "truncated video",
        "missing video",
        "truncated data",
        "truncated tasks",
        "version",
        "fps",
        "infinite fps",
        "missing frame",
        "truncated episodes",
        "no episode",
        "no time stamp",
        "no begin",
    ],
)
def test_damaged_data_sets_are_refused_in_one_line(
    change: Callable[[Path], None], line: str, copied: Callable[[Path], Path], import_one: ImportOne, tmp_path: Path
) -> None:
    source = copied(V3)
    change(source)
    with pytest.raises(UserError, match=line) as refused:
        import_one(source)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"chunks_size": 0}, "does not say where the data lie"),
        ({"chunks_size": None}, "does not say where the data lie"),
        ({"data_path": "{0}"}, "does not say where the data lie"),
        ({"video_path": "{0}"}, "does not say where the video observation.images.left lies"),
    ],
    ids=["no chunk", "null chunk", "data", "video"],
)
def test_invalid_paths_are_refused_in_one_line(
    change: dict[str, object], line: str, copied: Callable[[Path], Path], import_one: ImportOne, tmp_path: Path
) -> None:
    source = copied(V2)
    _edit_info(source, **change)
    with pytest.raises(UserError, match=line):
        import_one(source)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("mode", ["I;16", "RGBA", "CMYK"])
def test_unsupported_image_modes_are_refused(mode: str, tiny: Tiny, import_one: ImportOne) -> None:
    stream = io.BytesIO()
    Image.new(mode, (16, 16)).save(stream, "TIFF")
    image = {"bytes": stream.getvalue(), "path": None}
    _change(tiny.path, "data/*/*.parquet", f"{schema.IMAGES}left", image)
    with pytest.raises(UserError, match=f"row 3, camera left: {mode} image; images must be 8-bit grey or RGB"):
        import_one(tiny.path)


@pytest.mark.parametrize(
    ("column", "value", "line"),
    [
        (f"{schema.IMAGES}left", b"PNG", "row 0, camera left: no image; embed the images in the data files with"),
        (f"{schema.IMAGES}left", "0.png", "row 0, camera left: no image; embed the images in the data files with"),
        ("timestamp", "noon", "episode 0 has time stamps that are no numbers"),
    ],
)
def test_columns_of_other_types_are_refused(
    column: str, value: object, line: str, tiny: Tiny, import_one: ImportOne
) -> None:
    for file in tiny.path.glob("data/*/*.parquet"):
        table = pq.read_table(file)
        pq.write_table(table.drop_columns([column]).append_column(column, pa.array([value] * len(table))), file)
    with pytest.raises(UserError, match=line):
        import_one(tiny.path)


def _clear(path: Path, files: str, column: str) -> None:
    """Remove a value of a column, in row 3."""
    _change(path, files, column, None)


def _change(path: Path, files: str, column: str, value: object) -> None:
    """Change a value of a column, in row 3."""
    file = min(path.glob(files))
    table = pq.read_table(file)
    values = table[column].to_pylist()
    values[3] = value
    place = table.schema.get_field_index(column)
    pq.write_table(table.set_column(place, column, pa.array(values, table.schema.field(column).type)), file)


def _edit_info(path: Path, **changes: object) -> None:
    info = json.loads((path / schema.INFO).read_text())
    (path / schema.INFO).write_text(json.dumps(info | changes))


def _drop_row(path: Path, row: int) -> None:
    file = path / "data/chunk-000/file-000.parquet"
    table = pq.read_table(file)
    pq.write_table(table.take([k for k in range(len(table)) if k != row]), file)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (["episode,policy", "0,elbow/1"], r"policy 'elbow/1' is of no joint of the recording \(panda_joint1, panda"),
        (["episode,policy", "0,panda_joint1-1"], "'panda_joint1-1' is no policy"),
        (["episode,policy", "12,observational"], "policies.csv, row 2: no episode 12; the recording has 12, from 0"),
        (["episode,frame,policy", "0,13,observational"], "row 2: no frame 13; episode 0 has 13"),
        (["episode,frame,policy", "0,3,observational", "0,3,observational"], "row 3: does not come after the row"),
        (["frame,policy", "0,observational"], "the recording has 12 episodes; add a column episode"),
        (["episode,policy", "0,observational"], "every frame is observational"),
        (["episode,policy", "0,"], "no policy anywhere"),
        (["task,policy", "observational,observational", "observational,"], "row 3: task observational has a policy"),
        (["number,policy", "0,observational"], "beside policy it needs task, episode,"),
        (["task,policy", "observational,observational"], "has no row for task 'panda_joint1/1' of episode 0"),
        (["episode,policy", "x,observational"], "row 2: episode 'x' is not a finite number"),
        (["episode,policy", "1.5,observational"], "row 2: episode 1.5 is not a number 0, 1, 2"),
        (["episode,policy"], "has no rows"),
        (["episode", "0"], "has no column 'policy'; it has episode"),
    ],
)
def test_invalid_policy_tables_are_refused(rows: list[str], line: str, import_one: ImportOne, tmp_path: Path) -> None:
    table = tmp_path / "policies.csv"
    table.write_text("\n".join(rows) + "\n")
    with pytest.raises(UserError, match=line):
        import_one(V3, policies=table)
    assert not (tmp_path / "data").exists()


def test_unknown_camera_is_refused(import_one: ImportOne) -> None:
    with pytest.raises(UserError, match="has no camera 'top'; it has left, right"):
        import_one(V3, streams=Options(cameras=("top",)))
    with pytest.raises(UserError, match="--cameras has left twice; give each camera once"):
        Options(cameras=("left=/a", "left=/b"))
    with pytest.raises(UserError, match="--crop: no camera 'top'; the recording has left, right"):
        import_one(V3, crop={"top": (0, 0, 20, 20)})
    with pytest.raises(UserError, match="--crop left=300,0,100,100 is not inside the image of 320x240 pixels"):
        import_one(V3, crop={"left": (300, 0, 100, 100)})


@pytest.mark.slow
def test_episodes_of_one_policy_are_imported_without_anchors(import_one: ImportOne, tmp_path: Path) -> None:
    table = tmp_path / "policies.csv"
    rows = [f"{k},{('observational', 'panda_joint1/1', 'panda_joint1/2')[k % 3]}" for k in range(12)]
    table.write_text("\n".join(["episode,policy", *rows]) + "\n")
    imported = import_one(V3, policies=table, frames="every")
    assert "156 poses in 12 stretches of a policy, no anchors: fit with --method ldr" in str(imported)
    assert "valid" in validate(imported.dataset.path, progress=False)
    with pytest.raises(UserError, match=r"no anchor is complete: the one at 0\.0 s lacks panda_joint1/1; record it"):
        import_one(V3, "other", policies=table, frames="every", group="anchors")
