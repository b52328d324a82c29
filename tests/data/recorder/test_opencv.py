"""OpenCV itself reads streams over a network: fresh frames in the right colours, until they end."""

import time
from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.streams import Streams
from ropes.common.arrays import Images
from ropes.data.recorder import cameras
from ropes.data.recorder.cameras import open_camera
from ropes.data.recorder.interfaces import Camera, Clock
from ropes.errors import UserError

pytest.importorskip("cv2")
HEIGHT, WIDTH = 48, 64


class Scene:
    """A picture of one colour, which changes."""

    def __init__(self) -> None:
        self.colour = (200, 100, 20)

    def __call__(self) -> dict[str, Images]:
        return {"left": np.full((HEIGHT, WIDTH, 3), self.colour, np.uint8)}


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def streams(scene: Scene) -> Iterator[Streams]:
    with Streams(scene, rate=30.0) as played:
        yield played


def skip(camera: Camera, frames: int) -> None:
    for _ in range(frames):
        camera.skip(Clock())


def test_frames_of_a_stream_are_fresh_and_have_their_colours(scene: Scene, streams: Streams) -> None:
    camera = open_camera("left", streams.address("left"))
    frame = camera.frame()
    assert frame.shape == (HEIGHT, WIDTH, 3)
    np.testing.assert_allclose(frame.reshape(-1, 3).mean(axis=0), scene.colour, atol=3)
    scene.colour = (10, 220, 90)
    until = time.monotonic() + 5.0
    while abs(float(camera.frame()[0, 0, 1]) - 220) > 3:
        assert time.monotonic() < until
    camera.close()


@pytest.mark.slow
def test_a_stream_waits_for_its_first_picture(scene: Scene) -> None:
    began = time.monotonic()

    def late() -> dict[str, Images]:
        time.sleep(max(0.0, began + 1.5 - time.monotonic()))  # as a renderer that opens
        return scene()

    with Streams(late) as played:
        camera = open_camera("left", played.address("left"))
        assert camera.frame().shape == (HEIGHT, WIDTH, 3)
        camera.close()


def test_a_stream_that_ends_is_reported(streams: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cameras, "DEVICE_TIMEOUT", 2.5)
    camera = open_camera("left", streams.address("left"))
    camera.frame()
    streams.unplug()
    with pytest.raises(UserError, match=r"left\.mjpg gives no frame any more; was it unplugged\?"):
        skip(camera, 1000)
    camera.close()


def test_a_stream_of_another_size_or_that_is_not_there_is_refused(streams: Streams) -> None:
    address = streams.address("left")
    with pytest.raises(UserError, match="gives images of 64x48, not 640x480"):
        open_camera("left", f"{address}@640x480")
    streams.unplug()
    with pytest.raises(UserError, match=r"--cameras left=http://.*left\.mjpg cannot be opened"):
        open_camera("left", address)
