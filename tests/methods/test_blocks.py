"""Which patches I-JEPA sees and which it predicts."""

import numpy as np
import pytest
import torch

from ropes.methods.supervised.blocks import TARGETS, draw_blocks
from ropes.methods.training.augmentation import random_crops


@pytest.mark.parametrize("side", [4, 8, 14])
def test_contexts_and_targets_are_disjoint(side: int) -> None:
    for seed in range(20):
        seen, hidden = draw_blocks(np.random.default_rng(seed), 6, side)
        assert hidden.shape[:2] == (6, TARGETS)
        for context, targets in zip(seen.tolist(), hidden.tolist(), strict=True):
            assert not set(context) & {patch for block in targets for patch in block}
            assert context == sorted(set(context))
        assert int(seen.min()) >= 0
        assert max(int(seen.max()), int(hidden.max())) < side**2


def test_blocks_are_rectangles_of_the_paper_scales() -> None:
    shares = []
    for seed in range(50):
        _, hidden = draw_blocks(np.random.default_rng(seed), 3, 14)
        for patches in hidden.flatten(0, 1):
            rows, columns = patches // 14, patches % 14
            height, width = (int(at.max() - at.min()) + 1 for at in (rows, columns))
            assert len(patches) == height * width
            assert 0.6 < height / width < 1.8
        shares.append(hidden.shape[-1] / 14**2)
    assert 0.12 < min(shares) < max(shares) < 0.24


def test_the_same_generator_draws_the_same_blocks() -> None:
    first, second, other = (draw_blocks(np.random.default_rng(seed), 4, 8) for seed in (0, 0, 1))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert first[1].shape != other[1].shape or not torch.equal(first[1], other[1])


def test_crops_cover_the_requested_share() -> None:
    """The slope of a ramp says how much of a side is shown; at .9 no ratio may make a crop longer than the image."""
    torch.manual_seed(0)
    along = torch.arange(128.0).expand(200, 1, 128, 128)
    both = random_crops(torch.cat([along, along.mT], dim=1), 0.9)
    width = (both[:, 0, 64, 74] - both[:, 0, 64, 54]) / 20
    height = (both[:, 1, 74, 64] - both[:, 1, 54, 64]) / 20
    assert float((width * height).min()) > 0.89
    assert float((width * height).max()) < 1.01


def test_crops_are_resized_to_full_size() -> None:
    torch.manual_seed(0)
    ramp = torch.arange(32.0).expand(64, 1, 32, 32) / 32
    cropped = random_crops(ramp, 0.3)
    assert cropped.shape == ramp.shape
    spans = cropped.amax((1, 2, 3)) - cropped.amin((1, 2, 3))
    assert float(spans.min()) < 0.75 * float(ramp.max() - ramp.min())
    assert float(spans.max()) <= float(ramp.max() - ramp.min()) + 1e-6
    assert random_crops(ramp, 1.0) is ramp
