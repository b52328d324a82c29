"""Videos with unusual names and frame rates."""

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.stream import VideoStream

from ropes.common.arrays import Floats
from ropes.data.recorder.cameras import VideoCamera
from ropes.data.recordings.registry import open_recording
from ropes.data.recordings.source import Options
from ropes.data.recordings.videos import Video
from ropes.errors import UserError


def write_video(path: Path, rate: Fraction) -> Path:
    with av.open(str(path.absolute()), "w") as container:
        stream = container.add_stream("libx264", rate=rate)
        assert isinstance(stream, VideoStream)
        stream.height, stream.width, stream.pix_fmt = 32, 32, "yuv420p"
        for _ in range(6):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), format="rgb24")))
        container.mux(stream.encode())
    return path


def test_video_of_a_slow_camera_is_not_called_truncated(tmp_path: Path) -> None:
    assert np.allclose(Video(write_video(tmp_path / "slow.mkv", Fraction(1, 4))).times, 4 * np.arange(6))


@pytest.mark.parametrize(
    "read", [lambda path: Video(path).times, lambda path: VideoCamera(path).frame()], ids=["import", "record"]
)
def test_time_in_the_name_of_a_video_is_no_address(
    read: Callable[[Path], Floats], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(read(write_video(Path("2024-05-01T12:30:00.mp4"), Fraction(10))))


def test_two_videos_of_one_camera_are_refused(tmp_path: Path) -> None:
    for name in ("left.mkv", "left.mp4", "right.mp4"):
        write_video(tmp_path / name, Fraction(10))
    with pytest.raises(UserError, match=r"has two videos of camera left, left\.mkv and left\.mp4; remove one"):
        open_recording(tmp_path, Options(needs_policies=False))


def test_names_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.mp4")
    try:
        path.write_text("")
    except OSError:
        pytest.skip("this file system has UTF-8 names alone")
    for recording in (path, tmp_path):
        with pytest.raises(UserError, match=r"the name 'caf\\udce9\.mp4' is not UTF-8; rename the file or folder"):
            open_recording(recording, Options(needs_policies=False))
