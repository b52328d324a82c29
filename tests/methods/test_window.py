"""Fits that cut the window around the hand from larger images: from the data set to a packaged estimator."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ropes.common.files import read_json
from ropes.data.layout import open_dataset
from ropes.data.views import planes
from ropes.evaluation.joints import evaluate
from ropes.evaluation.results import read as read_results
from ropes.experiments.packager import package
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import calibrate, predict
from ropes.methods.anchored.reader import finished_network
from ropes.methods.fit import fit
from ropes.methods.recipes import EncoderRecipe, encoder_recipe, recipe_from_dict, recipe_to_dict
from ropes.methods.run import RUN_FILE, Run
from ropes.methods.training.registration import read_registration
from ropes.models.coarse_registration import ZoomedRegistration
from tests import tiny, tiny_window
from tests.command_line import refusal
from tests.methods.test_registration import film
from tests.tiny_window import SIDE

#: SHA-256 of the compact recipe of anchored as JSON, before windows could be cut from larger images.
BEFORE = "daacefd8acb91b1c107899034e5241fea9a4bb2c39c775c8e4a2a54b141a493c"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """A data set in twice the size of the whole images; never to be changed."""
    return tiny_window.write_data(tmp_path_factory.mktemp("window") / "data", tests=tiny.TESTED)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """A calibrated run with windows from larger images; never to be changed."""
    out = tmp_path_factory.mktemp("window") / "run"
    fit(data, out, tiny_window.recipe(), 0, method="anchored", show=False)
    calibrate(out, data=data, samples=20)
    return out


@pytest.mark.slow
def test_window_run_learns_both_joints_and_reloads_identically(run: Path, data: Path) -> None:
    dataset, estimator = open_dataset(data), Estimator.load(run)
    images = dataset.read_images(dataset.frames("test-id").index)
    assert images.shape[2:] == (SIDE, SIDE)
    reading, angles = estimator.read(images), dataset.states("test-id")
    assert min(abs(np.corrcoef(reading.coordinates[:, k], angles[:, k])[0, 1]) for k in range(2)) > 0.8
    assert reading.deviation is not None
    assert reading.foreign is not None
    assert reading.foreign.shape[2:] == (4, 4)
    _, network = finished_network(run)
    with torch.no_grad():
        found = network.eval().read(torch.from_numpy(planes(images[:256])))[0]
    np.testing.assert_allclose(found.numpy(), reading.coordinates[:256], atol=1e-5)
    lines = list(predict(run, data))[:3]
    expected = estimator.angles(dataset.read_images(dataset.frames("train").index[:3]))
    np.testing.assert_allclose([list(line["joints"].values()) for line in lines], expected, atol=1e-5)


@pytest.mark.slow
def test_window_affects_the_coordinates(run: Path, data: Path) -> None:
    """Pixels that change places within squares of two by two change only what windows show."""
    dataset, estimator = open_dataset(data), Estimator.load(run)
    images = dataset.read_images(dataset.frames("test-id").index[:50])
    swapped = images.reshape(*images.shape[:-1], -1, 2)[..., ::-1].reshape(images.shape)
    assert np.abs(estimator.coordinates(images) - estimator.coordinates(swapped)).max() > 1e-3


@pytest.mark.any_processor
@pytest.mark.slow
def test_window_run_is_evaluated_under_occlusion_and_packaged(run: Path, data: Path, tmp_path: Path) -> None:
    evaluate(run, data, tmp_path / "e", occlusions=(0, 12), sizes=tiny.SIZES, show=False)
    rows = read_results(tmp_path / "e" / "results.json").rows
    assert {row.occlusion for row in rows} == {0, 12}
    assert {row.image_size for row in rows} == {SIDE}
    folder = package(run, name="tiny", data=data, results=tmp_path / "e" / "results.json", out=tmp_path)
    images = open_dataset(data).read_images(np.arange(20))
    np.testing.assert_array_equal(Estimator.load(folder).angles(images), Estimator.load(run).angles(images))
    assert "--encoder.window-image-size 32" in (folder / "MODEL_CARD.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_recording_is_registered_and_cleaned_at_both_sizes(tmp_path: Path, cache_home: Path) -> None:
    def visited(blobs: np.ndarray) -> np.ndarray:
        rng = np.random.default_rng(1)
        for place in np.argwhere(rng.random(blobs.shape[:3]) < 0.25):
            blobs[(*place, slice(None), slice(8, 24))] = 160
        return film(blobs)

    data = tiny_window.write_data(tmp_path / "data", anchors=60, tests=60, change=visited)
    fit(
        data,
        tmp_path / "run",
        tiny.short(tiny_window.recipe(foreign=0.0, cleaner_samples=1_280)),
        0,
        method="anchored",
        show=False,
    )
    registration = read_registration(tmp_path / "run")
    assert isinstance(registration, ZoomedRegistration)
    assert registration.background.shape == (2, SIDE, SIDE)
    assert registration.small.background.shape == (2, tiny.SIDE, tiny.SIDE)
    assert registration.cleaner is not None
    assert registration.cleaner.zoom == 2
    dataset, estimator = open_dataset(data), Estimator.load(tmp_path / "run")
    images = dataset.read_images(dataset.frames("test-id").index)
    assert np.isfinite(estimator.coordinates(images)).all()
    drift = estimator.drift(images // 8)
    assert drift is not None
    assert drift[0].mean() > 0.8


def test_recipes_without_larger_images_are_stored_as_before() -> None:
    recipe = encoder_recipe("compact")
    recipe = replace(recipe, student=replace(recipe.student, min_samples=62_400))  # the preset of that time
    content = recipe_to_dict(recipe)
    assert hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest() == BEFORE
    assert recipe_from_dict(content, EncoderRecipe) == recipe
    larger = replace(recipe, encoder=replace(recipe.encoder, window_image_size=256))
    assert recipe_to_dict(larger)["encoder"]["window_image_size"] == 256
    assert recipe_from_dict(recipe_to_dict(larger), EncoderRecipe) == larger


@pytest.mark.slow
def test_run_records_the_window_image_size(run: Path) -> None:
    assert read_json(run / RUN_FILE)["recipe"]["encoder"]["window_image_size"] == SIDE
    assert Run.read(run).recipe == tiny_window.recipe()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--encoder.window-image-size", "200"),
            "fit: Error parsing recipe.encoder: window_image_size must be a multiple of the image_size of 128, for "
            "example 256, not 200 (see ropes fit --help)",
        ),
        (
            ("--encoder.window-image-size", "64"),
            "fit: Error parsing recipe.encoder: window_image_size must be a multiple of the image_size of 128, for "
            "example 256, not 64 (see ropes fit --help)",
        ),
        (
            ("--method", "ldr", "--encoder.window-image-size", "256"),
            "fit: Error parsing recipe.encoder: without a window no window_image_size has an effect; leave it out (see "
            "ropes fit --help)",
        ),
        (
            ("--encoder.window-image-size", "256"),
            "{data} has 32x32 images, smaller than the 256x256 that windows are cut from; give a smaller "
            "--encoder.window-image-size, or leave it out",
        ),
    ],
)
def test_invalid_window_options_are_refused(
    options: tuple[str, ...], line: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert refusal(capsys, "fit", "--data", str(data), "--out", str(out), *options) == line.format(data=data)
    assert not out.exists()
