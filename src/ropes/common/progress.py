"""Progress bars on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

#: Seconds between two lines, and shortest duration of a job that prints a last line.
_INTERVAL, _SHORTEST = 15.0, 2.0


@dataclass
class _Lines:
    """A line every 15 seconds and one at the end, for logs."""

    description: str
    total: int
    started: float
    printed: float
    done: int = 0

    def __call__(self, done: int, note: str = "") -> None:
        """Set the number of finished items; `note` is appended."""
        self.done = done
        now = time.monotonic()
        if now - self.printed < _INTERVAL:
            return
        self.printed = now
        remaining = (now - self.started) / max(done, 1) * (self.total - done)
        text = f"{self.description}: {done}/{self.total}, {remaining:.0f} s left  {note}"
        print(text.rstrip(), file=sys.stderr, flush=True)

    def finish(self) -> None:
        """Print the total time."""
        if (seconds := time.monotonic() - self.started) >= _SHORTEST:
            print(f"{self.description}: {self.done}/{self.total} in {seconds:.0f} s", file=sys.stderr, flush=True)


class _Bar:
    """A rich progress bar on standard error."""

    def __init__(self, description: str, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self.bar = Progress(*columns, console=Console(stderr=True), transient=False)
        self.task = self.bar.add_task(description, total=total, note="")

    def __call__(self, done: int, note: str = "") -> None:
        """Set the number of finished items; `note` is shown after the bar."""
        self.bar.update(self.task, completed=done, note=note)


@contextmanager
def progress(description: str, total: int, *, show: bool = True) -> Iterator["_Bar | _Lines"]:
    """Yield a function `update(done, note="")` that shows the progress of `description` towards `total`."""
    if show and sys.stderr.isatty():
        bar = _Bar(description, total)
        with bar.bar:
            yield bar
    else:
        now = time.monotonic()
        lines = _Lines(description, total, started=now, printed=now if show else float("inf"))
        yield lines
        if show:
            lines.finish()
