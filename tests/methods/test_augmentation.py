"""White squares in training images: where, how large, how many; and crops under mixed precision."""

import torch

from ropes.methods.training.augmentation import SIDES, erase, random_crops


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
