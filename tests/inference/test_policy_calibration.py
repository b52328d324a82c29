"""Radians from what the policies were told to do, on estimators whose coordinates are known lines of the angles."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.common import files
from ropes.common.arrays import Floats, Images
from ropes.data import schema
from ropes.data.layout import Dataset, copy_without_labels, open_dataset
from ropes.errors import UserError
from ropes.inference import policy_calibration as commanded
from ropes.inference.calibration import Calibration, Origin
from ropes.inference.estimator import Estimator
from ropes.inference.policy_calibration import (
    PolicyReadings,
    calibrate_commanded,
    calibration_from_policies,
    fit_commanded,
    read_policies,
)
from ropes.inference.policy_distributions import read_commanded
from ropes.methods.policies import described_model
from ropes.methods.uncertainty.model import UncertaintyModel
from ropes.methods.uncertainty.ood import fit_ood
from ropes.metrics import commanded_calibration
from tests import tiny
from tests.estimators import blobs, estimator_of, places


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_data(tmp_path_factory.mktemp("commanded") / "data", anchors=400, tests=0)


def test_line_maps_each_policy_to_its_commanded_mean() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(1, 2, (300, 2)), rng.normal(-1, 2, (200, 2))
    means = np.array([[0.7, 2.4], [-0.7, 0.6]])
    slope, intercept = commanded_calibration(first, second, means)
    np.testing.assert_allclose([first.mean(0) * slope + intercept, second.mean(0) * slope + intercept], means)


@pytest.mark.parametrize("second", [np.ones((3, 2)), np.zeros((0, 2)), np.full((3, 2), np.nan), np.zeros((3, 1))])
def test_policies_without_a_difference_are_refused(second: Floats) -> None:
    with pytest.raises(ValueError, match=r"same under both|at least one pose|expected \(n, d\)"):
        commanded_calibration(np.ones((3, 2)), second, np.zeros((2, 2)))


def test_angles_are_in_radians_without_labels(data: Path, tmp_path: Path) -> None:
    copy_without_labels(data, tmp_path / "stripped")
    found = calibration_from_policies(blobs(), open_dataset(tmp_path / "stripped"))
    dataset = open_dataset(data)
    rows = dataset.frames("train").index
    angles = found.angles(blobs().coordinates(dataset.read_images(rows)))
    assert np.abs(angles - dataset.states("train")).mean() < 0.1
    assert found.samples == 0


def test_a_fit_on_some_anchors_is_calibrated_on_these(data: Path) -> None:
    dataset = open_dataset(data)
    frames = dataset.frames("train")
    chosen = {image.tobytes() for image in dataset.read_images(frames.index[np.isin(frames.anchor, range(60))])}
    read: set[bytes] = set()

    def watched(images: Images) -> Floats:
        read.update(image.tobytes() for image in images)
        return places(images)

    recipe = tiny.encoder_recipe(anchors=60)
    calibration_from_policies(estimator_of(watched, recipe=recipe, data_checksum=dataset.checksum), dataset)
    assert read <= chosen
    read.clear()
    calibration_from_policies(estimator_of(watched, recipe=recipe), dataset)  # fitted on another data set
    assert not read <= chosen


def flattened(images: Images) -> Floats:
    """The same places, flattened at both ends."""
    straight = places(images) * [1.0, 8.0]
    return np.arctan(1.5 * (straight - [-3.5, 8 * 2.25]) / 2)


def test_bend_at_the_ends_is_corrected(data: Path) -> None:
    dataset = open_dataset(data)
    rows = dataset.frames("train").index
    images, angles = dataset.read_images(rows), dataset.states("train")
    bent = estimator_of(flattened)
    found = calibration_from_policies(bent, dataset)
    assert found.knots is not None
    assert found.knots.shape == (2, 2, 8)
    read = bent.coordinates(images)
    errors = ((found.angles(read) - angles) ** 2).mean(0)
    lines = ((read * found.slope + found.intercept - angles) ** 2).mean(0)
    assert (errors < 0.8 * lines).all()


def test_noisy_coordinates_give_posterior_means(data: Path) -> None:
    dataset = open_dataset(data)
    frames, exact = dataset.frames("train"), calibration_from_policies(blobs(), dataset)
    images, angles = dataset.read_images(frames.index), dataset.states("train")

    def noisy(given: Images) -> Floats:
        noise = np.random.default_rng(len(given)).normal(size=(len(given), 2))
        return places(given) + 0.6 / exact.slope * noise

    estimator = estimator_of(noisy)
    found, read = calibration_from_policies(estimator, dataset), estimator.coordinates(images)
    varying = np.flatnonzero(frames.regime)
    errors, of_lines = (
        (((to - angles)[varying]) ** 2).mean(0) for to in (found.angles(read), read * found.slope + found.intercept)
    )
    assert (errors < 0.85 * of_lines).all()
    assert (errors < 0.6**2).all()


def test_few_poses_give_a_line_without_bend(tmp_path: Path) -> None:
    few = tiny.write_data(tmp_path / "data", anchors=60, tests=0)
    assert calibration_from_policies(blobs(), open_dataset(few)).knots is None


def told_otherwise(data: Path, path: Path, change: Callable[[dict[str, Any]], object]) -> Dataset:
    """A data set without angles whose description of the training split is changed."""
    copy_without_labels(data, path)
    note = files.read_json(path / schema.PROVENANCE)
    change(note["setting"]["splits"]["train"])
    files.write_json(path / schema.PROVENANCE, note)
    return open_dataset(path)


def test_distributions_that_contradict_the_images_are_refused(data: Path, tmp_path: Path) -> None:
    def move(model: dict[str, Any]) -> None:
        model["interventions"]["wrist"][0] |= {"mean": 4.0, "low": 3.0, "high": 4.5}

    with pytest.raises(UserError, match="commanded distributions contradict the images: joint wrist has mean"):
        calibration_from_policies(blobs(), told_otherwise(data, tmp_path / "other", move))


def test_distributions_wider_than_the_images_are_refused(data: Path, tmp_path: Path) -> None:
    """The same means, so that only how widely the joint moves tells."""

    def widen(model: dict[str, Any]) -> None:
        for policy in model["interventions"]["wrist"]:
            policy |= {"variance": 4.0, "low": policy["mean"] - 2.2, "high": policy["mean"] + 2.2}

    line = r"contradict the images: joint wrist has standard deviation \d+\.\d° \(0\.\d\d rad\) under each"
    with pytest.raises(UserError, match=line):
        calibration_from_policies(blobs(), told_otherwise(data, tmp_path / "other", widen))


def test_distributions_in_degrees_are_refused(data: Path, tmp_path: Path) -> None:
    def in_degrees(model: dict[str, Any]) -> None:
        for policies in model["interventions"].values():
            for policy in policies:
                policy |= {key: 57.3 * policy[key] for key in ("mean", "low", "high")}
                policy["variance"] *= 57.3**2

    line = r"joint elbow: the policies span \d+\.\d° \(1\d\d\.\d\d rad\); images show angles within one turn, 360"
    with pytest.raises(UserError, match=line):
        calibration_from_policies(blobs(), told_otherwise(data, tmp_path / "other", in_degrees))


@pytest.mark.parametrize("anchors", [1, 2, 3, 5, 29])
def test_too_few_poses_are_refused_with_their_number(anchors: int, tmp_path: Path) -> None:
    few = open_dataset(tiny.write_data(tmp_path / "data", anchors=anchors, tests=0))
    line = f"has {anchors} training images under elbow/1; commanded distributions need 30 or more"
    with pytest.raises(UserError, match=line):
        calibration_from_policies(blobs(), few)


@pytest.mark.parametrize("draw", range(4))
def test_minimum_number_of_poses_does_not_contradict_by_chance(draw: int, tmp_path: Path) -> None:
    angles = tiny.model().sample(np.random.default_rng(draw), 30)
    images, states = {"train": tiny.draw(angles)}, {"train": angles}
    data = tiny.write_data(tmp_path / "data", images=images, states=states)
    assert calibration_from_policies(blobs(), open_dataset(data)).knots is None


def entries() -> dict[str, Any]:
    """What the tiny data set's description tells, as an operator would."""
    told = {"std": 0.4**0.5, "low": -1.5, "high": 1.5}
    policies = [{"mean": 0.9, **told}, {"mean": -0.9, **told}]
    return {joint: {"policies": policies, "observational": {"mean": 0.0, **told}} for joint in tiny.JOINTS}


