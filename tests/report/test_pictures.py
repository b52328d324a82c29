"""Strips and their PNG form, pixel by pixel."""

import base64
import io

import numpy as np
from PIL import Image

from ropes.report import pictures


def test_a_strip_keeps_every_pixel_and_leaves_gaps_transparent() -> None:
    images = np.arange(2 * 3 * 5, dtype=np.uint8).reshape(2, 3, 5)
    strip = pictures.strip(images)
    assert strip.shape == (3, 5 + pictures.GAP + 5, 2)
    np.testing.assert_array_equal(strip[:, :5, 0], images[0])
    np.testing.assert_array_equal(strip[:, -5:, 0], images[1])
    assert np.all(strip[:, 5:-5, 1] == 0)
    assert np.all(strip[:, :5, 1] == 255)


def test_strips_of_different_lengths_stack() -> None:
    long, short = (pictures.strip(np.full((count, 2, 2), 9, dtype=np.uint8)) for count in (3, 1))
    stacked = pictures.stack([long, short])
    assert stacked.shape == (4 + pictures.GAP, long.shape[1], 2)
    np.testing.assert_array_equal(stacked[:2], long)
    np.testing.assert_array_equal(stacked[-2:, :2], short)
    assert np.all(stacked[-2:, 2:, 1] == 0)


def test_the_data_uri_is_a_lossless_png() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, size=(6, 7, 2), dtype=np.uint8)
    head, _, body = pictures.data_uri(pixels).partition(",")
    assert head == "data:image/png;base64"
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode(body)))), pixels)


def test_large_noisy_pictures_are_compressed_as_webp() -> None:
    rng = np.random.default_rng(0)
    images = np.clip(rng.normal(120, 5, (4, 128, 128)), 0, 255).astype(np.uint8)
    strip = pictures.strip(images)
    head, _, body = pictures.data_uri(strip).partition(",")
    assert head == "data:image/webp;base64"
    encoded = base64.b64decode(body)
    assert len(encoded) < 0.5 * len(pictures.png(strip))
    shown = np.asarray(Image.open(io.BytesIO(encoded)))
    np.testing.assert_array_equal(shown[..., 3], strip[..., 1])
    assert np.abs(shown[:, :128, 0].astype(float) - images[0]).mean() < 5
    flat = pictures.strip(np.kron(rng.integers(0, 255, (4, 8, 8), np.uint8), np.ones((1, 32, 32), np.uint8)))
    assert pictures.data_uri(flat).startswith("data:image/png;base64,")


def test_only_outlines_of_parts_are_drawn_in_red() -> None:
    images = np.full((2, 6, 6), 9, dtype=np.uint8)
    there = np.zeros((2, 6, 6), dtype=bool)
    there[1, 1:5, 1:5] = True
    drawn = pictures.outlined(images, there)
    assert drawn.shape == (2, 6, 6, 3)
    red = (drawn == pictures.RED).all(-1)
    expected = there.copy()
    expected[1, 2:4, 2:4] = False
    np.testing.assert_array_equal(red, expected)
    assert np.all(drawn[~red] == 9)
