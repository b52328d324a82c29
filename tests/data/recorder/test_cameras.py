"""Cameras of files, of videos and of OpenCV give frame after frame, and say when there is none."""

import os
import sys
import threading
import time
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from ropes.data.recorder.cameras import FileCamera, OpenCVCamera, VideoCamera, open_camera
from ropes.data.recorder.interfaces import Clock
from ropes.errors import UserError


def save(path: Path, level: int) -> None:
    Image.fromarray(np.full((6, 8, 3), (level, 0, 9), np.uint8)).save(path)


def test_folder_camera_returns_each_new_image_once(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    save(tmp_path / "a.png", 1)
    camera = FileCamera(tmp_path, timeout=0.1)
    assert camera.frame()[0, 0].tolist() == [1, 0, 9]
    with pytest.raises(UserError, match=r"has no new image for 0.1 s; does its program run\?"):
        camera.frame()
    save(tmp_path / "b.png", 2)
    assert camera.frame()[0, 0, 0] == 2


def test_folder_camera_finds_replaced_images_among_many(tmp_path: Path) -> None:
    def write(name: str, level: int, seconds: int) -> None:
        save(tmp_path / name, level)
        os.utime(tmp_path / name, (seconds, seconds))

    for k in range(600):
        write(f"{k:03d}.png", 1, k)
    camera = FileCamera(tmp_path, timeout=5.0)
    assert camera.frame()[0, 0, 0] == 1
    for level, name in enumerate(("new.png", "580.png", "300.png", "599.png", "last.png"), start=2):
        write(name, level, 1000 + level)
        assert camera.frame()[0, 0, 0] == level
    (tmp_path / "last.png").unlink()
    (tmp_path / "notes.txt").touch()
    for level in (9, 8, 7):  # the last one that was written is the oldest
        write(f"{level}.png", level, 2000 + level)
    assert camera.frame()[0, 0, 0] == 9


def test_file_camera_waits_until_the_file_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "now.png"
    save(path, 1)
    camera = FileCamera(path, timeout=5.0)
    assert camera.frame().shape == (6, 8, 3)
    whole = path.read_bytes()
    path.write_bytes(whole[:40])
    threading.Timer(0.1, lambda: Image.fromarray(np.full((6, 8), 7, np.uint8)).save(path)).start()
    assert camera.frame().tolist() == np.full((6, 8), 7).tolist()


def test_video_camera_raises_after_the_last_frame(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "a.mkv"), "w") as container:
        stream = container.add_stream("ffv1", rate=10)
        stream.width, stream.height, stream.pix_fmt = 8, 6, "bgr0"
        for level in (10, 200):
            frame = av.VideoFrame.from_ndarray(np.full((6, 8, 3), level, np.uint8), format="rgb24")
            container.mux(stream.encode(frame.reformat(format="bgr0")))
        container.mux(stream.encode())
    camera = open_camera("cam", str(tmp_path / "a.mkv"))
    assert [int(camera.frame().mean()) for _ in range(2)] == [10, 200]
    with pytest.raises(UserError, match="has no more frames"):
        camera.frame()
    camera.close()
    (tmp_path / "b.mp4").write_text("no video")
    with pytest.raises(UserError, match="is no video"):
        VideoCamera(tmp_path / "b.mp4")


class Capture:
    """A device that gives a frame every 5 ms, as `cv2.VideoCapture` does, until it is unplugged."""

    def __init__(self, frames: int, *, opened: bool = True) -> None:
        self.left, self.opened, self.released = frames, opened, False

    def isOpened(self) -> bool:
        return self.opened

    def read(self) -> tuple[bool, NDArray[np.generic] | None]:
        time.sleep(0.005)
        if self.left == 0:
            return False, None
        self.left -= 1
        return True, np.full((4, 5, 3), (1, 2, 3), np.uint8)

    def release(self) -> None:
        self.released = True


def test_opencv_camera_returns_fresh_rgb_frames_until_unplugged() -> None:
    device = Capture(30)
    camera = OpenCVCamera(lambda: device, "camera 2")
    assert camera.frame()[0, 0].tolist() == [3, 2, 1]
    camera.drop(0.05, Clock())
    assert device.left < 25
    with pytest.raises(UserError, match=r"^camera 2 gives no frame any more; was it unplugged\?"):
        camera.drop(5.0, Clock())
    camera.close()
    assert device.released


def test_a_device_that_does_not_open_is_refused() -> None:
    device = Capture(3, opened=False)
    with pytest.raises(UserError, match=r"cannot be opened; is it plugged in"):
        OpenCVCamera(lambda: device)
    assert device.released


def test_unsupported_camera_source_is_reported(tmp_path: Path) -> None:
    for source in (str(tmp_path / "none.png"), "left camera", __file__):
        with pytest.raises(UserError, match="give the number of a camera, a device file, the address of a stream"):
            open_camera("cam", source)


def test_missing_opencv_is_reported_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(UserError, match=r"--cameras cam=0: .* pip install 'ropes\[record\]'"):
        open_camera("cam", "0")
