"""True angles of a video: interpolated between their times, and refused where the file is wrong."""

import time
from pathlib import Path

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.inference.live.session import WatchOptions, open_sources
from ropes.inference.live.truth import read_truth
from tests.estimators import run_of
from tests.inference.live.streams import write_video


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_truth_is_interpolated_between_its_times(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "wrist,time,elbow\n1.0,0.0,0.0\n2.0,1.0,-1.0\n2.0,3.0,1.0\n")
    truth = read_truth(run_of(), path)
    found = [truth.at(seconds) for seconds in (0.0, 0.25, 2.0)]
    np.testing.assert_allclose(np.array(found), [[0.0, 1.0], [-0.25, 1.25], [0.0, 2.0]])
    assert truth.at(-0.1) is None
    assert truth.at(3.1) is None


def test_table_that_a_spreadsheet_saved_is_read(tmp_path: Path) -> None:
    truth = read_truth(run_of(), write(tmp_path / "t.csv", "\ufefftime,elbow,wrist\n0,1,2\n1,1,2\n"))
    np.testing.assert_allclose(truth.at(0.5), [1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("time,elbow\n0,1\n", "has no column wrist; it needs time, elbow, wrist"),
        ("time,elbow,wrist\n", "holds no angles"),
        ("time,elbow,wrist\n0,1,x\n", "line 2: a value is not a number"),
        ("time,elbow,wrist\n0,1\n", "line 2: a value is not a number"),
        ("time,elbow,wrist\n1,1,1\n1,2,2\n", "times must ascend"),
        ("time,elbow,wrist\n1,1,nan\n", "all values must be finite"),
    ],
)
def test_invalid_truth_files_are_refused(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=fault):
        read_truth(run_of(), write(tmp_path / "t.csv", text))
    with pytest.raises(UserError, match="cannot read"):
        read_truth(run_of(), tmp_path / "gone.csv")


def test_video_frames_include_true_angles(tmp_path: Path, tiny_data: Path) -> None:
    table = write(tmp_path / "t.csv", "time,elbow,wrist\n0,0,0\n10,10,-10\n")
    video = write_video(tmp_path / "v.mkv", [1, 2, 3, 4], fps=50)
    options = WatchOptions(cameras=[str(video), str(video)], rotate={}, crop={}, truth=table)
    sources = open_sources(run_of(), options)
    assert [source.cameras for source in sources] == [("right",), ("left",)]
    start = time.monotonic()
    first = next(iter(sources[0].captures(start)))
    assert first.truth is not None
    np.testing.assert_allclose(first.truth, [first.stamp - start, start - first.stamp], atol=1e-6)
    (tmp_path / "right").mkdir()
    (tmp_path / "left").mkdir()
    folders = WatchOptions(cameras=[str(tmp_path / "right"), str(tmp_path / "left")], rotate={}, crop={}, truth=table)
    with pytest.raises(UserError, match="--truth goes with video files; leave it out"):
        open_sources(run_of(), folders)
    for options in (
        WatchOptions(cameras=[str(tiny_data)], rotate={}, crop={}, truth=table),
        WatchOptions(cameras=[str(tmp_path)], rotate={}, crop={}, truth=table),
    ):
        with pytest.raises(UserError, match="--truth goes with video files; leave it out"):
            open_sources(run_of(), options)


def test_one_folder_serves_all_cameras_or_is_refused(tmp_path: Path) -> None:
    (tmp_path / "right").mkdir()
    given = WatchOptions(cameras=[str(tmp_path)], rotate={}, crop={})
    with pytest.raises(UserError, match="is no data set, and has no folder left with the images of that camera"):
        open_sources(run_of(), given)
    (tmp_path / "left").mkdir()
    [source] = open_sources(run_of(), given)
    assert source.cameras == ("right", "left")
    for cameras in ([str(tmp_path)], ["0", "1"]):
        with pytest.raises(UserError, match="--split goes with a data set; leave it out"):
            open_sources(run_of(), WatchOptions(cameras=cameras, rotate={}, crop={}, split="test"))
        with pytest.raises(UserError, match="--rate goes with a data set; leave it out"):
            open_sources(run_of(), WatchOptions(cameras=cameras, rotate={}, crop={}, rate=10.0))
    for cameras in ([str(tmp_path)], [str(tmp_path / "right"), str(tmp_path / "left")]):
        with pytest.raises(UserError, match="--loop goes with video files and data sets; leave it out"):
            open_sources(run_of(), WatchOptions(cameras=cameras, rotate={}, crop={}, loop=True))
