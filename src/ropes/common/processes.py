"""Runs jobs in child processes that end with their caller."""

import gc
import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import cast

from threadpoolctl import threadpool_limits

from ropes.common.hardware import tune_process
from ropes.common.jobs import Job, Queue
from ropes.errors import UserError

#: Exit code that multiprocessing reports for a process whose fork server is gone.
_SERVER_GONE = 255
#: Environment variables that set the number of threads of libraries.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_all(
    jobs: Sequence[Job],
    *,
    processes: int,
    finished: Callable[[int], None],
    needs: Sequence[str] = (),
) -> None:
    """Run every job in its own process, several at a time, in order.

    If one fails the others continue.  If this process is interrupted or killed, running jobs get a SIGTERM, on which
    a training writes a checkpoint.

    Args:
        jobs: the jobs.
        processes: maximal number of processes at a time.
        finished: called with a job's number when it succeeds.
        needs: modules that all jobs import; on Linux they are imported once.

    Raises:
        UnfinishedError: some jobs failed or their processes died; raised after all jobs ended, with their number.
    """
    context = _context(needs)
    queue, running = Queue(jobs), dict[int, tuple[int, BaseProcess, connection.Connection]]()
    try:
        while queue or running:
            for number, job in itertools.islice(queue.ready(), processes - len(running)):
                ours, theirs = context.Pipe(duplex=False)
                given = (job.call, theirs, job.threads, dict(os.environ))
                process = context.Process(target=_work, args=given)  # type: ignore[attr-defined]
                with hide_main_module(), _environment({**dict.fromkeys(_THREADS, "1"), "PYTHONSAFEPATH": "1"}):
                    process.start()
                theirs.close()
                running[process.sentinel] = number, process, ours
            for ended in cast("list[int]", connection.wait(list(running))):
                number, process, ours = running.pop(ended)
                process.join()
                _end_orphan(process)
                queue.end(number, failure := _failure(process, ours))
                if failure is None:
                    finished(number)
    finally:
        for _, process, _ in running.values():
            process.terminate()
        for _, process, _ in running.values():
            process.join()
            _end_orphan(process)
    queue.raise_failures()


def use_threads(count: int) -> None:
    """Set the number of threads of this process: of the libraries that are loaded, and of those loaded later."""
    os.environ.update(dict.fromkeys(_THREADS, str(count)))
    threadpool_limits(count)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(count)


def _context(needs: Sequence[str]) -> BaseContext:
    """The start method of processes: on Linux a fork server that has imported `needs`, elsewhere spawn.

    Importing torch and Lightning takes several seconds, as long as a small fit.  The server only imports, so no
    library has running threads when it forks.  On other systems libraries do not support forks.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ropes.common.fork_server", *needs])
    return context


@contextmanager
def hide_main_module() -> Iterator[None]:
    """Keep new processes from importing the caller's main module.

    By default Python imports it in every new process.  That fails for scripts read from a pipe, and repeats the work
    of scripts without a `__main__` guard.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def exit_with_parent(end: Callable[[], None]) -> None:
    """Call `end` when the parent process ends."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        connection.wait([parent.sentinel])
        end()

    threading.Thread(target=watch, daemon=True).start()


def _end_orphan(process: BaseProcess) -> None:
    """Terminate a job whose fork server is gone, and wait: multiprocessing reports it as ended, but it still runs."""
    if process.exitcode != _SERVER_GONE or process.pid is None:
        return
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    while _runs(process.pid):
        time.sleep(0.1)


def _runs(number: int) -> bool:
    """Whether the process with this number exists and is not a zombie."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Change the environment that processes inherit.

    They start with one thread (a job sets its number later) and cannot import modules of the working folder.
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


def _work(call: Callable[[], None], pipe: connection.Connection, threads: int, environment: Mapping[str, str]) -> None:
    """Run a job's call in this process with its caller's environment; send the message of a `UserError` to the pipe."""
    os.environ.clear()  # the fork server's environment is that of its own start
    os.environ.update(environment)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the fork server ignores it
    gc.freeze()  # what the fork server imported stays
    gc.enable()  # which the fork server does not
    tune_process()
    use_threads(threads)
    exit_with_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    try:
        call()
    except (UserError, OSError, ModuleNotFoundError) as error:
        pipe.send(str(error))
    except KeyboardInterrupt:  # from the terminal, which interrupts the caller too
        sys.exit(128 + signal.SIGINT)


def _failure(process: BaseProcess, pipe: connection.Connection) -> str | None:
    """The error message of an ended process; None if it succeeded."""
    try:
        if pipe.poll():
            return str(pipe.recv())
    except EOFError:  # nothing was sent
        pass
    if not process.exitcode:
        return None
    why = "out of memory?" if process.exitcode == -signal.SIGKILL else "see the messages above"
    return f"a process ended with code {process.exitcode} ({why}); run the same command again"
