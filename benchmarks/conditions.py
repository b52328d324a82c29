"""Calls commands on a full disk, in a read-only folder, twice at a time, with a damaged cache and with wrong clocks.

Part of `faults.py`. A call that cannot succeed has to end with code 2 and one line. After that the disk has room again,
or the folder can be written to, and the same call has to leave the same bytes as an undisturbed one (see
`fault_commands.py`). Small file systems are mounted in a mount namespace of the benchmark's own (`unshare`).
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fault_commands import Undisturbed, refusal_fault, start
from ropes.common.progress import progress

#: Room on a full disk, as shares of what the command writes.
_ROOM = (0.0, 0.2, 0.5, 0.8)
#: Damaged bytes of each file of the cache.
_DAMAGES = 4
#: Commands that are called under all conditions: one that renders, one that trains, and one that reads a run.
CHOSEN = ("simulate", "fit anchored", "evaluate")
#: A module that Python imports at its start: the clock jumps by up to a year at each look at it.
_JUMPING = """
import random, time
_time, _draw = time.time, random.Random(0)
time.time = lambda: _time() + _draw.uniform(-3e7, 3e7)
time.time_ns = lambda: int(time.time() * 1e9)
"""


@dataclass(frozen=True)
class Attempt:
    """How a command came through a condition.

    Attributes:
        condition: in words.
        command: its name in `COMMANDS`.
        fault: what is wrong; None if nothing is.
    """

    condition: str
    command: str
    fault: str | None


@dataclass(frozen=True)
class _Try:
    """A command, and the folders that it gets."""

    name: str
    undisturbed: Undisturbed
    scratch: Path
    draw: random.Random

    @property
    def out(self) -> Path:
        """Its output, with the name of the undisturbed one."""
        return self.scratch / "place" / self.undisturbed.expected(self.name).name

    @property
    def home(self) -> Path:
        """Its cache."""
        return self.scratch / "cache"

    @property
    def log(self) -> Path:
        """What it says."""
        return self.scratch / "log"

    def start(self, **environment: str) -> "subprocess.Popen[bytes]":
        """Call it."""
        return start(self.undisturbed.words(self.name, self.out), self.home, self.log, environment)

    def ends(self) -> str | None:
        """Call it undisturbed; what is wrong with what it leaves, or None."""
        return self.undisturbed.fault(self.name, self.out, self.home, self.log)

    def refused_then_ends(self, mend: Callable[[], None]) -> str | None:
        """Call it, which may fail with one line, then `mend`, and call it undisturbed."""
        code = self.start().wait()
        if code and (fault := refusal_fault(code, self.log)):
            return fault
        mend()
        return self.ends()


def _mount(options: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)


def _remount(options: str, folder: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


@contextmanager
def _mounted(options: str, folder: Path) -> Iterator[None]:
    _mount(options, folder)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _full(attempt: _Try, folder: Path, needed: int) -> Iterator[str | None]:
    """A folder on a disk too small for the bytes needed there; the disk grows before the second call."""
    for room in _ROOM:
        with _mounted(f"size={max(4096, int(room * needed))}", folder):
            yield attempt.refused_then_ends(lambda: _remount("size=1g", folder))


def _full_cache(attempt: _Try) -> Iterator[str | None]:
    """The cache on a disk too small for what this command alone writes there."""
    yield attempt.ends()
    needed = _size(attempt.home)
    for folder in (attempt.home, attempt.out):
        shutil.rmtree(folder)
    for fault in _full(attempt, attempt.home, needed):
        yield fault
        shutil.rmtree(attempt.out)


def _read_only(attempt: _Try, folder: Path) -> Iterator[str | None]:
    """A folder that cannot be written to, at first."""
    with _mounted("ro", folder):
        yield attempt.refused_then_ends(lambda: _remount("rw", folder))


def _read_only_input(attempt: _Try) -> Iterator[str | None]:
    """Inputs that cannot be written to, which must not matter."""
    root = str(attempt.undisturbed.root)
    subprocess.run(["mount", "--bind", root, root], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True)
        yield attempt.ends()
    finally:
        subprocess.run(["umount", "--lazy", root], check=True)


def _two_at_a_time(attempt: _Try) -> Iterator[str | None]:
    """Two calls of one command with one output; each ends as it should, or is refused."""
    first, log = attempt.start(), attempt.scratch / "second-log"
    second = start(attempt.undisturbed.words(attempt.name, attempt.out), attempt.home, log)
    faults = [refusal_fault(code, where) for code, where in ((first.wait(), attempt.log), (second.wait(), log)) if code]
    yield next((fault for fault in faults if fault), None) or attempt.ends()


def _damaged_cache(attempt: _Try) -> Iterator[str | None]:
    """One byte of the cache that this command makes changed; the damage is found, or makes no difference."""
    yield attempt.ends()
    own = attempt.scratch / "own-cache"
    attempt.home.rename(own)
    for path in sorted(path for path in own.rglob("*") if path.is_file() and path.stat().st_size):
        for _ in range(_DAMAGES):
            shutil.rmtree(attempt.home, ignore_errors=True)
            shutil.rmtree(attempt.out, ignore_errors=True)
            shutil.copytree(own, attempt.home)
            content = bytearray(path.read_bytes())
            content[attempt.draw.randrange(len(content))] ^= attempt.draw.randrange(1, 256)
            (attempt.home / path.relative_to(own)).write_bytes(content)
            code = attempt.start().wait()
            if code:
                yield refusal_fault(code, attempt.log)
            elif difference := attempt.undisturbed.difference(attempt.name, attempt.out):
                yield f"{path.name}: {difference}"
            else:
                yield None


def _wrong_dates(attempt: _Try) -> Iterator[str | None]:
    """A kill halfway, after which every file is of 1980, or of 2080."""
    for seconds in (315_532_800, 3_471_292_800):
        shutil.rmtree(attempt.out, ignore_errors=True)
        process = attempt.start()
        try:
            process.wait(attempt.draw.uniform(0.5, 0.9) * attempt.undisturbed.seconds[attempt.name])
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for folder in (attempt.out, attempt.home):
            for path in folder.rglob("*"):
                os.utime(path, (seconds, seconds))
        yield attempt.ends()


def _jumping_clock(attempt: _Try) -> Iterator[str | None]:
    """A clock that jumps by months while the command runs."""
    folder = attempt.scratch / "clock"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_JUMPING, encoding="utf-8")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    if code := attempt.start(PYTHONPATH=path).wait():
        yield refusal_fault(code, attempt.log) or "refused"
    else:
        yield attempt.undisturbed.difference(attempt.name, attempt.out)


#: Conditions: in words → what is tried.
CONDITIONS: dict[str, Callable[[_Try], Iterator[str | None]]] = {
    "disk full": lambda one: _full(one, one.out.parent, _size(one.undisturbed.expected(one.name))),
    "disk of the cache full": _full_cache,
    "output read-only": lambda one: _read_only(one, one.out.parent),
    "cache read-only": lambda one: _read_only(one, one.home),
    "inputs read-only": _read_only_input,
    "two at a time": _two_at_a_time,
    "a byte of the cache changed": _damaged_cache,
    "files of another date after a kill": _wrong_dates,
    "a clock that jumps": _jumping_clock,
}


def enter_namespace() -> None:
    """Start this script again in a mount namespace of its own, unless it runs in one.

    Raises:
        OSError: the system has no `unshare`.
    """
    if os.environ.get("ROPES_BENCHMARK_NAMESPACE"):
        return
    os.environ["ROPES_BENCHMARK_NAMESPACE"] = "1"
    os.execvp("unshare", ["unshare", "--map-root-user", "--mount", *sys.orig_argv])


def try_all(seed: int, only: str = "") -> list[Attempt]:
    """Every condition with each of the chosen commands.

    Args:
        seed: of the moments and the damaged bytes.
        only: conditions and commands, such as "disk full: simulate", that contain this word.
    """
    draw, attempts = random.Random(seed), list[Attempt]()
    pairs = [(each, name) for each in CONDITIONS for name in CHOSEN if only in f"{each}: {name}"]
    if not pairs:
        return attempts
    with tempfile.TemporaryDirectory(prefix="ropes-conditions-") as folder:
        root = Path(folder)
        (root / "undisturbed").mkdir()
        undisturbed = Undisturbed(
            root / "undisturbed", [name for name in CHOSEN if name in {name for _, name in pairs}]
        )
        with progress("conditions", len(pairs)) as update:
            for done, (condition, name) in enumerate(pairs, start=1):
                scratch = root / "try"
                scratch.mkdir()
                for fault in CONDITIONS[condition](_Try(name, undisturbed, scratch, draw)):
                    attempts.append(Attempt(condition, name, fault))
                shutil.rmtree(scratch, ignore_errors=True)
                update(done, f"{condition}: {name}")
    return attempts
