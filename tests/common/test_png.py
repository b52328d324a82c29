import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from PIL import Image

from ropes.common import png


def encoded(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_png_round_trips(pixels: NDArray[np.uint8]) -> None:
    data = png.encode(pixels)
    assert png.header(data) == (*pixels.shape, 8, 0)
    png.check_chunks(data)
    np.testing.assert_array_equal(png.decode(data, pixels.shape), pixels)


def test_shrinking_averages_by_area() -> None:
    pixels = np.array([[0, 2, 10, 20], [4, 6, 30, 40], [255] * 4, [255] * 4], np.uint8)
    np.testing.assert_array_equal(png.decode(png.encode(pixels), (4, 4), 2), [[3, 25], [255, 255]])


def test_shrinking_by_a_fraction_keeps_the_mean() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (12, 12), dtype=np.uint8)
    small = png.decode(png.encode(pixels), (12, 12), 8)
    assert small.shape == (8, 8)
    assert abs(small.mean() - pixels.mean()) < 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "no image bytes"),
        (b"GIF89a" + b"\0" * 40, "not a PNG"),
        (encoded(Image.new("RGB", (4, 4))), "4x4 8-bit RGB image where 4x4 8-bit grey is expected"),
        (encoded(Image.new("I;16", (4, 4))), "4x4 16-bit grey image where"),
        (encoded(Image.new("L", (5, 4))), "4x5 8-bit grey image where 4x4"),
        (encoded(Image.new("L", (4, 4)))[:44], "truncated PNG"),
    ],
)
def test_unsupported_image_is_refused(data: bytes | None, message: str) -> None:
    with pytest.raises(png.NotAnImage, match=message):
        png.decode(data, (4, 4))


def test_flipped_bit_is_detected_in_every_chunk() -> None:
    data = bytearray(png.encode(np.zeros((4, 4), np.uint8)))
    for position in (20, len(data) - 20):
        damaged = bytearray(data)
        damaged[position] ^= 1
        with pytest.raises(png.NotAnImage, match="checksum differs"):
            png.check_chunks(bytes(damaged))
    with pytest.raises(png.NotAnImage, match="truncated"):
        png.check_chunks(bytes(data[:-6]))


def test_flipped_bit_never_decodes_to_other_pixels() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (16, 16), dtype=np.uint8)
    data = png.encode(pixels)
    for bit in range(0, 8 * len(data), 7):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(png.NotAnImage):
            png.decode(bytes(damaged), (16, 16))
