"""The order of jobs, some of which wait for others, and the errors of those that fail."""

import pytest

from ropes.common.jobs import Job, Queue
from ropes.errors import UnfinishedError


def queue_of(*after: int | None, name: str = "") -> Queue:
    return Queue([Job(print, name=name and f"{name} {number}", after=each) for number, each in enumerate(after)])


def started(queue: Queue) -> list[int]:
    return [number for number, _ in queue.ready()]


def test_a_job_starts_once_the_one_before_it_has_ended() -> None:
    queue = queue_of(None, 0, None, 1)
    assert started(queue) == [0, 2]
    assert started(queue) == []
    queue.end(2)
    assert started(queue) == []
    queue.end(0, "diverged")  # whether it succeeds or fails
    assert started(queue) == [1]
    assert queue
    queue.end(1)
    assert started(queue) == [3]
    assert not queue


def test_only_jobs_that_are_taken_count_as_started() -> None:
    queue = queue_of(None, None, None)
    assert next(queue.ready())[0] == 0
    assert started(queue) == [1, 2]


def test_the_first_error_is_raised_with_the_number_of_failed_jobs() -> None:
    queue = queue_of(None, None, None, name="fit")
    queue.end(0)
    queue.raise_failures()
    queue.end(2, "diverged")
    queue.end(1, "out of memory")
    with pytest.raises(UnfinishedError, match=r"^fit 2: diverged \(2 of 3 failed\)$"):
        queue.raise_failures()


def test_the_error_of_an_only_job_without_a_name_stands_alone() -> None:
    queue = queue_of(None)
    queue.end(0, "diverged")
    with pytest.raises(UnfinishedError, match=r"^diverged$"):
        queue.raise_failures()
