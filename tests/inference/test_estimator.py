import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ropes.common.arrays import Images
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.calibration import Calibration, write_calibration
from ropes.inference.estimator import Estimator
from ropes.inference.predictor import Predictor
from ropes.methods.ropes.stages import LDRStage
from ropes.methods.run import RUN_FILE, TRAINING_FILE, Run
from ropes.models.registration import Registration
from tests import tiny
from tests.estimators import FormulaReader, places, run_of
from tests.kills import killed


@pytest.fixture(scope="module")
def estimator(tiny_run: Path) -> Estimator:
    return Estimator.load(tiny_run)


@pytest.fixture(scope="module")
def images(tiny_data: Path) -> Images:
    return open_dataset(tiny_data).read_images(range(40))


def test_loaded_run_gives_the_same_coordinates(estimator: Estimator, tiny_run: Path, images: Images) -> None:
    found = estimator.coordinates(images)
    assert found.shape == (40, 2)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(Estimator.load(tiny_run).coordinates(images), found)


def test_coordinates_do_not_depend_on_the_rest_of_the_batch(estimator: Estimator, images: Images) -> None:
    many = np.concatenate([images] * 8)  # more than one chunk
    alone = np.concatenate([estimator.coordinates(image[None]) for image in images])
    np.testing.assert_allclose(estimator.coordinates(many), np.concatenate([alone] * 8), atol=1e-5)
    assert estimator.coordinates(images[:0]).shape == (0, 2)


@pytest.mark.slow
def test_each_joint_uses_its_own_network(tmp_path: Path, refit: Callable[..., Run], images: Images) -> None:
    refit(tmp_path / "run", joint_ae2=False)
    whole = Estimator.load(tmp_path / "run").coordinates(images)
    elbow, wrist = (tmp_path / "run" / "ae2" / joint / "weights.safetensors" for joint in tiny.JOINTS)
    elbow.write_bytes(wrist.read_bytes())
    changed = Estimator.load(tmp_path / "run").coordinates(images)
    np.testing.assert_array_equal(whole[:, 1], changed[:, 1])
    assert (whole[:, 0] != changed[:, 0]).all()


def test_angles_need_a_calibration(estimator: Estimator, images: Images) -> None:
    with pytest.raises(UserError, match="the run is not calibrated: run `ropes calibrate`"):
        estimator.angles(images)


def test_reconstructions_have_the_format_of_images(estimator: Estimator, images: Images) -> None:
    reconstructions = estimator.reconstructions(images[:3])
    assert reconstructions is not None
    for pictures in reconstructions:
        assert pictures.shape == (3, 2, 16, 16)
        assert pictures.dtype == np.uint8


@pytest.mark.slow
@pytest.mark.parametrize("side", [32, 24, 41])
def test_reconstructions_have_the_size_of_the_images(side: int, tmp_path: Path, refit: Callable[..., Run]) -> None:
    images = {"train": tiny.draw(tiny.model().sample(np.random.default_rng(0), 8), side=side)}
    data = tiny.write_data(tmp_path / "data", images=images, states=None)
    refit(tmp_path / "run", data=data)
    estimator = Estimator.load(tmp_path / "run")
    seen = open_dataset(data).read_images([0, 1])
    assert estimator.coordinates(seen).shape == (2, 2)
    reconstructions = estimator.reconstructions(seen)
    assert reconstructions is not None
    assert [pictures.shape for pictures in reconstructions] == [seen.shape, seen.shape]


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((2, 2, 16, 16), np.float32),
        np.zeros((2, 1, 16, 16), np.uint8),
        np.zeros((2, 2, 32, 32), np.uint8),
        np.zeros((3, 16, 16), np.uint8),
        np.zeros((16, 16), np.uint8),
    ],
)
def test_unsupported_images_are_refused(estimator: Estimator, wrong: NDArray[Any]) -> None:
    line = f"images of shape {wrong.shape} and type {wrong.dtype}: this run reads uint8 (n, 2, 16, 16)"
    with pytest.raises(UserError, match=re.escape(line)):
        estimator.coordinates(wrong)


@pytest.mark.parametrize(
    ("lost", "line"),
    [
        (RUN_FILE, "run.json is missing"),
        ("ae1/weights.safetensors", "is missing: the run has no weights; finish it with `ropes fit`"),
        ("ae2/joint/weights.safetensors", "is missing: the run has no weights; finish it with `ropes fit`"),
        (TRAINING_FILE, "is an unfinished run; run the same ropes fit command again to resume it"),
    ],
)
def test_an_unfinished_run_is_refused(own_run: Path, lost: str, line: str) -> None:
    (own_run / lost).unlink()
    with pytest.raises(UserError, match=line):
        Estimator.load(own_run)


@pytest.mark.slow
def test_run_restarted_with_another_recipe_is_unfinished_and_uncalibrated(
    own_run: Path, refit: Callable[..., Run]
) -> None:
    run = Estimator.load(own_run).run
    write_calibration(own_run, run, Calibration(np.ones(2), np.zeros(2), 2))
    with killed(LDRStage, 1):
        refit(own_run, val_fraction=0.5)
    with pytest.raises(UserError, match="unfinished"):
        Estimator.load(own_run)
    refit(own_run, val_fraction=0.5)
    assert Estimator.load(own_run).calibration is None


def test_damaged_weights_are_reported(own_run: Path) -> None:
    path = own_run / "ae1" / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UserError, match=r"weights\.safetensors does not hold this network's weights"):
        Estimator.load(own_run)


def test_a_prediction_registers_its_images_once(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = tiny.draw(np.random.default_rng(0).uniform(-0.8, 0.8, (40, 2)))
    noisy = np.clip(frames + np.random.default_rng(1).normal(60, 4, frames.shape), 0, 255).astype(np.uint8)
    registration = Registration(2, tiny.SIDE)
    registration.adapt(torch.from_numpy(noisy))
    estimator = Estimator(run_of(), FormulaReader(places), None, registration=registration)
    coordinates, dark = estimator.coordinates(noisy), noisy // 3
    _, fixed = estimator.networks
    assert fixed is not None
    estimate, calls = fixed.estimate, list[int]()

    def counted(levels: torch.Tensor) -> torch.Tensor:
        calls.append(len(levels))
        return estimate(levels)

    monkeypatch.setattr(fixed, "estimate", counted)
    predictor = Predictor(estimator)
    found = predictor(noisy)
    assert calls == [40]
    angles = np.array([list(each["joints"].values()) for each in found])
    np.testing.assert_allclose(angles, coordinates, atol=1e-6)
    assert "reasons" not in found[0]
    assert predictor(dark)[0]["reasons"] == {camera: ["light"] for camera in tiny.CAMERAS}
