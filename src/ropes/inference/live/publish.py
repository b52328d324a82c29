"""Publishes live estimates: JSON lines, ROS 2 JointState through rosbridge, and MCAP files (see `mcap_log`).

Each publisher takes an estimate at once and never waits for its reader; what cannot be sent is dropped.
"""

import io
import json
import os
import select
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any, TextIO

from ropes.common import rosbridge
from ropes.common.rosbridge import Address
from ropes.errors import UserError
from ropes.inference.live.mcap_log import McapLog
from ropes.inference.live.watch import Estimate, Sink
from ropes.inference.poses import Arm

TOPIC = "/ropes/joint_states"
#: Entry of a prediction, and last part of a topic's name.
_FLAG = "out_of_distribution"
#: Seconds to wait for a rosbridge.
_CONNECT = 15.0
#: Lines that wait for a slow reader.
_WAITING = 100
#: Seconds for which `JsonLines.close` waits for a slow reader.
CLOSE_TIMEOUT = 1.0


class JsonLines(Sink):
    """One JSON object a line, see `Estimate.to_dict`.

    Lines wait for a slow reader.  If too many wait, the oldest are dropped; `close` says how many on standard error.

    Args:
        stream: standard output, or another stream.
        waiting: how many lines wait at most.
    """

    def __init__(self, stream: TextIO, waiting: int = _WAITING) -> None:
        stream.flush()
        self._stream, self._file, self._waiting = stream, _file_of(stream), waiting
        self._lines, self._begun, self._dropped = deque[bytes](), b"", 0

    def send(self, estimate: Estimate) -> None:
        """Write a line, or let it wait."""
        line = json.dumps(estimate.to_dict()) + "\n"
        if self._file is None:
            print(line, end="", file=self._stream, flush=True)
            return
        self._lines.append(line.encode())
        self._write(self._file, seconds=0.0)
        if len(self._lines) > self._waiting:
            self._lines.popleft()
            self._dropped += 1

    def close(self) -> None:
        """Write what waits, for `CLOSE_TIMEOUT` seconds at most."""
        if self._file is not None:
            try:
                self._write(self._file, seconds=CLOSE_TIMEOUT)
            except BrokenPipeError:  # the reader has gone, and misses nothing
                return
            self._dropped += len(self._lines) + bool(self._begun)
        if self._dropped:
            print(f"ropes: the reader of --publish - is too slow: {self._dropped} lines were dropped", file=sys.stderr)

    def _write(self, file: int, seconds: float) -> None:
        """Write as much as the reader takes within some seconds."""
        end = time.monotonic() + seconds
        while self._begun or self._lines:
            if not select.select([], [file], [], max(0.0, end - time.monotonic()))[1]:
                return
            self._begun = self._begun or self._lines.popleft()
            # A stream that is ready takes so many bytes at least without blocking.
            self._begun = self._begun[os.write(file, self._begun[: select.PIPE_BUF]) :]


def _file_of(stream: TextIO) -> int | None:
    """The file descriptor of a stream; None of one in memory."""
    try:
        return stream.fileno()
    except io.UnsupportedOperation:
        return None


class Rosbridge(Sink):
    """sensor_msgs/JointState on a topic of a ROS 2 system with a rosbridge server.

    With a filter, positions and velocities are the filtered ones.  A std_msgs/Bool on the topic `out_of_distribution`
    beside it says of each pose whether it is out of distribution; such a pose has no JointState, unless asked for.

    Args:
        address: ws://HOST:PORT.
        topic: name of the topic.
        flagged: publish the angles of poses out of distribution too.

    Raises:
        UserError: roslibpy is not installed, the address has another form, or no rosbridge answers.
    """

    def __init__(self, address: str, topic: str = TOPIC, *, flagged: bool = False) -> None:
        roslibpy = rosbridge.require_roslibpy(f"--publish {address}", "live")
        self._ros = rosbridge.connect(roslibpy, Address.parse("--publish", address), _CONNECT)
        self._message, self._dropped = roslibpy.Message, False
        self._topic = roslibpy.Topic(self._ros, topic, "sensor_msgs/JointState")
        self._topic.advertise()
        self._flag = roslibpy.Topic(self._ros, f"{topic.rpartition('/')[0]}/{_FLAG}", "std_msgs/Bool")
        self._flag.advertise()
        self._flagged = flagged

    def send(self, estimate: Estimate) -> None:
        """Publish messages; without a connection they are dropped, and one line on standard error says so."""
        if self._ros.is_connected:
            outside = bool(estimate.prediction.get(_FLAG, False))
            self._flag.publish(self._message({"data": outside}))
            if self._flagged or not outside:
                self._topic.publish(self._message(joint_state(estimate)))
        elif not self._dropped:
            self._dropped = True
            print("ropes: the rosbridge is gone; messages are dropped until it returns", file=sys.stderr)

    def close(self) -> None:
        """End the connection."""
        rosbridge.disconnect(self._ros)


def joint_state(estimate: Estimate) -> dict[str, Any]:
    """The fields of a sensor_msgs/JointState of ROS 2; ROS 1 names those of the time stamp otherwise."""
    seconds, nanoseconds = divmod(estimate.nanoseconds, 1_000_000_000)
    filtered = estimate.filtered
    return {
        "header": {"stamp": {"sec": seconds, "nanosec": nanoseconds}, "frame_id": ""},
        "name": list(estimate.prediction["joints"]),
        "position": (estimate.angles if filtered is None else filtered.angles).tolist(),
        "velocity": [] if filtered is None else filtered.velocities.tolist(),
        "effort": [],
    }


def publisher(target: str, arm: Arm | None, topic: str = TOPIC, *, flagged: bool = False) -> Sink:
    """The publisher of a target of --publish.

    Args:
        target: "-" for JSON lines on standard output, ws://HOST:PORT for rosbridge, or FILE.mcap.
        arm: whose link poses a MCAP file gets; None for none.
        topic: of rosbridge.
        flagged: publish JointState of poses out of distribution too.

    Raises:
        UserError: another target, or see the publishers.
    """
    if target == "-":
        return JsonLines(sys.stdout)
    if rosbridge.is_address(target):
        return Rosbridge(target, topic, flagged=flagged)
    if target.endswith(".mcap"):
        return McapLog(Path(target), arm)
    raise UserError(f"--publish {target}: give - for JSON lines, ws://HOST:PORT for rosbridge, or FILE.mcap")
