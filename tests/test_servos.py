"""The servos that benchmarks.lerobot_arm plays answer as Feetech's do."""

import os
import select
import time
from collections.abc import Iterator

import pytest

from benchmarks.servos import GOAL, MODEL, PRESENT, TORQUE, TURN, Servo, ServoBus, checksum

BROADCAST = 0xFE


class Line:
    """The driver's end of the serial line."""

    def __init__(self, port: str) -> None:
        self.end = os.open(port, os.O_RDWR | os.O_NOCTTY)

    def ask(self, to: int, instruction: int, parameters: bytes = b"", answers: int = 1) -> list[tuple[int, bytes]]:
        """Send a packet, and return id and parameters of the packets that come back."""
        body = bytes([to, len(parameters) + 2, instruction]) + parameters
        os.write(self.end, b"\xff\xff" + body + bytes([checksum(body)]))
        return [self.answer() for _ in range(answers)]

    def answer(self) -> tuple[int, bytes]:
        head = self.exactly(4)
        rest = self.exactly(head[3])
        assert head[:2] == b"\xff\xff"
        assert rest[0] == 0
        assert checksum(head[2:] + rest[:-1]) == rest[-1]
        return head[2], rest[1:-1]

    def exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            assert select.select([self.end], [], [], 5.0)[0]
            found += os.read(self.end, count - len(found))
        return found

    def silent(self) -> bool:
        return not select.select([self.end], [], [], 0.2)[0]


@pytest.fixture
def bus() -> Iterator[ServoBus]:
    with ServoBus({number: Servo(number, (0, TURN - 1), 2000) for number in (1, 2)}) as played:
        yield played


@pytest.fixture
def line(bus: ServoBus) -> Iterator[Line]:
    line = Line(bus.port)
    yield line
    os.close(line.end)


def two(value: int) -> bytes:
    return value.to_bytes(2, "little")


def test_servos_are_found_and_tell_their_model(line: Line) -> None:
    assert line.ask(BROADCAST, 0x01, answers=2) == [(1, b""), (2, b"")]
    assert line.ask(2, 0x02, bytes([MODEL, 2])) == [(2, two(777))]
    assert line.ask(3, 0x01, answers=0) == []
    assert line.silent()


def test_only_a_servo_with_torque_turns_to_its_goal_in_its_time(bus: ServoBus, line: Line) -> None:
    assert line.ask(1, 0x03, bytes([TORQUE, 1])) == [(1, b"")]
    began = time.monotonic()
    line.ask(BROADCAST, 0x83, bytes([GOAL, 2, 1, *two(2600), 2, *two(2600)]), answers=0)
    while round(bus.positions()[1]) < 2600:
        time.sleep(0.01)
    assert time.monotonic() - began > 0.9 * 600 / 3072
    assert line.ask(BROADCAST, 0x82, bytes([PRESENT, 2, 1, 2]), answers=2) == [(1, two(2600)), (2, two(2000))]


def test_damaged_packets_have_no_answer_and_the_next_one_has(line: Line) -> None:
    os.write(line.end, b"\xff\xff\x01\x02\x01\x00")
    assert line.silent()
    assert line.ask(1, 0x01) == [(1, b"")]


def test_servos_on_another_line_stand_where_they_stood(bus: ServoBus, line: Line) -> None:
    line.ask(1, 0x03, bytes([TORQUE, 1]))
    line.ask(1, 0x03, bytes([GOAL, *two(2100)]))
    time.sleep(0.2)
    bus.unplug()
    with pytest.raises(OSError, match="Input/output"):
        os.write(line.end, b"\xff")
    with bus.again() as later:
        assert later.positions() == pytest.approx({1: 2100, 2: 2000})
        other = Line(later.port)
        assert other.ask(1, 0x02, bytes([TORQUE, 1])) == [(1, b"\x00")]
        os.close(other.end)
