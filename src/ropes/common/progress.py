"""Progress bars on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds between two lines, and shortest duration of a job that prints a last line.
_INTERVAL, _SHORTEST = 15.0, 2.0


@contextmanager
def progress(description: str, total: int, *, start: int = 0, show: bool = True) -> Iterator[Callable[..., None]]:
    """Yield a function `update(done, note="")` that shows the progress of `description` from `start` towards `total`.

    Without a terminal it prints a line every 15 seconds and one at the end.
    """
    if show and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as bar:
            task = bar.add_task(description, total=total, completed=start, note="")
            yield lambda done, note="": bar.update(task, completed=done, note=note)
        return
    started = printed = time.monotonic()
    finished = start

    def update(done: int, note: str = "") -> None:
        nonlocal printed, finished
        finished, now = done, time.monotonic()
        if show and now - printed >= _INTERVAL:
            printed = now
            remaining = (now - started) / max(done - start, 1) * (total - done)
            text = f"{description}: {done}/{total}, {remaining:.0f} s left  {note}"
            print(text.rstrip(), file=sys.stderr, flush=True)

    yield update
    if show and (seconds := time.monotonic() - started) >= _SHORTEST:
        print(f"{description}: {finished}/{total} in {seconds:.0f} s", file=sys.stderr, flush=True)
