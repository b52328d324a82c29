"""Errors without labels: samples from anchors, standard deviations from samples, intervals from both."""

import numpy as np
import pytest
import torch

from ropes.common.arrays import Floats
from ropes.methods.uncertainty.conformal import Intervals, intervals_from_held_out, intervals_from_labels
from ropes.methods.uncertainty.model import UncertaintyModel
from ropes.methods.uncertainty.ood import fit_ood
from ropes.methods.uncertainty.residuals import error_variance, jackknife_residuals
from ropes.methods.uncertainty.variance import fit_variance

JOINTS = 3
TARGET = torch.arange(JOINTS).repeat_interleave(2)
ALONE = torch.zeros(JOINTS, JOINTS, dtype=torch.bool)


def poses(rng: np.random.Generator, anchors: int, effects: Floats | None = None) -> Floats:
    """True angles by anchor and regime, (A, 1 + 2 d, d): each intervention moves its joint, and what follows."""
    angles = np.repeat(rng.normal(size=(anchors, 1, JOINTS)), 1 + 2 * JOINTS, axis=1)
    for regime, joint in enumerate(TARGET.tolist(), start=1):
        moved = rng.normal(size=anchors)
        angles[:, regime] += moved[:, None] * (np.eye(JOINTS) if effects is None else effects)[joint]
    return angles


def test_perfect_estimates_have_zero_residuals() -> None:
    rng = np.random.default_rng(0)
    found, _ = jackknife_residuals(torch.from_numpy(poses(rng, 20)), TARGET, ALONE)
    assert found.shape == (20, 7, 3)
    for j in range(JOINTS):
        own = np.array([False, *TARGET.eq(j).tolist()])
        assert np.isnan(found[:, own, j]).all()
        np.testing.assert_allclose(found[:, ~own, j], 0, atol=1e-12)


def test_residuals_account_for_descendants() -> None:
    effects = np.array([[1.0, 0.7, 0.0], [0.0, 1.0, -1.2], [0.0, 0.0, 1.0]])
    angles = torch.from_numpy(poses(np.random.default_rng(0), 20, effects))
    assert np.nanmax(np.abs(jackknife_residuals(angles, TARGET, ALONE)[0])) > 0.5
    follows = torch.from_numpy(effects != 0).fill_diagonal_(False)
    assert np.nanmax(np.abs(jackknife_residuals(angles, TARGET, follows)[0])) < 1e-12


def test_standard_deviations_match_the_error_variance() -> None:
    rng, sigma = np.random.default_rng(0), np.array([0.1, 0.5, 2.0])
    noisy = poses(rng, 4000) + sigma * rng.normal(size=(4000, 7, 3))
    found, enlarged = jackknife_residuals(torch.from_numpy(noisy), TARGET, ALONE)
    np.testing.assert_allclose(np.nanmean(found**2, axis=(0, 1)), sigma**2, rtol=0.04)
    assert ((enlarged >= 1) & (enlarged < 1.07)).all()  # two standard errors


def test_few_anchors_enlarge_standard_deviations() -> None:
    rng, enlarged = np.random.default_rng(0), []
    for _ in range(40):
        noisy = poses(rng, 12) + rng.normal(size=(12, 7, 3))
        found, factor = jackknife_residuals(torch.from_numpy(noisy), TARGET, ALONE)
        enlarged.append(np.nanmean((factor * found) ** 2, axis=(0, 1)))
    assert (np.array(enlarged) > 0.75).mean() > 0.95  # of the true variance
    assert 1 < np.median(enlarged) < 2


def test_errors_shared_within_an_anchor_are_detected_where_they_vary() -> None:
    """Only interventions on joint 0 make the pose look different: all the other poses are misread alike."""
    rng = np.random.default_rng(0)
    alike, under_first = rng.normal(size=(4000, 1, 3)), rng.normal(size=(4000, 2, 3))
    errors = np.repeat(alike, 7, axis=1) + 0.1 * rng.normal(size=(4000, 7, 3))
    errors[:, 1:3] = under_first
    found, enlarged = jackknife_residuals(torch.from_numpy(poses(rng, 4000) + errors), TARGET, ALONE)
    mean = np.nanmean((enlarged * found) ** 2, axis=(0, 1))[1:]
    assert (mean > 0.96).all()
    assert (mean < 1.15).all()  # two standard errors above


def apart(variance: float, *, kept: Floats, additive: bool) -> Floats:
    """T of an error of which moving joint i leaves the share `kept` i, or that is a sum of functions of one joint."""
    d = len(kept)
    found = np.empty((1 + d, 1 + d, 1))
    left = np.concatenate([[1.0], kept])
    for i in range(1 + d):
        for k in range(1 + d):
            share = 2 - left[i] - left[k] if additive else 1 - left[i] * left[k]
            found[i, k] = variance * (1 - left[i] if i == k else share)
    return np.broadcast_to(found, (1 + d, 1 + d, d))


