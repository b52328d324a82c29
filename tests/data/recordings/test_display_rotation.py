"""Videos of phones, whose files say how to turn the frames."""

from pathlib import Path

import av
import numpy as np
import pytest

from ropes.data.recorder.cameras import VideoCamera
from ropes.data.recordings.videos import Video

#: Bright at the top left, as the sensor stores it.
STORED = np.zeros((48, 64, 3), np.uint8)
STORED[:24, :32] = 255


@pytest.mark.parametrize(("degrees", "size", "bright"), [(0, (48, 64), (0, 0)), (-90, (64, 48), (0, 1))])
def test_frames_are_turned_as_players_show_them(
    degrees: int, size: tuple[int, int], bright: tuple[int, int], tmp_path: Path
) -> None:
    path = tmp_path / "phone.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.set_display_rotation(degrees)
        for _ in range(3):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(STORED, format="rgb24")))
        container.mux(stream.encode())
    found = list(Video(path).images([0, 2]))
    assert [image.shape[:2] for image in found] == [size] * 2
    assert np.array_equal(VideoCamera(path).frame(), found[0])
    height, width = size
    quarters = found[1].reshape(2, height // 2, 2, width // 2, 3).mean((1, 3, 4))
    assert np.unravel_index(quarters.argmax(), (2, 2)) == bright
