"""Writes bags with the formats' own libraries."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from mcap.writer import Writer as McapWriter
from PIL import Image
from rosbags.highlevel import AnyReader
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

Kind = Literal["ros1", "sqlite", "mcap"]
SECOND = 1_000_000_000


class Message(NamedTuple):
    """Topic, time of reception (s), type without package, and fields beside the header."""

    topic: str
    time: float
    kind: str
    fields: dict[str, Any]
    stamp: float | None = None


def image(camera: str, time: float, pixels: np.ndarray, encoding: str, **fields: Any) -> Message:
    height, width = pixels.shape[:2]
    size = {"height": height, "width": width, "encoding": encoding, "is_bigendian": 0}
    data = {"step": pixels.nbytes // height, "data": np.ascontiguousarray(pixels).reshape(-1)}
    return Message(f"/{camera}/image_raw", time, "sensor_msgs/msg/Image", size | data | fields)


def jpeg(camera: str, time: float, pixels: np.ndarray, share: float = 1.0) -> Message:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=95)
    data = np.frombuffer(stream.getvalue(), np.uint8)
    fields = {"format": "jpeg", "data": data[: int(share * len(data))]}
    return Message(f"/{camera}/image_raw/compressed", time, "sensor_msgs/msg/CompressedImage", fields)


def joints(time: float, positions: dict[str, float], topic: str = "/joint_states") -> Message:
    empty = np.empty(0)
    fields = {
        "name": list(positions),
        "position": np.array(list(positions.values())),
        "velocity": empty,
        "effort": empty,
    }
    return Message(topic, time, "sensor_msgs/msg/JointState", fields)


def camera_info(camera: str, time: float, size: tuple[int, int], matrix: np.ndarray, **fields: Any) -> Message:
    """Calibration of images of `size` (height, width); the names of fields are those of ROS 2."""
    projection = np.concatenate([matrix, np.zeros((3, 1))], axis=1)
    content = {
        "height": size[0],
        "width": size[1],
        "distortion_model": "plumb_bob",
        "d": np.array([0.1, -0.2, 0, 0, 0]),
    }
    content |= {"k": matrix.reshape(-1), "r": np.eye(3).reshape(-1), "p": projection.reshape(-1)}
    content |= {"binning_x": 0, "binning_y": 0}
    return Message(f"/{camera}/camera_info", time, "sensor_msgs/msg/CameraInfo", content | fields)


def policy(time: float, name: str, topic: str = "/policy") -> Message:
    return Message(topic, time, "std_msgs/msg/String", {"data": name})


def write(path: Path, kind: Kind, messages: Sequence[Message]) -> Path:
    """Write a bag: a file for ROS 1, a folder for ROS 2."""
    store = get_typestore(Stores.ROS1_NOETIC if kind == "ros1" else Stores.ROS2_HUMBLE)
    plugin = StoragePlugin.MCAP if kind == "mcap" else StoragePlugin.SQLITE3
    writer = Writer1(path) if kind == "ros1" else Writer2(path, version=9, storage_plugin=plugin)
    with writer:
        opened = {
            each.topic: writer.add_connection(each.topic, each.kind, typestore=store)
            for each in {message.topic: message for message in messages}.values()
        }
        for each in messages:
            built = _built(store, each, ros1=kind == "ros1")
            raw = store.serialize_ros1(built, each.kind) if kind == "ros1" else store.serialize_cdr(built, each.kind)
            writer.write(opened[each.topic], round(each.time * SECOND), raw)
    return path


def _built(store: Typestore, message: Message, *, ros1: bool) -> object:
    fields = dict(message.fields)
    if message.kind.startswith("sensor_msgs"):
        nanoseconds = round((message.time if message.stamp is None else message.stamp) * SECOND)
        stamp = store.types["builtin_interfaces/msg/Time"](sec=nanoseconds // SECOND, nanosec=nanoseconds % SECOND)
        sequence = {"seq": 0} if ros1 else {}
        fields["header"] = store.types["std_msgs/msg/Header"](stamp=stamp, frame_id="", **sequence)
    if message.kind.endswith("CameraInfo"):
        whole = {"x_offset": 0, "y_offset": 0, "height": 0, "width": 0, "do_rectify": False}
        fields["roi"] = store.types["sensor_msgs/msg/RegionOfInterest"](**whole)
        if ros1:
            fields = {name.upper() if len(name) == 1 else name: value for name, value in fields.items()}
    return store.types[message.kind](**fields)


def rewritten(source: Path, path: Path) -> Path:
    """The messages of a ROS 2 bag in a file by MCAP's own writer, with compressed chunks."""
    with AnyReader([source]) as reader, path.open("wb") as stream:
        writer = McapWriter(stream)
        writer.start(profile="ros2", library="")
        channels = {}
        for each in reader.connections:
            number = writer.register_schema(each.msgtype, "ros2msg", each.msgdef.data.encode())
            channels[each.topic] = writer.register_channel(each.topic, "cdr", number)
        for connection, time, raw in reader.messages():
            writer.add_message(channels[connection.topic], time, bytes(raw), time)
        writer.finish()
    return path
