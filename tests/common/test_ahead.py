"""Items that are computed ahead."""

import threading
from collections.abc import Generator, Iterator

import pytest

from ropes.common.ahead import ahead


def test_items_keep_their_order() -> None:
    assert list(ahead(iter(range(50)))) == list(range(50))
    assert list(ahead(iter(()))) == []


def test_a_thread_computes_the_next_items() -> None:
    computed = threading.Event()

    def items() -> Iterator[int]:
        yield 0
        computed.set()
        yield 1

    stream = ahead(items())
    assert next(stream) == 0
    assert computed.wait(timeout=60)
    assert list(stream) == [1]


def test_an_error_is_raised_where_its_item_would_be() -> None:
    def items() -> Iterator[int]:
        yield 0
        yield 1
        raise ValueError("damaged")

    stream = ahead(items())
    assert [next(stream), next(stream)] == [0, 1]
    with pytest.raises(ValueError, match="damaged"):
        next(stream)


def test_no_thread_is_left_when_the_caller_stops() -> None:
    before, closed = threading.active_count(), threading.Event()

    def items() -> Generator[int, None, None]:
        try:
            while True:
                yield 0
        finally:
            closed.set()

    source = items()
    stream = ahead(source)
    next(stream)
    stream.close()
    assert threading.active_count() == before
    source.close()
    assert closed.is_set()
