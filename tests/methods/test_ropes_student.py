"""A student of method ropes reproduces its coordinates from images with foreign objects."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.methods.readers import weight_files
from ropes.methods.recipes import Optimisation, RopesRecipe
from ropes.methods.ropes.fit import fit
from ropes.methods.run import TRAINING_FILE, Run
from ropes.methods.student.stage import StudentStage
from tests import tiny
from tests.kills import killed
from tests.methods.test_student import hidden

SHAPE = replace(tiny.encoder_recipe().encoder, window=0)
OPTIMISATION = Optimisation(epochs=8, batch=20, learning_rate=1e-2)
#: Of many anchors: the student needs coordinates, not good ones.
SHORT: dict[str, Any] = {
    "ae1_training": Optimisation(epochs=0.5, batch=40, learning_rate=1e-3),
    "ldr_training": Optimisation(epochs=1, batch=24, learning_rate=1e-3, weight_decay=1e-2),
    "ae2_training": Optimisation(epochs=1, batch=40, learning_rate=1e-3),
}


def with_student(**changes: Any) -> RopesRecipe:
    return tiny.recipe(**({"foreign": 0.5, "student_encoder": SHAPE, "student": OPTIMISATION} | changes))


@pytest.fixture(scope="module")
def data(many_anchors: Path) -> Path:
    return many_anchors


@pytest.fixture(scope="module")
def stages(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("ropes-student") / "stages"
    fit(data, run, tiny.recipe(**SHORT), 0, show=False)
    return run


@pytest.fixture(scope="module")
def student(data: Path, stages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = Path(shutil.copytree(stages, tmp_path_factory.mktemp("ropes-student") / "run"))
    fit(data, run, with_student(**SHORT), 0, show=False)
    return run


@pytest.mark.slow
def test_student_matches_the_three_stages_and_resists_foreign_objects(data: Path, stages: Path, student: Path) -> None:
    before, after = tiny.weights(stages), tiny.weights(student)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {"student/weights.safetensors"}
    assert "student/weights.safetensors" in weight_files(Run.read(student))
    dataset = open_dataset(data)
    images = dataset.read_images(dataset.frames("test-id").index)
    taught, reproduced = Estimator.load(stages), Estimator.load(student)
    clean = taught.coordinates(images)

    def apart(estimator: Estimator, shown: Any) -> Any:
        return (np.abs(estimator.coordinates(shown) - clean) / clean.std(0)).mean()

    shown = hidden(images, 1)
    assert apart(reproduced, images) < 0.4
    assert apart(reproduced, shown) < 0.75 * apart(taught, shown)
    assert reproduced.read(images[:2]).foreign is not None
    pictures, theirs = reproduced.reconstructions(images[:2]), taught.reconstructions(images[:2])
    assert pictures is not None
    assert theirs is not None
    np.testing.assert_array_equal(pictures[1], theirs[1])  # of the three stages, as without a student


@pytest.mark.slow
def test_killed_student_resumes_to_the_same_weights(
    tiny_data: Path, tiny_run: Path, own_run: Path, tmp_path: Path
) -> None:
    asked = with_student(student=Optimisation(epochs=3, batch=20, learning_rate=1e-2))
    whole = Path(shutil.copytree(tiny_run, tmp_path / "whole"))
    fit(tiny_data, whole, asked, 0, show=False)
    with killed(StudentStage, 7):
        fit(tiny_data, own_run, asked, 0, show=False)
    assert not (own_run / TRAINING_FILE).exists()
    fit(tiny_data, own_run, asked, 0, show=False)
    assert tiny.weights(own_run) == tiny.weights(whole)


@pytest.mark.slow
def test_logit_coordinates_support_a_student(tiny_data: Path, tiny_run: Path, tmp_path: Path) -> None:
    short = Optimisation(epochs=1, batch=20, learning_rate=1e-3)
    recipe = with_student(coordinates="logits", student=short)
    fit(tiny_data, tmp_path / "run", recipe, 0, pretrained=tiny_run, show=False)
    dataset = open_dataset(tiny_data)
    assert Estimator.load(tmp_path / "run").read(dataset.read_images(np.arange(3))).foreign is not None


@pytest.mark.parametrize("change", [{"window": 8}, {"image_size": 2 * tiny.SIDE}])
def test_student_with_another_image_size_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f"has no window, and images as large as AE1's, {tiny.SIDE} pixels"):
        with_student(student_encoder=replace(SHAPE, **change))


def test_student_settings_are_ignored_without_a_student() -> None:
    assert with_student(foreign=0.0) == tiny.recipe()
    with pytest.raises(UserError, match="foreign must be between 0 and 1"):
        with_student(foreign=1.5)
