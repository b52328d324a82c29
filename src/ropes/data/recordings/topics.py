"""Names of cameras and of their calibrations from topics of a bag, and the time stamps of its messages."""

import struct

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
