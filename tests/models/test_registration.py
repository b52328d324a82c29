"""Frames of a moving, noisy camera become frames before a constant background."""

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch import Tensor
from torch.nn import functional

from ropes.methods.training.registration import variation
from ropes.models.coarse_registration import new_registration
from ropes.models.frame_changes import are_recorded, crowded, crowded_share
from ropes.models.registration import Registration
from tests.models.camera_frames import FRAMES, SIDE, frames


@pytest.fixture(scope="module")
def registration() -> Registration:
    fitted = Registration(2, SIDE)
    fitted.adapt(frames().images)
    return fitted


def test_exposure_and_shift_of_each_frame_are_estimated(registration: Registration) -> None:
    recorded = frames()
    found = registration.estimate(recorded.images.float() / 255)
    assert found.shape == (FRAMES, 2, 5)
    gain, offset, down, right = (centred(found[..., k]) for k in range(4))
    # The scene has no black and little white: only the level that gain and offset give together is well known.
    middle = float(registration.background.mean())
    level, expected = middle * gain + offset, centred(middle * recorded.gain + recorded.offset)
    assert (level - expected).abs().max() < 0.01
    assert expected.std() > 0.03
    # A scene that lies lower in the frame has moved along +y: its pixels are those of the background above.
    for found_shift, shift in ((down, recorded.down), (right, recorded.right)):
        error = found_shift + centred(shift)
        assert error.square().mean().sqrt() < 0.08
        assert error.abs().max() < 0.35
        assert shift.abs().max() > 1.2


@pytest.mark.parametrize("height", [51, 40])
def test_frames_of_any_shape_are_registered(height: int) -> None:
    recorded = frames()
    images = recorded.images[:, :, :height].contiguous()
    registration = Registration(2, (height, SIDE))
    parameters = registration.adapt(images)
    for k, shift in ((2, recorded.down), (3, recorded.right)):
        assert (centred(parameters[..., k]) + centred(shift)).square().mean().sqrt() < 0.1
    upright = Registration(2, (SIDE, height))
    turned = upright.adapt(images.mT.contiguous())
    torch.testing.assert_close(turned[..., [3, 2]], parameters[..., [2, 3]], atol=0.02, rtol=0)
    torch.testing.assert_close(turned[..., 4], -parameters[..., 4], atol=0.05, rtol=0)
    assert upright(images.mT.contiguous()).shape == (FRAMES, 2, SIDE, height)


def test_accurate_registration_estimates_shifts_of_sharp_edges() -> None:
    blocks = np.kron(np.random.default_rng(0).integers(20, 180, (6, 8)), np.ones((12, 12)))
    shift = np.linspace(0, 2, FRAMES)
    moved = np.stack([ndimage.shift(blocks, (each, 0), order=1, mode="nearest") for each in shift])
    images = torch.from_numpy(moved.round().astype(np.uint8))[:, None]
    plain, accurate = (Registration(1, (72, 96), accurate=each).adapt(images)[:, 0, 2].neg() for each in (False, True))
    expected = centred(torch.from_numpy(shift))
    assert (centred(accurate) - expected).abs().max() < 0.1
    assert (centred(plain) - expected).abs().max() > 0.2


def test_large_shifts_and_rotations_are_estimated() -> None:
    recorded = frames(shake=2.0, turn=0.02)
    registration = Registration(2, SIDE)
    registration.adapt(frames(turn=0.02).images)
    found = registration.estimate(recorded.images.float() / 255)
    for found_shift, shift in ((found[..., 2], recorded.down), (found[..., 3], recorded.right)):
        near = shift.abs() < 4
        assert (found_shift + shift)[near].square().mean().sqrt() < 0.4
    turned = registration.estimate(frames(turn=0.02, seed=3).images.float() / 255)[..., 4]
    expected = frames(turn=0.02, seed=3).turn * SIDE / 2  # at half a side from the middle
    assert np.corrcoef(turned.flatten(), expected.flatten())[0, 1] ** 2 > 0.9
    assert np.polyfit(expected.flatten(), turned.flatten(), 1)[0] == pytest.approx(-1, abs=0.15)


