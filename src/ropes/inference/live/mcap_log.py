"""Writes live estimates to a MCAP file with Foxglove's schemas, encoded as JSON.

Schemas: https://docs.foxglove.dev/docs/sdk/schemas.  Foxglove recognises them by their names.
"""

import base64
import importlib
import io
import json
import os
from pathlib import Path
from typing import Any

from PIL import Image
from scipy.spatial.transform import Rotation

from ropes.errors import UserError, install_command
from ropes.inference.live.watch import Estimate, Sink
from ropes.inference.poses import Arm

_TIME = {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}
_TEXT, _NUMBER = {"type": "string"}, {"type": "number"}
_VECTOR = {"type": "object", "properties": dict.fromkeys("xyz", _NUMBER)}
_QUATERNION = {"type": "object", "properties": dict.fromkeys("xyzw", _NUMBER)}
_JOINT = {"type": "object", "properties": {"name": _TEXT, "position": _NUMBER, "velocity": _NUMBER}}
_TRANSFORM = {
    "type": "object",
    "properties": {
        "timestamp": _TIME,
        "parent_frame_id": _TEXT,
        "child_frame_id": _TEXT,
        "translation": _VECTOR,
        "rotation": _QUATERNION,
    },
}
#: Schema name → properties of its messages; all but the last are Foxglove's.
SCHEMAS: dict[str, dict[str, Any]] = {
    "foxglove.JointStates": {"timestamp": _TIME, "joints": {"type": "array", "items": _JOINT}},
    "foxglove.FrameTransforms": {"transforms": {"type": "array", "items": _TRANSFORM}},
    "foxglove.CompressedImage": {
        "timestamp": _TIME,
        "frame_id": _TEXT,
        "data": {"type": "string", "contentEncoding": "base64"},
        "format": _TEXT,
    },
    "ropes.Estimate": {
        "time": _NUMBER,
        "latency_ms": _NUMBER,
        "rate_hz": _NUMBER,
        "out_of_distribution": {"type": "boolean"},
    },
}


class McapLog(Sink):
    """A MCAP file with the topics /joint_states, /tf, /estimate and /camera/NAME.

    The file has its name once it is complete; until then a file beside it ends in .partial, from which `mcap recover`
    recovers the messages after a kill.  Without any estimate there is no file.

    Args:
        path: of the file.
        arm: whose link poses are written to /tf; None for none.

    Raises:
        UserError: the package mcap is not installed, the file exists or cannot be written, or what a kill left of it is
            still there.
    """

    def __init__(self, path: Path, arm: Arm | None = None) -> None:
        try:
            writer = importlib.import_module("mcap.writer")
        except ModuleNotFoundError as error:
            raise UserError(f"--publish {path} needs the package mcap: {install_command('live')}") from error
        if path.exists():
            raise UserError(f"{path} exists; give another name, or remove it")
        self._path, self._arm = path, arm
        self._partial = path.with_name(f"{path.name}.partial")
        if self._partial.exists():
            raise UserError(f"{self._partial} is left of a watch that was killed; mcap recover it, then remove it")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = self._partial.open("wb")
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from error
        self._writer = writer.Writer(self._stream)
        self._writer.start(profile="", library="ropes")
        self._schemas = {
            name: self._writer.register_schema(
                name, "jsonschema", json.dumps({"title": name, "type": "object", "properties": properties}).encode()
            )
            for name, properties in SCHEMAS.items()
        }
        self._channels: dict[str, int] = {}
        self._links = () if arm is None else arm.urdf.links[1:]

    def send(self, estimate: Estimate) -> None:
        """Write the messages of an estimate."""
        nanoseconds = estimate.nanoseconds
        stamp = dict(zip(("sec", "nsec"), divmod(nanoseconds, 1_000_000_000), strict=True))
        self._write(nanoseconds, "/joint_states", "foxglove.JointStates", joint_states(estimate, stamp))
        self._write(nanoseconds, "/estimate", "ropes.Estimate", estimate.to_dict())
        if self._arm is not None:
            transforms = frame_transforms(self._arm, estimate, stamp, self._links)
            self._write(nanoseconds, "/tf", "foxglove.FrameTransforms", {"transforms": transforms})
        for camera, image in estimate.images.items():
            with io.BytesIO() as content:
                Image.fromarray(image).save(content, "JPEG", quality=85)
                data = base64.b64encode(content.getvalue()).decode("ascii")
            message = {"timestamp": stamp, "frame_id": camera, "data": data, "format": "jpeg"}
            self._write(nanoseconds, f"/camera/{camera}", "foxglove.CompressedImage", message)

    def close(self) -> None:
        """Complete the file; a file without messages is removed."""
        if not self._channels:
            self._stream.close()
            self._partial.unlink()
            return
        self._writer.finish()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        self._partial.replace(self._path)

    def _write(self, nanoseconds: int, topic: str, schema: str, message: dict[str, Any]) -> None:
        if topic not in self._channels:
            self._channels[topic] = self._writer.register_channel(topic, "json", self._schemas[schema])
        data = json.dumps(message).encode()
        self._writer.add_message(self._channels[topic], log_time=nanoseconds, publish_time=nanoseconds, data=data)


def joint_states(estimate: Estimate, stamp: dict[str, int]) -> dict[str, Any]:
    """A foxglove.JointStates; with a filter, of its angles and velocities."""
    filtered, joints = estimate.filtered, []
    for column, name in enumerate(estimate.prediction["joints"]):
        if filtered is None:
            joints.append({"name": name, "position": float(estimate.angles[column])})
        else:
            position, velocity = float(filtered.angles[column]), float(filtered.velocities[column])
            joints.append({"name": name, "position": position, "velocity": velocity})
    return {"timestamp": stamp, "joints": joints}


def frame_transforms(
    arm: Arm, estimate: Estimate, stamp: dict[str, int], links: tuple[str, ...]
) -> list[dict[str, Any]]:
    """The foxglove.FrameTransform of each link, from the arm's base."""
    angles = estimate.angles if estimate.filtered is None else estimate.filtered.angles
    poses = arm.poses(angles[None])
    transforms = []
    for link in links:
        quaternion = Rotation.from_matrix(poses[link][0, :3, :3]).as_quat().tolist()
        transforms.append(
            {
                "timestamp": stamp,
                "parent_frame_id": arm.frame,
                "child_frame_id": link,
                "translation": dict(zip("xyz", poses[link][0, :3, 3].tolist(), strict=True)),
                "rotation": dict(zip("xyzw", quaternion, strict=True)),
            }
        )
    return transforms
