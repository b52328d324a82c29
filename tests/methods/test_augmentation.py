"""White squares in training images: where, how large, how many; and crops under mixed precision."""

import pytest
import torch
from torch import Tensor

from ropes.methods.training.augmentation import SIDES, Jitter, erase, jitter_of, random_crops
from ropes.models.registration import Registration


def squares(share: float, poses: int = 400, side: int = 40) -> torch.Tensor:
    torch.manual_seed(0)
    return erase(torch.zeros(poses, 3, side, side, dtype=torch.uint8), share) == 255


def test_each_view_gets_its_own_erased_square() -> None:
    hidden = squares(1.0).flatten(0, 1)
    rows, columns = hidden.any(2), hidden.any(1)
    sides = rows.sum(1)
    assert torch.equal(sides, columns.sum(1))
    assert torch.equal(hidden, rows[:, :, None] & columns[:, None, :])
    for line in (rows, columns):  # one stretch, without a gap
        assert ((line[:, 1:] ^ line[:, :-1]).sum(1) + line[:, 0] + line[:, -1] == 2).all()
    assert set(sides.tolist()) == set(range(round(SIDES[0] * 40), round(SIDES[1] * 40) + 1))
    assert (rows.any(0) & columns.any(0)).all()
    assert len({tuple(row) for row in rows.int().tolist()}) > 100


def test_only_a_share_of_the_images_is_erased() -> None:
    touched = squares(0.25).flatten(2).any(2)
    assert abs(float(touched.float().mean()) - 0.25) < 0.04
    assert (touched.float().mean(0) > 0.15).all()


def test_erase_does_not_modify_its_input() -> None:
    images = torch.randint(0, 200, (5, 2, 20, 20), dtype=torch.uint8)
    before = images.clone()
    assert erase(images, 0.0) is images
    found = erase(images, 1.0)
    assert torch.equal(images, before)
    assert torch.equal(found[found != 255], images[found != 255])


def test_erase_draws_no_random_number_without_squares() -> None:
    torch.manual_seed(0)
    erase(torch.zeros(3, 1, 8, 8, dtype=torch.uint8), 0.0)
    taken = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(taken, torch.rand(1))


def test_crops_are_placed_exactly_under_bf16() -> None:
    """Places would be rounded by half a pixel of 224; see `torch.autocast` of `affine_grid`."""
    images = torch.arange(64.0).expand(8, 3, 64, 64)
    found = []
    for mixed in (False, True):
        torch.manual_seed(0)
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            found.append(random_crops(images, 0.25))
    assert torch.equal(*found)


def registration_of(channels: int = 1) -> Registration:
    torch.manual_seed(1)
    registration = Registration(2, 64, channels)
    registration.background.copy_(0.3 * torch.rand(2 * channels, 64, 64))
    registration.noise.fill_(4 / 255)
    return registration


def with_arms(jitter: Jitter, count: int) -> Tensor:
    """Frames (count, P, 64, 64) of the background, with a square of one grey."""
    frames = jitter.background.repeat(count, 1, 1, 1)
    frames[..., 20:40, 20:40] = 100
    return frames


def test_jitter_changes_light_place_and_noise_of_the_arm_alone() -> None:
    jitter = jitter_of(registration_of())
    assert jitter is not None
    frames = with_arms(jitter, 200)
    before = frames.clone()
    torch.manual_seed(0)
    seen = jitter(frames)
    assert torch.equal(frames, before)
    assert seen.dtype == torch.uint8
    apart = seen != jitter.background
    outside = torch.ones(64, 64, dtype=torch.bool)
    outside[19:41, 19:41] = False
    assert not apart[..., outside].any()
    inside = seen[..., 22:38, 22:38].float()
    assert inside.mean() == pytest.approx(100, abs=2)
    assert inside.std((2, 3)).mean() == pytest.approx(4, abs=0.3)  # the noise
    assert inside.mean((2, 3)).std() == pytest.approx((4**2 + 3.06**2) ** 0.5, abs=1)  # gain and offset
    above = apart[..., 19, 25:35].float().mean((0, 2))
    assert ((above > 0.1) & (above < 0.25)).all()  # a sixth of the views are shifted upwards
    assert len({tuple(view.flatten().tolist()) for view in seen.flatten(0, 1)}) > 380  # each view has its own
    torch.manual_seed(0)
    assert torch.equal(jitter(frames), seen)


def test_jitter_moves_the_channels_of_a_view_together() -> None:
    jitter = Jitter(registration_of(channels=3))
    frames = with_arms(jitter, 50).unflatten(0, (5, 10))
    torch.manual_seed(0)
    seen = jitter(frames)
    assert seen.shape == frames.shape
    rows = (seen != jitter.background)[..., 25:35].float().mean(-1) > 0.5  # whether a row shows the arm
    views = rows.unflatten(2, (2, 3))
    assert (views == views[..., :1, :]).all()
    assert len({tuple(row) for row in views[..., 0, :].flatten(0, 2).tolist()}) == 3  # up, down, in place


def test_jitter_repeats_the_border_of_an_arm_that_reaches_it() -> None:
    jitter = jitter_of(registration_of())
    assert jitter is not None
    frames = jitter.background.repeat(100, 1, 1, 1)
    frames[..., :20, :20] = 200  # in the upper left corner
    torch.manual_seed(0)
    shown = jitter(frames) > 130
    assert shown[..., :10, :10].float().mean() > 0.99
    lengths = shown[..., :10].float().mean(-1).gt(0.5).sum(-1)  # rows that show it
    assert set(lengths.unique().tolist()) == {19, 20, 21}


def test_jitter_leaves_bars_black_and_does_not_take_the_arm_for_noise() -> None:
    registration = registration_of()
    registration.inside[:, :10] = False
    registration.background.mul_(registration.inside)
    registration.noise[:, 20:40] = 0.3  # where the arm often is
    jitter = Jitter(registration)
    assert jitter.noise.tolist() == pytest.approx([4, 4])
    frames = with_arms(jitter, 50)
    frames[:, :, 10:30, 20:40] = 100  # up to the bar
    torch.manual_seed(0)
    assert not jitter(frames)[:, :, :10].any()


def test_renderings_have_no_jitter() -> None:
    assert jitter_of(None) is None