@pytest.mark.slow
def test_file_supplies_distributions_missing_from_the_data_set(data: Path, tmp_path: Path) -> None:
    untold = tiny.write_data(tmp_path / "untold", anchors=400, tests=0, described=False)
    files.write_json(tmp_path / "c.json", entries())
    told = read_commanded(tmp_path / "c.json", tiny.JOINTS)
    dataset = open_dataset(untold)
    found = fit_commanded(blobs(), read_policies(blobs(), dataset, told), told, "c.json")
    same = calibration_from_policies(blobs(), open_dataset(data))
    np.testing.assert_allclose([found.slope, found.intercept], [same.slope, same.intercept])
    np.testing.assert_allclose(np.asarray(found.knots), np.asarray(same.knots))


def test_contradicting_file_is_refused_only_with_an_observational_mean(data: Path, tmp_path: Path) -> None:
    content = entries()
    content["wrist"]["observational"] |= {"mean": 0.8}
    files.write_json(tmp_path / "c.json", content)
    told = read_commanded(tmp_path / "c.json", tiny.JOINTS)
    readings = read_policies(blobs(), open_dataset(data), told)
    with pytest.raises(
        UserError, match=r"c\.json: the commanded distributions contradict the images: joint wrist has mean"
    ):
        fit_commanded(blobs(), readings, told, "c.json")
    del content["wrist"]["observational"]
    files.write_json(tmp_path / "c.json", content)
    told = read_commanded(tmp_path / "c.json", tiny.JOINTS)
    readings = read_policies(blobs(), open_dataset(data), told)
    assert list(readings.observational) == [0]
    assert fit_commanded(blobs(), readings, told, "c.json").knots is not None


