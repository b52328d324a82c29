"""True angles: of a video interpolated between their times, of a live arm those of its encoders; what is refused."""

import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.inference.live.session import WatchOptions, open_sources
from ropes.inference.live.truth import MAX_AGE, EncoderTruth, read_truth
from tests.bridge import Bridge
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
        ("time,elbow,wrist\n0,0,0\n1,0,-45\n", "t.csv: wrist spans 45, above a full turn; give radians, not degrees"),
        ("time,elbow,wrist\n0,90,0\n1,91,0\n", "elbow has a median of 90.5, above a full turn; give radians, not"),
    ],
)
def test_invalid_truth_files_are_refused(text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=fault):
        read_truth(run_of(), write(tmp_path / "t.csv", text))
    with pytest.raises(UserError, match="cannot read"):
        read_truth(run_of(), tmp_path / "gone.csv")


def test_video_frames_include_true_angles(tmp_path: Path, tiny_data: Path) -> None:
    table = write(tmp_path / "t.csv", "time,elbow,wrist\n0,0,0\n5,5,-5\n")
    video = write_video(tmp_path / "v.mkv", [1, 2, 3, 4], fps=50)
    options = WatchOptions(cameras=[str(video), str(video)], rotate={}, crop={}, truth=str(table))
    sources = open_sources(run_of(), options)
    assert [source.cameras for source in sources] == [("right",), ("left",)]
    start = time.monotonic()
    first = next(iter(sources[0].captures(start)))
    assert first.truth is not None
    np.testing.assert_allclose(first.truth, [first.stamp - start, start - first.stamp], atol=1e-6)
    (tmp_path / "right").mkdir()
    (tmp_path / "left").mkdir()
    folders = WatchOptions(
        cameras=[str(tmp_path / "right"), str(tmp_path / "left")], rotate={}, crop={}, truth=str(table)
    )
    with pytest.raises(
        UserError, match=r"--truth FILE.csv goes with video files, and --truth ws://HOST:PORT with cameras and folders"
    ):
        open_sources(run_of(), folders)
    for options in (
        WatchOptions(cameras=[str(tiny_data)], rotate={}, crop={}, truth=str(table)),
        WatchOptions(cameras=[str(tmp_path)], rotate={}, crop={}, truth=str(table)),
    ):
        with pytest.raises(
            UserError,
            match=r"--truth FILE.csv goes with video files, and --truth ws://HOST:PORT with cameras and folders",
        ):
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


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    pytest.importorskip("roslibpy")
    made = Bridge()
    made.names, made.at = ["gripper", "wrist", "elbow"], {"gripper": 0.5, "wrist": -0.25, "elbow": 0.125}
    yield made
    made.close()


def address_of(bridge: Bridge, topic: str = "") -> str:
    return f"ws://127.0.0.1:{bridge.port}{topic}"


def eventually(truth: EncoderTruth, expected: list[float] | None) -> bool:
    """Whether the true angles now become these."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        found = truth.at(time.monotonic())
        if (None if found is None else found.tolist()) == expected:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_encoders_give_the_newest_angles_before_an_image(bridge: Bridge, capsys: pytest.CaptureFixture[str]) -> None:
    bridge.topic = "/arm/states"
    begin = time.monotonic()
    truth = EncoderTruth(run_of(), address_of(bridge, "/arm/states"))
    try:
        assert eventually(truth, [0.125, -0.25])  # by name, in the order of the run
        before = time.monotonic()
        bridge.at["elbow"] = 1.0
        assert eventually(truth, [1.0, -0.25])
        earlier = truth.at(before)  # of an image that came before the arm moved
        assert earlier is not None
        assert earlier.tolist() == [0.125, -0.25]
        assert capsys.readouterr().err == ""
        assert truth.at(begin - 1) is None
        bridge.silent = True
        assert eventually(truth, None)
        time.sleep(0.1)
        assert truth.at(time.monotonic()) is None
        line = f"/arm/states gives no position of joint elbow within {MAX_AGE:g} s before an image"
        assert capsys.readouterr().err == f"ropes: {line}; such images have no true angles\n"
        bridge.silent = False
        assert eventually(truth, [1.0, -0.25])
    finally:
        truth.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_encoders_that_do_not_answer_are_reported(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ropes.inference.live.truth.TIMEOUT", 0.5)
    bridge.names = ["gripper", "elbow"]
    with pytest.raises(
        UserError, match=r"topic /joint_states gives no position of joint wrist in 0.5 s; it has gripper, e"
    ):
        EncoderTruth(run_of(), address_of(bridge))
    with pytest.raises(UserError, match=r"topic /arm gives no position of joint elbow in 0.5 s; nothing came"):
        EncoderTruth(run_of(), address_of(bridge, "/arm"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"no rosbridge answers at 127.0.0.1:{port}; start rosbridge_server there"):
            EncoderTruth(run_of(), f"ws://127.0.0.1:{port}")


def test_invalid_addresses_of_encoders_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("ws://robot:bridge", "ws://:9090", "ws://robot:9090/arm?x=1"):
        with pytest.raises(UserError, match=r"is not ws://HOST:PORT\[/TOPIC\]"):
            EncoderTruth(run_of(), address)
    monkeypatch.setitem(sys.modules, "roslibpy", None)
    with pytest.raises(UserError, match=r"--truth ws://robot needs the package roslibpy: pip install -e '\.\[live\]'"):
        EncoderTruth(run_of(), "ws://robot")


def test_encoders_go_with_live_sources_alone(tmp_path: Path, tiny_data: Path) -> None:
    video = write_video(tmp_path / "v.mkv", [1, 2], fps=50)
    for name in ("right", "left"):
        (tmp_path / name).mkdir()
    for cameras in ([str(tmp_path)], [str(tmp_path / "right"), str(tmp_path / "left")]):
        assert open_sources(run_of(), WatchOptions(cameras=cameras, rotate={}, crop={}, truth="ws://robot"))
    for cameras in ([str(tiny_data)], [str(video), str(video)], [str(video), str(tmp_path / "left")]):
        with pytest.raises(UserError, match=r"--truth ws://HOST:PORT with cameras and folders; leave it out"):
            open_sources(run_of(), WatchOptions(cameras=cameras, rotate={}, crop={}, truth="ws://robot"))