def test_letterboxed_frames_are_registered_without_their_bars() -> None:
    whole = frames().images
    frames_, bar = whole[..., 12:52, :], (SIDE - 40) // 2
    plain, boxed = Registration(2, (40, SIDE)), Registration(2, SIDE)
    expected = plain.adapt(frames_)
    letterboxed = functional.pad(frames_, (0, 0, bar, bar))
    found = boxed.adapt(letterboxed)
    assert (found[..., :2] - expected[..., :2]).abs().mean() < 0.01
    assert (found[..., 2:4] - expected[..., 2:4]).square().mean().sqrt() < 0.1
    assert expected[..., 2:4].std() > 0.4
    registered = boxed(letterboxed)
    assert not registered[..., :bar, :].any()
    assert not registered[..., -bar:, :].any()
    differences = (registered[..., bar:-bar, :].int() - plain(frames_).int()).abs()
    assert (differences <= 1).float().mean() > 0.95


def centred(values: Tensor) -> Tensor:
    return values - values.mean(0)


def test_background_pixels_become_the_background_and_the_arm_stays(registration: Registration) -> None:
    recorded = frames()
    images = registration(recorded.images)
    assert images.dtype == torch.uint8
    background = registration.background.mul(255).round()
    grown = torch.from_numpy(ndimage.binary_dilation(recorded.arm.numpy(), np.ones((1, 1, 7, 7))))
    inside = torch.from_numpy(ndimage.binary_erosion(recorded.arm.numpy(), np.ones((1, 1, 5, 5))))
    assert (images == background)[~grown].float().mean() > 0.97
    assert (recorded.images != background)[~grown].float().mean() > 0.7
    assert (images.float() - recorded.level)[inside].abs().median() < 6


def test_saturated_wall_is_not_foreground(registration: Registration) -> None:
    recorded = frames(brighter=1.5)
    assert (recorded.images == 255).float().mean() > 0.05
    grown = torch.from_numpy(ndimage.binary_dilation(recorded.arm.numpy(), np.ones((1, 1, 7, 7))))
    images, background = registration(recorded.images), registration.background.mul(255).round()
    assert (images == background)[~grown].float().mean() > 0.9


def test_colours_have_separate_gains_and_a_common_shift() -> None:
    recorded = frames(channels=3)
    registration = Registration(2, SIDE, 3)
    registration.adapt(recorded.images)
    found = registration.estimate(recorded.images.float() / 255)
    assert found.shape == (FRAMES, 2, 9)
    level = found[..., :3] * registration.background.mean((1, 2)).view(2, 3) + found[..., 3:6]
    seen = recorded.images.float().div(255).mean((2, 3)).view(FRAMES, 2, 3)  # with the rectangle in it
    assert (centred(level) - centred(seen)).abs().max() < 0.03
    assert (centred(found[..., 6]) + centred(recorded.down)).square().mean().sqrt() < 0.08


def test_recordings_are_distinguished_from_renderings() -> None:
    recorded = frames()
    assert are_recorded(recorded.images)
    assert not are_recorded(recorded.still)
    assert "brightness varies" in fitted_summary(recorded.images)


def fitted_summary(images: Tensor) -> str:
    registration = Registration(2, SIDE)
    registration.adapt(images)
    return variation(registration)


def test_registration_does_not_depend_on_the_batch(registration: Registration) -> None:
    images = frames().images
    together, alone = registration(images), torch.cat([registration(image[None]) for image in images[:5]])
    assert (together[:5].int() - alone.int()).abs().max() <= 1


def test_exposure_drift_and_camera_drift_are_distinguished(registration: Registration) -> None:
    images = frames().images[:20]
    light, place, blank = registration.drifted(images)
    assert light.shape == place.shape == blank.shape == (20, 2)
    assert not torch.stack([light, place, blank]).any()
    darker = (images.float() * 0.3).to(torch.uint8)
    light, place, blank = registration.drifted(darker)
    assert not blank.any()
    assert light.float().mean() > 0.9
    assert not place.any()
    _, place, _ = registration.drifted(images.roll(5, dims=-1))
    assert place.float().mean() > 0.9


@pytest.mark.parametrize("level", [0, 255])
def test_black_and_white_frames_are_blank(level: int, registration: Registration) -> None:
    images = frames().images[:4].clone()
    images[:2, 1] = level
    *_, blank = registration.drifted(images)
    assert blank.tolist() == [[False, True]] * 2 + [[False, False]] * 2


