"""Encodings of images of ROS, files of other profiles, and progress while a recording is read."""

import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from mcap.writer import Writer
from PIL import Image

from ropes.common.arrays import Images
from ropes.data.recordings.registry import open_recording
from ropes.data.recordings.ros import decode
from ropes.data.recordings.source import Options, digest
from ropes.errors import UserError
from tests.data.recordings.conftest import FIXTURES

RGB = np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)
OPAQUE = np.full((6, 8, 1), 255, np.uint8)


def message(pixels: Images, encoding: str, width: int = 8) -> SimpleNamespace:
    data = np.ascontiguousarray(pixels).reshape(-1)
    return SimpleNamespace(encoding=encoding, height=6, width=width, step=data.size // 6, data=data)


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        ("rgba8", np.concatenate([RGB, OPAQUE], axis=2)),
        ("bgra8", np.concatenate([RGB[:, :, ::-1], 0 * OPAQUE], axis=2)),
    ],
)
def test_images_with_opacity_are_rgb(encoding: str, sent: Images) -> None:
    assert np.array_equal(decode(message(sent, encoding), "bag"), RGB)


@pytest.mark.parametrize(
    ("encoding", "order"), [("yuv422", "uyvy"), ("uyvy", "uyvy"), ("yuv422_yuy2", "yuyv"), ("yuyv", "yuyv")]
)
def test_raw_images_of_webcams_are_rgb(encoding: str, order: str) -> None:
    colours = np.repeat(np.random.default_rng(1).integers(40, 200, (6, 4, 3)), 2, axis=1).astype(float)
    red, green, blue = np.moveaxis(colours, 2, 0)
    # ITU-R BT.601 with levels from 16 to 235
    y = 16 + (65.481 * red + 128.553 * green + 24.966 * blue) / 255
    u = 128 + (-37.797 * red - 74.203 * green + 112 * blue) / 255
    v = 128 + (112 * red - 93.786 * green - 18.214 * blue) / 255
    pairs = {"y": y.reshape(6, 4, 2), "u": u[:, ::2], "v": v[:, ::2]}
    count, parts = 0, []
    for letter in order:
        parts.append(pairs["y"][..., count] if letter == "y" else pairs[letter])
        count += letter == "y"
    sent = np.rint(np.stack(parts, axis=2)).astype(np.uint8)
    found = decode(message(sent, encoding), "bag")
    assert found.shape == (6, 8, 3)
    assert np.abs(found.astype(float) - colours).max() < 3
    with pytest.raises(UserError, match=f"bag: {encoding} image of 7 columns; their number must be even"):
        decode(message(sent, encoding, width=7), "bag")


def test_mcap_of_another_profile_has_its_own_message(tmp_path: Path) -> None:
    for profile, line in (("", "has no profile"), ("ros1", "has profile 'ros1'")):
        path = tmp_path / f"of{profile}.mcap"
        with path.open("wb") as stream:
            writer = Writer(stream)
            writer.start(profile=profile, library="test")
            writer.finish()
        with pytest.raises(UserError, match=rf"{line}, as files of Foxglove .*: only MCAP files of ROS 2") as refused:
            _ = open_recording(path, Options())[1].cameras
        assert "copy it again" not in str(refused.value)


def test_progress_is_shown_while_a_recording_is_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    clock = iter(range(0, 10_000_000, 60))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    _, bag = open_recording(FIXTURES / "bag_mcap", Options(progress=True))
    camera = bag.cameras[0]
    assert f"reading /{camera}/image_raw" in capsys.readouterr().err
    Image.fromarray(RGB).save(tmp_path / "a.png")
    quiet = digest(tmp_path, [tmp_path / "a.png"])
    assert capsys.readouterr().err == ""
    assert digest(tmp_path, [tmp_path / "a.png"], progress=True) == quiet
    assert "checksum of the recording, MB: " in capsys.readouterr().err
    _, data = open_recording(FIXTURES / "lerobot-v2.1-video", Options(progress=True))
    assert len(data.episodes) == 12
    assert "reading time stamps, videos of episodes: 24/24 in" in capsys.readouterr().err
