"""What covers or changes a part of an image in colour does so in all channels; and where it is, told in pixels."""

from typing import get_args

import numpy as np
import pytest
import torch

from ropes.methods.anchored.contrast import change_map
from ropes.methods.student.foreign import add_foreign_objects
from ropes.methods.training.augmentation import erase
from ropes.methods.uncertainty.annotations import foreign_boxes
from ropes.simulation.corruption import Hiding, occlude


@pytest.mark.parametrize("kind", get_args(Hiding))
def test_colour_occluders_cover_all_channels_of_a_square(kind: Hiding) -> None:
    images = np.full((3, 2, 16, 20, 3), 100, np.uint8)
    changed = (occlude(images, 6, np.random.default_rng(0), kind) != images).any(-1)
    for sample, view in np.ndindex(3, 2):
        rows, columns = np.nonzero(changed[sample, view])
        assert 0 < np.ptp(rows) < 6
        assert 0 < np.ptp(columns) < 6


def test_colour_augmentation_changes_all_channels_equally() -> None:
    torch.manual_seed(0)
    images = torch.zeros(40, 6, 16, 16, dtype=torch.uint8)
    erased = erase(images, 0.5, 3).unflatten(1, (2, 3))
    assert torch.equal(erased[:, :, :1].expand_as(erased), erased)
    assert 0.2 < float((erased.flatten(2) > 0).any(2).float().mean()) < 0.8
    assert not torch.equal(erased[:, 0], erased[:, 1])
    foreign = add_foreign_objects(images, 3).unflatten(1, (2, 3))
    covered = foreign > 0
    # A level of a texture is 0 now and then.
    assert float((covered.all(2) == covered.any(2)).float().mean()) > 0.98
    assert not torch.equal(foreign[:, :, 0], foreign[:, :, 1])


def test_change_map_is_the_mean_over_channels() -> None:
    rng = np.random.default_rng(0)
    grey = torch.from_numpy(rng.integers(0, 256, (2, 5, 2, 8, 8), dtype=np.uint8))
    torch.testing.assert_close(change_map(grey.repeat_interleave(3, 2), 1, 4, 3), change_map(grey, 1, 4))


def test_foreign_object_boxes_use_pixels_of_their_own_camera() -> None:
    parts = np.zeros((2, 4, 4), dtype=bool)
    parts[0, 0, 0] = True  # in the bar above the image
    parts[0, 1, 2] = True
    parts[1, 2:, 0] = True  # half in the bar on the left
    found = foreign_boxes(["wide", "high"], parts, [(16, 32, 3), (24, 18, 3)])
    assert found == {"wide": [[16, 0, 24, 8]], "high": [[0, 12, 3, 24]]}
