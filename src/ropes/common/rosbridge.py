"""The connection to a ROS 2 system by a rosbridge, with roslibpy, and the joint angles that come over it."""

import importlib
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from ropes.errors import UserError, install_command

if TYPE_CHECKING:
    from roslibpy import Ros

#: Port of a rosbridge.
PORT = 9090
_SCHEMES = ("ws://", "wss://")
#: Seconds for which angles are kept, and to wait for the end of a connection.
_KEPT, _CLOSE = 5.0, 5.0


def is_address(text: str) -> bool:
    """Whether a text is meant as the address of a rosbridge."""
    return text.startswith(_SCHEMES)


class Address(NamedTuple):
    """Where a rosbridge is: ws://HOST:PORT or, encrypted, wss://HOST:PORT; and a topic, empty without one."""

    host: str
    port: int = PORT
    secure: bool = False
    topic: str = ""

    @classmethod
    def parse(cls, option: str, text: str, *, with_topic: bool = False) -> "Address":
        """Parse the value of an option: ws://HOST:PORT, or with a topic ws://HOST:PORT/TOPIC.

        Raises:
            UserError: it has another form.
        """
        fault = f"{option} {text} is not ws://HOST:PORT{'[/TOPIC]' if with_topic else ''}"
        try:
            parts = urlsplit(text)
            address = cls(parts.hostname or "", parts.port or PORT, parts.scheme == "wss", parts.path.rstrip("/"))
        except ValueError as error:
            raise UserError(f"{fault} ({error})") from error
        if not address.host or parts.query or parts.fragment or (address.topic and not with_topic):
            raise UserError(fault)
        return address


def require_roslibpy(needed_by: str, extra: str) -> ModuleType:
    """The module roslibpy.

    Args:
        needed_by: the option that needs it, for messages.
        extra: the extra of this package that installs it.

    Raises:
        UserError: it is not installed.
    """
    try:
        return importlib.import_module("roslibpy")
    except ModuleNotFoundError as error:
        raise UserError(f"{needed_by} needs the package {error.name}: {install_command(extra)}") from error


def connect(roslibpy: ModuleType, address: Address, timeout: float) -> "Ros":
    """Connect to a rosbridge; after a loss, roslibpy connects again by itself.

    Raises:
        UserError: nobody answers for `timeout` seconds.
    """
    ros: Ros = roslibpy.Ros(address.host, address.port, is_secure=address.secure)
    try:
        ros.run(timeout=timeout)
    except Exception as error:  # roslibpy raises several kinds
        where = f"{address.host}:{address.port}"
        raise UserError(f"no rosbridge answers at {where}; start rosbridge_server there") from error
    return ros


def disconnect(ros: "Ros") -> None:
    """Close a connection, and wait for the bridge's answer: the last message must have left this machine.

    Other connections of this process stay: `Ros.terminate` would end them, and none could be opened again.
    """
    if not ros.is_connected:
        return
    ros.close()
    end = time.monotonic() + _CLOSE
    while ros.is_connected and time.monotonic() < end:
        time.sleep(0.01)


class JointStates:
    """The angles of joints that messages on a topic tell, by time of receipt.

    Args:
        roslibpy: the module.
        ros: the connection.
        topic: of sensor_msgs/JointState; joints may come in messages of several publishers.
        joints: that must have an angle.
        timeout: seconds to wait for them.

    Raises:
        UserError: a joint has no angle after that time.
    """

    def __init__(self, roslibpy: ModuleType, ros: "Ros", topic: str, joints: Sequence[str], timeout: float) -> None:
        self._joints, self._arrived, self._lock = tuple(joints), threading.Event(), threading.Lock()
        #: Of each joint the times of `time.monotonic` and the angles.
        self._kept: dict[str, deque[tuple[float, float]]] = {}
        self._topic = roslibpy.Topic(ros, topic, "sensor_msgs/JointState")
        self._topic.subscribe(self._receive)
        if not self._arrived.wait(timeout):
            self.close()
            known = self.newest()
            missing = next(joint for joint in self._joints if joint not in known)
            told = f"it has {', '.join(known)}" if known else "nothing came"
            raise UserError(f"topic {topic} gives no position of joint {missing} in {timeout:g} s; {told}")

    def _receive(self, message: Mapping[str, Any]) -> None:
        """Called in roslibpy's thread, also for messages of other publishers; some hold velocities alone."""
        now, names, positions = time.monotonic(), message["name"], message["position"]
        if len(names) != len(positions):
            return
        with self._lock:
            for name, position in zip(names, positions, strict=True):
                if position is None:  # a rosbridge sends NaN as null
                    continue
                kept = self._kept.setdefault(name, deque())
                kept.append((now, position))
                while kept[0][0] < now - _KEPT:
                    kept.popleft()
            if all(joint in self._kept for joint in self._joints):
                self._arrived.set()

    def newest(self, until: float = float("inf")) -> dict[str, tuple[float, float]]:
        """Joint → time of receipt and angle of its last message until a time, both of `time.monotonic`.

        Joints without a message until then are left out; messages older than `_KEPT` seconds are forgotten, except the
        last one.
        """
        with self._lock:
            earlier = {name: (one for one in reversed(kept) if one[0] <= until) for name, kept in self._kept.items()}
            return {name: last for name, found in earlier.items() if (last := next(found, None)) is not None}

    def close(self) -> None:
        """End the subscription."""
        self._topic.unsubscribe()
