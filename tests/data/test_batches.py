import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from ropes.data.batches import ImageBatch, TrainingImages, first_anchors
from ropes.data.cache import ImageCache
from ropes.data.dataset import Frames
from ropes.errors import UserError
from tests.data.conftest import Tiny


@pytest.fixture
def cache(tiny: Tiny, tmp_path: Path) -> ImageCache:
    return ImageCache(tiny.dataset, "train", 16, tmp_path / "cache")


@pytest.fixture
def training(tiny: Tiny, cache: ImageCache) -> TrainingImages:
    return TrainingImages(cache, tiny.dataset.frames("train"), tiny.dataset.regimes)


def test_a_batch_has_no_field_for_angles() -> None:
    assert [field.name for field in dataclasses.fields(ImageBatch)] == ["images", "regime", "anchor"]


def test_batch_contains_the_requested_rows(training: TrainingImages, tiny: Tiny) -> None:
    rows = [33, 0, 7]
    batch = training.batch(rows)
    images = tiny.images["train"].reshape(-1, 2, 16, 16)[rows]
    assert batch.images.dtype == torch.float32
    np.testing.assert_allclose(batch.images.numpy(), images / 255, rtol=1e-6)
    assert batch.regime.tolist() == [3, 0, 2]
    assert batch.anchor.tolist() == [6, 0, 1]
    assert len(batch) == 3
    np.testing.assert_array_equal(training.pixels(rows), images)


@pytest.mark.parametrize(("fraction", "held"), [(0.3, 2), (0.0, 1), (1.0, 6)])
def test_anchors_are_held_out_whole(training: TrainingImages, fraction: float, held: int) -> None:
    kept, out = training.split_anchors(fraction, seed=3)
    assert len(np.unique(out.anchor)) == held
    assert not set(kept.anchor) & set(out.anchor)
    assert len(kept) + len(out) == 35
    np.testing.assert_array_equal(np.bincount(out.regime), [held] * 5)
    whole = np.concatenate([kept.pixels(np.arange(len(kept))), out.pixels(np.arange(len(out)))])
    order = np.argsort(np.concatenate([kept.anchor, out.anchor]), kind="stable")
    np.testing.assert_array_equal(whole[order], training.pixels(np.arange(35)))


def test_the_seed_picks_the_held_out_anchors(training: TrainingImages) -> None:
    picks = [frozenset(training.split_anchors(0.4, seed)[1].anchor) for seed in (0, 0, 1, 2, 3)]
    assert picks[0] == picks[1]
    assert len(set(picks)) > 1


def test_first_anchors_are_kept_whole(training: TrainingImages) -> None:
    few = first_anchors(training.anchor, 3)
    assert set(training.anchor[few]) == set(np.unique(training.anchor)[:3])
    assert few.sum() == 15
    assert first_anchors(training.anchor, None).all()
    with pytest.raises(UserError, match="has 7 anchors or chains, fewer than the 8 requested; simulate more"):
        first_anchors(training.anchor, 8)


def test_too_few_anchors_are_refused(training: TrainingImages) -> None:
    with pytest.raises(UserError, match="1 anchor or chain cannot be split"):
        training.take(np.arange(5)).split_anchors(0.5, seed=0)


def test_a_regime_without_images_is_refused(cache: ImageCache, tiny: Tiny) -> None:
    frames = tiny.dataset.frames("train")
    without = Frames(frames.index, frames.anchor, np.where(frames.regime == 4, 0, frames.regime))
    with pytest.raises(UserError, match="no training image under regime wrist/2"):
        TrainingImages(cache, without, tiny.dataset.regimes)
    with pytest.raises(UserError, match="has task 4; there are 3 regimes"):
        TrainingImages(cache, frames, tiny.dataset.regimes[:3])
