"""Objects that a cleaner has found in frames, and their copies in other frames."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.methods.passers_by.copies import CopiedObjects
from ropes.methods.passers_by.stage import add_objects
from ropes.models.cleaner import Cleaner
from tests import tiny

#: Side of the frames, and levels of background, arm and object.
_SIDE, _GROUND, _ARM, _OBJECT = 32, 51, 90, 200


class _Bright(torch.nn.Module):
    """Detects parts that are much brighter than the background, in the first plane of each view."""

    def __init__(self, views: int) -> None:
        super().__init__()
        self.views = views

    def forward(self, channels: Tensor) -> Tensor:
        """(B, 2 P, S, S) → logits (B, V, s, s)."""
        planes = channels.shape[1] // 2
        return torch.nn.functional.avg_pool2d(channels[:, : planes : planes // self.views].neg(), 4) - 2


def cleaner_of(channels: int = 1, side: int = _SIDE) -> Cleaner:
    cleaner = Cleaner(torch.full((2 * channels, side, side), _GROUND / 255), views=2, channels=channels).eval()
    cleaner.spread.fill_(0.1)
    cleaner.detector = _Bright(2)  # type: ignore[assignment]
    return cleaner


def with_arms(cleaner: Cleaner, count: int) -> Tensor:
    """Frames with an arm in the lower half of the right."""
    frames = cleaner.levels.repeat(count, 1, 1, 1)
    frames[..., 16:, 20:] = _ARM
    return frames


def an_object(channels: int = 1) -> CopiedObjects:
    """One object of 12 by 6 pixels, whose columns have different levels."""
    levels = torch.full((1, channels, _SIDE, _SIDE), _ARM, dtype=torch.uint8)
    levels[..., 10:22, 12:18] = _OBJECT + torch.arange(6, dtype=torch.uint8)
    shown = torch.zeros(1, _SIDE, _SIDE, dtype=torch.bool)
    shown[:, 10:22, 12:18] = True
    return CopiedObjects(levels, shown)


@pytest.mark.parametrize("channels", [1, 3])
def test_copies_are_shifted_and_mirrored_and_may_be_behind_the_arm(channels: int) -> None:
    cleaner = cleaner_of(channels)
    frames, behind = with_arms(cleaner, 400), torch.arange(400) < 200
    torch.manual_seed(0)
    seen = an_object(channels).added(frames, cleaner, behind).unflatten(1, (2, channels))
    assert torch.equal(seen, seen[:, :, :1].expand_as(seen))  # all channels of a view together
    views = seen[:, :, 0]
    copied = views >= _OBJECT
    there = copied.flatten(2).any(2)
    assert 0.5 < there.float().mean() < 0.7
    assert (there[:, 0] != there[:, 1]).any()
    rest = frames.unflatten(1, (2, channels))[:, :, 0]
    assert torch.equal(views[~copied], rest[~copied])  # nothing else of the object's view is copied
    arm = rest == _ARM
    assert not (copied & arm)[behind].any()
    assert (copied & arm)[~behind].any()
    whole = copied.sum((2, 3)) == 12 * 6
    lefts = copied[whole].any(1).int().argmax(1)
    assert len(set(lefts.tolist())) > 10
    first = torch.stack(
        [
            view[int(rows.int().argmax()), int(left)]
            for view, rows, left in zip(views[whole], copied[whole].any(2), lefts, strict=True)
        ]
    )
    assert set(first.tolist()) == {_OBJECT, _OBJECT + 5}  # half of them mirrored
    assert 0.35 < (first == _OBJECT).float().mean() < 0.65


def test_objects_are_found_in_doubted_frames_alone(cache_home: Path, tmp_path: Path) -> None:
    states = {"train": tiny.model().sample(np.random.default_rng(0), 4)}
    blobs = np.full((*states["train"].shape[:2], 2, tiny.SIDE, tiny.SIDE), _GROUND, dtype=np.uint8)
    blobs[..., 8:, :] = _ARM
    blobs[:, :, 1, :12, :12] = _OBJECT  # in the second view
    dataset = open_dataset(tiny.write_data(tmp_path / "data", images={"train": blobs}, states=states))
    images = TrainingImages(ImageCache(dataset, "train", tiny.SIDE), dataset.frames("train"), dataset.regimes)
    cleaner, trusted = cleaner_of(side=tiny.SIDE), np.arange(len(images)) >= 5
    found = CopiedObjects.found(cleaner, images.trusting(trusted), 0)
    assert len(found) == 5
    assert found.levels.shape == (5, 1, tiny.SIDE, tiny.SIDE)
    expected = torch.zeros(tiny.SIDE, tiny.SIDE, dtype=torch.bool)
    expected[:12, :12] = True
    assert torch.equal(found.shown, expected.expand(5, -1, -1))
    assert (found.levels[:, 0][found.shown] == _OBJECT).all()
    assert len(CopiedObjects.found(cleaner, images, 0)) == 0


def test_more_than_half_of_the_frames_have_copies_where_there_are_any() -> None:
    cleaner = cleaner_of()
    frames = with_arms(cleaner, 300)
    torch.manual_seed(0)
    before = add_objects(frames, cleaner)
    torch.manual_seed(0)
    none = add_objects(frames, cleaner, CopiedObjects(torch.empty(0, 1, 32, 32), torch.empty(0, 32, 32)))
    assert torch.equal(none, before)
    torch.manual_seed(0)
    copied = (add_objects(frames, cleaner, an_object()) != before).flatten(1).any(1)
    assert 0.5 < copied.float().mean() < 0.75
