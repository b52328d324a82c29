"""JPEG files as images of poses."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ropes.data.layout import open_dataset
from ropes.data.recordings.views import View
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import predict_lines
from ropes.inference.sources import read_image
from tests import tiny
from tests.estimators import run_of


@pytest.fixture
def folder(tmp_path: Path, tiny_data: Path) -> Path:
    """A folder with one JPEG file for each camera."""
    for camera, image in zip(tiny.CAMERAS, open_dataset(tiny_data).read_images(range(1))[0], strict=True):
        (tmp_path / "photos" / camera).mkdir(parents=True)
        Image.fromarray(image).save(tmp_path / "photos" / camera / "0.jpg", quality=95)
    return tmp_path / "photos"


def test_jpeg_files_are_read(tiny_run: Path, folder: Path) -> None:
    images = []
    for camera in tiny.CAMERAS:
        with Image.open(folder / camera / "0.jpg") as image:
            images.append(np.asarray(image))
    (line,) = predict_lines(tiny_run, folder)
    values = [json.loads(line)["joints"][joint] for joint in tiny.JOINTS]
    np.testing.assert_allclose(values, Estimator.load(tiny_run).coordinates(np.array([images]))[0], atol=1e-5)


@pytest.mark.parametrize("suffix", ["png", "jpg"])
def test_whole_images_are_cropped_as_the_recording_was(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = View(rotate=90, crop=(2, 4, 32, 32), size=16, grey=True)
    run = run_of(views={"right": view.to_dict()})
    image = np.kron(np.random.default_rng(0).integers(0, 255, (5, 6, 3)), np.ones((8, 8, 1))).astype(np.uint8)
    path = tmp_path / f"raw.{suffix}"
    Image.fromarray(image).save(path)
    with Image.open(path) as stored:
        np.testing.assert_array_equal(read_image(run, "right", path), view.apply(np.asarray(stored)))
    with pytest.raises(UserError, match=r"of \d+x\d+ pixels$"):
        read_image(run, "left", path)  # whose view is not known
    with monkeypatch.context() as patched:
        patched.setattr(Image, "MAX_IMAGE_PIXELS", image.size // 9)
        with pytest.raises(UserError, match=r"or give the camera's whole image$"):
            read_image(run, "right", path)
    Image.fromarray(image[:20]).save(path)
    with pytest.raises(UserError, match=r"of \d+x\d+ pixels, or give the camera's whole image$"):
        read_image(run, "right", path)


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("colour", "16x16 RGB image where 16x16 grey is expected; convert it to 8-bit grey"),
        ("size", "8x8 grey image where 16x16 grey is expected; convert it to 8-bit grey"),
        ("huge", "image of too many pixels; convert it to 8-bit grey"),
        ("cut", r"damaged JPEG \(.*\); write it again"),
    ],
)
def test_wrong_jpeg_files_are_reported(tiny_run: Path, folder: Path, what: str, line: str) -> None:
    path = folder / "left" / "0.jpg"
    Image.new("RGB" if what == "colour" else "L", (8, 8) if what == "size" else (16, 16)).save(path)
    if what == "huge":
        content = bytearray(path.read_bytes())
        at = content.find(b"\xff\xc0") + 5  # height and width
        content[at : at + 4] = struct.pack(">HH", 12240, 16320)
        path.write_bytes(content)
    if what == "cut":
        path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UserError, match=rf"left/0\.jpg: {line}"):
        list(predict_lines(tiny_run, folder))
