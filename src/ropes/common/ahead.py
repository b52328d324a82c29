"""Computes the next items of an iterator while earlier ones are used."""

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Item = TypeVar("_Item")
#: Number of items that are computed ahead.
_COUNT = 4


def ahead(items: Iterator[_Item]) -> Generator[_Item, None, None]:
    """The same items; a thread computes the next four while the caller uses one.

    It pays where both release Python's lock, as decoding and work on arrays do.  An error of the iterator is raised
    where its item would be.  The caller closes this generator, and then `items`.
    """

    def taken() -> tuple[_Item, ...]:
        for item in items:
            return (item,)
        return ()

    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(taken) for _ in range(_COUNT))
        try:
            while found := waiting.popleft().result():
                waiting.append(pool.submit(taken))
                yield found[0]
        finally:
            for each in waiting:
                each.cancel()
