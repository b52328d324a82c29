"""Publishes live estimates: JSON lines, ROS JointState through rosbridge, and MCAP files (`ropes.inference.live.mcap`).

Each publisher takes an estimate at once and never waits for its reader; what cannot be sent is dropped.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from ropes.errors import UserError
from ropes.inference.live.mcap_log import McapLog
from ropes.inference.live.watch import Estimate, Sink
from ropes.inference.poses import Arm

TOPIC = "/ropes/joint_states"
#: Seconds to wait for a rosbridge.
_CONNECT = 15.0


class JsonLines(Sink):
    """One JSON object a line, see `Estimate.to_dict`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def send(self, estimate: Estimate) -> None:
        """Write a line."""
        print(json.dumps(estimate.to_dict()), file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing is left."""


class Rosbridge(Sink):
    """sensor_msgs/JointState on a topic of a ROS system with a rosbridge server.

    With a filter, positions and velocities are the filtered ones.

    Args:
        address: ws://HOST:PORT.
        topic: name of the topic.

    Raises:
        UserError: roslibpy is not installed, the address has another form, or nobody answers there.
    """

    def __init__(self, address: str, topic: str = TOPIC) -> None:
        try:
            roslibpy = importlib.import_module("roslibpy")
        except ModuleNotFoundError as error:
            raise UserError(f"--publish {address} needs the package roslibpy: pip install 'ropes[live]'") from error
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port or 9090
        except ValueError as error:
            raise UserError(f"--publish {address} is not ws://HOST:PORT ({error})") from error
        if not host:
            raise UserError(f"--publish {address} is not ws://HOST:PORT")
        self._ros = roslibpy.Ros(host, port, is_secure=parts.scheme == "wss")
        self._message, self._dropped = roslibpy.Message, False
        try:
            self._ros.run(timeout=_CONNECT)
        except Exception as error:  # roslibpy raises its own class for each version
            self.close()
            raise UserError(f"no rosbridge answers at {address}; start rosbridge_server there") from error
        self._topic = roslibpy.Topic(self._ros, topic, "sensor_msgs/JointState")
        self._topic.advertise()

    def send(self, estimate: Estimate) -> None:
        """Publish a message; without a connection it is dropped, and one line on standard error says so."""
        if self._ros.is_connected:
            self._topic.publish(self._message(joint_state(estimate)))
        elif not self._dropped:
            self._dropped = True
            print("ropes: the rosbridge is gone; messages are dropped until it returns", file=sys.stderr)

    def close(self) -> None:
        """End the connection."""
        self._ros.terminate()


def joint_state(estimate: Estimate) -> dict[str, Any]:
    """The fields of a sensor_msgs/JointState."""
    seconds, nanoseconds = divmod(estimate.nanoseconds, 1_000_000_000)
    filtered = estimate.filtered
    return {
        "header": {"stamp": {"sec": seconds, "nanosec": nanoseconds}, "frame_id": ""},
        "name": list(estimate.prediction["joints"]),
        "position": (estimate.angles if filtered is None else filtered.angles).tolist(),
        "velocity": [] if filtered is None else filtered.velocities.tolist(),
        "effort": [],
    }


def publisher(target: str, arm: Arm | None, topic: str = TOPIC) -> Sink:
    """The publisher of a target of --publish.

    Args:
        target: "-" for JSON lines on standard output, ws://HOST:PORT for rosbridge, or FILE.mcap.
        arm: whose link poses a MCAP file gets; None for none.
        topic: of rosbridge.

    Raises:
        UserError: another target, or see the publishers.
    """
    if target == "-":
        return JsonLines(sys.stdout)
    if target.startswith(("ws://", "wss://")):
        return Rosbridge(target, topic)
    if target.endswith(".mcap"):
        return McapLog(Path(target), arm)
    raise UserError(f"--publish {target}: give - for JSON lines, ws://HOST:PORT for rosbridge, or FILE.mcap")
