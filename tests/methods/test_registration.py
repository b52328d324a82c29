"""Fits on recordings learn from registered frames; fits on renderings are as they always were."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import predict_lines
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation
from ropes.methods.run import REGISTRATION_FILE, TRAINING_FILE
from ropes.methods.supervised import fit as supervised
from ropes.methods.training.loop import SUMMARY
from ropes.methods.training.registration import read_registration
from ropes.methods.uncertainty.annotations import reasons, unreadable
from ropes.methods.uncertainty.drift import Drift
from ropes.models.frame_changes import crowded
from tests import tiny

pytestmark = pytest.mark.slow  # the fixtures fit


def film(blobs: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Blobs (..., 2, S, S) before a texture, in varying light and with noise."""
    rng = np.random.default_rng(3)
    texture = ndimage.gaussian_filter(rng.uniform(0, 255, (2, *blobs.shape[-2:])), (0, 1, 1))
    scene = 40 + 60 * (texture - texture.min()) / np.ptp(texture)
    share = blobs / 255
    gain = np.exp(0.15 * rng.standard_normal(blobs.shape[:-2]))[..., None, None]
    seen = gain * (scene * (1 - share) + 200 * share) + 2 * rng.standard_normal(blobs.shape)
    return seen.round().clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """A recording of the blobs; never to be changed."""
    rng, causal = np.random.default_rng(0), tiny.model()
    states = {"train": causal.sample(rng, 60), "test-id": causal.sample_observational(rng, 120)[:, None]}
    images = {split: film(tiny.draw(angles)) for split, angles in states.items()}
    return tiny.write_data(tmp_path_factory.mktemp("recorded") / "data", images=images, states=states)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, recorded: Path) -> Path:
    """A run of anchored on the recording; never to be changed."""
    out = tmp_path_factory.mktemp("registered") / "run"
    fit(recorded, out, tiny.encoder_recipe(), 0, method="anchored", show=False)
    return out


def test_recording_is_registered_in_training_and_inference(run: Path, recorded: Path) -> None:
    assert json.loads((run / TRAINING_FILE).read_text())["registered"] is True
    registration = read_registration(run)
    assert registration is not None
    assert registration.background.shape == (2, tiny.SIDE, tiny.SIDE)
    dataset, estimator = open_dataset(recorded), Estimator.load(run)
    images = estimator.images(dataset, "test-id")
    assert isinstance(images, np.ndarray)
    read, dark = estimator.coordinates(images), estimator.coordinates((0.85 * images).astype(np.uint8))
    angles = dataset.states("test-id").reshape(-1, 2)
    assert min(abs(np.corrcoef(read[:, k], angles[:, k])[0, 1]) for k in range(2)) > 0.8
    assert min(np.corrcoef(read[:, k], dark[:, k])[0, 1] for k in range(2)) > 0.95


def test_images_are_unchanged_without_registration(recorded: Path, tmp_path: Path) -> None:
    without = tiny.short(tiny.encoder_recipe(registration=False))
    fit(recorded, tmp_path / "run", without, 0, method="anchored", show=False)
    assert not (tmp_path / "run" / REGISTRATION_FILE).exists()
    assert read_registration(tmp_path / "run") is None


def test_renderings_are_not_registered(tmp_path: Path) -> None:
    data = tiny.write_data(tmp_path / "data", tests=0)
    fit(data, tmp_path / "run", tiny.short(tiny.encoder_recipe()), 0, method="anchored", show=False)
    assert read_registration(tmp_path / "run") is None
    assert not (tmp_path / "run" / REGISTRATION_FILE).exists()


@pytest.mark.any_processor
@pytest.mark.parametrize("method", ["ldr", "ropes", "cnn", "jointnet"])
def test_every_joint_method_learns_from_registered_frames(method: str, recorded: Path, tmp_path: Path) -> None:
    fit(recorded, tmp_path / "run", tiny.short(tiny.recipe_of(method)), 0, method=method, show=False)
    assert read_registration(tmp_path / "run") is not None
    images = Estimator.load(tmp_path / "run").images(open_dataset(recorded), "test-id", 3)
    assert np.isfinite(Estimator.load(tmp_path / "run").coordinates(images)).all()


