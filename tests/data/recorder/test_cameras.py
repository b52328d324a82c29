"""Cameras of files, of videos and of OpenCV give frame after frame, and say when there is none."""

import os
import sys
import threading
import time
import types
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from ropes.data.recorder import cameras
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


def test_folder_camera_skips_hidden_files(tmp_path: Path) -> None:
    save(tmp_path / "1.png", 1)
    camera = FileCamera(tmp_path, timeout=0.1)
    assert camera.frame()[0, 0, 0] == 1
    save(tmp_path / ".2.png", 2)  # a program writes it, and renames it when it is whole
    with pytest.raises(UserError, match="has no new image"):
        camera.frame()
    (tmp_path / ".2.png").rename(tmp_path / "2.png")
    assert camera.frame()[0, 0, 0] == 2


def test_images_of_16_bits_are_refused(tmp_path: Path) -> None:
    Image.fromarray(np.full((6, 8), 700, np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(UserError, match=r"deep.png: I;16 image; images must be 8-bit grey or RGB"):
        FileCamera(tmp_path / "deep.png", timeout=0.1).frame()


@pytest.mark.parametrize(("name", "written"), [("now.png", 40), ("now.ppm", 8), ("now.ppm", 40)])
def test_file_camera_waits_until_the_file_is_complete(tmp_path: Path, name: str, written: int) -> None:
    path = tmp_path / name
    save(path, 1)
    camera = FileCamera(path, timeout=5.0)
    assert camera.frame().shape == (6, 8, 3)
    whole = path.read_bytes()
    path.write_bytes(whole[:written])
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

    def __init__(self, frames: int, *, opened: bool = True, fails: int = 0) -> None:
        self.left, self.opened, self.fails, self.released = frames, opened, fails, False
        self.properties: dict[int, float] = {}

    def isOpened(self) -> bool:
        return self.opened

    def read(self) -> tuple[bool, NDArray[np.generic] | None]:
        time.sleep(0.005)
        if self.left == 0 or (self.left == 10 and self.fails > 0):
            self.fails -= 1
            return False, None
        self.left -= 1
        return True, np.full((4, 5, 3), (1, 2, 3), np.uint8)

    def grab(self) -> bool:
        return self.left > 0

    def retrieve(self) -> tuple[bool, NDArray[np.generic] | None]:
        return self.read()

    def set(self, property_id: int, value: float) -> bool:
        self.properties[property_id] = min(value, {3: 640, 4: 480, 5: 30}.get(property_id, value))
        return True

    def get(self, property_id: int) -> float:
        return self.properties[property_id]

    def release(self) -> None:
        self.released = True


def skip(camera: OpenCVCamera, frames: int) -> None:
    for _ in range(frames):
        camera.skip(Clock())


def test_opencv_camera_returns_fresh_rgb_frames_until_unplugged(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Capture(30)
    camera = OpenCVCamera(lambda: device, "camera 2")
    assert camera.frame()[0, 0].tolist() == [3, 2, 1]
    camera.skip(Clock())
    assert device.left < 29
    monkeypatch.setattr(cameras, "DEVICE_TIMEOUT", 0.2)
    with pytest.raises(UserError, match=r"^camera 2 gives no frame any more; was it unplugged\?"):
        skip(camera, 40)
    camera.close()
    assert device.released


def test_device_that_never_gives_a_frame_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cameras, "DEVICE_TIMEOUT", 0.1)
    camera = OpenCVCamera(lambda: Capture(0), "camera 2")
    with pytest.raises(
        UserError, match=r"^camera 2 gives no frame; where two cameras share a USB bus, give both @640x"
    ):
        camera.frame()
    camera.close()


def test_failed_reads_are_passed_over_and_a_silent_device_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cameras, "REOPEN", 0.1)
    devices: list[Capture] = []

    def open_one() -> Capture:
        devices.append(Capture(20, fails=3))
        return devices[-1]

    camera = OpenCVCamera(open_one, "camera 2")
    for _ in range(30):
        assert camera.frame().shape == (4, 5, 3)
    camera.close()
    assert len(devices) == camera.interruptions + 1 > 1
    assert all(device.released for device in devices)


class FakeOpenCV(types.ModuleType):
    """OpenCV with one camera, of 640x480 images at most."""

    CAP_PROP_BUFFERSIZE, CAP_PROP_FRAME_WIDTH, CAP_PROP_FRAME_HEIGHT, CAP_PROP_FPS, CAP_PROP_FOURCC = 38, 3, 4, 5, 6

    def __init__(self) -> None:
        super().__init__("cv2")
        self.opened: list[Capture] = []

    def VideoWriter_fourcc(self, *letters: str) -> int:
        return int.from_bytes("".join(letters).encode(), "little")

    def VideoCapture(self, address: object) -> Capture:
        self.opened.append(Capture(30, opened=address == 0))
        return self.opened[-1]


def test_size_of_a_device_is_set_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeOpenCV()
    monkeypatch.setitem(sys.modules, "cv2", fake)
    camera = open_camera("cam", "0@320x240")
    assert fake.opened[-1].properties == {38: 1, 3: 320, 4: 240}
    camera.close()
    with pytest.raises(UserError, match=r"--cameras cam=0@1280x720: 0 gives images of 640x480, not 1280x720"):
        open_camera("cam", "0@1280x720")
    with pytest.raises(UserError, match=r"--cameras cam=1: 1 cannot be opened; is it plugged in"):
        open_camera("cam", "1")
    assert all(each.released for each in fake.opened)


def test_rate_of_a_device_is_set_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeOpenCV()
    monkeypatch.setitem(sys.modules, "cv2", fake)
    open_camera("cam", "0@320x240@15").close()
    # Motion JPEG comes first, and the rate last: the sizes depend on the format, and the rates on both.
    assert list(fake.opened[-1].properties.items()) == [(38, 1), (6, 0x47504A4D), (3, 320), (4, 240), (5, 15)]
    with pytest.raises(
        UserError, match=r"0@320x240@60: 0 at 320x240 gives 30 images a second, not 60; v4l2-ctl --list"
    ):
        open_camera("cam", "0@320x240@60")
    line = r"rtsp://me@host/x: the sender chooses the images a second of a stream; leave @30 out"
    with pytest.raises(UserError, match=line):
        open_camera("cam", "rtsp://me@host/x@320x240@30")
    assert all(each.released for each in fake.opened)


def test_unsupported_camera_source_is_reported(tmp_path: Path) -> None:
    for source in (str(tmp_path / "none.png"), "left camera", __file__):
        with pytest.raises(UserError, match="give the number of a camera, a device file, the address of a stream"):
            open_camera("cam", source)


def test_missing_opencv_is_reported_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(UserError, match=r"--cameras cam=0: .* pip install -e '\.\[record\]'"):
        open_camera("cam", "0")


def test_link_to_an_image_that_is_gone_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "latest.png").symlink_to("gone.png")
    save(tmp_path / "a.png", 7)
    assert FileCamera(tmp_path, timeout=0.1).frame()[0, 0, 0] == 7


def test_image_that_cannot_be_read_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("no image")
    with pytest.raises(UserError, match=r"a\.png is no image that can be read, for 0\.1 s; may you read it\?"):
        FileCamera(tmp_path, timeout=0.1).frame()
