"""Kills commands at random moments, calls them again, and compares the files with those of a run without a kill.

Part of `faults.py`. Each command first runs without interruption. Then it is started again and killed (SIGKILL, with
its processes) one to three times at random moments of its running time, and called once more until it ends. Every file
is compared with that of the first run, byte for byte except for `DIFFERS`. A remaining temporary file is a failure too.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ropes.common.progress import progress

#: All that may differ between two runs of one command: entries of JSON files, by name, and why.
DIFFERS = {"seconds": "how long a stage took is measured with the clock"}
SMALL_EXPERIMENT = "small_experiment.py"
#: What is killed: name → words; those that fit learn from the data that `simulate` of the reference left.  What
#: `ropes reproduce` does is killed at the size of `small_experiment.py`.
COMMANDS = {
    "simulate": "simulate --setting panda-2c-independent --anchors 30 --test-anchors 40 --out OUT",
    "fit anchored": "fit --data DATA --out OUT --training.epochs 4 --training.min-samples 0 --training.batch 26 "
    "--student.min-samples 0",
    "fit ldr": "fit --data DATA --out OUT --method ldr --training.epochs 4 --training.min-samples 0 "
    "--training.batch 32",
    "fit cnn": "fit --data DATA --out OUT --method cnn --training.epochs 4 --training.min-samples 0 "
    "--training.batch 32",
    "reproduce, one fit after the other": f"{SMALL_EXPERIMENT} --out OUT",
    "reproduce, two fits at a time": f"{SMALL_EXPERIMENT} --at-once --out OUT",
}


@dataclass(frozen=True)
class Trial:
    """How one command came through its kills.

    Attributes:
        command: its name in `COMMANDS`.
        kills: how often it was killed before it ended.
        fault: what is wrong at the end; None if nothing is.
    """

    command: str
    kills: int
    fault: str | None


def start(words: list[str], home: Path, log: Path) -> "subprocess.Popen[bytes]":
    """Call ropes, or the small experiment, in a process group of its own, with its cache of images in `home`."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(home)}
    script = [str(Path(__file__).with_name(SMALL_EXPERIMENT))] if words[0] == SMALL_EXPERIMENT else ["-m", "ropes"]
    command = [sys.executable, *script, *(words[1:] if words[0] == SMALL_EXPERIMENT else words)]
    with log.open("wb") as stream:
        return subprocess.Popen(command, stdout=stream, stderr=stream, env=environment, start_new_session=True)


def finish(words: list[str], home: Path, log: Path) -> float:
    """Call ropes and wait; the seconds that it took.

    Raises:
        RuntimeError: it ended with another code than 0.
    """
    began = time.monotonic()
    if code := start(words, home, log).wait():
        raise RuntimeError(f"ropes {' '.join(words)}: code {code}: {log.read_text(errors='replace')[-500:]}")
    return time.monotonic() - began


def digests(folder: Path) -> dict[str, str]:
    """Every file of a folder with a digest of what may not differ."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.suffix == ".json":
            content = json.dumps(_comparable(json.loads(content)), sort_keys=True).encode()
        found[path.relative_to(folder).as_posix()] = hashlib.sha256(content).hexdigest()
    return found


def _comparable(content: Any) -> Any:
    """JSON content without what may differ."""
    if isinstance(content, dict):
        return {key: _comparable(value) for key, value in content.items() if key not in DIFFERS}
    return [_comparable(value) for value in content] if isinstance(content, list) else content


def _folder(name: str) -> str:
    return name.replace(",", "").replace(" ", "-")


def trial(name: str, words: list[str], expected: Path, seconds: float, scratch: Path, draw: random.Random) -> Trial:
    """Kill a command once to three times, go on with it, and compare what it leaves.

    Args:
        name: of the command.
        words: of its call.
        expected: what it left uninterrupted; the call writes to another folder of the same name.
        seconds: that it took then.
        scratch: folder whose `OUT` the call writes to.
        draw: of the moments.
    """
    out, home, log = scratch / expected.name, scratch / "cache", scratch / "log"
    for folder in (out, home):
        shutil.rmtree(folder, ignore_errors=True)
    kills = 0
    for _ in range(draw.randint(1, 3)):
        process = start(words, home, log)
        try:
            process.wait(draw.uniform(0.1, 1.0) * seconds)
            break  # it was faster than the kill
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
    try:
        finish(words, home, log)
    except RuntimeError as error:
        return Trial(name, kills, str(error))
    ours, theirs = digests(out), digests(expected)
    differing = [file for file in sorted(ours.keys() | theirs.keys()) if ours.get(file) != theirs.get(file)]
    return Trial(name, kills, f"differs in {', '.join(differing[:4])}" if differing else None)


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
        for part in ("reference", "trial"):
            (root / part).mkdir()
        data = root / "reference" / "simulate"
        calls, seconds = {}, {}
        for name, words in COMMANDS.items():
            calls[name] = words.replace("DATA", str(data))
            if name in (*chosen, "simulate"):
                own = calls[name].replace("OUT", str(root / "reference" / _folder(name))).split()
                seconds[name] = finish(own, root / "home", root / "log")
        with progress("kills", kills) as update:
            while (killed := sum(one.kills for one in trials)) < kills:
                name = chosen[len(trials) % len(chosen)]
                expected = root / "reference" / _folder(name)
                own = calls[name].replace("OUT", str(root / "trial" / expected.name)).split()
                trials.append(trial(name, own, expected, seconds[name], root / "trial", draw))
                update(min(killed + trials[-1].kills, kills), name)
    return trials


def print_kills(trials: list[Trial]) -> None:
    """The table, what is not compared, and below it what ended otherwise."""
    print("| command | runs | kills | ended otherwise |\n|---|---:|---:|---:|")
    for name in [*dict.fromkeys(one.command for one in trials), ""]:
        ours = [one for one in trials if not name or one.command == name]
        faults = sum(one.fault is not None for one in ours)
        print(f"| {name or 'all'} | {len(ours)} | {sum(one.kills for one in ours)} | {faults} |")
    print(f"\nnot compared: {', '.join(f'{key} ({why})' for key, why in DIFFERS.items())}")
    for one in trials:
        if one.fault:
            print(f"\n{one.command}, {one.kills} kills: {one.fault}")
