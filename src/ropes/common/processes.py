"""Runs several jobs in child processes. No job outlives its caller, and finished results are kept."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import cast

from threadpoolctl import threadpool_limits

from ropes.common.hardware import keep_memory
from ropes.errors import UnfinishedError, UserError

#: Exit code that multiprocessing makes up for a process whose server it cannot ask.
_SERVER_GONE = 255
#: Where libraries look how many threads they may have.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_all(
    jobs: Sequence[Callable[[], None]],
    *,
    processes: int,
    threads: Sequence[int],
    finished: Callable[[int], None],
    needs: Sequence[str] = (),
) -> None:
    """Run every job, some at a time, each in a process of its own, started in their order.

    When one fails the others go on.  When this process is interrupted or killed the jobs under way get a SIGTERM, on
    which a training stores where it stands.

    Args:
        jobs: what goes to other processes: functions of modules, or partials of them.
        processes: at a time.
        threads: of each job's process.
        finished: called with a job's number when it is done.
        needs: modules that all jobs import; on Linux once for all.

    Raises:
        UnfinishedError: when all have ended: a job's own, or a process died; tells how many failed.
    """
    context = _context(needs)
    failed: list[str] = []
    waiting, running = deque(enumerate(jobs)), dict[int, tuple[int, BaseProcess, connection.Connection]]()
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                number, job = waiting.popleft()
                ours, theirs = context.Pipe(duplex=False)
                inherited = {**os.environ, **dict.fromkeys(_THREADS, str(threads[number]))}
                process = context.Process(target=_work, args=(job, theirs, threads[number], inherited))  # type: ignore[attr-defined]
                with nothing_of_main(), _environment({**dict.fromkeys(_THREADS, "1"), "PYTHONSAFEPATH": "1"}):
                    process.start()
                theirs.close()
                running[process.sentinel] = number, process, ours
            for ended in cast("list[int]", connection.wait(list(running))):
                number, process, ours = running.pop(ended)
                process.join()
                _end_orphan(process)
                if (fault := _fault(process, ours)) is None:
                    finished(number)
                else:
                    failed.append(fault)
    finally:
        for _, process, _ in running.values():
            process.terminate()
        for _, process, _ in running.values():
            process.join()
            _end_orphan(process)
    if failed:
        more = f" ({len(failed)} of {len(jobs)} failed)" if len(jobs) > 1 else ""
        raise UnfinishedError(failed[0] + more)


def _context(needs: Sequence[str]) -> BaseContext:
    """How processes are started: on Linux by a server that has imported what they need and forks them.

    To import torch and Lightning takes several seconds, as long as a small fit.  The server runs nothing but imports,
    after which no library has work under way; elsewhere system libraries do not allow for forks.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ropes.common.fork_server", *needs])
    return context


@contextmanager
def nothing_of_main() -> Iterator[None]:
    """Start processes that do not run the caller's script again.

    Python would have every new process import the main module, which breaks scripts read from a pipe and
    repeats what a script without a guard does; the workers need nothing of it.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def end_with_parent(end: Callable[[], None]) -> None:
    """Call `end` when the process that started this one is gone."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        connection.wait([parent.sentinel])
        end()

    threading.Thread(target=watch, daemon=True).start()


def _end_orphan(process: BaseProcess) -> None:
    """Have a job end, and store where it stands, whose server is gone: it seems to have ended and goes on."""
    if process.exitcode != _SERVER_GONE or process.pid is None:
        return
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    while _runs(process.pid):
        time.sleep(0.1)


def _runs(number: int) -> bool:
    """Whether there is a process of that number that has not ended, whoever is to ask for its code."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Have processes that are started meanwhile find this in their environment.

    Few threads, which a job is given later, and no module of the working folder in place of a library's.
    """
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(job: Callable[[], None], pipe: connection.Connection, threads: int, environment: Mapping[str, str]) -> None:
    """Do a job in a process of its own, in its caller's environment; what the user can mend goes into the pipe."""
    os.environ.clear()  # a server's is of the time when it was started
    os.environ.update(environment)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # which the server ignores
    keep_memory()
    _take_threads(threads)
    end_with_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    try:
        job()
    except (UserError, OSError, ModuleNotFoundError) as error:
        pipe.send(str(error))
    except KeyboardInterrupt:  # the terminal's, which the caller gets too
        sys.exit(128 + signal.SIGINT)


def _take_threads(threads: int) -> None:
    """Let libraries that are loaded take so many; later ones find them in the environment."""
    threadpool_limits(threads)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(threads)


def _fault(process: BaseProcess, pipe: connection.Connection) -> str | None:
    """What went wrong in a process that has ended; None where nothing did."""
    try:
        if pipe.poll():
            return str(pipe.recv())
    except EOFError:  # nothing was sent
        pass
    if not process.exitcode:
        return None
    why = "out of memory?" if process.exitcode == -signal.SIGKILL else "what is above says why"
    return f"a process ended with code {process.exitcode} ({why}); run the same command again"
