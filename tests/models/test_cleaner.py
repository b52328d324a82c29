"""Tests of the cleaner of registered frames."""

import pytest
import torch
from torch import Tensor

from ropes.methods.passers_by.stage import arm_loss
from ropes.models.cleaner import Cleaner

#: Side of the frames, and of a part.
_SIDE, _PART = 32, 4


class _Bright(torch.nn.Module):
    """Detects parts whose first view is much brighter than the background."""

    def forward(self, channels: Tensor) -> Tensor:
        """(B, 2 P, S, S) → logits (B, 1, s, s)."""
        return torch.nn.functional.avg_pool2d(channels[:, :1].neg(), _PART) - 1


def test_views_with_few_foreign_parts_stay_as_they_are() -> None:
    background = torch.full((1, _SIDE, _SIDE), 0.2)
    cleaner = Cleaner(background, views=1).eval()
    cleaner.spread.fill_(0.1)
    cleaner.detector = _Bright()  # type: ignore[assignment]
    frames = cleaner.levels.repeat(3, 1, 1, 1)
    frames[:, :, 16:] = 60  # the arm: half of the frame, 32 parts, little brighter than the background
    frames[1, :, :4, :8] = 250  # 2 of 34 changed parts
    frames[2, :, :8, :16] = 250  # 8 of 40
    assert cleaner.changed_parts(frames, 1, 8).sum((1, 2, 3)).tolist() == [32, 34, 40]
    assert cleaner.foreign_parts(frames).sum((1, 2, 3)).tolist() == [0, 0, 8]
    cleaned = cleaner.clean(frames)
    assert torch.equal(cleaned[:2], frames[:2])
    assert torch.equal(cleaned[2], frames[0])


@pytest.mark.parametrize(("side", "zoom"), [(30, 1), (33, 1), (30, 3), (36, 2)])
def test_frames_of_any_side_are_cleaned(side: int, zoom: int) -> None:
    """Parts at the lower and the right edge are cut off there."""
    cleaner = Cleaner(torch.full((2, side, side), 0.2), views=2, zoom=zoom).eval()
    frames = cleaner.levels.repeat(2, 1, 1, 1)
    frames[1, :, -5:, -7:] = 250
    (logits,) = cleaner(frames)
    parts = -(-side // zoom // _PART)
    assert logits.shape == (2, 2, parts, parts)
    assert arm_loss(logits, cleaner.levels[None].repeat(2, 1, 1, 1), frames, cleaner).isfinite()
    cleaner.adapt(frames)
    torch.nn.init.constant_(cleaner.detector[-1].bias, 3.0)  # type: ignore[arg-type]
    foreign = cleaner.foreign_parts(frames)
    assert not foreign[0].any()
    assert foreign[1, :, -1, -1].all()
    assert torch.equal(cleaner.clean(frames), cleaner.levels.repeat(2, 1, 1, 1))


def test_frames_of_the_background_have_no_foreign_part() -> None:
    cleaner = Cleaner(torch.full((2, _SIDE, _SIDE), 0.2), views=2).eval()
    torch.nn.init.constant_(cleaner.detector[-1].bias, 3.0)  # type: ignore[arg-type]
    frames = cleaner.levels[None]
    assert not cleaner.foreign_parts(frames).any()
    assert torch.equal(cleaner.clean(frames), frames)


def test_loss_is_averaged_over_foreign_parts_and_over_parts_of_the_arm() -> None:
    cleaner = Cleaner(torch.full((1, 8, 8), 0.2), views=1).eval()
    images = cleaner.levels[None].clone()
    images[..., 4:, :] = 200  # the arm: the two lower parts
    occluded = images.clone()
    occluded[..., 4:, 4:] = 90  # an object in front of the right one
    logits = torch.tensor([[[[9.0, -9.0], [0.5, -1.0]]]])  # the upper parts are background: they do not count
    expected = -torch.sigmoid(torch.tensor(-1.0)).log() - 0.7 * torch.sigmoid(torch.tensor(-0.5)).log()
    assert float(arm_loss(logits, images, occluded, cleaner)) == pytest.approx(float(expected), rel=1e-5)
