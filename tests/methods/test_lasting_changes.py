"""Lasting changes of a recording: a fit follows its background, and names frames of another camera."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.methods.fit import fit
from ropes.methods.training.registration import read_registration, register
from tests import tiny
from tests.methods.test_registration import film

pytestmark = pytest.mark.slow

ANCHORS, PUT_DOWN = 60, 36
PLACE = slice(10, 15), slice(1, 6)


def write(folder: Path, put_down: int) -> Path:
    """A recording in which something is put down in the left camera's view at this anchor."""
    rng = np.random.default_rng(0)
    states = tiny.model().sample(rng, ANCHORS)
    images = film(tiny.draw(states))
    there = images[put_down:, :, 1][..., *PLACE]
    there[:] = (190 + 3 * rng.standard_normal(there.shape)).round()
    return tiny.write_data(folder, images={"train": images}, states={"train": states})


def training_images(data: Path, *, in_blocks: bool = False, side: int = tiny.SIDE) -> TrainingImages:
    """All training images; `in_blocks` takes them for a recording of one regime after the other."""
    dataset = open_dataset(data)
    cache, frames = ImageCache(dataset, "train", side, progress=False), dataset.frames("train")
    if in_blocks:
        frames = replace(frames, regime=np.sort(frames.regime))
    return TrainingImages(cache, frames, dataset.regimes)


def test_something_put_down_is_named_and_is_no_passer_by(
    tmp_path: Path, cache_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "data", PUT_DOWN)
    images, registration = register(training_images(data), tiny.CAMERAS)
    assert registration is not None
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "camera left" in line]
    assert line.startswith(f"ropes: the background of camera left changed for good at anchor {PUT_DOWN};")
    assert images.trusted.mean() > 0.98
    assert not registration.is_cleaned
    assert 255 * registration.noise.median() < 5
    assert (255 * registration.background[1][PLACE] - 190).abs().mean() < 8
    early = torch.from_numpy(images.pixels(np.arange(5 * PUT_DOWN)))[:, 1][:, *PLACE].float()
    assert (early - 255 * registration.background[1][PLACE]).abs().flatten(1).median() < 1


@pytest.mark.parametrize(("put_down", "in_blocks"), [(ANCHORS, False), (PUT_DOWN, True)])
def test_one_background_without_a_change_or_if_regimes_are_recorded_in_blocks(
    put_down: int, in_blocks: bool, tmp_path: Path, cache_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images = training_images(write(tmp_path / "data", put_down), in_blocks=in_blocks)
    _, registration = register(images, tiny.CAMERAS)
    assert registration is not None
    assert registration.earlier == ()
    assert registration.shown is None
    assert "changed for good" not in capsys.readouterr().err


def test_run_stores_the_newest_background(tmp_path: Path, cache_home: Path) -> None:
    data = write(tmp_path / "data", PUT_DOWN)
    fit(data, tmp_path / "run", tiny.short(tiny.encoder_recipe()), 0, method="anchored", show=False)
    registration = read_registration(tmp_path / "run")
    assert registration is not None
    images = training_images(data)
    newest = torch.from_numpy(images.pixels(np.arange(5 * PUT_DOWN, len(images))))
    registered, _ = register(images, tiny.CAMERAS, show=False)
    expected = registered.pixels(np.arange(5 * PUT_DOWN, len(images)))
    assert np.array_equal(registration.composite(newest).numpy(), expected)


def test_frames_of_another_camera_are_named(
    tmp_path: Path, cache_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    states = tiny.model().sample(np.random.default_rng(0), 20)
    ramp = np.linspace(0, 80, 64)
    shades = np.stack([np.tile(ramp, (64, 1)), np.tile(ramp[::-1, None], (1, 64))])  # unlike enough to be told apart
    images = (film(tiny.draw(states, side=64)) + shades).clip(0, 255).astype(np.uint8)
    images[10:13, :, 1] = images[13:16, :, 0]
    data = tiny.write_data(tmp_path / "data", images={"train": images}, states={"train": states})
    register(training_images(data, side=64), tiny.CAMERAS)
    warning = "of the frames of camera left show what camera right sees; exchange or remove them"
    assert [line for line in capsys.readouterr().err.splitlines() if line.endswith(warning)]
