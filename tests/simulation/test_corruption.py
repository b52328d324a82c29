import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropes.errors import UserError
from ropes.simulation.corruption import OCCLUDER_NAMES, Hiding, occlude


@settings(deadline=None, max_examples=40)
@given(size=st.integers(0, 16), seed=st.integers(0, 1000))
def test_each_view_gets_one_whole_white_square(size: int, seed: int) -> None:
    images = np.zeros((5, 2, 16, 20), dtype=np.uint8)
    damaged = occlude(images, size, np.random.default_rng(seed))
    assert not images.any()
    for view in damaged.reshape(-1, 16, 20):
        assert (view == 255).sum() == size * size
        rows, columns = np.nonzero(view)
        if size:
            assert np.ptp(rows) + 1 == np.ptp(columns) + 1 == size


def test_square_positions_are_uniform_independent_and_seeded() -> None:
    images = np.zeros((4000, 2, 8, 8), dtype=np.uint8)
    damaged = occlude(images, 6, np.random.default_rng(0))
    top = damaged.any(axis=3).argmax(axis=2)
    left = damaged.any(axis=2).argmax(axis=2)
    for place in (top[:, 0], left[:, 0], top[:, 1]):
        np.testing.assert_allclose(np.bincount(place, minlength=3) / 4000, 1 / 3, atol=0.03)
    assert abs(np.corrcoef(top[:, 0], top[:, 1])[0, 1]) < 0.05
    np.testing.assert_array_equal(damaged, occlude(images, 6, np.random.default_rng(0)))


def test_a_square_larger_than_the_image_is_refused() -> None:
    with pytest.raises(UserError, match="an occluding square of 9 pixels does not fit into 16×8 images"):
        occlude(np.zeros((1, 1, 8, 16), dtype=np.uint8), 9, np.random.default_rng(0))


@pytest.mark.parametrize("kind", sorted(OCCLUDER_NAMES))
def test_occluder_depends_on_the_seed_and_stays_in_its_square(kind: Hiding) -> None:
    images = np.full((40, 2, 24, 24), 100, dtype=np.uint8)
    damaged = occlude(images, 8, np.random.default_rng(5), kind)
    np.testing.assert_array_equal(damaged, occlude(images, 8, np.random.default_rng(5), kind))
    white = occlude(images, 8, np.random.default_rng(5))
    first = occlude(images[:1, :1], 8, np.random.default_rng(5), kind)[0, 0] != 100
    rows, columns = np.nonzero(first)
    assert np.ptp(rows) < 8
    assert np.ptp(columns) < 8
    assert 0 < (damaged != 100).sum() <= (white != 100).sum()
    if kind == "grey":
        assert all(len(np.unique(view)) <= 2 for view in damaged.reshape(-1, 24, 24))
        assert len(np.unique(damaged)) > 40  # of any level
    if kind in ("noise", "texture", "object"):
        assert len(np.unique(damaged[0, 0])) > 5
    if kind == "object":
        assert (damaged != 100).mean() < 0.9 * (white != 100).mean()  # corners of the square show what is behind


def test_unknown_occluder_kind_is_refused() -> None:
    images, rng = np.zeros((1, 1, 8, 8), dtype=np.uint8), np.random.default_rng(0)
    with pytest.raises(UserError, match="unknown way of hiding 'fog': choose one of square, grey, noise, texture, obj"):
        occlude(images, 2, rng, "fog")  # type: ignore[arg-type] # no such name
