"""Results of the newest items: in order, fresh, and with the errors of the threads."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count

from ropes.errors import UserError
from ropes.inference.live.in_order import InOrder


class Clock:
    """Gives a new number every `gap` seconds from the first `take` on; a number that nobody took is lost."""

    def __init__(self, gap: float, last: int = 10**9) -> None:
        self.gap, self.last, self.taken, self.dropped = gap, last, -1, 0
        self.start: float | None = None

    def take(self, timeout: float) -> int | None:
        end = time.monotonic() + timeout
        while (number := self._number()) <= self.taken:
            if time.monotonic() > end:
                return None
            time.sleep(min(self.gap / 20, 0.01))
        if number > self.last:
            raise UserError("the clock has ended")
        self.taken = number
        return number

    def drop(self) -> None:
        self.dropped += 1

    def _number(self) -> int:
        now = time.monotonic()
        self.start = now if self.start is None else self.start
        return int((now - self.start) / self.gap)


@contextmanager
def working(clock: Clock, seconds: float, *, until: int = 10**9) -> Iterator[InOrder[int, str]]:
    def work(number: int) -> str:
        time.sleep(seconds * (1 + number % 2))  # every second one takes twice as long
        if number >= until:
            raise UserError("not this number")
        return f"result {number}"

    line = InOrder(clock.take, work, clock.drop, threads=2)
    with closing(line):
        yield line


def following(line: InOrder[int, str]) -> tuple[int, str]:
    while (found := line.next(1.0)) is None:
        pass
    return found


def test_two_items_are_worked_on_at_once_and_the_first_result_comes_first() -> None:
    """The work on the first item ends after that on the second."""
    numbers, second = count(), threading.Event()

    def take(timeout: float) -> int:
        time.sleep(0.005)
        return next(numbers)

    def work(number: int) -> bool:
        if number == 1:
            second.set()
        return number > 0 or second.wait(20)

    with closing(InOrder(take, work, lambda: None, threads=2)) as line:
        assert line.next(20.0) == (0, True)


def test_results_come_in_the_order_of_their_items() -> None:
    with working(Clock(0.02), 0.02) as line:
        found = [following(line) for _ in range(12)]
    numbers = [number for number, _ in found]
    assert numbers == sorted(set(numbers))
    assert [result for _, result in found] == [f"result {number}" for number in numbers]


def test_a_slow_reader_gets_a_new_result() -> None:
    clock = Clock(0.01)
    with working(clock, 0.001) as line:
        first, _ = following(line)
        time.sleep(0.5)
        assert following(line)[0] >= first + 30
    assert clock.dropped <= 2


def test_nothing_is_taken_while_nobody_waits() -> None:
    clock = Clock(0.01)
    with working(clock, 0.001) as line:
        time.sleep(0.1)
        assert clock.taken == -1
        assert following(line)[0] >= 0


def until_error(line: InOrder[int, str]) -> tuple[list[int], str]:
    found = list[int]()
    try:
        while True:
            found.append(following(line)[0])
    except UserError as error:
        return found, str(error)


def test_errors_come_after_the_results_before_them() -> None:
    with working(Clock(0.01, last=2), 0.001) as line:
        found, end = until_error(line)
    assert end == "the clock has ended"
    assert found
    assert found[-1] <= 2
    with working(Clock(0.02), 0.001, until=13) as line:
        found, end = until_error(line)
    assert end == "not this number"
    assert all(number < 13 for number in found)


def test_without_an_item_there_is_no_result_and_the_threads_end() -> None:
    before = set(threading.enumerate())
    with working(Clock(60.0), 0.001) as line:
        following(line)
        start = time.monotonic()
        assert line.next(0.1) is None
        assert time.monotonic() - start >= 0.1
    assert not set(threading.enumerate()) - before
