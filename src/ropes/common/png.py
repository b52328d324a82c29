"""Encodes and decodes 8-bit PNG; checks the header before decoding a pixel.

The header is read by hand (PNG specification, section 5): it costs a microsecond, so each image that is read
is checked on the way.  Pillow does the decoding.
"""

import io
import struct
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, PngImagePlugin

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Height and width of a grey image; height, width and 3 of one in colour.
Shape = tuple[int, ...]
_COLOURS = {0: "grey", 2: "RGB", 3: "palette", 4: "grey with alpha", 6: "RGB with alpha"}


class Header(NamedTuple):
    """Size in pixels, bits a channel, and the PNG colour type (0 is grey)."""

    height: int
    width: int
    depth: int
    colour: int

    def __str__(self) -> str:
        kind = _COLOURS.get(self.colour, f"colour type {self.colour}")
        return f"{self.height}x{self.width} {self.depth}-bit {kind}"


class NotAnImage(ValueError):
    """The bytes are not the image they should be; the message says what they are."""


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
    """Hold the header against an 8-bit image of `shape`.

    Raises:
        NotAnImage: it is another size or type, or no image at all.
    """
    if data is None:
        raise NotAnImage("no image bytes")
    found, wanted = header(data), Header(shape[0], shape[1], 8, 0 if len(shape) == 2 else 2)
    if found != wanted:
        raise NotAnImage(f"{found} image where {wanted} is expected")


def check_chunks(data: bytes) -> None:
    """Verify the checksum of every chunk, so that a flipped bit cannot pass for a pixel.

    Raises:
        NotAnImage: a chunk is cut short or its checksum differs.
    """
    position = 8
    while position + 12 <= len(data):
        (length,) = struct.unpack(">I", data[position : position + 4])
        end = position + 12 + length
        if end > len(data):
            break
        (stored,) = struct.unpack(">I", data[end - 4 : end])
        if zlib.crc32(data[position + 4 : end - 4]) != stored:
            raise NotAnImage("damaged PNG (checksum differs)")
        if data[position + 4 : position + 8] == b"IEND":
            return
        position = end
    raise NotAnImage("truncated PNG")


def decode(data: bytes | None, shape: Shape, shrink_to: int | None = None) -> NDArray[np.uint8]:
    """Decode one 8-bit PNG of `shape`; `shrink_to` averages it by area to that side.

    Returns:
        Pixels, uint8, 0 to 255, of that shape, or with sides of `shrink_to`.

    Raises:
        NotAnImage: another size or type, or damaged.
    """
    check_header(data, shape)
    assert data is not None
    check_chunks(data)  # Pillow passes over the checksums of pixels
    try:
        # The plugin's class, not Image.open: guessing the format costs a third of the time of a small image.
        with PngImagePlugin.PngImageFile(io.BytesIO(data)) as image:
            return np.asarray(image) if shrink_to is None else shrink(image, shrink_to)
    except (OSError, SyntaxError, ValueError, struct.error) as error:
        raise NotAnImage(f"damaged PNG ({error})") from error


def shrink(image: Image.Image, side: int) -> NDArray[np.uint8]:
    """Average an image by area to `side` pixels square."""
    if image.size == (side, side):
        return np.asarray(image)
    if image.width == image.height and image.width % side == 0:  # exact, where resize rounds twice
        return np.asarray(image.reduce(image.width // side))
    return np.asarray(image.resize((side, side), Image.Resampling.BOX))


def encode(pixels: NDArray[np.uint8]) -> bytes:
    """Encode uint8 (height, width) as grey PNG, (height, width, 3) in colour, without loss, compressed for speed."""
    stream = io.BytesIO()
    image = Image.fromarray(np.ascontiguousarray(pixels, dtype=np.uint8))
    # Runs of background are all there is to gain: run-length matching is both smallest and fastest here.
    image.save(stream, "PNG", compress_level=1, compress_type=zlib.Z_RLE)
    return stream.getvalue()
