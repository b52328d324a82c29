import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropes.errors import UserError
from ropes.simulate.corruption import occlude


@settings(deadline=None, max_examples=40)
@given(size=st.integers(0, 16), seed=st.integers(0, 1000))
def test_one_whole_white_square_per_view(size, seed):
    images = np.zeros((5, 2, 16, 20), dtype=np.uint8)
    damaged = occlude(images, size, np.random.default_rng(seed))
    assert not images.any()
    for view in damaged.reshape(-1, 16, 20):
        assert (view == 255).sum() == size * size
        rows, columns = np.nonzero(view)
        if size:
            assert np.ptp(rows) + 1 == np.ptp(columns) + 1 == size


def test_places_are_uniform_independent_and_seeded():
    images = np.zeros((4000, 2, 8, 8), dtype=np.uint8)
    damaged = occlude(images, 6, np.random.default_rng(0))
    top = damaged.any(axis=3).argmax(axis=2)
    left = damaged.any(axis=2).argmax(axis=2)
    for place in (top[:, 0], left[:, 0], top[:, 1]):
        np.testing.assert_allclose(np.bincount(place, minlength=3) / 4000, 1 / 3, atol=0.03)
    assert abs(np.corrcoef(top[:, 0], top[:, 1])[0, 1]) < 0.05
    np.testing.assert_array_equal(damaged, occlude(images, 6, np.random.default_rng(0)))


def test_a_square_larger_than_the_image_is_refused():
    with pytest.raises(UserError, match="an occluding square of 9 pixels does not fit into 16×8 images"):
        occlude(np.zeros((1, 1, 8, 16), dtype=np.uint8), 9, np.random.default_rng(0))