@pytest.mark.parametrize("zoom", [1, 2])
def test_known_parameters_are_not_estimated_again(zoom: int, monkeypatch: pytest.MonkeyPatch) -> None:
    images = frames().images[:40]
    registration = new_registration(2, SIDE, zoom=zoom)
    registration.adapt(images)
    composite, drifted = registration.composite(images), registration.drifted(images // 3)
    parameters = registration.frame_parameters(images), registration.frame_parameters(images // 3)
    monkeypatch.setattr(Registration, "estimate", None)
    assert torch.equal(registration.cleaned(images, parameters[0])[0], composite)
    again = registration.drifted(images // 3, parameters[1])
    assert [(one != other).float().mean() < 0.05 for one, other in zip(drifted, again, strict=True)] == [True] * 3
    assert drifted[0].float().mean() > 0.9


@pytest.mark.parametrize("zoom", [1, 2])
def test_fixed_registration_computes_the_terms_of_its_background_once(
    zoom: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bar = (SIDE - 40) // 2
    images = functional.pad(frames().images[:20, :, 12:52], (0, 0, bar, bar))
    registration = new_registration(2, SIDE, zoom=zoom)
    registration.adapt(images)
    expected, drifted = registration(images), registration.drifted(images // 3)
    fixed = registration.fixed()
    for term in ("RobustFit", "nearest_inside"):
        monkeypatch.setattr(f"ropes.models.background_terms.{term}", None)
    assert torch.equal(fixed(images), expected)
    for found, usual in zip(fixed.drifted(images // 3), drifted, strict=True):
        assert torch.equal(found, usual)
    assert drifted[0].any()


def test_frames_with_too_much_change_have_passers_by() -> None:
    rng = np.random.default_rng(0)
    areas = rng.normal(0.03, 0.004, (4000, 2))
    assert crowded(areas).mean() < 0.01
    areas[:1500] += 0.05
    found = crowded(areas)
    assert found[:1500].mean() > 0.95
    assert found[1500:].mean() < 0.01


def test_large_poses_of_an_arm_near_the_camera_are_not_passers_by() -> None:
    """Areas of the Panda in a MuJoCo room: the upper half of their logarithms varies almost twice as much."""
    rng = np.random.default_rng(5)
    normal = rng.standard_normal(4000)
    areas = 0.03 * np.exp(np.where(normal > 0, 0.33, 0.23) * normal)
    assert crowded(areas).mean() < 0.04
    people = rng.random(4000) < 0.2
    found = crowded(areas + 0.08 * people)
    assert found[people].mean() > 0.8
    assert found[~people].mean() < 0.02


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.8, 0.9])
def test_share_of_crowded_frames_is_estimated_up_to_90_percent(share: float) -> None:
    rng = np.random.default_rng(3)
    areas = rng.normal(0.03, 0.004, 200)
    areas[: round(200 * share)] += 0.04 + 0.1 * rng.random(round(200 * share))
    assert crowded_share(rng.permutation(areas)) == pytest.approx(share, abs=0.05)


def test_varied_passers_by_in_most_frames_are_undetectable() -> None:
    rng = np.random.default_rng(4)
    areas = np.sort(0.03 * np.exp(rng.uniform(0, 3, 200)))
    assert crowded(areas).mean() == 0
    assert np.isnan(crowded_share(areas))


@pytest.mark.parametrize("spread", [0.2, 0.4, 0.8])
def test_arm_of_varying_area_is_not_a_passer_by(spread: float) -> None:
    rng = np.random.default_rng(1)
    assert crowded(0.03 * np.exp(spread * rng.standard_normal((4000, 2)))).mean() < 0.015


@pytest.mark.parametrize("absent", [0.02, 0.1, 0.3])
def test_arm_out_of_view_in_some_frames_is_not_a_passer_by(absent: float) -> None:
    rng = np.random.default_rng(2)
    areas = np.where(rng.random((4000, 2)) < absent, 0, rng.normal(0.03, 0.004, (4000, 2)))
    assert crowded(areas).mean() < 0.01


def test_one_recorded_view_among_renderings_is_found() -> None:
    recorded = frames()
    mixed = torch.stack([recorded.images[:, 0], recorded.still[:, 1]], dim=1)
    assert are_recorded(mixed, 2)
    assert not are_recorded(recorded.still, 2)
