import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropes.common import png
from ropes.data.pictures import enlarge, letterbox


def test_enlarging_to_a_multiple_repeats_blocks() -> None:
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 4, 4), dtype=np.uint8)
    np.testing.assert_array_equal(enlarge(images, 12), np.kron(images, np.ones((1, 1, 3, 3), np.uint8)))


def test_a_pixel_takes_the_grey_level_that_its_centre_lies_in() -> None:
    image = np.array([[0, 1], [2, 3]], np.uint8)
    np.testing.assert_array_equal(enlarge(image, 3), [[0, 1, 1], [2, 3, 3], [2, 3, 3]])


@given(st.integers(1, 9), st.integers(0, 20))
def test_enlarging_keeps_every_pixel_and_adds_no_grey_level(side: int, more: int) -> None:
    image = np.arange(side**2, dtype=np.uint8).reshape(side, side)
    large = enlarge(image, side + more)
    assert large.shape == (side + more, side + more)
    assert set(large.ravel()) == set(image.ravel())
    if not more:
        np.testing.assert_array_equal(large, image)


@pytest.mark.parametrize("side", [12, 6, 4, 8, 5])
def test_prediction_resizes_images_as_the_training_cache_does(side: int) -> None:
    images = np.random.default_rng(1).integers(0, 256, (20, 2, 12, 12), dtype=np.uint8)
    cached = [[png.decode(png.encode(view), (12, 12), side) for view in views] for views in images]
    np.testing.assert_array_equal(letterbox(images.reshape(-1, 12, 12), side).reshape(20, 2, side, side), cached)
