"""Several recordings of one arm become one data set, or are refused in a line that names both."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from ropes.data import writer
from ropes.data.recordings import dataset_writer
from ropes.data.recordings.importer import Imported, import_recording
from ropes.data.recordings.plan import ImportOptions
from ropes.data.recordings.preview import preview_recording
from ropes.data.recordings.source import Options
from ropes.data.validate import validate
from ropes.errors import UserError
from tests import tiny
from tests.data.recordings.conftest import FIXTURES, require_fit_accepts
from tests.data.recordings.test_videos import (
    NAMES,
    angles,
    dense_log,
    picture,
    positions,
    seen,
    write_csv,
    write_frames,
)
from tests.data.recordings.test_videos import write_video as write

JoinAll = Callable[..., Imported]


@pytest.fixture
def join(tmp_path: Path) -> JoinAll:
    """Import recordings into a new folder."""

    def run(*paths: Path, out: str = "data", **options: Any) -> Imported:
        given = {"crop_to_motion": False} | options
        return import_recording(*paths, out=tmp_path / out, options=ImportOptions(**given), progress=False)

    return run


def take(path: Path, anchors: int, joint: str = "elbow") -> Path:
    """A video with its log beside it."""
    path.parent.mkdir(exist_ok=True)
    write(path, [picture(angle) for angle in positions(anchors)])
    rows = [(time, name.replace("elbow", joint), angle) for time, name, angle in dense_log(anchors)]
    write_csv(path.with_suffix(".csv"), ("time", "policy", joint), rows)
    return path


def frames(folder: Path, camera: str = "front", *, names: bool = True) -> Path:
    """A folder of frames, two anchors; its log names the policies, or leaves them to a table."""
    write_frames(folder, angles(2), camera)
    rows = [(k, *((NAMES[k % 3],) if names else ())) for k in range(6)]
    write_csv(folder / "log.csv", ("frame", "policy") if names else ("frame",), rows)
    return folder


@pytest.mark.slow
def test_takes_become_the_episodes_of_one_data_set(join: JoinAll, tmp_path: Path) -> None:
    paths = take(tmp_path / "monday" / "take.mp4", 3), take(tmp_path / "take.mp4", 2)
    imported = join(*paths)
    assert str(imported).startswith("videos: 15 poses in 5 anchors; cameras camera 64x48; ")
    dataset = imported.dataset
    expected = np.concatenate([angles(3), angles(2)])
    assert np.allclose(dataset.states("train")[:, 0], expected)
    assert np.abs(seen(dataset.read_images(np.arange(15))[:, 0]) - expected).max() <= 1 / 24
    assert "valid" in validate(dataset.path, progress=False)
    require_fit_accepts(dataset, small=True)
    assert dataset.provenance is not None
    parts = dataset.provenance["source"]["parts"]
    assert [(part["name"], part["episodes"]) for part in parts] == [(path.as_posix(), 1) for path in paths]
    assert [len(part["sha256"]) for part in parts] == [64, 64]
    assert pq.read_table(dataset.path / dataset_writer.ORIGIN)["episode"].to_pylist() == [0] * 9 + [1] * 6


@pytest.mark.slow
def test_interrupted_import_of_takes_resumes_and_refuses_others(
    join: JoinAll, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset_writer, "BYTES_PER_SHARD", 3 * 48 * 64 * 3)  # an anchor a file
    one, two = frames(tmp_path / "one"), frames(tmp_path / "two")
    whole = join(one, two, out="whole").dataset
    original: Callable[..., None] = writer.write_shard
    calls = []

    def die_at_fourth(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(writer, "write_shard", die_at_fourth)
        with pytest.raises(KeyboardInterrupt):
            join(one, two, out="killed")
    for others in ((one,), (two, one), (one, two, frames(tmp_path / "three"))):
        with pytest.raises(UserError, match=r"holds something else, a data set with another source \("):
            join(*others, out="killed")
    assert tiny.tree(join(one, two, out="killed").dataset.path) == tiny.tree(whole.path)


def test_recordings_that_do_not_belong_together_are_refused(join: JoinAll, tmp_path: Path) -> None:
    one = frames(tmp_path / "one")
    options = ImportOptions()
    for other, line in (
        (
            FIXTURES / "lerobot-v2.1-video",
            "one is a recording of kind frames, and lerobot-v2.1-video is a recording of k",
        ),
        (
            frames(tmp_path / "side", "side"),
            "one has cameras front, and side has cameras side; import them into data se",
        ),
        (one / ".." / "one", "is given twice; give each recording once"),
    ):
        with pytest.raises(UserError, match=line):
            join(one, other)
        with pytest.raises(UserError, match=line):
            preview_recording(one, other, folder=tmp_path / "look", options=options)
    small = frames(tmp_path / "small")
    for path in (small / "front").iterdir():
        Image.fromarray(picture(0.5)[::2, ::2]).save(path)
    with pytest.raises(
        UserError, match=r"small: frame 0 of camera front \(.*\) is stored as .* from 32x24 pixels, and others"
    ):
        join(one, small)
    with pytest.raises(UserError, match=r"front: frame 0 of small \(.*small/front/.*png\) has another size"):
        join(one, small, crop_to_motion=True)
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_videos_of_other_joints_are_refused(join: JoinAll, tmp_path: Path) -> None:
    one, two = take(tmp_path / "one.mp4", 1), take(tmp_path / "two.mp4", 1, joint="wrist")
    with pytest.raises(UserError, match=r"one.mp4 has joints elbow, and two.mp4 has joints wrist"):
        join(one, two)
    with pytest.raises(UserError, match="--log goes with one recording; put the log of each beside the video"):
        join(one, two, streams=Options(log=one.with_suffix(".csv")))
    with pytest.raises(UserError, match=r"one.mp4 has one camera; give --cameras one name, or a folder of videos for"):
        join(one, two, streams=Options(cameras=("front=one",)))


def test_table_of_policies_names_the_recording_of_each_row(join: JoinAll, tmp_path: Path) -> None:
    one, two = frames(tmp_path / "one", names=False), frames(tmp_path / "two", names=False)
    rows = [(source, k, NAMES[k % 3]) for source in ("one", "two") for k in range(6) if (source, k) != ("two", 5)]
    table = write_csv(tmp_path / "policies.csv", ("source", "frame", "policy"), [*rows, ("two", 5, "")])
    imported = join(one, two, policies=table)
    assert str(imported).startswith("frames: 9 poses in 3 anchors; cameras front 64x48")
    write_csv(table, ("source", "frame", "policy"), [*rows, ("three", 0, "elbow/1")])
    with pytest.raises(UserError, match=r"policies.csv, row 13: no source 'three'; the recordings are one, two"):
        join(one, two, out="other", policies=table)
    write_csv(table, ("frame", "policy"), [row[1:] for row in rows[:6]])
    with pytest.raises(UserError, match="several recordings are imported; add a column source with their names"):
        join(one, two, out="other", policies=table)
    write_csv(table, ("source", "episode", "policy"), [("one", 0, NAMES[1]), ("two", 1, NAMES[2])])
    with pytest.raises(UserError, match="row 3: no episode 1; two has 1, from 0 on"):
        join(one, two, out="other", policies=table)