def test_cnn_augments_recordings_alone(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    renderings = tiny.write_data(tmp_path / "renderings", tests=0)
    recipe, kinds = tiny.short(tiny.recipe_of("cnn")), {"recorded": recorded, "rendered": renderings}
    for kind, data in kinds.items():
        fit(data, tmp_path / kind, recipe, 0, method="cnn", show=False)
    monkeypatch.setattr(supervised, "jitter_of", lambda registration: None)
    for kind, data in kinds.items():
        fit(data, tmp_path / f"{kind} plain", recipe, 0, method="cnn", show=False)
    weights, summaries = (
        {run.name: (run / "angles" / file).read_bytes() for run in tmp_path.iterdir() if run != renderings}
        for file in ("weights.safetensors", "stage.json")
    )
    assert weights["recorded"] != weights["recorded plain"]
    assert weights["rendered"] == weights["rendered plain"]
    digests = {name: json.loads(text)["fingerprint"] for name, text in summaries.items()}
    assert digests["recorded"] != digests["recorded plain"]
    assert digests["rendered"] == digests["rendered plain"]


@pytest.mark.any_processor
def test_student_of_a_registered_encoder_uses_the_registration(recorded: Path, tmp_path: Path) -> None:
    recipe = tiny.encoder_recipe(foreign=0.5, student=Optimisation(epochs=2, batch=20, learning_rate=1e-2))
    fit(recorded, tmp_path / "run", tiny.short(recipe), 0, method="anchored", show=False)
    dataset, estimator = open_dataset(recorded), Estimator.load(tmp_path / "run")
    reading = estimator.read(estimator.images(dataset, "test-id"))
    assert reading.deviation is not None
    assert np.isfinite(reading.coordinates).all()


def test_repeated_fit_keeps_its_weights_and_registration(run: Path, recorded: Path) -> None:
    files = run / "encoder" / "weights.safetensors", run / REGISTRATION_FILE
    before = [path.read_bytes() for path in files]
    fit(recorded, run, tiny.encoder_recipe(), 0, method="anchored", show=False)
    assert [path.read_bytes() for path in files] == before


def test_run_without_its_registration_file_is_refused(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    copy.mkdir()
    (copy / TRAINING_FILE).write_bytes((run / TRAINING_FILE).read_bytes())
    with pytest.raises(UserError, match=r"registration\.safetensors is missing"):
        read_registration(copy)
    (copy / REGISTRATION_FILE).write_bytes(b"nonsense")
    with pytest.raises(UserError, match="damaged"):
        read_registration(copy)


@pytest.mark.any_processor
def test_registration_switch_changes_the_run(run: Path, recorded: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(run, tmp_path / "run"))
    fit(recorded, own, replace(tiny.encoder_recipe(), registration=False), 0, method="anchored", show=False)
    assert read_registration(own) is None
    assert (own / "encoder" / "weights.safetensors").read_bytes() != (
        run / "encoder" / "weights.safetensors"
    ).read_bytes()


def test_out_of_distribution_pose_has_reasons(run: Path, recorded: Path) -> None:
    dataset, estimator = open_dataset(recorded), Estimator.load(run)
    images = estimator.images(dataset, "test-id", 20)
    assert isinstance(images, np.ndarray)
    drift = estimator.drift(images // 8)
    assert drift is not None
    assert drift.light.mean() > 0.9
    none, right, both = np.zeros((2, 4, 4), bool), np.array([True, False]), np.array([True, True])
    cameras = ("right", "left")
    named = reasons(cameras, Drift(light=right, place=right, blank=~both), none, flagged=True)
    assert named == {"right": ["light", "camera moved"]}
    blank = Drift(light=both, place=both, blank=right)
    assert reasons(cameras, blank, None, flagged=True) == {"right": ["no picture"], "left": ["light", "camera moved"]}
    assert unreadable(blank, None)
    assert reasons(cameras, None, None, flagged=True) == {}
    small, large = none.copy(), none.copy()
    small[1, 0, 0] = large[1, 0] = True
    assert reasons(cameras, None, small, flagged=True) == {"left": ["foreign object"]}
    assert reasons(cameras, None, small, flagged=False) == {}
    assert reasons(cameras, None, large, flagged=False) == {"left": ["foreign object"]}
    assert not unreadable(None, large)
    large[1, :3] = True
    assert unreadable(None, large)
    lines = [json.loads(line) for line in predict_lines(run, recorded)]
    assert np.mean(["reasons" in line for line in lines if not line["out_of_distribution"]]) < 0.05
    assert all(set(line["reasons"]) <= {"right", "left"} for line in lines if "reasons" in line)
    assert all("reasons" in line for line in lines if line["out_of_distribution"])


@pytest.mark.parametrize(
    ("change", "reason"), [("darker", "light"), ("shifted", "camera moved"), ("black", "no picture")]
)
def test_drifted_frame_has_a_reason(change: str, reason: str, run: Path, recorded: Path, tmp_path: Path) -> None:
    dataset, estimator = open_dataset(recorded), Estimator.load(run)
    images = estimator.images(dataset, "test-id", 10)
    assert isinstance(images, np.ndarray)
    changed = {"darker": images // 8, "shifted": np.roll(images, 4, axis=-1), "black": np.zeros_like(images)}[change]
    for pose, views in enumerate(changed):
        for camera, image in zip(estimator.run.cameras, views, strict=True):
            path = tmp_path / camera / f"{pose}.png"
            path.parent.mkdir(exist_ok=True)
            Image.fromarray(image).save(path)
    lines = [json.loads(line) for line in predict_lines(run, tmp_path)]
    found = [line.get("reasons", {}) for line in lines]
    named = [reason in each for line in found for each in line.values()]
    assert np.mean(named + [len(line) > 0 for line in found]) > 0.9
    assert change != "black" or all(line["out_of_distribution"] for line in lines)


def visited_data(folder: Path, share: float) -> Path:
    """A recording in which somebody passes in a share of the views."""
    rng, causal = np.random.default_rng(0), tiny.model()
    states = {"train": causal.sample(rng, 60), "test-id": causal.sample_observational(rng, 120)[:, None]}
    blobs = {split: tiny.draw(angles) for split, angles in states.items()}
    for drawn in blobs.values():
        for place in np.argwhere(rng.random(drawn.shape[:3]) < share):
            left = rng.integers(0, 8)
            drawn[(*place, slice(None), slice(left, left + 8))] = 160
    return tiny.write_data(folder, images={split: film(each) for split, each in blobs.items()}, states=states)


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """A recording in which somebody passes in a quarter of the views; never to be changed."""
    return visited_data(tmp_path_factory.mktemp("visited") / "data", 0.25)


@pytest.mark.any_processor
@pytest.mark.parametrize("method", ["ldr", "ropes"])
def test_fit_with_excluded_poses_still_has_intervals(method: str, tmp_path: Path, cache_home: Path) -> None:
    data = visited_data(tmp_path / "data", 0.006)
    images = np.asarray(open_dataset(data).read_images(open_dataset(data).frames("train").index))
    fit(data, tmp_path / "run", tiny.short(tiny.recipe_of(method)), 0, method=method, show=False)
    registration = read_registration(tmp_path / "run")
    assert registration is not None
    assert registration.cleaner is None  # too few pass
    changed = (registration.composite(torch.from_numpy(images)) - registration.background.mul(255)).abs() > 8
    assert 0 < crowded(changed.double().mean((2, 3)).numpy()).any(1).sum() < 8
    assert Estimator.load(tmp_path / "run").intervals is not None


@pytest.mark.any_processor
@pytest.mark.parametrize(("method", "first"), [("ldr", "encoder"), ("jointnet", "pretraining"), ("ropes", "ae1")])
def test_cleaner_trains_on_the_samples_of_the_recipe_and_all_stages_again_when_they_change(
    method: str, first: str, visited: Path, tmp_path: Path
) -> None:
    fingerprints = set()
    for steps in (15, 17):
        recipe = replace(tiny.short(tiny.recipe_of(method), epochs=0.1), cleaner_samples=64 * steps)
        fit(visited, tmp_path / "run", recipe, 0, method=method, show=False)
        cleaner, later = (json.loads((tmp_path / "run" / each / SUMMARY).read_text()) for each in ("cleaner", first))
        assert cleaner["history"]["steps"][-1] == steps
        fingerprints |= {cleaner["fingerprint"], later["fingerprint"]}
    assert len(fingerprints) == 4


@pytest.mark.any_processor
def test_pretraining_is_reused_with_the_cleaner_of_its_images(visited: Path, tmp_path: Path) -> None:
    recipe = replace(tiny.short(tiny.recipe_of("jointnet"), epochs=0.1), cleaner_samples=64)
    first, second = (tmp_path / name for name in ("first", "second"))
    stages = ("cleaner", "pretraining", "angles")
    fit(visited, first, recipe, 0, method="jointnet", show=False)
    fit(visited, second, recipe, 0, method="jointnet", pretrained=first, show=False)
    files = {name: [(run / name / "weights.safetensors").stat() for run in (first, second)] for name in stages}
    assert [name for name, (one, other) in files.items() if one.st_ino == other.st_ino] == ["cleaner", "pretraining"]


def test_passers_by_are_removed_before_the_fit_and_before_a_prediction(visited: Path, tmp_path: Path) -> None:
    recipe = tiny.short(tiny.encoder_recipe(cleaner_samples=25_600), epochs=2)
    fit(visited, tmp_path / "run", recipe, 0, method="anchored", show=False)
    registration = read_registration(tmp_path / "run")
    assert registration is not None
    assert registration.cleaner is not None
    assert "cleaner" in json.loads((tmp_path / "run" / TRAINING_FILE).read_text())["provenance"]["seconds"]
    dataset = open_dataset(visited)
    frames = torch.from_numpy(dataset.read_images(dataset.frames("test-id").index))
    background = registration.background.mul(255).round()
    before, after = (
        ((images - background).abs() > 8).float().mean((2, 3))
        for images in (registration.composite(frames), registration(frames))
    )
    assert before.quantile(0.9) > 0.45
    assert after.quantile(0.9) < 0.8 * before.quantile(0.9)
    alone = before < before.median()
    assert after[alone].mean() > 0.8 * before[alone].mean()  # the arm stays
    assert np.isfinite(Estimator.load(tmp_path / "run").coordinates(frames.numpy())).all()
    removed = (registration.composite(frames) != registration(frames)).flatten(2).any(2).numpy()
    lines = [json.loads(line) for line in predict_lines(tmp_path / "run", visited)]
    tests = [line for line in lines if line["images"]["split"] == "test-id"]
    assert 0.1 < removed.mean() < 0.9
    for line, has_removed in zip(tests, removed, strict=True):
        assert {tiny.CAMERAS[view] for view in np.flatnonzero(has_removed)} <= set(line["foreign"])
        assert all(0 <= left < right <= tiny.SIDE for boxes in line["foreign"].values() for left, _, right, _ in boxes)
    flagged = [line for line in lines if line.get("out_of_distribution")]
    assert flagged
    for line in flagged:
        named = {camera for camera, what in line["reasons"].items() if "foreign object" in what}
        assert named == set(line["foreign"])
    (tmp_path / "run" / "cleaner" / "weights.safetensors").unlink()
    with pytest.raises(UserError, match="weights"):
        read_registration(tmp_path / "run")
