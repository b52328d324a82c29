"""What a run keeps of a calibration: the map, how it was made, and what is known of its errors."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.common.arrays import Images
from ropes.common.files import read_json, write_json
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.calibration import (
    Calibration,
    CalibrationErrors,
    Origin,
    fit_calibration,
    half_widths,
    left_out_errors,
    read_calibration,
    write_calibration,
)
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import calibrate, predict_lines
from ropes.methods.run import CALIBRATION_FILE, UNCERTAINTY_FILE, Run
from ropes.methods.uncertainty.conformal import Intervals
from ropes.methods.weights import weights_digest
from ropes.models.checkpoints import WEIGHTS, load_tree, save_tree
from tests import tiny


@pytest.fixture(scope="module")
def images(tiny_data: Path) -> Images:
    return open_dataset(tiny_data).read_images(range(40))


def test_calibration_is_stored_with_the_run(own_run: Path, images: Images) -> None:
    estimator = Estimator.load(own_run)
    line = Calibration(np.array([2.0, -3.0]), np.array([0.5, 0.0]), 7, ranges=np.array([[-1.0, 0.5], [0.0, 2.0]]))
    write_calibration(own_run, estimator.run, line)
    again = Estimator.load(own_run)
    assert again.calibration is not None
    assert again.calibration.samples == 7
    np.testing.assert_array_equal(again.calibration.ranges, line.ranges)
    expected = estimator.coordinates(images) * [2.0, -3.0] + [0.5, 0.0]
    np.testing.assert_allclose(again.angles(images), expected)


def test_bent_calibration_is_stored_with_the_run(own_run: Path, images: Images) -> None:
    estimator = Estimator.load(own_run)
    raw = estimator.coordinates(images)
    low, high = raw.min(axis=0), raw.max(axis=0)
    line = Calibration(-2 / (high - low), 1 + 2 * low / (high - low), 0)  # from -1 to 1, falling
    start = np.linspace(-0.8, 0.8, 5)
    bent = replace(line, knots=np.array([[start, np.sinh(start)]] * 2))
    write_calibration(own_run, estimator.run, bent)
    loaded = Estimator.load(own_run)
    np.testing.assert_allclose(loaded.angles(images), bent.angles(raw))
    lines = line.angles(raw)
    inner = np.abs(lines) < 0.8
    np.testing.assert_allclose(loaded.angles(images)[inner], np.sinh(lines)[inner], atol=0.01)
    assert np.abs(loaded.angles(images) - lines).max() > 0.05


def test_non_monotonic_bend_is_refused_as_damaged(own_run: Path) -> None:
    knots = np.array([[[0.0, 1.0], [1.0, 0.0]]] * 2)
    write_calibration(own_run, Estimator.load(own_run).run, Calibration(np.ones(2), np.zeros(2), 0, knots=knots))
    with pytest.raises(
        UserError, match=r"calibration\.json is damaged \(a bend does not rise\); run `ropes calibrate`"
    ):
        Estimator.load(own_run)


def test_a_line_is_fitted_exactly() -> None:
    coordinates = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]])
    line = fit_calibration(coordinates, coordinates * [2, -0.5] + [1, 3], ("a", "b"))
    np.testing.assert_allclose(np.stack([line.slope, line.intercept]), np.array([[2, -0.5], [1, 3]]))
    assert line.samples == 3
    assert line.ranges is not None
    np.testing.assert_allclose(line.ranges, np.array([[1.0, 5.0], [1.5, 2.5]]))


@pytest.mark.parametrize("angles", [[[1.0, 2.0]], [[1.0, 2.0], [3.0, 2.0]]])
def test_fewer_than_two_distinct_angles_are_refused(angles: list[list[float]]) -> None:
    joint = "a" if len(angles) == 1 else "b"
    with pytest.raises(UserError, match=f"needs two distinct angles of each joint; {joint} has one in all samples"):
        fit_calibration(np.random.default_rng(0).normal(size=(len(angles), 2)), np.array(angles), ("a", "b"))


def test_angles_of_an_arm_that_stands_still_are_refused() -> None:
    angles = np.random.default_rng(0).normal(size=(3, 2)) * [1, 1e-4]
    with pytest.raises(
        UserError,
        match=r"the angles of b in all samples lie within 0\.00\d° \(\de-05 rad\); .* at least 0\.11° \(0\.002 rad\)",
    ):
        fit_calibration(angles, angles, ("a", "b"))


@pytest.mark.parametrize("spread", [0.0, 1e-7])
def test_constant_coordinate_is_refused(spread: float) -> None:
    angles = np.random.default_rng(0).normal(size=(50, 2))
    coordinates = angles.copy()
    coordinates[:, 1] = 3.0 + spread * angles[:, 0]
    line = (
        "the coordinate of b is the same in all samples, so no line leads from it to angles; calibrate on more varied"
    )
    with pytest.raises(UserError, match=line):
        fit_calibration(coordinates, angles, ("a", "b"))


def test_coordinate_of_tiny_values_is_not_constant() -> None:
    angles = np.random.default_rng(0).normal(size=(50, 1))
    np.testing.assert_allclose(fit_calibration(1e-9 * angles, angles, ("a",)).slope, 1e9)


def test_calibration_stores_its_origin_and_errors(own_run: Path) -> None:
    run = Run.read(own_run)
    made = Calibration(
        np.ones(2),
        np.zeros(2),
        7,
        origin=Origin(source="labels", seed=3, level=0.8, file="labels.csv"),
        errors=CalibrationErrors(left_out={"elbow": 0.1, "wrist": 0.2}, half_width=None),
    )
    write_calibration(own_run, run, made)
    again = read_calibration(own_run, run)
    assert again is not None
    assert (again.origin, again.errors) == (made.origin, made.errors)


def test_calibration_without_an_origin_still_names_its_weights(own_run: Path) -> None:
    lines = {joint: {"slope": 2.0, "intercept": 1.0} for joint in tiny.JOINTS}
    bound = {"samples": 0, "joints": lines, "weights_sha256": weights_digest(own_run)}
    write_json(own_run / CALIBRATION_FILE, bound)
    again = read_calibration(own_run, Run.read(own_run))
    assert again is not None
    assert (again.samples, again.origin, again.errors) == (0, None, None)
    write_json(own_run / CALIBRATION_FILE, {"samples": 0, "joints": lines})
    with pytest.raises(UserError, match=r"of other weights .*run `ropes calibrate` again"):
        read_calibration(own_run, Run.read(own_run))


@pytest.mark.slow
def test_calibration_of_other_weights_is_refused_until_repeated(
    own_run: Path, tiny_data: Path, tmp_path: Path, refit: Callable[..., Run]
) -> None:
    calibrate(own_run, data=tiny_data, samples=20)
    Estimator.load(own_run)
    refit(tmp_path / "other", seed=1)
    for weights in (tmp_path / "other").rglob(WEIGHTS):  # the same recipe trained anew, on another machine say
        shutil.copyfile(weights, own_run / weights.relative_to(tmp_path / "other"))
    with pytest.raises(UserError, match="of other weights") as caught:
        list(predict_lines(own_run, tiny_data))
    assert "\n" not in str(caught.value)
    calibrate(own_run, data=tiny_data, samples=20)
    assert Estimator.load(own_run).calibration is not None


@pytest.mark.slow
def test_intervals_of_another_uncertainty_model_are_refused(own_run: Path, tiny_data: Path) -> None:
    """The same weights with what they know of their errors learnt anew, as a later version may."""
    found = calibrate(own_run, data=tiny_data, samples=20).intervals
    assert found is not None
    assert found.by_image
    Estimator.load(own_run)
    tree = load_tree(own_run / UNCERTAINTY_FILE)
    tree["spread"]["level"] = tree["spread"]["level"] + 1
    save_tree(own_run / UNCERTAINTY_FILE, tree)
    with pytest.raises(UserError, match=r"intervals in other units .*run `ropes calibrate` again"):
        list(predict_lines(own_run, tiny_data))
    calibrate(own_run, data=tiny_data, samples=20)
    assert Estimator.load(own_run).calibration is not None


def test_run_and_its_calibration_can_be_moved(own_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    made = calibrate(own_run, data=tiny_data, samples=20)
    own_run.rename(tmp_path / "elsewhere")
    again = Estimator.load(tmp_path / "elsewhere").calibration
    assert again is not None
    np.testing.assert_array_equal(again.slope, made.slope)


def test_leave_one_out_errors_match_refitted_lines() -> None:
    rng = np.random.default_rng(0)
    coordinates, angles = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
    squares = []
    for k in range(12):
        rest = np.arange(12) != k
        line = fit_calibration(coordinates[rest], angles[rest], tiny.JOINTS)
        squares.append((line.angles(coordinates[[k]]) - angles[k])[0] ** 2)
    found = left_out_errors(coordinates, angles, tiny.JOINTS)
    assert found == pytest.approx(dict(zip(tiny.JOINTS, np.sqrt(np.mean(squares, axis=0)), strict=True)))
    assert left_out_errors(coordinates[:2], angles[:2], tiny.JOINTS) is None


def test_half_widths_are_taken_at_the_median_deviation() -> None:
    coordinates, deviation = (
        np.array([[0.0, 1.0], [1.0, 2.0], [5.0, 9.0]]),
        np.array([[1.0, 1.0], [2.0, 3.0], [9.0, 8.0]]),
    )
    bare = Calibration(np.array([-2.0, 0.5]), np.zeros(2), 0)
    intervals = Intervals(0.9, np.ones(2), np.array([1.5, 2.0]), "anchors", 50)
    assert half_widths(bare, coordinates, deviation, tiny.JOINTS) is None
    known = replace(bare, intervals=intervals)
    assert half_widths(known, coordinates, deviation, tiny.JOINTS) == pytest.approx({"elbow": 6.0, "wrist": 3.0})
    bent = replace(known, knots=np.array([[[-20.0, 20.0], [-10.0, 10.0]]] * 2))  # half as steep
    assert half_widths(bent, coordinates, deviation, tiny.JOINTS) == pytest.approx({"elbow": 3.0, "wrist": 1.5})


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: c["joints"].pop("wrist"),
        lambda c: c.pop("samples"),
        lambda c: c.clear(),
        lambda c: c["origin"].pop("seed"),
        lambda c: c["origin"].update(source="a guess"),
        lambda c: c["errors"]["left_out"].pop("wrist"),
        lambda c: c["joints"]["wrist"].update(range=[1.0, -1.0]),
        lambda c: c["joints"]["wrist"].pop("range"),
    ],
)
def test_damaged_calibration_is_reported(own_run: Path, damage: Callable[[dict[str, Any]], object]) -> None:
    made = Calibration(
        np.ones(2),
        np.zeros(2),
        2,
        ranges=np.array([[-1.0, 1.0]] * 2),
        origin=Origin(source="samples", seed=0, level=0.9),
        errors=CalibrationErrors(left_out=dict.fromkeys(tiny.JOINTS, 0.1), half_width=None),
    )
    write_calibration(own_run, Run.read(own_run), made)
    content = read_json(own_run / CALIBRATION_FILE)
    damage(content)
    write_json(own_run / CALIBRATION_FILE, content)
    with pytest.raises(UserError, match=r"calibration.json is damaged .*; run `ropes calibrate` again"):
        Estimator.load(own_run)
