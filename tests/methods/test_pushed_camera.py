"""A camera that was pushed during the recording: the fit says so and learns from one place."""

import json
from pathlib import Path

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.methods.fit import fit
from ropes.methods.run import MOVED_ANCHORS, TRAINING_FILE
from ropes.methods.training.registration import read_registration
from tests import tiny
from tests.methods.test_registration import film

pytestmark = pytest.mark.slow

ANCHORS, PUSHED = 60, 36


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """A recording whose left camera was pushed by 5 pixels at anchor 36 of 60; never to be changed."""
    return write(tmp_path_factory.mktemp("pushed") / "data", PUSHED)


def write(folder: Path, left: int, right: int = ANCHORS) -> Path:
    """A recording with a push of each camera at these anchors."""
    states = tiny.model().sample(np.random.default_rng(0), ANCHORS)
    images = film(tiny.draw(states))
    for view, push in enumerate((right, left)):
        images[push:, :, view] = np.roll(images[push:, :, view], 5, axis=-1)
    return tiny.write_data(folder, images={"train": images}, states={"train": states})


@pytest.mark.parametrize("method", ["anchored", "ldr", "ropes", "cnn"])
def test_a_pushed_camera_is_named_and_its_noise_is_that_of_one_place(
    method: str, pushed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tiny.short(tiny.recipe_of(method))
    fit(pushed, tmp_path / "run", recipe, 0, method=method, show=False)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "camera" in line]
    assert line.startswith(f"ropes: warning: camera left moved by 5 of 16 pixels at anchor {PUSHED};")
    registration = read_registration(tmp_path / "run")
    assert registration is not None
    assert 255 * registration.noise.median() < 5
    content = json.loads((tmp_path / "run" / TRAINING_FILE).read_text())
    assert content.get(MOVED_ANCHORS, []) == ([] if method == "cnn" else list(range(PUSHED, ANCHORS)))
    if method == "anchored":
        found = content["provenance"]
        assert (found["anchors"], found["poses"]) == (PUSHED, 5 * PUSHED)


def test_a_recording_without_a_common_place_is_refused(tmp_path: Path) -> None:
    data = write(tmp_path / "data", left=28, right=33)
    with pytest.raises(UserError, match=r"too few images are from one place of all cameras"):
        fit(data, tmp_path / "run", tiny.encoder_recipe(), 0, method="anchored", show=False)
    assert not (tmp_path / "run").exists()
