"""What to trust as the last stage of a fit, from anchors to predictions and measured rows, on tiny runs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference import policy_calibration as commanded
from ropes.inference.estimator import Estimator
from ropes.inference.held_out import held_out_intervals
from ropes.inference.prediction import calibrate, predict_lines
from ropes.methods.anchored import fit as anchored
from ropes.methods.run import CALIBRATION_FILE, UNCERTAINTY_FILE
from ropes.methods.uncertainty import fit as stage
from ropes.methods.uncertainty.conformal import intervals_from_held_out
from ropes.methods.uncertainty.model import ImageFeatures, UncertaintyModel
from ropes.methods.uncertainty.ood import fit_ood
from ropes.metrics.intervals import conformal_quantile
from ropes.models.checkpoints import load_tree
from tests import tiny
from tests.methods.uncertainty.recipe import RECIPE


def test_finished_stage_is_skipped_and_repetition_is_identical(
    own: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tiny.tree(own)
    (own / UNCERTAINTY_FILE).unlink()
    anchored.fit(data, own, RECIPE, show=False)
    assert tiny.tree(own) == before
    monkeypatch.setattr(stage, "features_of", _never)
    anchored.fit(data, own, RECIPE, show=False)
    assert tiny.tree(own) == before


def _never(*_: object) -> None:
    raise AssertionError("done already")


@pytest.mark.any_processor
def test_stage_is_repeated_for_other_weights(own: Path, data: Path) -> None:
    first = load_tree(own / UNCERTAINTY_FILE)["fingerprint"]
    anchored.fit(data, own, replace(RECIPE, anchor_weight=1.0), show=False)
    assert load_tree(own / UNCERTAINTY_FILE)["fingerprint"] != first


def test_held_out_halves_are_scored_by_each_other(run: Path) -> None:
    trust = Estimator.load(run).trust
    assert trust is not None
    assert trust.scores is not None
    # 30 held-out anchors; in each 3 of 5 poses leave a joint alone.
    assert trust.scores.shape == (90, 2)
    assert (np.diff(trust.scores, axis=0) >= 0).all()
    assert 0.5 < np.sqrt((trust.scores**2).mean()) < 2


def test_reading_adds_deviation_and_distance_to_the_coordinates(run: Path, data: Path) -> None:
    estimator = Estimator.load(run)
    images = open_dataset(data).read_images(range(300))
    reading = estimator.read(images)
    np.testing.assert_allclose(reading.coordinates, estimator.coordinates(images), rtol=1e-5, atol=1e-6)
    assert reading.deviation is not None
    assert reading.distance is not None
    assert reading.deviation.shape == (300, 2)
    assert (reading.deviation > 0).all()
    noise = np.random.default_rng(0).integers(0, 256, (50, 2, tiny.SIDE, tiny.SIDE)).astype(np.uint8)
    strange = estimator.read(noise).distance
    assert strange is not None
    assert (strange > 1).all()
    assert (reading.distance > 1).mean() < 0.1


_LEARNED = "ropes: the run learned from the images of split train: its errors are too small\n"


def lines_of(run: Path, data: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in predict_lines(run, data)]


@pytest.mark.slow
def test_predictions_carry_deviations_intervals_and_the_flag(
    own: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = lines_of(own, data)
    assert {line["unit"] for line in raw} == {"raw"}
    calibrate(own, data=data, samples=100)
    found = lines_of(own, data)
    assert capsys.readouterr().err == 2 * _LEARNED
    for before, line in zip(raw, found, strict=True):
        of_flagged = {"reasons"} if line["out_of_distribution"] else set()
        assert set(line) - of_flagged == {
            "images",
            "unit",
            "joints",
            "std",
            "low",
            "high",
            "level",
            "out_of_distribution",
            "distance",
        }
        assert ("reasons" in line) == line["out_of_distribution"]
        assert (line["level"], line["distance"], line["out_of_distribution"]) == (
            0.9,
            before["distance"],
            before["out_of_distribution"],
        )
        for joint in tiny.JOINTS:
            assert line["low"][joint] < line["joints"][joint] < line["high"][joint]
            assert line["std"][joint] > 0
    angles = open_dataset(data).states("test-id")
    low, high = (
        np.array([[line[end][joint] for joint in tiny.JOINTS] for line in found[-len(angles) :]])
        for end in ("low", "high")
    )
    held = ((low <= angles) & (angles <= high)).mean(0)
    assert (np.abs(held - 0.9) < 4 * np.sqrt(0.09 * (1 / 100 + 1 / len(angles)))).all()


def test_higher_level_widens_intervals_and_few_labels_fall_back_to_anchors(
    own: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = []
    widths = []
    for samples, level in ((100, 0.5), (100, 0.95), (5, 0.9)):
        intervals = calibrate(own, data=data, samples=samples, level=level).intervals
        assert intervals is not None
        sources.append(intervals.source)
        widths.append(intervals.quantile)
        stored = Estimator.load(own).intervals
        assert stored is not None
        assert intervals.level == stored.level == level
    assert sources == ["labels", "labels", "anchors"]
    assert (widths[0] < widths[1]).all()
    assert capsys.readouterr().err == "ropes: 5 samples are too few for 90% intervals of their own\n"


def test_a_level_that_is_too_high_for_labels_and_anchors_is_refused(own: Path, data: Path) -> None:
    before = tiny.tree(own)
    with pytest.raises(UserError, match=r"level is 0\.9999999, and (\d+) held-out anchors and 100 samples") as refused:
        calibrate(own, data=data, samples=100, level=0.9999999)
    with pytest.raises(UserError, match=r"held-out anchors give intervals of a level up to 0\.\d+$"):
        held_out_intervals(Estimator.load(own), 0.9999999)
    assert tiny.tree(own) == before
    highest = float(str(refused.value).split()[-1])
    assert calibrate(own, data=data, samples=100, level=highest).intervals is not None
    with pytest.raises(UserError, match="level is"):
        calibrate(own, data=data, samples=100, level=highest + 1e-4)


def test_a_calibration_without_intervals_has_those_of_the_fit_only_if_it_is_old(own: Path, data: Path) -> None:
    calibrate(own, data=data, samples=100)
    estimator = Estimator.load(own)
    assert estimator.calibration is not None
    without = replace(estimator.calibration, intervals=None)
    estimator.calibration = without
    assert estimator.intervals is None
    estimator.calibration = replace(without, origin=None)
    assert estimator.intervals is not None


def test_commanded_calibration_gets_intervals_without_labels(
    own: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commanded, "require_consistency", lambda *_: None)  # a run of few steps reads badly
    intervals = commanded.calibrate_commanded(own, data, level=0.8).intervals
    assert intervals is not None
    assert (intervals.source, intervals.level) == ("anchors", 0.8)


@pytest.mark.any_processor
@pytest.mark.slow
def test_run_of_an_earlier_version_predicts_without_intervals_and_warns(
    own: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / UNCERTAINTY_FILE).unlink()
    line = lines_of(own, data)[0]
    assert set(line) == {"images", "unit", "joints"}
    error = capsys.readouterr().err
    assert error.count("\n") == 2
    assert _LEARNED in error
    assert "fitted without an uncertainty model" in error
    calibrate(own, data=data, samples=100)
    found = lines_of(own, data)
    assert set(found[0]) == {"images", "unit", "joints", "std", "low", "high", "level"}
    assert len({line["std"]["elbow"] for line in found}) == 1
    assert "no flags of out-of-distribution images" in capsys.readouterr().err
    anchored.fit(data, own, RECIPE, show=False)  # brings the stage, but not the units of that calibration
    later = lines_of(own, data)
    assert [line["std"] for line in later] == [line["std"] for line in found]
    assert "out_of_distribution" in later[0]
    calibrate(own, data=data, samples=100)
    (own / UNCERTAINTY_FILE).unlink()
    assert "std" not in lines_of(own, data)[0]


@pytest.mark.any_processor
@pytest.mark.slow
def test_data_without_complete_anchors_gives_only_the_flag(
    own: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / UNCERTAINTY_FILE).unlink()

    def incomplete(*_: object) -> None:
        raise UserError("anchor 4 has no pose under wrist/2")

    monkeypatch.setattr(stage, "by_anchor", incomplete)
    anchored.fit(data, own, RECIPE, show=False)
    assert "no standard deviations and intervals without labels: anchor 4 has no pose" in capsys.readouterr().err
    line = lines_of(own, data)[0]
    assert set(line) == {"images", "unit", "joints", "out_of_distribution", "distance"}
    assert "ropes calibrate with labelled samples adds them" in capsys.readouterr().err
    calibrate(own, data=data, samples=100)
    assert "std" in lines_of(own, data)[0]
    assert capsys.readouterr().err == _LEARNED


@pytest.mark.any_processor
def test_too_few_held_out_anchors_give_no_uncertainty_model(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = tiny.write_data(tmp_path / "few", anchors=6)
    anchored.fit(few, tmp_path / "run", RECIPE, show=False)
    assert capsys.readouterr().err == "ropes: no uncertainty model: 3 held-out anchors are too few; record more\n"
    assert Estimator.load(tmp_path / "run").trust is None


@pytest.mark.parametrize("damage", ["cut", "other format", "part"])
def test_damaged_trust_file_is_reported(own: Path, damage: str) -> None:
    from ropes.models.checkpoints import save_tree

    path = own / UNCERTAINTY_FILE
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:100])
    else:
        tree = load_tree(path)
        changes = {"format": 99} if damage == "other format" else {"novelty": {"centre": tree["scores"]}}
        save_tree(path, tree | changes)
    with pytest.raises(UserError, match=r"trust\.safetensors .*delete it and run the same"):
        Estimator.load(own)


def test_damaged_calibration_is_reported(own: Path, data: Path) -> None:
    calibrate(own, data=data, samples=50)
    path = own / CALIBRATION_FILE
    path.write_text(path.read_text().replace('"labels"', '"guesses"'))
    with pytest.raises(UserError, match=r"calibration\.json is damaged"):
        Estimator.load(own)


def test_quantiles_of_a_joint_with_fewer_samples_are_not_biased() -> None:
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(400, 2))
    seen = ImageFeatures(flat, rng.normal(size=(400, 3)), rng.uniform(size=(400, 4)))
    samples = rng.normal(size=(400, 2))
    first = np.arange(400) < 200
    _, full = stage.fit_variance_and_scores(seen, samples, first)
    samples[210:, 1] = np.nan  # of the wrist only ten of the second half are known
    _, lacking = stage.fit_variance_and_scores(seen, samples, first)
    np.testing.assert_array_equal(full[:, 0], lacking[:, 0])
    assert np.isfinite(lacking).sum(axis=0).tolist() == [400, 210]
    trust = UncertaintyModel(fit_ood(flat, flat, flat, flat), None, lacking)
    intervals = intervals_from_held_out(trust)
    assert intervals is not None
    assert intervals.quantile[0] == conformal_quantile(full[:, :1], 0.9)[0]
    assert intervals.samples == 210


def test_a_coordinate_that_is_constant_over_most_images_has_finite_scores() -> None:
    rng = np.random.default_rng(0)
    constant = np.arange(2000) < 1500
    coordinates = np.where(constant, 0.0, rng.normal(size=2000))[:, None]
    seen = ImageFeatures(coordinates, np.where(constant, -1.0, 1.0)[:, None], rng.uniform(size=(2000, 4)))
    samples = 0.1 * coordinates
    samples[0] = 1.0  # an error where the other half has none
    _, scores = stage.fit_variance_and_scores(seen, samples, np.arange(2000) % 2 == 0)
    stored: Any = scores.astype(np.float32)  # as networks of single precision give them
    assert np.isfinite(stored).all()
    assert stored.max() == np.finfo(np.float32).max
    intervals = intervals_from_held_out(UncertaintyModel(fit_ood(*[coordinates] * 4), None, stored))
    assert intervals is not None
    assert np.isfinite([intervals.quantile, intervals.scale]).all()


def test_ropes_runs_have_an_uncertainty_model(tiny_run: Path, tiny_data: Path) -> None:
    reading = Estimator.load(tiny_run).read(open_dataset(tiny_data).read_images(range(5)))
    assert reading.deviation is not None
    assert reading.distance is not None
    assert reading.deviation.shape == (5, 2)