def test_error_variance_is_recovered_from_partial_pairs() -> None:
    kept = np.array([0.1, 0.3, 0.5, 0.6])
    found = error_variance(apart(2.0, kept=kept, additive=False))
    np.testing.assert_allclose(found, 2.0)
    # Of a sum it is the sum, whatever joints are left out; of one other joint what this one shows.
    terms = np.array([0.7, 0.8, 0.9, 0.6])
    found = error_variance(apart(2.0, kept=terms, additive=True))
    np.testing.assert_allclose(found, [2.0 * (1 - terms[np.arange(4) != j]).sum() for j in range(4)])
    np.testing.assert_allclose(error_variance(apart(2.0, kept=kept[:2], additive=False)), [1.4, 1.8])


@pytest.mark.parametrize("rough", [0.5, 1.0, 2.0, 4.0])
def test_error_size_of_functions_of_all_joints_is_estimated(rough: float) -> None:
    """Sines of random combinations of the angles: anchors show a half of the variance or less where it is smooth."""
    rng = np.random.default_rng(0)
    joints, target = 6, torch.arange(6).repeat_interleave(2)
    angles = np.repeat(rng.normal(size=(4000, 1, joints)), 13, axis=1)
    for regime, joint in enumerate(target.tolist(), start=1):
        angles[:, regime, joint] = rng.normal(size=4000)
    waves, phase = rng.normal(size=(joints, 60)) * rough / 2, rng.uniform(0, 6.28, 60)
    error = np.sin(angles @ waves + phase) @ rng.normal(size=60) * 0.05
    coordinates = angles + error[:, :, None]
    free = torch.zeros(joints, joints, dtype=torch.bool)
    apart, enlarged = jackknife_residuals(torch.from_numpy(coordinates), target, free)
    found = np.nanmean((enlarged * apart) ** 2, axis=(0, 1))
    within = error.var(axis=1).mean() / error.var()
    assert within < {0.5: 0.35, 1.0: 0.45, 2.0: 0.65, 4.0: 0.85}[rough]
    size = np.sqrt(found / error.var())
    assert (size > 0.85).all()
    assert (size < 1.3).all()


def uneven(rng: np.random.Generator, count: int) -> tuple[Floats, Floats, Floats]:
    """Features, errors of two joints, and their true standard deviations: the second one's vary tenfold."""
    features = np.concatenate([rng.uniform(-1, 1, (count, 2)), rng.normal(size=(count, 5)), np.ones((count, 1))], 1)
    sigma = np.stack([np.full(count, 0.3), 0.1 * np.exp(1.2 * features[:, 1])], axis=1)
    return features, sigma * rng.normal(size=sigma.shape), sigma


def test_image_dependent_errors_are_found() -> None:
    rng = np.random.default_rng(0)
    features, errors, _ = uneven(rng, 4000)
    spread = fit_variance(features, errors)
    others, _, expected = uneven(rng, 500)
    found = spread(others)
    assert np.abs(found[:, 0] / expected[:, 0] - 1).max() < 0.25
    assert np.corrcoef(np.log(found[:, 1]), np.log(expected[:, 1]))[0, 1] > 0.97
    assert found[:, 1].max() / found[:, 1].min() > 5
    assert found[:, 0] == pytest.approx(expected[:, 0], rel=0.25)


def test_deviations_are_not_extrapolated_beyond_the_samples() -> None:
    features, errors, _ = uneven(np.random.default_rng(0), 1000)
    spread = fit_variance(features, errors)
    within, beyond = spread(features), spread(features + np.eye(8)[1] * 1e6 + np.eye(8)[7] * 1e6)
    np.testing.assert_allclose(beyond[:, 1], within[:, 1].max())


@pytest.mark.parametrize("factor", [-1.0, 1e-3, -250.0])
def test_deviation_scales_with_its_coordinate(factor: float) -> None:
    rng = np.random.default_rng(0)
    features, errors, _ = uneven(rng, 800)
    coordinates = rng.normal(size=(800, 2))

    def fitted(by: float) -> Floats:
        described = np.concatenate([features, by * coordinates, (by * coordinates) ** 2], axis=1)
        return fit_variance(described, by * errors)(described)

    np.testing.assert_allclose(fitted(factor), abs(factor) * fitted(1.0), rtol=1e-3)


