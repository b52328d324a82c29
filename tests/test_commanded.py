"""Radians from what the policies were told to do, on estimators whose coordinates are known lines of the angles."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from ropes import files
from ropes.commanded import commanded_map
from ropes.data import schema
from ropes.data.layout import open_dataset, strip_states
from ropes.errors import UserError
from ropes.estimator import Estimator
from ropes.methods.policies import described_model
from ropes.metrics import commanded_calibration
from tests import tiny


class Blobs:
    """Stands for a trained estimator: reads the blobs' places, in units and signs of its own."""

    def __init__(self) -> None:
        self.run = type(
            "Run", (), {"joints": tiny.JOINTS, "cameras": tiny.CAMERAS, "image_size": tiny.SIDE, "data_checksum": ""}
        )()

    def coordinates(self, images: np.ndarray) -> np.ndarray:
        weights = images[:, 0].astype(float)
        weights /= weights.sum((1, 2), keepdims=True)
        grid = (np.arange(tiny.SIDE) + 0.5) / tiny.SIDE
        across, down = weights.sum(1) @ grid, weights.sum(2) @ grid
        return np.stack([-7 * across, 0.5 * down + 2], axis=1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_data(tmp_path_factory.mktemp("commanded") / "data", anchors=400, tests=0)


def blobs() -> Estimator:
    return cast("Any", Blobs())


def test_the_line_gives_each_policy_its_commanded_mean() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(1, 2, (300, 2)), rng.normal(-1, 2, (200, 2))
    means = np.array([[0.7, 2.4], [-0.7, 0.6]])
    slope, intercept = commanded_calibration(first, second, means)
    np.testing.assert_allclose([first.mean(0) * slope + intercept, second.mean(0) * slope + intercept], means)


@pytest.mark.parametrize("second", [np.ones((3, 2)), np.zeros((0, 2)), np.full((3, 2), np.nan), np.zeros((3, 1))])
def test_policies_that_tell_nothing_apart_are_refused(second: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"same under both|at least one pose|expected \(n, d\)"):
        commanded_calibration(np.ones((3, 2)), second, np.zeros((2, 2)))


def test_angles_come_out_in_radians_without_a_label(data: Path, tmp_path: Path) -> None:
    strip_states(data, tmp_path / "stripped")
    found = commanded_map(blobs(), open_dataset(tmp_path / "stripped"))
    dataset = open_dataset(data)
    rows = dataset.frames("train").index
    angles = found.angles(blobs().coordinates(dataset.read_images(rows)))
    assert np.abs(angles - dataset.states("train")).mean() < 0.1
    assert found.samples == 0


class Bent(Blobs):
    """Reads the same places, flattened at both ends."""

    def coordinates(self, images: np.ndarray) -> np.ndarray:
        straight = super().coordinates(images) * [1.0, 8.0]
        return np.arctan(1.5 * (straight - straight_mean(self)) / 2)


def straight_mean(reader: Blobs) -> np.ndarray:
    return np.array([-3.5, 8 * 2.25])


def test_a_bend_at_the_ends_is_taken_back(data: Path) -> None:
    dataset = open_dataset(data)
    rows = dataset.frames("train").index
    images, angles = dataset.read_images(rows), dataset.states("train")
    bent = cast("Any", Bent())
    found = commanded_map(bent, dataset)
    assert found.knots is not None
    assert found.knots.shape == (2, 2, 8)
    read = bent.coordinates(images)
    errors = ((found.angles(read) - angles) ** 2).mean(0)
    lines = ((read * found.slope + found.intercept - angles) ** 2).mean(0)
    assert (errors < 0.8 * lines).all()


def test_few_poses_make_a_line(tmp_path: Path) -> None:
    few = tiny.write_data(tmp_path / "data", anchors=60, tests=0)
    assert commanded_map(blobs(), open_dataset(few)).knots is None


def test_distributions_that_contradict_the_images_are_refused(data: Path, tmp_path: Path) -> None:
    strip_states(data, tmp_path / "other")
    note = files.read_json(tmp_path / "other" / schema.PROVENANCE)
    first = note["setting"]["splits"]["train"]["interventions"]["wrist"][0]
    note["setting"]["splits"]["train"]["interventions"]["wrist"][0] = {**first, "mean": 8.0, "low": 7.0, "high": 9.0}
    files.write_json(tmp_path / "other" / schema.PROVENANCE, note)
    with pytest.raises(UserError, match="commanded distributions contradict the images: joint wrist reads"):
        commanded_map(blobs(), open_dataset(tmp_path / "other"))


def test_distributions_wider_than_the_images_are_refused(data: Path, tmp_path: Path) -> None:
    """The same means, so that only how widely the joint moves tells."""
    strip_states(data, tmp_path / "other")
    note = files.read_json(tmp_path / "other" / schema.PROVENANCE)
    policies = note["setting"]["splits"]["train"]["interventions"]["wrist"]
    for k, policy in enumerate(policies):
        policies[k] = {
            **policy,
            "variance": 25 * policy["variance"],
            "low": policy["mean"] - 9,
            "high": policy["mean"] + 9,
        }
    files.write_json(tmp_path / "other" / schema.PROVENANCE, note)
    with pytest.raises(UserError, match=r"contradict the images: joint wrist spreads by 0\.\d\d rad under each"):
        commanded_map(blobs(), open_dataset(tmp_path / "other"))


def test_a_data_set_that_tells_none_is_refused(tmp_path: Path) -> None:
    untold = tiny.write_data(tmp_path / "data", anchors=4, tests=0, described=False)
    with pytest.raises(UserError, match="does not tell its policies' distributions; calibrate on labelled samples"):
        commanded_map(blobs(), open_dataset(untold))


@pytest.mark.parametrize("told", ["a sentence", {"joints": ["elbow"]}, {"joints": 3, "interventions": []}])
def test_what_describes_no_causal_model_is_refused(told: object, tmp_path: Path) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=4, tests=0)
    note = files.read_json(data / schema.PROVENANCE)
    note["setting"]["splits"]["train"] = told
    files.write_json(data / schema.PROVENANCE, note)
    with pytest.raises(UserError, match=r"meta/ropes.json describes no causal model"):
        described_model(open_dataset(data))
