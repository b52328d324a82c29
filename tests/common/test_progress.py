"""Lines of progress: one every quarter of a minute, and one at the end of what took a while."""

import time

import pytest

from ropes.common.progress import progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the clock shows."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def count(clock: list[float], seconds: float, *, show: bool = True, fault: Exception | None = None) -> None:
    with progress("work, pieces", 10, show=show) as update:
        for done in range(1, 11):
            clock[0] += seconds / 10
            update(done)
        if fault is not None:
            raise fault


@pytest.mark.parametrize(
    ("seconds", "lines"),
    [
        (1, []),
        (14, ["work, pieces: 10/10 in 14 s"]),
        (16, ["work, pieces: 10/10, 0 s left", "work, pieces: 10/10 in 16 s"]),
        (40, ["work, pieces: 4/10, 24 s left", "work, pieces: 8/10, 8 s left", "work, pieces: 10/10 in 40 s"]),
    ],
)
def test_last_progress_line_is_printed_at_the_end(
    seconds: float, lines: list[str], clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    count(clock, seconds)
    assert capsys.readouterr().err.splitlines() == lines


def test_no_progress_line_after_a_failure_or_when_hidden(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    count(clock, 40, show=False)
    with pytest.raises(ZeroDivisionError):
        count(clock, 10, fault=ZeroDivisionError())
    assert capsys.readouterr().err == ""


def test_a_resumed_job_estimates_its_time_from_what_it_did_itself(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("work, pieces", 10, start=6) as update:
        for done in (7, 8):
            clock[0] += 10
            update(done)
    assert capsys.readouterr().err.splitlines() == ["work, pieces: 8/10, 20 s left", "work, pieces: 8/10 in 20 s"]