def test_missing_samples_are_ignored() -> None:
    features, errors, _ = uneven(np.random.default_rng(0), 900)
    holes = errors.copy()
    holes[600:, 0] = np.nan
    found = fit_variance(features, holes)
    np.testing.assert_allclose(found.weights[:, 1], fit_variance(features, errors).weights[:, 1])
    assert np.isfinite(found.weights).all()


def trust_of(scores: Floats | None) -> UncertaintyModel:
    novelty = fit_ood(*np.random.default_rng(0).normal(size=(4, 30, 3)))
    return UncertaintyModel(novelty, None, scores)


def test_intervals_from_held_out_anchors_cover_new_errors() -> None:
    # 2,000 draws: four standard errors of the share that is held, and the share promised by 1,000 scores.
    rng = np.random.default_rng(0)
    features, errors, _ = uneven(rng, 2000)
    spread = fit_variance(features[:1000], errors[:1000])
    scores = np.sort(np.abs(errors[1000:]) / spread(features[1000:]), axis=0)
    others, new, _ = uneven(rng, 2000)
    for level in (0.5, 0.9, 0.99):
        intervals = intervals_from_held_out(trust_of(scores), level)
        assert intervals is not None
        assert (intervals.source, intervals.samples) == ("anchors", 1000)
        held = (np.abs(new) <= intervals.quantile * spread(others)).mean(0)
        slack = 4 * np.sqrt(level * (1 - level) * (1 / 2000 + 1 / 1000))
        assert (np.abs(held - level) < slack).all(), (level, held)
        np.testing.assert_allclose(intervals.scale, 1, atol=0.1)


def test_missing_error_samples_give_no_intervals() -> None:
    assert intervals_from_held_out(trust_of(None)) is None
    assert intervals_from_held_out(trust_of(np.ones((5, 2))), 0.9) is None


def labelled(rng: np.random.Generator, count: int, bias: float) -> tuple[Floats, Floats, Floats]:
    """Coordinates of one joint, σ, and angles 2 − 0.5 ẑ off by noise and by a bias that no line removes."""
    coordinates = rng.normal(size=(count, 1))
    sigma = np.exp(rng.normal(size=(count, 1)) / 2)
    errors = sigma * rng.normal(size=(count, 1)) + bias * np.sin(6 * coordinates)
    return coordinates, sigma, 2 - 0.5 * (coordinates - errors)


def test_labels_widen_intervals_for_errors_invisible_to_anchors() -> None:
    rng = np.random.default_rng(0)
    slope, intercept = np.array([-0.5]), 2.0
    narrow, wide = (intervals_from_labels(*labelled(rng, 1000, bias), slope) for bias in (0.0, 3.0))
    assert narrow is not None
    assert wide is not None
    assert narrow.source == "labels"
    assert narrow.quantile == pytest.approx([1.645], rel=0.1)
    assert wide.quantile[0] > 2 * narrow.quantile[0]
    coordinates, sigma, angles = labelled(rng, 2000, 3.0)
    half = wide.quantile * sigma * np.abs(slope)
    held = (np.abs(coordinates * slope + intercept - angles) <= half).mean()
    assert abs(held - 0.9) < 4 * np.sqrt(0.09 * (1 / 2000 + 1 / 1000))


def test_too_few_labels_give_no_intervals() -> None:
    rng, slope = np.random.default_rng(0), np.array([-0.5])
    for count, level in ((2, 0.5), (8, 0.9), (12, 0.95)):
        assert intervals_from_labels(*labelled(rng, count, 0.0), slope, level) is None
    assert intervals_from_labels(*labelled(rng, 9, 0.0), slope, 0.9) is not None


def test_labels_without_deviations_give_one_width_for_all_images() -> None:
    coordinates, _, angles = labelled(np.random.default_rng(0), 400, 0.0)
    found = intervals_from_labels(coordinates, None, angles, np.array([-0.5]))
    assert found is not None
    assert found.scale[0] == pytest.approx(np.std(coordinates + 2 * (angles - 2)), rel=0.05)


def test_intervals_round_trip_through_json_and_damage_is_detected() -> None:
    one = Intervals(0.9, np.array([1.0, 2.0]), np.array([1.5, 3.5]), "labels", 100, by_image=False)
    content = one.to_dict(["a", "b"])
    again = Intervals.from_dict(content, ["b", "a"])
    assert (again.quantile == [3.5, 1.5]).all()
    assert (again.level, again.source, again.samples, again.by_image) == (0.9, "labels", 100, False)
    with pytest.raises(KeyError):
        Intervals.from_dict(content, ["c"])
    for wrong in ({"source": "guess"}, {"joints": {"a": {"scale": 1, "quantile": "inf"}}}):
        with pytest.raises(ValueError, match="unknown source"):
            Intervals.from_dict(content | wrong, ["a"])