def test_observational_images_are_optional_without_an_observational_mean(tmp_path: Path) -> None:
    content = {joint: {"policies": entry["policies"]} for joint, entry in entries().items()}
    files.write_json(tmp_path / "c.json", content)
    told = read_commanded(tmp_path / "c.json", tiny.JOINTS)
    angles = tiny.model().sample(np.random.default_rng(0), 60)[:, 1:]
    images, regimes = {"train": tiny.draw(angles)}, tiny.model().regimes[1:]
    data = tiny.write_data(tmp_path / "data", described=False, images=images, states=None, regimes=regimes)
    readings = read_policies(blobs(), open_dataset(data), told)
    assert readings.observational == {}
    assert fit_commanded(blobs(), readings, told, "c.json").knots is None


def test_errors_from_anchors_are_converted_to_radians() -> None:
    """σ of .1 and .2 in half of the poses each, errors of twice σ in the mean square, half a radian a unit."""
    estimator = blobs()
    seen = np.random.default_rng(0).normal(size=(20, 2))
    estimator.trust = UncertaintyModel(fit_ood(seen, seen, seen, seen), None, np.full((7, 2), 2.0))
    deviation = np.repeat([[0.1, 1.0], [0.2, 1.0]], 3, axis=0)
    readings = PolicyReadings(np.zeros((3, 2)), np.zeros((3, 2)), {}, deviation)
    line = Calibration(np.array([-0.5, 3.0]), np.zeros(2), samples=0)
    errors = commanded.held_out_errors(estimator, readings, line)
    np.testing.assert_allclose(np.asarray(errors), [0.5 * 2 * 0.025**0.5, 3 * 2])
    assert commanded.held_out_errors(blobs(), readings, line) is None


def test_calibration_records_its_origin_and_errors(own_run: Path, tmp_path: Path) -> None:
    told = {joint: {"policies": entry["policies"]} for joint, entry in entries().items()}
    files.write_json(tmp_path / "c.json", told)
    data = tiny.write_data(tmp_path / "data", anchors=40, tests=0, described=False)
    made = calibrate_commanded(own_run, data, file=tmp_path / "c.json", seed=4, level=0.8)
    assert made.origin == Origin(source="commanded", seed=4, level=0.8, file="c.json")
    assert made.errors is not None
    assert made.errors.left_out is None
    kept = Estimator.load(own_run).calibration
    assert kept is not None
    assert (kept.samples, kept.origin, kept.errors) == (0, made.origin, made.errors)


def test_data_set_without_distributions_is_refused(tmp_path: Path) -> None:
    untold = tiny.write_data(tmp_path / "data", anchors=4, tests=0, described=False)
    with pytest.raises(UserError, match="does not describe its policies' distributions; give them in a file"):
        calibration_from_policies(blobs(), open_dataset(untold))


@pytest.mark.parametrize("told", ["a sentence", {"joints": ["elbow"]}, {"joints": 3, "interventions": []}])
def test_description_without_a_causal_model_is_refused(told: object, tmp_path: Path) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=4, tests=0)
    note = files.read_json(data / schema.PROVENANCE)
    note["setting"]["splits"]["train"] = told
    files.write_json(data / schema.PROVENANCE, note)
    with pytest.raises(UserError, match=r"meta/ropes.json describes no causal model"):
        described_model(open_dataset(data))
