"""Intervals against the truth: around a right map they hold what they should, around a wrong one nothing."""

import numpy as np
import pytest

from ropes.common.arrays import Floats
from ropes.methods.uncertainty.conformal import intervals_from_held_out
from ropes.methods.uncertainty.coverage import LabelledPoses, ToAngles, measure_uncertainty
from ropes.methods.uncertainty.fit import some_anchors
from ropes.methods.uncertainty.model import Reading, UncertaintyModel
from ropes.methods.uncertainty.ood import fit_ood
from ropes.methods.uncertainty.variance import VarianceModel

NOISE, SLOPE = 0.02, -2.0


def setup() -> tuple[UncertaintyModel, Reading, Floats]:
    """A run that knows its error of one joint exactly, what it read off 4,000 poses, and their angles."""
    rng = np.random.default_rng(0)
    angles = rng.uniform(-1, 1, (4000, 1))
    coordinates = (angles - 0.3) / SLOPE + NOISE * rng.normal(size=angles.shape)
    flat = rng.normal(size=(200, 2)), rng.uniform(size=(200, 3))
    nothing = VarianceModel(**dict.fromkeys(VarianceModel.__dataclass_fields__, np.zeros(1)))  # never asked here
    trust = UncertaintyModel(fit_ood(*flat, *flat), nothing, np.sort(np.abs(rng.normal(size=(2000, 1))), axis=0))
    return trust, Reading(coordinates, np.full_like(angles, NOISE), np.ones(len(angles))), angles


def drawn(count: int, seed: int) -> LabelledPoses:
    _, reading, angles = setup()
    rows = np.random.default_rng(seed).choice(len(angles), count, replace=False)
    return LabelledPoses(reading.take(rows), angles[rows])


def coverage_and_width(
    commanded: ToAngles | None, counts: tuple[int, ...] = (100, 1000)
) -> dict[tuple[str, int], tuple[float, float]]:
    trust, reading, angles = setup()
    labelled = {count: [drawn(count, seed) for seed in range(10)] for count in counts}
    width = intervals_from_held_out(trust)
    assert width is not None
    around = None if commanded is None else (width, commanded)
    found = measure_uncertainty(trust, {("id", 0): reading}, {"id": angles}, labelled=labelled, commanded=around)
    return {(row["intervals"], row["calibration_labels"]): (row["coverage"], row["width"]) for _, row in found}


def test_all_interval_kinds_keep_their_level_with_the_right_calibration() -> None:
    found = coverage_and_width(lambda read: SLOPE * read + 0.3)
    assert list(found) == [("commanded", 0), ("labels", 100), ("anchors", 1000), ("labels", 1000)]
    for held, width in found.values():
        assert held == pytest.approx(0.9, abs=0.03)
        assert width == pytest.approx(2 * 1.645 * NOISE * abs(SLOPE), rel=0.1)


def test_commanded_intervals_do_not_cover_with_a_wrong_calibration() -> None:
    found = coverage_and_width(lambda read: SLOPE * read + 10)
    assert found["commanded", 0][0] == 0
    assert found["anchors", 1000][0] > 0.85


def test_intervals_follow_a_bent_calibration() -> None:
    straight, bent = (coverage_and_width(to)["commanded", 0] for to in (lambda z: SLOPE * z, lambda z: SLOPE * z**3))
    assert bent[1] < 0.7 * straight[1]  # flat where most coordinates are


def test_missing_calibration_gives_no_rows() -> None:
    assert set(coverage_and_width(None, (1000,))) == {("anchors", 1000), ("labels", 1000)}


def test_too_few_labels_give_no_intervals_from_labels() -> None:
    assert set(coverage_and_width(None, (5,))) == {("anchors", 5)}


def test_shifted_poses_alone_have_no_auroc() -> None:
    trust, reading, angles = setup()
    (_, row), *_ = measure_uncertainty(trust, {("ood", 0): reading}, {"ood": angles}, labelled={100: [drawn(100, 0)]})
    assert (row["split"], row["auroc"]) == ("ood", None)


def test_rows_state_the_level_of_their_intervals() -> None:
    trust, reading, angles = setup()
    half = intervals_from_held_out(trust, 0.5)
    assert half is not None
    readings, truth = {("id", 0): reading}, {"id": angles}
    around = half, lambda read: SLOPE * read + 0.3
    [(_, row)] = measure_uncertainty(trust, readings, truth, labelled={}, commanded=around)
    assert row["level"] == 0.5
    assert row["coverage"] == pytest.approx(0.5, abs=0.05)


def test_many_held_out_poses_are_represented_by_whole_anchors_over_all_times() -> None:
    anchor = np.repeat(np.arange(7, 107), 5)
    np.testing.assert_array_equal(some_anchors(anchor, 500), np.arange(500))
    rows = some_anchors(anchor, 52)
    chosen, counts = np.unique(anchor[rows], return_counts=True)
    assert (len(chosen), set(counts)) == (10, {5})
    assert set(np.diff(chosen)) == {11}
    assert len(some_anchors(np.repeat(np.arange(3), 9), 5)) == 27  # no fewer than four, of whom there are three
