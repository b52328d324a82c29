"""The commands that `kills.py` and `conditions.py` disturb, and what each of them leaves undisturbed."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

#: All that may differ between two runs of one command: entries of JSON and YAML files, by name, and why.
DIFFERS = {
    "seconds": "how long a stage took is measured with the clock",
    "out": "the output of options.yaml is in another folder",
}
SMALL_EXPERIMENT = "small_experiment.py"
_SHORT = "--training.min-samples 0"
#: Inputs of the commands: name → words.
INPUTS = {
    "DATA": "simulate --setting panda-1c-independent --anchors 30 --test-anchors 1500 --out OUT",
    "FINGER": "simulate --setting finger-cube --samples 60 --test-anchors 20 --out OUT",
    "PAIRS": "simulate --setting action-pairs --samples 120 --test-anchors 60 --out OUT",
    "RUN": f"fit --data DATA --out OUT --training.epochs 1 {_SHORT} --foreign 0",
}
#: Commands, one for each kind of output and of training: name → words.  Method `ropes` is in the small experiment.
COMMANDS = {
    "simulate": "simulate --setting panda-2c-independent --anchors 30 --test-anchors 40 --out OUT",
    "simulate on Ray": "simulate --setting panda-1c-independent --anchors 300 --test-anchors 40 --on local --out OUT",
    "simulate finger-cube": "simulate --setting finger-cube --samples 200 --test-anchors 60 --out OUT",
    "fit anchored": f"fit --data DATA --out OUT --training.epochs 8 {_SHORT} --training.batch 26 "
    "--student.min-samples 0",
    "fit ldr": f"fit --data DATA --out OUT --method ldr --training.epochs 8 {_SHORT} --training.batch 32 "
    "--student.min-samples 0",
    "fit cnn": f"fit --data DATA --out OUT --method cnn --training.epochs 8 {_SHORT} --training.batch 32",
    "fit jointnet": "fit --data DATA --out OUT --method jointnet --pretraining.epochs 2 --pretraining.min-samples 0 "
    f"--training.epochs 2 {_SHORT}",
    "fit on two devices": f"fit --data DATA --out OUT --devices 2 --accelerator cpu --training.epochs 8 {_SHORT} "
    "--training.batch 26 --foreign 0",
    "fit ada-gvae": f"fit --data FINGER --out OUT --method ada-gvae --training.epochs 20 {_SHORT} --training.batch 16",
    "fit cde-global": f"fit --data PAIRS --out OUT --method cde-global --training.epochs 4 {_SHORT}",
    "evaluate": "evaluate RUN --data DATA --out OUT --occlusions 0",
    "reproduce, one fit after the other": f"{SMALL_EXPERIMENT} --out OUT",
    "reproduce, two fits at a time": f"{SMALL_EXPERIMENT} --at-once --out OUT",
}


def start(
    words: Sequence[str], home: Path, log: Path, environment: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Call ropes, or the small experiment, in a process group of its own.

    Args:
        words: of the call.
        home: folder of the cache.
        log: file of its standard output and error.
        environment: further variables.
    """
    inherited = {**os.environ, "XDG_CACHE_HOME": str(home), **(environment or {})}
    script = [str(Path(__file__).with_name(SMALL_EXPERIMENT))] if words[0] == SMALL_EXPERIMENT else ["-m", "ropes"]
    command = [sys.executable, *script, *(words[1:] if words[0] == SMALL_EXPERIMENT else words)]
    with log.open("wb") as stream:
        return subprocess.Popen(command, stdout=stream, stderr=stream, env=inherited, start_new_session=True)


def said(log: Path) -> str:
    """The last line that a call wrote."""
    lines = log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").strip().splitlines()
    return lines[-1] if lines else "nothing"


def refusal_fault(code: int, log: Path) -> str | None:
    """What is wrong with the end of a call that could not succeed; None for code 2, one line and no traceback."""
    if code != 2:
        return f"code {code}: {said(log)}"
    if "Traceback" in log.read_text(encoding="utf-8", errors="replace"):
        return "a traceback"
    return None if said(log).startswith("ropes: ") else f"no line of its own: {said(log)}"


def digests(folder: Path) -> dict[str, str]:
    """Every file of a folder with a digest of what may not differ."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.suffix in (".json", ".yaml"):
            parsed = json.loads(content) if path.suffix == ".json" else yaml.safe_load(content)
            content = json.dumps(_comparable(parsed), sort_keys=True).encode()
        found[path.relative_to(folder).as_posix()] = hashlib.sha256(content).hexdigest()
    return found


def _comparable(content: Any) -> Any:
    """Parsed content without what may differ."""
    if isinstance(content, dict):
        return {key: _comparable(value) for key, value in content.items() if key not in DIFFERS}
    return [_comparable(value) for value in content] if isinstance(content, list) else content


class Undisturbed:
    """What commands leave when nothing disturbs them; other calls of a command are compared with that.

    Args:
        root: an empty folder for inputs and outputs.
        names: commands to run.

    Attributes:
        seconds: how long each command took.
    """

    def __init__(self, root: Path, names: Sequence[str]) -> None:
        self.root, self.log = root, root / "log"
        self.home, self.seconds = root / "home", dict[str, float]()
        self._words = {name: COMMANDS[name] for name in names}
        needed = " ".join(self._words.values()).split()
        for name, call in INPUTS.items():
            if name in needed or (name == "DATA" and "RUN" in needed):
                self._finish(call, root / name)
        for name in names:
            began = time.monotonic()
            self._finish(self._words[name], self.expected(name))
            self.seconds[name] = time.monotonic() - began

    def expected(self, name: str) -> Path:
        """The folder that a command leaves."""
        return self.root / name.replace(",", "").replace(" ", "-")

    def words(self, name: str, out: Path) -> list[str]:
        """A command's call with the output `out`; the folder's name must be that of `expected`."""
        return self._filled(self._words[name], out)

    def fault(self, name: str, out: Path, home: Path, log: Path) -> str | None:
        """Call a command, which should succeed, and compare what it leaves; what is wrong, or None."""
        if code := start(self.words(name, out), home, log).wait():
            return f"code {code}: {said(log)}"
        return self.difference(name, out)

    def difference(self, name: str, out: Path) -> str | None:
        """The files that differ from those of the undisturbed command; None where there are none."""
        ours, theirs = digests(out), digests(self.expected(name))
        differing = [file for file in sorted(ours.keys() | theirs.keys()) if ours.get(file) != theirs.get(file)]
        return f"differs in {', '.join(differing[:4])}" if differing else None

    def _filled(self, call: str, out: Path) -> list[str]:
        places = {name: str(self.root / name) for name in INPUTS} | {"OUT": str(out)}
        return [places.get(word, word) for word in call.split()]

    def _finish(self, call: str, out: Path) -> None:
        if code := start(self._filled(call, out), self.home, self.log).wait():
            raise RuntimeError(f"ropes {call}: code {code}: {self.log.read_text(errors='replace')[-500:]}")
