"""A data set with the test poses of a task, and the predictions of a run for them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.common import png
from ropes.data import generate
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.robot_time import robot_seconds
from ropes.errors import UserError
from ropes.evaluation.benchmark import own_run, read_predictions, task_named
from ropes.evaluation.benchmark.task import SCENE, SEED
from ropes.evaluation.benchmark.test_data import require_test_poses
from ropes.inference.calibration import Calibration
from ropes.methods.uncertainty.conformal import Intervals
from ropes.methods.uncertainty.model import Reading
from ropes.simulation.settings import setting_named
from tests.command_line import refusal

pytestmark = [pytest.mark.slow, pytest.mark.pybullet]
TASK = task_named("panda-1c-independent")
BLACK = png.encode(np.zeros((128, 128), np.uint8))


def grey(setting: Any, joints: Any, poses: Any, *_: Any, **__: Any) -> Iterator[list[bytes]]:
    """A renderer of black images."""
    return iter([[BLACK]] * len(poses))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three anchors and the test poses of the task, without pictures."""
    out = tmp_path_factory.mktemp("benchmark") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generate, "render_poses", grey)
        setting = replace(setting_named(TASK.name), scene=SCENE)
        generate.simulate(setting, out=out, anchors=3, seed=SEED, progress=False)
    return out


class Twice:
    """An estimator whose coordinates are twice the angles, in another order of the joints."""

    def __init__(self, *, calibrated: bool = True) -> None:
        self.run = SimpleNamespace(setting=TASK.name, joints=TASK.joints[::-1])
        half = np.full(3, 0.5)
        self.calibration = Calibration(half, np.zeros(3), 0) if calibrated else None
        self.intervals = Intervals(0.9, np.full(3, 0.1), np.full(3, 0.4), "anchors", 100, False)

    def images(self, dataset: Dataset, split: str) -> Any:
        return dataset.states(split)[:, ::-1]

    def read(self, images: Any) -> Reading:
        return Reading(2 * images, None, None)


def test_data_set_has_the_test_poses_and_a_robot_time(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["score", "--task", TASK.name, "--data", str(data)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    hours = robot_seconds(open_dataset(data)) / 3600
    assert 0 < hours < 0.1
    assert f"test poses of {TASK.name}; robot time of the training poses {hours:.3g} h" in shown


def test_predictions_of_a_run_are_in_the_order_of_the_task(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_run, "Estimator", SimpleNamespace(load=lambda run, precision: Twice()))
    own_run.predict_test_poses("run", data, tmp_path / "mine.npz")
    read = read_predictions(tmp_path / "mine.npz", TASK)["test-id"]
    np.testing.assert_allclose(read.angles, TASK.angles("test-id"), atol=1e-6)
    assert read.lower is not None
    assert read.upper is not None
    np.testing.assert_allclose(read.upper - read.lower, 0.4, atol=1e-5)


def test_run_that_is_not_calibrated_or_of_another_setting_is_refused(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_run, "Estimator", SimpleNamespace(load=lambda run, precision: Twice(calibrated=False)))
    with pytest.raises(UserError, match="run is not calibrated; run `ropes calibrate` first"):
        own_run.predict_test_poses("run", data, tmp_path / "mine.npz")
    other = Twice()
    other.run.setting = "so101"
    monkeypatch.setattr(own_run, "Estimator", SimpleNamespace(load=lambda run, precision: other))
    with pytest.raises(UserError, match="unknown task 'so101'"):
        own_run.predict_test_poses("run", data, tmp_path / "mine.npz")
    assert not (tmp_path / "mine.npz").exists()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"name": "panda-1c-six"}, "has setting panda-1c-six, not panda-1c-independent; make it with `ropes simulate"),
        ({"scene": "white"}, "has scene white, not panda-gym"),
        ({"camera_level": "webcam"}, "has camera faults of level webcam"),
    ],
)
def test_other_data_sets_are_refused(data: Path, change: dict[str, str], part: str) -> None:
    dataset = open_dataset(data)
    assert dataset.provenance is not None
    setting = dataset.provenance["setting"] | change
    with pytest.raises(UserError) as caught:
        require_test_poses(replace(dataset, provenance=dataset.provenance | {"setting": setting}), TASK)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"renderer": {"name": "mujoco"}}, "has images drawn by mujoco, not pybullet"),
        ({"mesh": "full"}, "has full meshes, not simplified ones"),
    ],
)
def test_images_of_another_renderer_or_meshes_are_refused(data: Path, change: dict[str, Any], part: str) -> None:
    dataset = open_dataset(data)
    assert dataset.provenance is not None
    with pytest.raises(UserError) as caught:
        require_test_poses(replace(dataset, provenance=dataset.provenance | change), TASK)
    assert part in str(caught.value)


def test_images_of_other_cameras_are_refused(data: Path) -> None:
    """As of `ropes simulate --camera-file`, which keeps the name of the setting and the poses."""
    dataset = open_dataset(data)
    assert dataset.provenance is not None
    require_test_poses(dataset, TASK)
    (camera,) = dataset.provenance["setting"]["cameras"]
    setting = dataset.provenance["setting"] | {"cameras": [camera | {"yaw": camera["yaw"] + 30}]}
    with pytest.raises(UserError, match="has other cameras than panda-1c-independent; make it with `ropes simulate"):
        require_test_poses(replace(dataset, provenance=dataset.provenance | {"setting": setting}), TASK)


def test_other_test_poses_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "render_poses", grey)
    setting = replace(setting_named(TASK.name), scene=SCENE)
    for name, options, part in (
        ("few", {"test_anchors": 5, "seed": SEED}, "has 5 poses of test-id, not 2000"),
        ("other", {"seed": SEED + 1}, "has other poses of test-id"),
    ):
        given: dict[str, Any] = options
        found = generate.simulate(setting, out=tmp_path / name, anchors=1, progress=False, **given)
        with pytest.raises(UserError, match=part):
            require_test_poses(found, TASK)


def test_missing_data_set_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is missing" in refusal(capsys, "score", "--task", TASK.name, "--data", str(tmp_path / "nowhere"))
