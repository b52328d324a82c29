"""Frames of videos whose codec stores frames in another order than they are shown."""

from pathlib import Path

import av
import numpy as np
import pytest
from av.video.stream import VideoStream

from ropes.data.recordings.videos import Video
from ropes.errors import UserError

FRAMES = 60
#: Key frames of an open group of pictures: frames that are shown before one are stored after it.
OPEN_HEVC = {"x265-params": "log-level=none:pools=1:keyint=2:min-keyint=2:open-gop=1"}
OPEN_H264 = {
    "x264-params": "threads=1:keyint=12:min-keyint=12:open-gop=1:bframes=3:b-adapt=0:b-pyramid=normal:scenecut=0"
}


def write_counting_video(path: Path, codec: str, options: dict[str, str]) -> Path:
    """A video in which the bright squares of each frame are the binary digits of its number."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 64, 32, "yuv420p"
        for number in range(FRAMES):
            digits = np.array([number >> k & 1 for k in range(8)], dtype=np.uint8)
            row = np.repeat(40 + 160 * digits, 8)
            image = np.broadcast_to(row[None, :, None], (32, 64, 3))
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")))
        container.mux(stream.encode())
    return path


def number_of(image: np.ndarray) -> int:
    """The number that a frame shows."""
    return sum(1 << k for k in range(8) if image[16, 8 * k + 4, 1] > 120)


@pytest.mark.parametrize(
    ("name", "codec", "options"),
    [
        ("hevc.mp4", "libx265", OPEN_HEVC),
        ("hevc.mkv", "libx265", OPEN_HEVC),
        ("h264.mp4", "libx264", OPEN_H264),
        ("h264.mkv", "libx264", OPEN_H264),
        ("mpeg4.mp4", "mpeg4", {"g": "12", "bf": "2"}),
        ("mpeg4.avi", "mpeg4", {"g": "12", "bf": "2"}),
        ("h264.avi", "libx264", {"x264-params": "threads=1:keyint=12:bframes=0"}),
    ],
)
def test_each_frame_can_be_read_by_itself(name: str, codec: str, options: dict[str, str], tmp_path: Path) -> None:
    video = Video(write_counting_video(tmp_path / name, codec, options))
    assert [number_of(next(video.images([number]))) for number in range(FRAMES)] == list(range(FRAMES))


def test_avi_without_times_of_its_reordered_frames_is_refused(tmp_path: Path) -> None:
    path = write_counting_video(tmp_path / "front.avi", "libx264", OPEN_H264)
    with pytest.raises(UserError, match=r"again, without -c copy: ffmpeg -i front\.avi .*front\.mkv$") as refused:
        Video(path)
    assert "\n" not in str(refused.value)


def test_video_copied_from_such_an_avi_is_refused(tmp_path: Path) -> None:
    source = write_counting_video(tmp_path / "front.avi", "libx264", OPEN_H264)
    with av.open(str(source)) as before, av.open(str(tmp_path / "front.mkv"), "w") as after:
        stream = after.add_stream_from_template(before.streams.video[0])
        for packet in before.demux(video=0):
            if packet.dts is not None:  # the last packet is empty
                packet.stream = stream
                after.mux(packet)
    video = Video(tmp_path / "front.mkv")
    with pytest.raises(UserError, match=r"its time stamps are in another order than its frames, .*; encode the first"):
        next(video.images([8]))
