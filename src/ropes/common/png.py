"""Encodes and decodes 8-bit PNG, and checks headers before decoding.

Parsing the header here (PNG specification, section 5) takes a microsecond, so every image is checked.  Pillow decodes.
"""

import io
import struct
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, PngImagePlugin

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: (height, width) of a grey image, (height, width, 3) of a colour image.
Shape = tuple[int, ...]
_COLOURS = {0: "grey", 2: "RGB", 3: "palette", 4: "grey with alpha", 6: "RGB with alpha"}


class Header(NamedTuple):
    """Size in pixels, bits per channel, and the PNG colour type (0 is grey)."""

    height: int
    width: int
    depth: int
    colour: int

    def __str__(self) -> str:
        kind = _COLOURS.get(self.colour, f"colour type {self.colour}")
        return f"{self.height}x{self.width} {self.depth}-bit {kind}"


class NotAnImage(ValueError):
    """The bytes are not the expected image; the message says what they are."""


class DamagedImage(NotAnImage):
    """The bytes begin as an image, and are truncated or damaged."""


def header(data: bytes) -> Header:
    """Read the header of a PNG.

    Raises:
        NotAnImage: no PNG signature and header at the start.
    """
    if len(data) < 33 or data[:8] != _SIGNATURE or data[12:16] != b"IHDR":
        raise NotAnImage("not a PNG")
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    return Header(height, width, depth, colour)


def check_header(data: bytes | None, shape: Shape) -> None:
    """Check that the header is that of an 8-bit image of `shape`.

    Raises:
        NotAnImage: another size or type, or no image.
    """
    if data is None:
        raise NotAnImage("no image bytes")
    actual, expected = header(data), Header(shape[0], shape[1], 8, 0 if len(shape) == 2 else 2)
    if actual != expected:
        raise NotAnImage(f"{actual} image where {expected} is expected")


def has_shape(data: bytes, shape: Shape) -> bool:
    """Whether the header is that of an 8-bit image of `shape`."""
    try:
        check_header(data, shape)
    except NotAnImage:
        return False
    return True


def check_chunks(data: bytes) -> None:
    """Verify the checksum of every chunk.

    Raises:
        DamagedImage: a chunk is truncated or its checksum differs.
    """
    position = 8
    while position + 12 <= len(data):
        (length,) = struct.unpack(">I", data[position : position + 4])
        end = position + 12 + length
        if end > len(data):
            break
        (stored,) = struct.unpack(">I", data[end - 4 : end])
        if zlib.crc32(data[position + 4 : end - 4]) != stored:
            raise DamagedImage("damaged PNG (checksum differs)")
        if data[position + 4 : position + 8] == b"IEND":
            return
        position = end
    raise DamagedImage("truncated PNG")


def decode(data: bytes | None, shape: Shape, side: int | None = None) -> NDArray[np.uint8]:
    """Decode one 8-bit PNG of `shape`; with `side`, see `letterbox`.

    Returns:
        uint8 pixels of that shape, or with sides of `side`.

    Raises:
        NotAnImage: another size or type; or a `DamagedImage`.
    """
    check_header(data, shape)
    assert data is not None
    check_chunks(data)  # Pillow does not verify the checksums of pixels
    try:
        # Image.open would spend a third of the time of a small image on guessing the format.
        with PngImagePlugin.PngImageFile(io.BytesIO(data)) as image:
            return np.asarray(image) if side is None else letterbox(image, side)
    except (OSError, SyntaxError, ValueError, struct.error) as error:
        raise DamagedImage(f"damaged PNG ({error})") from error


def bars(height: int, width: int) -> tuple[int, int]:
    """Rows above and columns left of an image in the middle of the smallest square that holds it, pixels."""
    side = max(height, width)
    return (side - height) // 2, (side - width) // 2


def letterbox(image: Image.Image, side: int) -> NDArray[np.uint8]:
    """Pad an image with black to a square, see `bars`, and average the square by area to `side` pixels.

    The aspect ratio stays. Training, evaluation and prediction all resize by this function.
    """
    if image.width != image.height:
        square = Image.new(image.mode, (max(image.size),) * 2)
        top, left = bars(image.height, image.width)
        square.paste(image, (left, top))
        image = square
    if image.size == (side, side):
        return np.asarray(image)
    if image.width == image.height and image.width % side == 0:  # exact; resize rounds twice
        return np.asarray(image.reduce(image.width // side))
    return np.asarray(image.resize((side, side), Image.Resampling.BOX))


def encode(pixels: NDArray[np.uint8]) -> bytes:
    """Encode uint8 (height, width) as grey PNG, or (height, width, 3) as RGB, with fast lossless compression."""
    stream = io.BytesIO()
    image = Image.fromarray(np.ascontiguousarray(pixels, dtype=np.uint8))
    # The images compress through runs of background, so run-length matching is both smallest and fastest.
    image.save(stream, "PNG", compress_level=1, compress_type=zlib.Z_RLE)
    return stream.getvalue()
