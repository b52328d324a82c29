"""Names of cameras from topics, time stamps of messages, and the images of sensor_msgs/Image and CompressedImage."""

import io
import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ropes.common.arrays import Images
from ropes.data.recordings.source import read_picture
from ropes.errors import UserError

#: Parts of a topic that do not name a camera.
_GENERIC = {
    "image",
    "image_raw",
    "image_color",
    "image_rect",
    "image_rect_color",
    "color",
    "rgb",
    "compressed",
    "camera",
}
#: Encoding → bytes of a pixel.
_ENCODINGS = {"mono8": 1, "8UC1": 1, "rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4}
#: Encodings with two bytes of a pixel → places of Y, U and V in the four bytes of two pixels.
_YUV = {"yuv422": ((1, 3), 0, 2), "uyvy": ((1, 3), 0, 2), "yuv422_yuy2": ((0, 2), 1, 3), "yuyv": ((0, 2), 1, 3)}
_ENCODINGS |= dict.fromkeys(_YUV, 2)
#: Red, green and blue of Y − 16, U − 128 and V − 128 (ITU-R BT.601, as cv_bridge has it).
_TO_RGB = np.array([[1.164, 0.0, 1.596], [1.164, -0.391, -0.813], [1.164, 2.018, 0.0]], dtype=np.float32)
#: What an MCAP file begins with: the magic bytes and the opcode of a header.
_MCAP = b"\x89MCAP0\r\n\x01"


def camera_name(topic: str) -> str:
    """Name of a camera from its topic, without general parts: /left/image_raw/compressed is left."""
    parts = [part for part in topic.split("/") if part]
    named = [part for part in parts if part not in _GENERIC] or parts[:1]
    return "_".join(named)


def stamp_of(raw: bytes, *, ros1: bool) -> int:
    """Time stamp in ns of a message that begins with a header, without reading the rest; 0 if it is empty."""
    if ros1:  # sequence number, seconds, nanoseconds
        _, seconds, nanoseconds = struct.unpack_from("<III", raw)
    else:  # encapsulation, whose second byte is the byte order
        seconds, nanoseconds = struct.unpack_from("<iI" if raw[1] & 1 else ">iI", raw, 4)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)


def calibration_topic(topic: str) -> tuple[str, bool]:
    """Topic of the calibration beside a topic of images, and whether the images are rectified."""
    folder, _, kind = topic.removesuffix("/compressed").rpartition("/")
    return f"{folder}/camera_info", "rect" in kind


def decode(message: Any, where: str) -> Images:
    """The pixels of a message, uint8 (H, W), or (H, W, 3) in RGB.

    Args:
        message: as rosbags deserialises it.
        where: file, topic and time, for messages.

    Raises:
        UserError: another encoding, or damaged.
    """
    if hasattr(message, "encoding"):
        return _raw(message, where)
    unreadable = f"{where}: {message.format!r} image that is no complete JPEG or PNG"
    return read_picture(io.BytesIO(bytes(message.data)), where, unreadable, ("JPEG", "PNG"))


def _raw(message: Any, where: str) -> Images:
    encoding, height, width = message.encoding, int(message.height), int(message.width)
    if encoding not in _ENCODINGS:
        hint = (
            "debayer it first (image_proc)"
            if encoding.startswith("bayer")
            else "convert it first, or leave the camera out by --cameras"
        )
        raise UserError(f"{where}: encoding {encoding!r} is not {', '.join(_ENCODINGS)}; {hint}")
    channels, data = _ENCODINGS[encoding], np.asarray(message.data, dtype=np.uint8)
    step = int(message.step) or width * channels
    if not height or not width or step < width * channels or data.size < height * step:
        raise UserError(f"{where}: {data.size} bytes are no image of {width}x{height} pixels; it is truncated")
    rows = data[: height * step].reshape(height, step)[:, : width * channels]
    if channels == 1:
        return rows
    if encoding in _YUV:
        if width % 2:
            raise UserError(f"{where}: {encoding} image of {width} columns; their number must be even")
        return _of_yuv(rows, *_YUV[encoding])
    pixels = rows.reshape(height, width, channels)[:, :, :3]  # opacity means nothing to a camera
    return pixels[:, :, ::-1] if encoding.startswith("bgr") else pixels


def _of_yuv(rows: Images, brightness: tuple[int, int], blue: int, red: int) -> Images:
    """RGB of rows of pairs of pixels, each with its brightness and both with one colour: (h, 2 w) → (h, w, 3)."""
    pairs = rows.reshape(len(rows), -1, 4).astype(np.float32)
    y = pairs[:, :, brightness].reshape(len(rows), -1) - 16
    u, v = (np.repeat(pairs[:, :, place], 2, axis=1) - 128 for place in (blue, red))
    return np.clip(np.rint(np.stack([y, u, v], axis=2) @ _TO_RGB.T), 0, 255).astype(np.uint8)


def require_ros2(files: Iterable[Path]) -> None:
    """Refuse MCAP files whose header has another profile than that of ROS 2; other files pass.

    Raises:
        UserError: such a file.
    """
    for file in files:
        with file.open("rb") as stream:
            head = stream.read(len(_MCAP) + 12)  # then the lengths of the header and of the profile
            profile = stream.read(int.from_bytes(head[-4:], "little")) if head.startswith(_MCAP) else b"ros2"
        if profile != b"ros2":
            named = f"profile {profile.decode(errors='replace')!r}" if profile else "no profile"
            raise UserError(
                f"{file} has {named}, as files of Foxglove and of ropes watch --publish: only MCAP files of ROS 2 "
                "(profile 'ros2') are read"
            )


class Samples:
    """Time stamps (ns), times of reception (ns) and positions of messages, as numbers without Python objects.

    Attributes:
        counts: the different numbers of positions in a message, in the order of their first message.
    """

    def __init__(self) -> None:
        self.stamps, self.received, self.positions = array("q"), array("q"), array("d")
        self.counts = dict[int, None]()

    def add(self, stamp: int, received: int, positions: Sequence[float] | np.ndarray = ()) -> None:
        """Add a message."""
        self.stamps.append(stamp)
        self.received.append(received)
        self.positions.extend(positions)
        self.counts[len(positions)] = None


def joints_of(messages: Mapping[tuple[str, ...], int], chosen: Sequence[str], where: str) -> tuple[str, ...]:
    """The joints of the messages that count, of a topic on which several nodes may publish.

    Args:
        messages: joints → number of messages with their positions.
        chosen: joints that the messages must have.
        where: topic, for the message.

    Returns:
        Of those with all chosen joints the longest, and of equally long ones the most frequent.

    Raises:
        UserError: no message has them.
    """
    found = [names for names in messages if set(chosen) <= set(names)]
    if not found:
        known = "; ".join(", ".join(names) for names in messages) or "none"
        raise UserError(f"{where}: no message has the positions of {', '.join(chosen) or 'a joint'}; it has {known}")
    return max(found, key=lambda names: (len(names), messages[names]))
