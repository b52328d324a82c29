"""Jobs in processes of their own: all of them, some at a time, and none left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ropes.common.jobs import Job
from ropes.common.processes import run_all
from ropes.errors import UserError
from tests.timeouts import PATIENCE

ROOT = Path(__file__).parents[2]
#: Of all that is run at once in this process: what is imported is decided once.
NEEDS = ["ropes.experiments.fits"]


def write(path: Path) -> None:
    path.write_text(f"{os.getpid()} {os.environ['OMP_NUM_THREADS']}")


def refuse(path: Path) -> None:
    raise UserError(f"{path} is not for me")


def lack(path: Path) -> None:
    path.read_text()


def die(path: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait(path: Path) -> None:
    """Until told to end, as a training is, which then ends its step and stores where it stands."""
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: told.append(received))
    path.touch()
    end = time.monotonic() + 2 * PATIENCE
    while not told and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1)
    path.with_suffix(".stored").touch()


@pytest.mark.slow
def test_each_job_runs_in_its_own_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    paths = [tmp_path / str(number) for number in range(5)]
    done: list[int] = []
    run_all([Job(partial(write, path), 3) for path in paths], processes=2, finished=done.append, needs=NEEDS)
    assert sorted(done) == [0, 1, 2, 3, 4]
    said = [path.read_text().split() for path in paths]
    assert len({number for number, _ in said} | {str(os.getpid())}) == 6
    assert {threads for _, threads in said} == {"3"}
    assert "OMP_NUM_THREADS" not in os.environ


@pytest.mark.slow
def test_job_error_is_raised_after_the_other_jobs_end(tmp_path: Path) -> None:
    done: list[int] = []
    calls = [partial(refuse, tmp_path / "x"), partial(write, tmp_path / "later"), partial(lack, tmp_path / "y")]
    jobs = [Job(calls[0], name="first"), Job(calls[1], after=0), Job(calls[2])]
    with pytest.raises(UserError, match=r"^first: .*x is not for me \(2 of 3 failed\)"):
        run_all(jobs, processes=1, finished=done.append, needs=NEEDS)
    assert done == [1]
    assert (tmp_path / "later").exists()
    with pytest.raises(UserError, match="No such file or directory"):
        run_all(jobs[2:], processes=1, finished=done.append, needs=NEEDS)
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_killed_job_process_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a process ended with code -9 \(out of memory\?\); run the same"):
        run_all([Job(partial(die, tmp_path))], processes=2, finished=lambda _: None, needs=NEEDS)


SCRIPT = """
import signal, sys
def end(*_): raise KeyboardInterrupt
signal.signal(signal.SIGTERM, end)
from functools import partial
from pathlib import Path
from ropes.common.jobs import Job
from ropes.common.processes import run_all
from tests.common.test_processes import wait
run_all([Job(partial(wait, Path(sys.argv[1]) / str(k))) for k in range(2)], processes=2, finished=print)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("whole_group", [False, True])
def test_jobs_store_their_state_when_the_caller_is_terminated(number: int, whole_group: bool, tmp_path: Path) -> None:
    if whole_group and number == signal.SIGKILL:
        pytest.skip("nothing can be stored when everything is killed")
    words = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    # A shell has its background jobs ignore interrupts, and what they start inherits that.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    given: dict[str, Any] = {"cwd": ROOT, "env": environment, "stderr": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(words, preexec_fn=heed, **given) as caller:
        wait_for(tmp_path / "0", tmp_path / "1")
        if whole_group:
            os.killpg(caller.pid, number)
        else:
            caller.send_signal(number)
        caller.wait(PATIENCE)
        if number == signal.SIGTERM and whole_group:  # it waits for its jobs, whose server lives on
            assert (tmp_path / "0.stored").exists()
    wait_for(tmp_path / "0.stored", tmp_path / "1.stored")


def wait_for(*paths: Path) -> None:
    end = time.monotonic() + PATIENCE
    while lacking := [path.name for path in paths if not path.exists()]:
        assert time.monotonic() < end, f"after {PATIENCE} s there is no {', '.join(lacking)}"
        time.sleep(0.05)


def threads_taken(path: Path) -> None:
    import torch
    from threadpoolctl import threadpool_info

    path.write_text(" ".join(map(str, {torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())})))


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_every_library_takes_the_threads_of_its_job(threads: int, tmp_path: Path) -> None:
    job = Job(partial(threads_taken, tmp_path / "said"), threads)
    run_all([job], processes=1, finished=lambda _: None, needs=NEEDS)
    assert (tmp_path / "said").read_text() == str(threads)


def environment_said(path: Path) -> None:
    path.write_text(f"{os.environ.get('TOLD')} {Path.cwd()}")


@pytest.mark.slow
def test_job_inherits_environment_and_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for told in ("first", "second"):
        monkeypatch.setenv("TOLD", told)
        job = Job(partial(environment_said, tmp_path / "said"))
        run_all([job], processes=1, finished=lambda _: None, needs=NEEDS)
        assert (tmp_path / "said").read_text() == f"{told} {tmp_path}"


def with_its_server_gone(path: Path) -> None:
    """End the server, and be told to end then."""

    def end(*_: object) -> None:
        time.sleep(1)
        path.touch()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(2 * PATIENCE)


SERVERLESS = """
import sys
from functools import partial
from pathlib import Path
from ropes.errors import UserError
from ropes.common.jobs import Job
from ropes.common.processes import run_all
from tests.common.test_processes import with_its_server_gone
path = Path(sys.argv[1])
try:
    run_all([Job(partial(with_its_server_gone, path))], processes=1, finished=print)
except UserError as error:
    print(error, path.exists())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no server")
def test_job_with_a_dead_fork_server_is_terminated_and_joined(tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-c", SERVERLESS, str(tmp_path / "stored")]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert "a process ended with code 255" in done.stdout
    assert done.stdout.rstrip().endswith("True")


@pytest.mark.slow
def test_local_modules_do_not_shadow_the_standard_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "code.py").write_text("raise SystemExit(3)", encoding="utf-8")
    script = "import sys; sys.path.append(sys.argv[2]); from tests.common.test_processes import *; "
    script += "run_all([Job(partial(write, Path(sys.argv[1])))], processes=1, finished=print, needs=NEEDS)"
    words = [sys.executable, "-P", "-c", script, str(tmp_path / "written"), str(ROOT)]
    subprocess.run(words, cwd=tmp_path, check=True, timeout=PATIENCE)
    assert (tmp_path / "written").exists()
