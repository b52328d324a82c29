"""Kills commands at random moments, calls them again, and compares the files with those of a run without a kill.

Part of `faults.py`. Each command of `fault_commands.py` is started and killed (SIGKILL) one to three times at random
moments of its running time, and called once more until it ends. Every other trial kills one of its processes in place
of all: the command then has to end by itself, with code 0, or with code 2 and one line. Every file is compared with
that of the undisturbed run, byte for byte except for what `fault_commands.py` names. A remaining temporary file is a
failure too.
"""

import os
import random
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fault_commands import COMMANDS, Undisturbed, refusal_fault, start
from ropes.common.progress import progress

#: Seconds within which a command ends after one of its processes was killed, beside five times its usual time.
_PATIENCE = 120.0


@dataclass(frozen=True)
class Trial:
    """How one command came through its kills.

    Attributes:
        command: its name in `COMMANDS`.
        kills: how often it, or one of its processes, was killed before it ended.
        fault: what is wrong at the end; None if nothing is.
    """

    command: str
    kills: int
    fault: str | None


def trial(name: str, undisturbed: Undisturbed, scratch: Path, draw: random.Random, *, whole: bool = True) -> Trial:
    """Kill a command once to three times, call it again, and compare what it leaves.

    Args:
        name: of the command.
        undisturbed: what it should leave.
        scratch: folder of the output and of the cache.
        draw: of the moments and of the process.
        whole: kill all processes of the command, or one that it has started.
    """
    out, home, log = scratch / undisturbed.expected(name).name, scratch / "cache", scratch / "log"
    for folder in (out, home):
        shutil.rmtree(folder, ignore_errors=True)
    kills = 0
    for _ in range(draw.randint(1, 3)):
        process = start(undisturbed.words(name, out), home, log)
        try:
            process.wait(draw.uniform(0.1, 1.0) * undisturbed.seconds[name])
            break  # it was faster than the kill
        except subprocess.TimeoutExpired:
            if not whole and (started := descendants(process.pid)):
                victim = draw.choice(started)
                what = _command(victim)
                os.kill(victim, signal.SIGKILL)
                kills += 1
                if fault := _end(process, log, _PATIENCE + 5 * undisturbed.seconds[name]):
                    return Trial(name, kills, f"{fault}, of which one was killed: {what}")
                continue
            _kill_all(process)
            kills += 1
    return Trial(name, kills, undisturbed.fault(name, out, home, log))


def _end(process: "subprocess.Popen[bytes]", log: Path, patience: float) -> str | None:
    """Wait until a command ends that has lost a process; what is wrong with its end, or None."""
    try:
        code = process.wait(patience)
    except subprocess.TimeoutExpired:
        left = ", ".join(_command(each) for each in descendants(process.pid)) or "no other"
        _kill_all(process)
        return f"still ran after {patience:.0f} s, and of its processes {left}"
    return refusal_fault(code, log) if code else None


def _kill_all(process: "subprocess.Popen[bytes]") -> None:
    """Kill a command and all that it has started, also processes in groups of their own."""
    for number in [process.pid, *descendants(process.pid)]:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    process.wait()


def _command(number: int) -> str:
    """What a process runs: its words, shortened."""
    with suppress(OSError):
        words = Path(f"/proc/{number}/cmdline").read_bytes().decode(errors="replace").split("\0")
        return " ".join(words[1:]).strip()[:100] or words[0]
    return "a process that has just ended"


def descendants(number: int) -> list[int]:
    """Numbers of the processes that a process has started, and of those that they have."""
    found: list[int] = []
    for path in Path(f"/proc/{number}/task").glob("*/children"):
        try:
            children = [int(word) for word in path.read_text(encoding="utf-8").split()]
        except OSError:  # it has ended meanwhile
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def kill_all(kills: int, seed: int, only: str = "") -> list[Trial]:
    """Round by round over the commands, until there were enough kills.

    Args:
        kills: how many in all, at the least.
        seed: of the moments.
        only: commands whose name has this word; none at all where no name has it.
    """
    draw, trials = random.Random(seed), list[Trial]()
    chosen = [name for name in COMMANDS if only in name]
    if not chosen or not kills:
        return trials
    with tempfile.TemporaryDirectory(prefix="ropes-kills-") as folder:
        root = Path(folder)
        for part in ("undisturbed", "trial"):
            (root / part).mkdir()
        undisturbed = Undisturbed(root / "undisturbed", chosen)
        with progress("kills", kills) as update:
            while (killed := sum(one.kills for one in trials)) < kills:
                turn, at = divmod(len(trials), len(chosen))
                trials.append(trial(chosen[at], undisturbed, root / "trial", draw, whole=turn % 2 == 0))
                update(min(killed + trials[-1].kills, kills), chosen[at])
    return trials
