"""The flag: rare in distribution, raised out of distribution, and independent of units."""

from pathlib import Path

import numpy as np
import pytest

from ropes.common.arrays import Floats
from ropes.methods.uncertainty.annotations import foreign_boxes, missing_fields, uncertainty_columns
from ropes.methods.uncertainty.conformal import Intervals
from ropes.methods.uncertainty.model import Reading
from ropes.methods.uncertainty.ood import FALSE_ALARMS, OODScore, fit_ood
from ropes.metrics.intervals import auroc


def images(rng: np.random.Generator, count: int) -> tuple[Floats, Floats]:
    """Features, and pixels that follow them but for the last ten, which nothing moves."""
    causes = np.random.default_rng(9).normal(size=(3, 40))
    angles = rng.uniform(-1, 1, (count, 3))
    pixels = np.tanh(angles @ causes) / 2 + 0.5
    pixels[:, 30:] = np.linspace(0, 1, 10)
    return np.tanh(angles @ causes[:, :12]), pixels + 0.01 * rng.normal(size=(count, 40))


@pytest.fixture(scope="module")
def novelty() -> OODScore:
    rng = np.random.default_rng(0)
    features, _ = images(rng, 1000)
    _, pixels = images(rng, 20_000)
    return fit_ood(features, pixels, *images(rng, 1000))


def test_foreign_objects_are_returned_as_pixel_boxes() -> None:
    parts = np.zeros((3, 4, 4), dtype=bool)
    parts[0, 0, 1], parts[0, 1, 2] = True, True  # touch by a corner
    parts[2, 3, 0], parts[2, 0, 3] = True, True
    found = foreign_boxes(["a", "b", "c"], parts, [(16, 16)] * 3)
    assert found == {"a": [[4, 0, 12, 8]], "c": [[12, 0, 16, 4], [0, 12, 4, 16]]}


def test_third_distance_requires_a_foreign_object_head() -> None:
    rng = np.random.default_rng(0)
    features, pixels = images(rng, 1000)
    others = images(rng, 1000)
    foreign = rng.exponential(0.01, 1000)
    told = fit_ood(features, pixels, *others, foreign)
    usual = images(np.random.default_rng(1), 2000)
    nothing = rng.exponential(0.01, 2000)
    assert (told(*usual, nothing) > 1).mean() == pytest.approx(FALSE_ALARMS, abs=0.015)
    assert (told(*usual, nothing + 1) > 1).all()
    untold = fit_ood(features, pixels, *others)
    assert (untold(*usual) > 1).mean() < 0.03


def test_one_in_distribution_image_in_a_hundred_is_flagged(novelty: OODScore) -> None:
    rng = np.random.default_rng(1)
    flagged = (novelty(*images(rng, 4000)) > 1).mean()
    assert abs(flagged - FALSE_ALARMS) < 4 * np.sqrt(FALSE_ALARMS * (1 / 4000 + 1 / 1000))


@pytest.mark.parametrize("what", ["features", "pixels"])
def test_deviation_in_features_or_pixels_is_flagged(novelty: OODScore, what: str) -> None:
    rng = np.random.default_rng(2)
    usual, (features, pixels) = novelty(*images(rng, 500)), images(rng, 500)
    if what == "features":
        features = features + 3 * rng.normal(size=features.shape)
    else:
        pixels[:, 30:] += 0.1
    found = novelty(features, pixels)
    assert auroc(usual, found) > 0.95
    assert (found > 1).mean() > 0.6


def test_moving_pixels_may_take_any_seen_value(novelty: OODScore) -> None:
    rng = np.random.default_rng(4)
    features, pixels = images(rng, 500)
    pixels[:, :30] = images(rng, 500)[1][:, :30]
    assert abs((novelty(features, pixels) > 1).mean() - FALSE_ALARMS) < 0.03


def test_distances_match_hand_calculation() -> None:
    plain = OODScore(np.zeros(2), np.eye(2), np.array([0.2, 0.0]), np.array([0.4, 0.0]), np.array([4.0, 0.01]), 2.0)
    shown = np.array([[0.3, 0.0], [0.6, 0.0], [0.1, -0.2]])
    np.testing.assert_allclose(plain.parts(np.zeros((3, 2)), shown)[:, 1], [0, 0.04, 0.05])
    np.testing.assert_allclose(plain(np.array([[4.0, 2.0]]), shown[1:2]), [2.5])  # 20 / 4 against .04 / .01, halved
    np.testing.assert_allclose(plain(np.zeros((1, 2)), shown[1:2]), [2.0])


def test_constant_images_do_not_fail() -> None:
    same = np.ones((20, 4)), np.zeros((20, 6))
    found = fit_ood(*same, *same)
    assert (found(*same) <= 1).all()
    assert (found(same[0] + 1, same[1]) > 0).all()


def test_ood_score_round_trips(novelty: OODScore) -> None:
    shown = images(np.random.default_rng(3), 50)
    np.testing.assert_allclose(OODScore.from_tree(novelty.to_tree())(*shown), novelty(*shown), rtol=1e-4)


def test_prediction_columns_match_hand_calculation() -> None:
    intervals = Intervals(0.8, np.array([1.0, 3.0]), np.array([2.0, 0.5]), "labels", 50)
    values, sigma = np.array([[1.0, -1.0]]), np.array([[0.1, 0.4]])
    (pose,) = uncertainty_columns(
        ["a", "b"], Reading(values, sigma, np.array([1.25])), intervals, lambda read: read * [-2.0, 1.0]
    )
    assert pose == {
        "std": {"a": 0.2, "b": 1.2},
        "low": {"a": -2.4, "b": -1.2},
        "high": {"a": -1.6, "b": -0.8},
        "level": 0.8,
        "out_of_distribution": True,
        "distance": 1.25,
    }
    (plain,) = uncertainty_columns(["a", "b"], Reading(values, None, np.array([0.5])), None, np.asarray)
    assert plain == {"out_of_distribution": False, "distance": 0.5}
    assert uncertainty_columns(["a", "b"], Reading(values, None, None), None, np.asarray) == [{}]


def test_missing_outputs_are_reported_in_one_line(tmp_path: Path) -> None:
    some = Intervals(0.9, np.ones(1), np.ones(1), "labels", 50)
    assert missing_fields(tmp_path, known=True, intervals=some) is None
    assert "no standard deviations, intervals and flags" in str(missing_fields(tmp_path, known=False, intervals=None))
    assert "no flags of out-of-distribution images" in str(missing_fields(tmp_path, known=False, intervals=some))
    assert "ropes calibrate with labelled samples" in str(missing_fields(tmp_path, known=True, intervals=None))
    few = missing_fields(tmp_path, known=True, intervals=None, labelled=True)
    assert "no standard deviations and intervals: too few labels were held out; ropes calibrate" in str(few)
