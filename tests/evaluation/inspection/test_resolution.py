"""What a higher resolution would show of the least visible joint."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from ropes.evaluation.inspection import inspect_data
from ropes.evaluation.inspection.motion import Motion
from ropes.evaluation.inspection.resolution import Resolution, compare_sizes, resolution
from ropes.evaluation.inspection.sample import Disturbance, Sample
from ropes.evaluation.inspection.verdict import JointReport
from ropes.methods.recipes import encoder_recipe
from ropes.models.shapes import EncoderConfig
from ropes.report.inspection import print_inspection
from tests import tiny
from tests.evaluation.inspection.test_inspect import images as blobs

ONE, TWO = np.array([1]), np.array([0])


def pair(change: NDArray[np.int64]) -> NDArray[np.uint8]:
    """An observational pose of one level, and a pose that differs from it by `change`."""
    return np.stack([np.full(change.shape, 100), 100 + change]).astype(np.uint8)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_coarse_change_survives_downsampling_and_fine_change_does_not(channels: tuple[int, ...]) -> None:
    coarse, fine, edge = (np.zeros((8, 8, *channels), np.int64) for _ in range(3))
    coarse[2:4, 4:8] = 60
    fine[2:4, 4:8] = 60
    fine[2:4, 5:8:2] = -60
    edge[2:4, 5:7] = 60
    assert compare_sizes(pair(coarse), ONE, TWO, 4, 8) == (2.0, 8.0, 0.0)
    assert compare_sizes(pair(fine), ONE, TWO, 4, 8) == (0.0, 8.0, 1.0)
    assert compare_sizes(pair(edge), ONE, TWO, 4, 8) == (2.0, 4.0, 0.5)
    assert compare_sizes(pair(0 * coarse), ONE, TWO, 4, 8) == (0.0, 0.0, 0.0)


def test_noise_does_not_count_as_change() -> None:
    noise = np.random.default_rng(0).normal(0, 3, (64, 64)).round().astype(np.int64)
    noise[:8, :8] += 60
    pixels, window_pixels, lost = compare_sizes(pair(noise), ONE, TWO, 32, 64)
    assert pixels == pytest.approx(16, abs=1)
    assert window_pixels == pytest.approx(64, abs=4)
    assert lost < 0.02


def test_passers_by_and_noise_of_a_recording_do_not_count_as_change() -> None:
    """Two poses of a square before a ground; somebody passes in one, and the camera is noisier than a rendering."""
    images = np.random.default_rng(0).normal(100, 6, (4, 256, 256)).round()
    images[1::2, 100:110, 100:110] += 80
    images[1, :, 200:240] = 20
    sample = Sample((images.clip(0, 255).astype(np.uint8),), np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]))
    moved = Motion(np.array([0.01]), (np.ones((256, 256)),), paired=True)
    report = JointReport(joint="elbow", images=(2, 2), anchors=(2, 2), motion=moved, contrast=None, overlap=None)
    regimes, shape = {"elbow": (0, 1, 1)}, encoder_recipe("compact").shape
    assert isinstance(shape, EncoderConfig)
    disturbance = Disturbance((30.0,), np.array([[False], [True], [False], [False]]))
    naive, told = (resolution(sample, [report], regimes, ["front"], shape, each) for each in (None, disturbance))
    assert naive is not None
    assert told is not None
    assert told.window_pixels == pytest.approx(100, abs=5)
    assert told.pixels == pytest.approx(25, abs=2)
    assert naive.window_pixels > 20 * told.window_pixels


def write(path: Path, side: int, **options: Any) -> Path:
    enlarged = blobs(12).repeat(side // tiny.SIDE, -1).repeat(side // tiny.SIDE, -2)
    return tiny.write_data(path, described=False, images={"train": enlarged}, states=None, **options)


@pytest.mark.slow
def test_inspection_reports_the_gain_of_larger_images(tmp_path: Path) -> None:
    found = inspect_data(write(tmp_path / "data", 256), show=False)
    measured = found.resolution
    assert isinstance(measured, Resolution)
    assert (measured.image_size, measured.window_image_size) == (128, 256)
    assert measured.lost == 0  # they were enlarged
    assert measured.window_pixels == 4 * measured.pixels > 0
    assert measured.joint in tiny.JOINTS
    assert measured.camera in tiny.CAMERAS
    assert found.to_dict()["resolution"]["window_image_size"] == 256
    page = Console(file=io.StringIO(), width=200)
    print_inspection(found, page)
    assert isinstance(page.file, io.StringIO)
    line = f"{measured.pixels:,.0f} pixels of camera {measured.camera} at 128x128 and {measured.window_pixels:,.0f} at "
    assert line + "256x256; 128x128 loses 0% of the change's energy; " in page.file.getvalue()
    assert "--encoder.window-image-size 256" in page.file.getvalue()


def test_no_gain_is_reported_for_images_of_the_usual_size(tmp_path: Path) -> None:
    found = inspect_data(write(tmp_path / "data", 128), show=False)
    assert found.resolution is None
    assert found.to_dict()["resolution"] is None
