"""Sources: a video at its own speed, a folder that fills, a data set, a camera, and how each of them ends."""

import itertools
import os
import sys
import threading
import time
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.live.device import Device
from ropes.inference.live.session import WatchOptions, arm_to_draw, open_sources
from ropes.inference.live.sources import Folders, Recorded, VideoFile, cameras_of
from tests import planar, tiny
from tests.estimators import run_of
from tests.inference.live.streams import until_error, write_video


def test_video_plays_at_its_own_speed_and_ends(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mkv", [10, 20, 30, 40], fps=50)
    video, start = VideoFile(camera="right", path=path), time.monotonic() + 0.05
    played, end = until_error((capture, time.monotonic(), video.skipped) for capture in video.captures(start))
    assert time.monotonic() - start >= 0.079  # the last frame of another camera has arrived
    assert end == f"camera right: {path} ends after 4 frames; --loop plays it again"
    numbers = [round(int(capture.images["right"][0, 0, 0]) / 10) - 1 for capture, _, _ in played]
    assert numbers[-1] == 3
    assert [round(50 * (capture.stamp - start)) for capture, _, _ in played] == numbers
    assert all(now >= capture.stamp for capture, now, _ in played)
    assert len(numbers) + sum(skipped for *_, skipped in played) == 4


def test_late_frames_are_dropped(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mkv", list(range(100, 130)), fps=50)
    video = VideoFile(camera="right", path=path, loop=True)
    captures = video.captures(time.monotonic() - 0.45)  # as if 22 frames had passed
    first = next(captures)
    assert video.skipped >= 21
    assert first.images["right"][0, 0, 0] == 100 + video.skipped
    again = next(capture for capture in captures if capture.images["right"][0, 0, 0] < 110)  # from the beginning
    assert again.stamp - first.stamp < 1.0


def test_videos_of_different_length_are_played_again_together(tmp_path: Path) -> None:
    paths = [write_video(tmp_path / f"{count}.mkv", list(range(count)), fps=20) for count in (4, 6)]
    options = WatchOptions(cameras=[f"right={paths[0]}", f"left={paths[1]}"], rotate={}, crop={}, loop=True)
    start = time.monotonic() - 1.51  # all that has passed is late: each video is in its eighth round
    for source in open_sources(run_of(), options):
        capture = next(capture for capture in source.captures(start) if capture.stamp > start + 1.45)
        (image,) = capture.images.values()
        assert image[0, 0, 0] == round(20 * (capture.stamp - start)) % 4


def test_arm_of_a_data_set_is_drawn_without_a_urdf_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, options = tiny.write_data(tmp_path / "data", anchors=1, tests=1), WatchOptions(cameras=[], rotate={}, crop={})
    run, dataset = run_of(), open_dataset(data)
    assert arm_to_draw(run, options, [Recorded(run=run, dataset=dataset)]) is None
    assert "no robot is known for setting 'tiny': give its --urdf FILE" in capsys.readouterr().err
    dataset = open_dataset(planar.name_robot(data, planar.write_urdf(tmp_path)))
    arm = arm_to_draw(run, options, [Recorded(run=run, dataset=dataset)])
    assert arm is not None
    assert arm.frame == "foot"
    assert capsys.readouterr().err == ""


def save(folder: Path, name: str, level: int) -> None:
    Image.fromarray(np.full((4, 4), level, np.uint8)).save(folder / name)


def test_folder_source_returns_the_newest_complete_pose(tmp_path: Path) -> None:
    folders = {camera: tmp_path / camera for camera in tiny.CAMERAS}
    for folder in folders.values():
        folder.mkdir()
        for k in range(3):
            save(folder, f"{k}.png", k)
    source = Folders(folders=folders)
    captures = source.captures(0.0)
    assert next(captures).images["left"][0, 0] == 2
    assert source.skipped == 0
    save(folders["right"], "3.png", 3)
    save(folders["right"], "4.png", 4)
    save(folders["left"], "3.jpg", 3)
    (folders["left"] / "4.png").write_bytes((folders["right"] / "4.png").read_bytes()[:20])  # is being written
    threading.Timer(0.1, lambda: save(folders["left"], "4.png", 4)).start()
    found = next(captures)
    assert [image[0, 0] for image in found.images.values()] == [4, 4]
    assert source.skipped == 1


def test_pose_written_last_is_newest_whatever_its_name(tmp_path: Path) -> None:
    captures = Folders(folders={"right": tmp_path}).captures(0.0)
    save(tmp_path, "8.png", 8)
    assert next(captures).images["right"][0, 0] == 8
    for number, seconds in ((9, 100), (10, 101)):
        save(tmp_path, f"{number}.png", number)
        os.utime(tmp_path / f"{number}.png", (seconds, seconds))
    assert next(captures).images["right"][0, 0] == 10


def test_image_that_keeps_an_old_time_is_newer_than_those_before(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    captures = Folders(folders={"right": tmp_path / "live"}).captures(0.0)
    save(tmp_path / "live", "0.png", 0)
    stamps = [next(captures).stamp]
    for number in (1, 2):  # as after mv, cp -p or rsync
        save(tmp_path, f"{number}.png", number)
        os.utime(tmp_path / f"{number}.png", (100, 100))
        (tmp_path / f"{number}.png").rename(tmp_path / "live" / f"{number}.png")
        capture = next(captures)
        assert capture.images["right"][0, 0] == number
        stamps.append(capture.stamp)
    assert stamps[0] < stamps[1] < stamps[2] <= time.monotonic()


def test_each_new_image_is_read_once_while_others_are_deleted_or_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropes.inference.live.sources.HEARTBEAT", 0.3)
    captures = Folders(folders={"right": tmp_path}).captures(0.0)
    save(tmp_path, "a.png", 1)
    save(tmp_path, "b.jpg", 2)
    assert next(captures).images["right"][0, 0] == 2
    (tmp_path / "a.png").unlink()
    save(tmp_path, "b.jpg", 3)  # the same name is the same pose
    assert not next(captures).images
    save(tmp_path, "c.pgm", 4)
    assert next(captures).images["right"][0, 0] == 4
    save(tmp_path, "a.png", 5)  # a name that was gone is new
    assert next(captures).images["right"][0, 0] == 5
    save(tmp_path, ".d.png", 6)
    (tmp_path / "notes.txt").touch()
    assert not next(captures).images


def test_unchanged_folder_yields_empty_captures_without_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropes.inference.live.sources.HEARTBEAT", 0.02)
    listed = list[Path]()

    def listdir(folder: Path) -> list[str]:
        listed.append(folder)
        return []

    monkeypatch.setattr(os, "listdir", listdir)
    os.utime(tmp_path, (100, 100))
    captures = Folders(folders={"right": tmp_path}).captures(0.0)
    assert [dict(next(captures).images) for _ in range(3)] == [{}] * 3
    assert listed == [tmp_path]  # a folder that did not change is not listed again


def test_damaged_image_and_missing_folder_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ropes.inference.live.sources.READ_TIMEOUT", 0.05)
    (tmp_path / "0.png").write_bytes(b"no image")
    with pytest.raises(UserError, match=r"0.png is not a readable image; remove it"):
        next(Folders(folders={"right": tmp_path}).captures(0.0))
    with pytest.raises(UserError, match=r"no folder .*gone"):
        Folders(folders={"right": tmp_path / "gone"})


def test_images_of_16_bits_are_refused_at_once(tmp_path: Path) -> None:
    Image.fromarray(np.full((8, 8), 40_000, np.uint16)).save(tmp_path / "0.png")
    with pytest.raises(UserError, match=r"0.png: I;16\w* image; images must be 8-bit grey or RGB"):
        next(Folders(folders={"right": tmp_path}).captures(0.0))


def test_data_set_source_includes_true_angles(tiny_data: Path) -> None:
    dataset = open_dataset(tiny_data)
    source = Recorded(run=run_of(), dataset=dataset, rate=200.0)
    found = list(itertools.islice(source.captures(time.monotonic()), 2))
    rows = dataset.frames("test-id").index
    truth = dataset.states("test-id")
    for capture in found:
        assert capture.truth is not None
        (row,) = np.flatnonzero((truth == capture.truth).all(axis=1))
        np.testing.assert_array_equal(capture.images["left"], dataset.read_images(rows[row : row + 1])[0, 1])
    assert found[1].stamp - found[0].stamp == pytest.approx(1 / 200 * (1 + source.skipped), abs=1e-6)
    with pytest.raises(UserError, match="no split"):
        Recorded(run=run_of(), dataset=dataset, split="gone")
    with pytest.raises(UserError, match=r"ends after \d+ poses; --loop plays it again"):
        next(Recorded(run=run_of(), dataset=dataset).captures(time.monotonic() - 1e6))


def test_data_set_of_other_joints_is_shown_with_a_warning(tiny_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = replace(run_of(), joints=("shoulder", "hand"))
    (capture,) = itertools.islice(Recorded(run=run, dataset=open_dataset(tiny_data)).captures(time.monotonic()), 1)
    assert capture.truth is None
    line = f"{tiny_data} has joints elbow, wrist, the run shoulder, hand; angles of another arm mean nothing"
    assert capsys.readouterr().err == f"ropes: warning: {line}\n"


class FakeCapture:
    """A camera with three frames, of which the second comes at the second try, then unplugged."""

    def __init__(self, address: int | str) -> None:
        self.address, self.left, self.fails = address, 3, 1

    def isOpened(self) -> bool:
        return self.address == 0

    def set(self, name: int, value: float) -> bool:
        return (name, value) == (38, 1)

    def grab(self) -> bool:
        if self.left == 2 and self.fails:
            self.fails -= 1
            return False
        self.left -= 1
        return self.left >= 0

    def retrieve(self) -> tuple[bool, np.ndarray]:
        return True, np.full((4, 4, 3), (1, 2, 3), np.uint8)

    def release(self) -> None:
        self.left = 0


def test_camera_returns_rgb_until_unplugged(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = types.ModuleType("cv2")
    fake.__dict__.update(VideoCapture=FakeCapture, CAP_PROP_BUFFERSIZE=38)
    monkeypatch.setitem(sys.modules, "cv2", fake)
    monkeypatch.setattr("ropes.inference.live.device.DEVICE_TIMEOUT", 0.1)
    captures = Device(camera="right", address="0").captures(0.0)
    for _ in range(3):
        assert next(captures).images["right"][0, 0].tolist() == [3, 2, 1]
    with pytest.raises(UserError, match=r"camera right \(0\) gives no more images; is it unplugged\?"):
        next(captures)
    with pytest.raises(UserError, match="camera right: /dev/video9 cannot be opened; is it plugged in"):
        Device(camera="right", address="/dev/video9")
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(
        UserError, match=r"right: this camera needs OpenCV, which is not installed: pip install -e '\.\[live\]'"
    ):
        Device(camera="right", address="0")


def test_camera_that_drops_out_is_opened_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = list[int | str]()

    class Replugged(FakeCapture):
        """Gone when it is first opened again, back the next time."""

        def __init__(self, address: int | str) -> None:
            super().__init__(address)
            opened.append(address)

        def isOpened(self) -> bool:
            return len(opened) != 2

    fake = types.ModuleType("cv2")
    fake.__dict__.update(VideoCapture=Replugged, CAP_PROP_BUFFERSIZE=38)
    monkeypatch.setitem(sys.modules, "cv2", fake)
    monkeypatch.setattr("ropes.inference.live.device.REOPEN", 0.05)
    captures = Device(camera="right", address="0").captures(0.0)
    assert len(list(itertools.islice(captures, 6))) == 6
    assert opened == [0, 0, 0]
    assert capsys.readouterr().err == "ropes: camera right (0) gives no images; opening it again\n"


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["0", "1"], {"right": "0", "left": "1"}),
        (["left=a.mp4", "right=b=c.mp4"], {"right": "b=c.mp4", "left": "a.mp4"}),
        (["a=1.mp4", "b=2.mp4"], {"right": "a=1.mp4", "left": "b=2.mp4"}),  # names of files, not of cameras
    ],
)
def test_sources_are_assigned_by_name_or_in_order(
    texts: list[str], found: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a=1.mp4", "b=2.mp4"):
        (tmp_path / name).touch()
    assert cameras_of(run_of(), texts) == found


@pytest.mark.parametrize(
    ("texts", "fault"),
    [
        (["0"], "--camera: this run reads right, left; give a source for each \\(1 given\\)"),
        (["0", "1", "2"], "give a source for each \\(3 given\\)"),
        (["right=0", "right=1"], "--camera has right twice"),
        (["right=0", "middle=1"], "--camera middle=1: give NAME=SOURCE with a name of right, left"),
        (["front=0", "side=1"], "--camera front=0: this run has no camera front; its cameras are right, left"),
    ],
)
def test_invalid_sources_are_refused(texts: list[str], fault: str) -> None:
    with pytest.raises(UserError, match=fault):
        cameras_of(run_of(), texts)
