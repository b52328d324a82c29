"""Motion, contrast and overlap where the answer is known."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor

from ropes.causal.scm import TruncatedNormal
from ropes.evaluation.inspection.contrast import Contrast, contrast, features, overlap_of_angles, overlap_of_images
from ropes.evaluation.inspection.motion import motion
from ropes.evaluation.inspection.sample import Sample, registered
from ropes.models.registration import Registration
from tests import tiny


def sample(anchors: int = 40, seed: int = 0, moved: int = 3, noise: int = 0) -> Sample:
    """Three regimes on grey 8×8 images of two cameras: policies move a block in the first camera only."""
    rng = np.random.default_rng(seed)
    images = np.full((anchors, 3, 2, 8, 8), 100, np.uint8)
    images[:, 1, 0, :moved, :2] = 150
    images[:, 2, 0, :moved, :2] = 60
    images += rng.integers(0, noise + 1, images.shape, dtype=np.uint8)
    return Sample(
        tuple(images.reshape(-1, 2, 8, 8).swapaxes(0, 1)),
        np.tile(np.arange(3), anchors),
        np.repeat(np.arange(anchors), 3),
    )


def test_moved_pixels_are_counted_and_located() -> None:
    found = motion(sample(), 0, 1, 2)
    assert found.paired
    np.testing.assert_allclose(found.share, [6 / 64, 0])
    expected = np.zeros((2, 8, 8))
    expected[0, :3, :2] = 1
    np.testing.assert_array_equal(found.heat, expected)


def test_a_little_noise_moves_no_pixel() -> None:
    np.testing.assert_allclose(motion(sample(noise=5), 0, 1, 2).share, [6 / 64, 0])


@pytest.mark.parametrize("observational", [None, 0])
def test_regime_means_are_compared_without_pairs(observational: int | None) -> None:
    whole = sample(noise=5)
    apart = Sample(whole.images, whole.regime, np.arange(len(whole.regime)))  # every pose its own anchor
    found = motion(apart, observational, 1, 2)
    assert not found.paired
    np.testing.assert_allclose(found.share, [6 / 64, 0])
    assert found.heat[0][0, 0] == pytest.approx(90, abs=2)


def test_anchor_with_two_observational_poses_is_not_paired() -> None:
    whole = sample(anchors=2)
    anchor = np.where(whole.anchor == 1, 0, whole.anchor)
    assert not motion(Sample(whole.images, whole.regime, anchor), 0, 1, 2).paired


def recording(anchors: int = 60, visits: float = 0.0, zoom: int = 1) -> tuple[Sample, Sample]:
    """The same poses rendered and recorded: a block that policies move by 20 or 30 pixels, before a texture.

    `zoom` enlarges both; the camera's noise is always that of single pixels.
    """
    rng = np.random.default_rng(0)
    scene = 60 + 100 * ndimage.gaussian_filter(rng.uniform(0, 1, (41, 64)), 1.5)
    rendered = np.repeat(scene[None], 3 * anchors, axis=0)
    for k, image in enumerate(rendered):
        left = 4 + (0, 20, 30)[k % 3] + rng.integers(0, 5)
        image[15:25, left : left + 8] = 220
    visited = rendered.copy()
    for visit in np.flatnonzero(rng.random(len(visited)) < visits):
        left = rng.integers(0, 50)
        visited[visit, 2:14, left : left + 14] = 20
    rendered, visited = (each.repeat(zoom, axis=1).repeat(zoom, axis=2) for each in (rendered, visited))
    gain = np.exp(0.1 * rng.standard_normal(len(visited)))[:, None, None]
    recorded = gain * visited + 3 * rng.standard_normal(visited.shape)
    regime, anchor = np.tile(np.arange(3), anchors), np.repeat(np.arange(anchors), 3)
    images = (each.round().clip(0, 255).astype(np.uint8) for each in (rendered, recorded))
    clean, noisy = (Sample((each,), regime, anchor) for each in images)
    return clean, noisy


@pytest.mark.slow
@pytest.mark.parametrize("visits", [0.0, 0.2])
@pytest.mark.parametrize("in_colour", [False, True])
def test_noise_light_and_passers_by_do_not_count_as_motion(visits: float, in_colour: bool) -> None:
    clean, noisy = recording(visits=visits)
    if in_colour:
        noisy = Sample((np.repeat(noisy.images[0][..., None], 3, axis=3),), noisy.regime, noisy.anchor)
    expected = motion(clean, 0, 1, 2).share[0]
    still, disturbance = registered(noisy, show=False)
    assert disturbance is not None
    assert disturbance.crowded.mean() == pytest.approx(visits, abs=0.08)
    assert motion(noisy, 0, 1, 2).share[0] > 3 * expected
    found = motion(still, 0, 1, 2, disturbance)
    assert found.paired
    assert found.heat[0].shape == (41, 64)
    assert found.share[0] == pytest.approx(expected, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize(("zoom", "size"), [(3, (82, 128)), (4, (164, 256))])
def test_large_frames_are_registered_at_the_sizes_of_a_fit(
    zoom: int, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    clean, noisy = recording(anchors=20, zoom=zoom)
    sizes, adapt = [], Registration.adapt

    def counted(registration: Registration, images: Tensor) -> Tensor:
        sizes.append(images[0].numel())
        return adapt(registration, images)

    monkeypatch.setattr(Registration, "adapt", counted)
    still, disturbance = registered(noisy, show=False)
    assert sizes == [128 * 128]
    assert disturbance is not None
    assert disturbance.crowded.mean() < 0.1
    assert still.images[0].shape == (60, *size)
    found = motion(still, 0, 1, 2, disturbance)
    assert found.heat[0].shape == size
    assert found.share[0] == pytest.approx(motion(clean, 0, 1, 2).share[0], rel=0.25)


def test_renderings_are_not_registered() -> None:
    clean, _ = recording()
    still, disturbance = registered(clean, show=False)
    assert still is clean
    assert disturbance is None


def gaussians(
    n: int, apart: float, d: int = 3, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Values (2 n, d) that lie `apart` in two regimes, the rows of each regime, and the anchor of each row."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(2 * n, d))
    values[:n, 0] += apart
    return values, np.arange(n), np.arange(n, 2 * n), np.tile(np.arange(n), 2)


@pytest.mark.parametrize("apart", [0.0, 1.0, 2.0])
def test_contrast_of_two_normals_equals_their_bayes_floor(apart: float) -> None:
    # log q/q̄ = a x − a²/2 is linear: logistic regression reaches the floor.
    x = np.random.default_rng(1).normal(size=200_000) + apart
    floor = np.logaddexp(0, -(apart * x - apart**2 / 2)).mean()
    found = contrast(*gaussians(2000, apart))
    assert found is not None
    assert abs(found.nats - floor) < 4 * found.uncertainty + 2e-3
    assert found.nats > floor - 3 * found.uncertainty


def test_contrast_does_not_depend_on_class_balance() -> None:
    values, first, second, anchor = gaussians(2000, 1.0)
    even, uneven = contrast(values, first, second, anchor), contrast(values, first, second[:400], anchor)
    assert even is not None
    assert uneven is not None
    assert uneven.nats == pytest.approx(even.nats, abs=0.04)


def test_noise_shared_within_anchors_is_not_memorised() -> None:
    # Each anchor's poses are copies with labels drawn by lot: folds that split anchors would see through it.
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=(60, 30)), 20, axis=0)
    label = np.repeat(rng.permutation(np.arange(60) % 2), 20)
    found = contrast(values, np.flatnonzero(label == 1), np.flatnonzero(label == 0), np.repeat(np.arange(60), 20))
    assert found is not None
    assert found.nats > 0.68
    assert found.error > 0.3


def test_too_few_anchors_have_no_contrast() -> None:
    assert contrast(*gaussians(7, 1.0)) is None
    values, first, second, _ = gaussians(100, 1.0)
    assert contrast(values, first, second, np.repeat([0, 1], 100)) is None


def test_features_keep_the_directions_of_largest_variance() -> None:
    angles = np.random.default_rng(0).uniform(-1.2, 1.2, (300, 2))
    values = features(list(tiny.draw(angles).swapaxes(0, 1)))
    assert values.shape == (300, 150)
    assert values[:, 0].std() == pytest.approx(1)
    assert (np.diff(values.std(axis=0)) <= 1e-9).all()
    fit = np.linalg.lstsq(np.column_stack([values, np.ones(300)]), angles, rcond=None)[0]
    assert np.abs(np.column_stack([values, np.ones(300)]) @ fit - angles).std() < 0.05
    np.testing.assert_array_equal(features([np.full((5, 4, 6), 9, np.uint8)]), 0)


def tn(mean: float) -> TruncatedNormal:
    return TruncatedNormal(mean=mean, variance=0.4, low=-1.5, high=1.5)


def test_overlap_is_one_for_equal_and_zero_for_disjoint_angles() -> None:
    rng = np.random.default_rng(0)
    same = rng.uniform(0, 1, 5000)
    alike = overlap_of_angles(same, same, same, "angles")
    assert (alike.policies, alike.observational, alike.floor) == pytest.approx((1, 1, np.log(2)))
    apart = overlap_of_angles(same + 9, same, same + 3, "angles")
    assert (apart.policies, apart.observational, apart.floor) == pytest.approx((0, 0, 0), abs=1e-9)
    assert overlap_of_angles(same[:0], same, same, "angles").observational is None


def test_histogram_floor_is_close_to_the_exact_floor() -> None:
    rng = np.random.default_rng(0)
    model = tiny.model()
    first, second = (policy.sample(rng, 4000) for policy in model.interventions["elbow"])
    found = overlap_of_angles(tn(0).sample(rng, 4000), first, second, "angles")
    assert found.floor == pytest.approx(model.bayes_floor("elbow"), abs=0.015)
    x = np.linspace(-1.5, 1.5, 3001)
    densities = [np.exp(part.log_density(x)) for part in (tn(0.9), tn(-0.9), tn(0))]
    exact = np.minimum(densities[0], densities[1]).sum() * (x[1] - x[0])
    assert found.policies == pytest.approx(exact, abs=0.03)
    covered = np.minimum((densities[0] + densities[1]) / 2, densities[2]).sum() * (x[1] - x[0])
    assert found.observational == pytest.approx(covered, abs=0.03)


def test_the_classifier_s_error_bounds_the_overlap() -> None:
    values, *design = gaussians(2000, 2.0)
    found = contrast(values, *design)
    assert found is not None
    exact = 2 * 0.158655  # 2 Φ(−1)
    bound = overlap_of_images(found, None)
    assert exact - 0.03 < bound.policies < exact + 0.05
    assert (bound.observational, bound.floor, bound.source) == (None, None, "images")
    assert overlap_of_images(Contrast(0.8, 0.7, 0.1), Contrast(0.7, 0.25, 0.1)).policies == 1
