"""Feetech servos at the end of a serial line, played by this program: what LeRobot's SO-101 talks to.

The line is a pseudo-terminal, so a driver opens it as any serial port. The servos keep their control table as bytes,
answer the instructions of Feetech's protocol 0 that LeRobot sends (ping, read, write, and the synchronous ones), and
turn at a limited speed towards their goals, as an STS3215 with torque on does.
"""

import os
import pty
import select
import threading
import time
import tty
from collections.abc import Iterator, Mapping
from typing import Self

_HEADER, _BROADCAST = b"\xff\xff", 0xFE
_PING, _READ, _WRITE, _SYNC_READ, _SYNC_WRITE = 0x01, 0x02, 0x03, 0x82, 0x83
#: Addresses of the control table of an STS3215 and their bytes.
MODEL, ID, LIMITS, TORQUE, GOAL, PRESENT = 3, 5, 9, 40, 42, 56
_MODEL_STS3215 = 777
#: Positions of a turn; positions a second at full speed without load (45 turns a minute).
TURN, _SPEED = 4096, 3072
_LOOK = 0.05


def checksum(body: bytes) -> int:
    """Of a packet without its header: the complement of the sum of its bytes."""
    return ~sum(body) & 0xFF


class Servo:
    """One servo: its control table, and where it is.

    Args:
        number: its id on the bus.
        limits: least and greatest position.
        at: position at the start.
    """

    def __init__(self, number: int, limits: tuple[int, int], at: int) -> None:
        self.table, self._at, self._since = bytearray(256), float(at), time.monotonic()
        self.write(MODEL, _MODEL_STS3215.to_bytes(2, "little"))
        self.table[ID] = number
        self.write(LIMITS, b"".join(limit.to_bytes(2, "little") for limit in limits))
        self.write(GOAL, at.to_bytes(2, "little"))

    def position(self) -> float:
        """Where it is now."""
        now = time.monotonic()
        gone, self._since = (now - self._since) * _SPEED, now
        if self.table[TORQUE]:
            left = int.from_bytes(self.table[GOAL : GOAL + 2], "little") - self._at
            self._at += max(-gone, min(gone, left))
        return self._at

    def read(self, address: int, count: int) -> bytes:
        """Bytes of the control table."""
        self.table[PRESENT : PRESENT + 2] = round(self.position()).to_bytes(2, "little")
        return bytes(self.table[address : address + count])

    def write(self, address: int, values: bytes) -> None:
        """Change bytes of the control table; it moves to the old goal until now."""
        self.position()
        self.table[address : address + len(values)] = values


class ServoBus:
    """Servos on one serial line, answered by a thread while the context is open.

    Args:
        servos: id → servo.

    Attributes:
        port: path of the serial port.
    """

    def __init__(self, servos: Mapping[int, Servo]) -> None:
        self._servos, self._lock, self._ended = servos, threading.Lock(), threading.Event()
        self._line, self._driver = pty.openpty()
        tty.setraw(self._driver)
        self.port = os.ttyname(self._driver)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def plug(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def again(self) -> "ServoBus":
        """The same servos on another line, with their torque off as after a loss of power."""
        with self._lock:
            for servo in self._servos.values():
                servo.write(TORQUE, b"\0")
        later = ServoBus(self._servos)
        later._lock = self._lock  # whoever still asks the old line for positions reads the same servos
        return later

    def __enter__(self) -> Self:
        self.plug()
        return self

    def __exit__(self, *raised: object) -> None:
        self.unplug()

    def unplug(self) -> None:
        """Close the line: the driver then reads an error."""
        if not self._ended.is_set():
            self._ended.set()
            self._thread.join()
            os.close(self._driver)
            os.close(self._line)

    def positions(self) -> dict[int, float]:
        """Where each servo is now."""
        with self._lock:
            return {number: servo.position() for number, servo in self._servos.items()}

    def _serve(self) -> None:
        waiting = b""
        while not self._ended.is_set():
            if not select.select([self._line], [], [], _LOOK)[0]:
                continue
            waiting += os.read(self._line, 4096)
            while (found := _first_packet(waiting)) is not None:
                packet, waiting = found
                with self._lock:
                    for answer in self.answers(packet):
                        os.write(self._line, answer)

    def answers(self, packet: bytes) -> Iterator[bytes]:
        """Carry out an instruction, and yield the packets that come back.

        Args:
            packet: id, length, instruction, parameters; no header and no checksum.
        """
        to, kind, given = packet[0], packet[2], packet[3:]
        asked = [number for number in self._servos if to in (number, _BROADCAST)]
        if kind == _PING:
            yield from (_status(number) for number in asked)
        elif kind == _READ:
            yield from (_status(number, self._servos[number].read(given[0], given[1])) for number in asked)
        elif kind == _WRITE:
            for number in asked:
                self._servos[number].write(given[0], given[1:])
                if to != _BROADCAST:
                    yield _status(number)
        elif kind == _SYNC_READ:
            known = [number for number in given[2:] if number in self._servos]
            yield from (_status(number, self._servos[number].read(given[0], given[1])) for number in known)
        elif kind == _SYNC_WRITE:
            address, count = given[0], given[1]
            for start in range(2, len(given), count + 1):
                if given[start] in self._servos:
                    self._servos[given[start]].write(address, given[start + 1 : start + 1 + count])


def _first_packet(received: bytes) -> tuple[bytes, bytes] | None:
    """The first whole packet without header and checksum, and what follows; None while it is not whole."""
    start = received.find(_HEADER)
    if start < 0 or len(received) < start + 4:
        return None
    end = start + 4 + received[start + 3]
    if len(received) < end:
        return None
    body = received[start + 2 : end - 1]
    return (body, received[end:]) if checksum(body) == received[end - 1] else _first_packet(received[start + 2 :])


def _status(number: int, values: bytes = b"") -> bytes:
    """A packet from a servo, without an error."""
    body = bytes([number, len(values) + 2, 0]) + values
    return _HEADER + body + bytes([checksum(body)])
