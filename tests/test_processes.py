"""Jobs in processes of their own: all of them, some at a time, and none left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from ropes.errors import UserError
from ropes.processes import run_all
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[1]
#: Of all that is run at once in this process: what is imported is decided once.
NEEDS = ["ropes.fits"]


def write(path: Path) -> None:
    path.write_text(f"{os.getpid()} {os.environ['OMP_NUM_THREADS']}")


def refuse(path: Path) -> None:
    raise UserError(f"{path} is not for me")


def lack(path: Path) -> None:
    path.read_text()


def die(path: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait(path: Path) -> None:
    """Until told to end, as a training is, which then stores where it stands."""
    signal.signal(signal.SIGTERM, lambda *_: (path.with_suffix(".stored").touch(), os._exit(0)))
    path.touch()
    time.sleep(2 * PATIENCE)


@pytest.mark.slow
def test_every_job_is_done_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    paths = [tmp_path / str(number) for number in range(5)]
    done: list[int] = []
    run_all([partial(write, path) for path in paths], processes=2, threads=[3] * 5, finished=done.append, needs=NEEDS)
    assert sorted(done) == [0, 1, 2, 3, 4]
    said = [path.read_text().split() for path in paths]
    assert len({number for number, _ in said} | {str(os.getpid())}) == 6
    assert {threads for _, threads in said} == {"3"}
    assert "OMP_NUM_THREADS" not in os.environ


@pytest.mark.slow
def test_an_error_is_passed_on_when_the_others_have_ended(tmp_path: Path) -> None:
    done: list[int] = []
    jobs = [partial(refuse, tmp_path / "x"), partial(write, tmp_path / "later"), partial(lack, tmp_path / "y")]
    with pytest.raises(UserError, match=r"x is not for me \(2 of 3 failed\)"):
        run_all(jobs, processes=1, threads=[1] * 3, finished=done.append, needs=NEEDS)
    assert done == [1]
    assert (tmp_path / "later").exists()
    with pytest.raises(UserError, match="No such file or directory"):
        run_all(jobs[2:], processes=1, threads=[1], finished=done.append, needs=NEEDS)
    assert not multiprocessing.active_children()


def test_a_dead_process_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a process ended with code -9 \(out of memory\?\); run the same"):
        run_all([partial(die, tmp_path)], processes=2, threads=[1], finished=lambda _: None, needs=NEEDS)


SCRIPT = """
import sys
from functools import partial
from pathlib import Path
from ropes.processes import run_all
from tests.test_processes import wait
run_all([partial(wait, Path(sys.argv[1]) / str(k)) for k in range(2)], processes=2, threads=[1, 1], finished=print)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_jobs_store_where_they_stand_when_their_caller_is_ended(number: int, tmp_path: Path) -> None:
    words = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    # A shell has its background jobs ignore interrupts, and what they start inherits that.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(words, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL, preexec_fn=heed) as caller:
        wait_for(tmp_path / "0", tmp_path / "1")
        caller.send_signal(number)
        caller.wait(PATIENCE)
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
    job = partial(threads_taken, tmp_path / "said")
    run_all([job], processes=1, threads=[threads], finished=lambda _: None, needs=NEEDS)
    assert (tmp_path / "said").read_text() == str(threads)


def environment_said(path: Path) -> None:
    path.write_text(f"{os.environ.get('TOLD')} {Path.cwd()}")


@pytest.mark.slow
def test_a_job_has_the_environment_and_folder_of_its_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for told in ("first", "second"):
        monkeypatch.setenv("TOLD", told)
        run_all(
            [partial(environment_said, tmp_path / "said")],
            processes=1,
            threads=[1],
            finished=lambda _: None,
            needs=NEEDS,
        )
        assert (tmp_path / "said").read_text() == f"{told} {tmp_path}"
