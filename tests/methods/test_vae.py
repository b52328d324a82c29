"""The VAEs: fitted on pairs and on single images, gone on with after a kill, and refused what they cannot read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ropes.causal.scm import Regime
from ropes.cli import entry as cli
from ropes.common.files import read_json
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.methods.fit import fit
from ropes.methods.readers import finished_reader
from ropes.methods.recipes import VAERecipe
from ropes.methods.registry import methods_of
from ropes.methods.run import TRAINING_FILE
from ropes.methods.vae.fit import pairs_of
from ropes.methods.vae.reader import VAEReader
from ropes.methods.vae.stage import VAEStage
from tests import tiny
from tests.kills import killed

pytestmark = pytest.mark.slow  # the fixtures fit

CPU = torch.device("cpu")


@pytest.fixture(scope="module", params=methods_of("factors"))
def run(request: pytest.FixtureRequest, finger_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "run"
    fit(finger_data, folder, tiny.vae_recipe(), 0, method=request.param, show=False)
    return folder


def test_training_summary_contains_the_elbo_and_its_terms(run: Path) -> None:
    curves = read_json(run / TRAINING_FILE)["stages"]["vae"]
    assert curves["held_out"][-1] > curves["held_out"][0]
    for elbo, reconstruction, divergence in zip(
        curves["held_out"], curves["held_out_reconstruction"], curves["held_out_divergence"], strict=True
    ):
        assert elbo == pytest.approx(-(reconstruction + divergence))


def test_vae_encodes_images_and_decodes_latents(run: Path, finger_data: Path) -> None:
    found, reader = finished_reader(run, CPU)
    assert isinstance(reader, VAEReader)
    assert found.method in methods_of("factors")
    cache = ImageCache(open_dataset(finger_data), "test-id", reader.size, progress=False)
    images = torch.from_numpy(cache.read(np.arange(5)))
    latents, posterior, _ = reader.read(images)
    assert latents.shape == (5, 4)
    assert posterior.shape == (5, 8)
    assert torch.equal(latents, reader.coordinates(images))
    made = reader.reconstructions(images)[0]
    assert made.shape == images.shape
    assert torch.equal(made, reader.decoded(latents, colour=True))
    assert 0 <= made.min() <= made.max() <= 1


@pytest.mark.parametrize("method", methods_of("factors"))
def test_killed_fit_resumes_to_the_same_weights(method: str, finger_data: Path, tmp_path: Path) -> None:
    chosen = tiny.vae_recipe(noise=True, warm_up=5)
    fit(finger_data, tmp_path / "whole", chosen, method=method, show=False)
    with killed(VAEStage, 7):
        fit(finger_data, tmp_path / "killed", chosen, method=method, show=False)
    with pytest.raises(UserError, match=r"unfinished run|weights"):
        finished_reader(tmp_path / "killed", CPU)
    fit(finger_data, tmp_path / "killed", chosen, method=method, show=False)
    assert tiny.weights(tmp_path / "killed") == tiny.weights(tmp_path / "whole")


def test_each_setting_changes_the_weights(finger_data: Path, tmp_path: Path) -> None:
    recipe, digests = tiny.vae_recipe(), set()
    recipes = (recipe, replace(recipe, beta=4.0), replace(recipe, noise=True), replace(recipe, warm_up=10))
    for number, changed in enumerate(recipes):
        fit(finger_data, tmp_path / str(number), changed, method="beta-vae", show=False)
        digests |= set(tiny.weights(tmp_path / str(number)).values())
    fit(finger_data, tmp_path / "pairs", recipe, method="ada-gvae", show=False)
    digests |= set(tiny.weights(tmp_path / "pairs").values())
    assert len(digests) == 5


def test_pairs_share_an_anchor_and_start_with_the_observational_pose(tiny_data: Path, finger_data: Path) -> None:
    for data, each in ((tiny_data, 4), (finger_data, 1)):
        dataset = open_dataset(data)
        cache = ImageCache(dataset, "train", tiny.SIDE, progress=False)
        images = TrainingImages(cache, dataset.frames("train"), dataset.regimes)
        pairs = pairs_of(images)
        assert len(pairs) == each * len(set(images.anchor))
        assert (images.anchor[pairs[:, 0]] == images.anchor[pairs[:, 1]]).all()
        assert set(images.regime[pairs[:, 0]]) == {0}
        assert len({tuple(sorted(pair)) for pair in pairs.tolist()}) == len(pairs)
        alone = pairs_of(images.take(np.flatnonzero(images.regime > 0))) if each > 1 else np.empty((0, 2))
        assert len(alone) == 0
        images.regimes = tuple(regime for regime in images.regimes if regime != Regime())
        assert len(pairs_of(images)) == 0


def test_cameras_of_an_arm_are_input_channels(tiny_data: Path, tmp_path: Path) -> None:
    run = fit(tiny_data, tmp_path / "run", tiny.vae_recipe(anchors=8), method="ada-gvae", show=False)
    assert isinstance(run.recipe, VAERecipe)
    assert run.recipe.shape.channels == 2
    assert read_json(tmp_path / "run" / TRAINING_FILE)["provenance"]["poses"] == 8 * 5
    reader = finished_reader(tmp_path / "run", CPU)[1]
    cache = ImageCache(open_dataset(tiny_data), "test-id", reader.size, progress=False)
    images = torch.from_numpy(cache.read(np.arange(3)))
    made = reader.reconstructions(images)
    assert made is not None
    assert made[0].shape == images.shape


def test_too_small_images_and_too_long_a_warm_up_are_refused(finger_data: Path, tmp_path: Path) -> None:
    large = tiny.vae_recipe(vae=replace(tiny.vae_recipe().vae, image_size=32))
    with pytest.raises(UserError, match="16x16 images: they cannot be resized to 32x32"):
        fit(finger_data, tmp_path / "large", large, method="beta-vae", show=False)
    with pytest.raises(UserError, match="warm_up takes 1000 steps and the training 18; choose fewer"):
        fit(finger_data, tmp_path / "rise", tiny.vae_recipe(warm_up=1_000), method="beta-vae", show=False)
    assert not list(tmp_path.rglob("run.json"))


@pytest.mark.parametrize("method", ["anchored", "cnn", "ropes"])
def test_arm_methods_refuse_colour_images(method: str, finger_data: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"colour|has no interventions|has actions or factors and no joints"):
        fit(finger_data, tmp_path / "run", tiny.recipe_of(method), method=method, show=False)


def test_joint_angle_commands_refuse_a_run_without_joints(
    run: Path, finger_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UserError, match="reads no joints; use ropes evaluate"):
        Estimator.load(run)
    for words in (["predict", str(run), "--images", str(finger_data)], ["calibrate", str(run), "--data", "D"]):
        assert cli.main(words) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "Traceback" not in said
