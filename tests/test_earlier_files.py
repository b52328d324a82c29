"""A data set, runs and a calibration that an earlier version of ropes wrote."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.common.files import read_json
from ropes.data.layout import open_dataset
from ropes.inference.estimator import Estimator
from ropes.methods.anchored import fit as anchored
from ropes.methods.recipes import EncoderRecipe, RopesRecipe
from ropes.methods.ropes import fit as ropes
from ropes.methods.run import Run
from tests import tiny

EARLIER = Path(__file__).parent / "fixtures" / "earlier"
EXPECTED = read_json(EARLIER / "estimates.json")


def test_earlier_data_set_is_valid() -> None:
    assert cli.main(["validate", str(EARLIER / "data")]) == 0
    dataset = open_dataset(EARLIER / "data")
    assert dataset.joints == tiny.JOINTS
    assert len(dataset.frames("train").index) == 200
    assert len(dataset.frames("test-id").index) == 24


@pytest.mark.parametrize("method", ["anchored", "ropes"])
def test_earlier_runs_give_the_same_estimates(method: str) -> None:
    dataset = open_dataset(EARLIER / "data")
    images = dataset.read_images(dataset.frames("test-id").index[:3])
    estimator = Estimator.load(EARLIER / method)
    # in bf16 and float32 alike: inference is in float32
    np.testing.assert_allclose(estimator.coordinates(images), EXPECTED[method]["coordinates"], rtol=1e-3, atol=1e-3)
    if "angles" in EXPECTED[method]:
        np.testing.assert_allclose(estimator.angles(images), EXPECTED[method]["angles"], rtol=1e-3, atol=1e-3)


def times(run: Path) -> dict[str, int]:
    """When each file of a training was written, nanoseconds."""
    files = (path for pattern in ("stage.json", "weights.safetensors") for path in run.rglob(pattern))
    return {path.relative_to(run).as_posix(): path.stat().st_mtime_ns for path in files}


@pytest.mark.slow
def test_repeated_fit_of_an_earlier_run_trains_nothing(tmp_path: Path) -> None:
    for method in ("anchored", "ropes"):
        run = Path(shutil.copytree(EARLIER / method, tmp_path / method))
        before, stages = tiny.weights(run), times(run)
        recipe = Run.read(run).recipe
        if isinstance(recipe, EncoderRecipe):
            anchored.fit(EARLIER / "data", run, recipe, show=False)
        else:
            assert isinstance(recipe, RopesRecipe)
            ropes.fit(EARLIER / "data", run, recipe, show=False)
        assert tiny.weights(run) == before
        assert times(run) == stages
        assert (Estimator.load(run).calibration is not None) == (method == "anchored")
