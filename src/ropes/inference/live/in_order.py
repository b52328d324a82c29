"""Works on the newest items in several threads and gives the results in the order of the items."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, Queue
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Seconds after which a thread that waits for an item looks whether it should end.
_WAIT = 0.2
#: Seconds for which a result may wait for its reader; an older one is left out.
_FRESH = 0.1


class InOrder(Generic[Item, Result]):
    """Results of the newest items, for one reader.

    A thread takes an item only while the reader waits for a result, so that a slow reader has no results of old items.

    Args:
        take: waits for the newest item for some seconds; None if there is none.
        work: item → result; runs in several threads at once.
        drop: is called for each item whose result was left out, as the reader came too late for it.
        threads: items that are worked on at once, at most.
    """

    def __init__(
        self,
        take: Callable[[float], Item | None],
        work: Callable[[Item], Result],
        drop: Callable[[], None],
        *,
        threads: int,
    ) -> None:
        self._take, self._work, self._drop = take, work, drop
        self._results = Queue[Future[tuple[Item, Result, float]]]()
        self._turn = threading.Lock()
        self._asked, self._stopped = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]
        for each in self._threads:
            each.start()

    def next(self, timeout: float) -> tuple[Item, Result] | None:
        """The next item with its result; None if there was no item for `timeout` seconds.

        Raises:
            Exception: what `take` or `work` raised.
        """
        came = time.monotonic()
        self._asked.set()
        try:
            while True:
                item, result, ready = self._results.get(timeout=timeout).result()
                if ready >= came - _FRESH:
                    return item, result
                self._drop()
        except Empty:
            return None
        finally:
            self._asked.clear()

    def close(self) -> None:
        """End the threads, each after the item that it works on."""
        self._stopped.set()
        for each in self._threads:
            each.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            result = Future[tuple[Item, Result, float]]()
            try:
                with self._turn:
                    if not self._asked.wait(_WAIT) or (item := self._take(_WAIT)) is None:
                        continue
                    self._results.put(result)
            except Exception as error:  # raised again where the reader waits
                result.set_exception(error)
                self._results.put(result)
                return
            try:
                result.set_result((item, self._work(item), time.monotonic()))
            except Exception as error:  # the same
                result.set_exception(error)
