"""Jobs that run in their own processes, some of them after others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ropes.errors import UnfinishedError


@dataclass(frozen=True)
class Job:
    """A call that runs in its own process.

    Attributes:
        call: a function of a module, or a partial of one.
        threads: its number of threads.
        name: stands before its error message, if not empty.
        after: number of an earlier job, which it follows whether that succeeds or fails; None for no job.
    """

    call: Callable[[], None]
    threads: int = 1
    name: str = ""
    after: int | None = None


class Queue:
    """Jobs that have not started yet, and the errors of those that failed.

    Args:
        jobs: all jobs, numbered from 0.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        assert all(job.after is None or 0 <= job.after < number for number, job in enumerate(jobs))
        self._jobs = list(jobs)
        self._waiting = dict(enumerate(jobs))
        self._ended: set[int] = set()
        self._failed: list[str] = []

    def __bool__(self) -> bool:
        """Whether a job has not started."""
        return bool(self._waiting)

    def ready(self) -> Iterator[tuple[int, Job]]:
        """The jobs that can start now, in order, with their numbers; one that is yielded counts as started."""
        for number, job in list(self._waiting.items()):
            if job.after is None or job.after in self._ended:
                del self._waiting[number]
                yield number, job

    def end(self, number: int, error: str | None = None) -> None:
        """Note that a job has ended, with the error message if it failed."""
        self._ended.add(number)
        if error is not None:
            name = self._jobs[number].name
            self._failed.append(f"{name}: {error}" if name else error)

    def raise_failures(self) -> None:
        """Raise the first error of the jobs, with the number of failed ones; nothing if none failed.

        Raises:
            UnfinishedError: some failed.
        """
        if self._failed:
            more = f" ({len(self._failed)} of {len(self._jobs)} failed)" if len(self._jobs) > 1 else ""
            raise UnfinishedError(self._failed[0] + more)
