"""Wrong inputs: each is a correct call with one fault in one word of the command line, or in one file.

A case passes if the command ends with code 2 and one line on standard error, without a traceback, changes no file and
leaves no new file.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fault_options import MORE, TAKES, WRONG

Breaking = Callable[[Path], None]
#: How a file may be damaged.
DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "empty": lambda _: b"",
    "cut in half": lambda content: content[: len(content) // 2],
    "random bytes": lambda content: hashlib.shake_128(content).digest(max(len(content), 64)),
    "missing": lambda _: None,
}
#: And one that should hold JSON.
OTHER_JSON = {"a list": [], "a number": 3, "null": None, "no keys": {}, "another format": {"format": 99, "schema": 99}}
#: Right calls, of which each case is a variation: name → words, with files of the folder that `prepare` makes.
CALLS: dict[str, str] = {
    "simulate": "simulate --setting panda-2c-independent --anchors 2 --test-anchors 2 --out new",
    "simulate-urdf": "simulate --urdf kuka_iiwa/model.urdf --joints lbr_iiwa_joint_2 --ranges -1:1 --out new",
    "simulate-chains": "simulate --setting panda-2c-independent --chains 2 --frames-per-move 1 --out new",
    "simulate-finger": "simulate --setting finger-cube --samples 4 --test-anchors 2 --out new",
    "simulate-pairs": "simulate --setting action-pairs --samples 4 --objects 2 --test-anchors 2 --out new",
    "record": "record --robot simulated --anchors 2 --out new",
    "validate": "validate data",
    "inspect": "inspect data",
    "strip": "strip data --out new",
    "export": "export data --split test-id --count 2 --out new",
    "import": "import pairs --out new",
    "fit": "fit --data data --out new --training.epochs 1 --training.min-samples 0 --student.epochs 1 "
    "--student.min-samples 0",
    "evaluate": "evaluate run --data data --out new --occlusions 0",
    "calibrate": "calibrate run --data data --samples 10",
    "calibrate-file": "calibrate run --labels labels.csv",
    "predict": "predict run --images photos",
    "predict-files": "predict run --images cam45=photos/cam45/a.png cam135=photos/cam135/a.png",
    "graph": "graph run --data data --out new",
    "package": "package run --name tiny --data data --results evaluation/results.json --out new",
    "card": "card panda-2c",
    "check": "check run --recording data --frames 40",
    "watch": "watch run --camera photos --no-page --seconds 1",
    "csv": "csv evaluation",
    "score": "score predictions.npz --task panda-2c-independent",
    "report": "report evaluation",
    "reproduce": "reproduce demo --out new",
    "tables": "tables --check --pages page.md --results results",
}
#: Files of what a call reads, that are damaged one at a time.
_FILES: dict[str, tuple[str, ...]] = {
    "validate": ("data/meta/info.json", "data/meta/ropes.json", "data/meta/interventions.json",
                 "data/meta/tasks.parquet"),
    "inspect": ("data/meta/info.json", "data/meta/interventions.json"),
    "fit": ("data/meta/info.json", "data/meta/interventions.json"),
    "evaluate": ("run/run.json", "run/training.json", "run/encoder/weights.safetensors", "data/meta/info.json"),
    "predict": ("run/run.json", "run/calibration.json", "photos/cam45/a.png"),
    "calibrate-file": ("labels.csv", "run/run.json"),
    "graph": ("run/run.json", "data/meta/interventions.json"),
    "report": ("evaluation/results.json",),
    "csv": ("evaluation/results.json",),
    "score": ("predictions.npz",),
    "check": ("run/calibration.json", "data/meta/info.json"),
    "package": ("evaluation/results.json", "run/training.json"),
    "tables": ("results/demo-compact.json", "page.md"),
}  # fmt: skip
#: In the place of an input, and of an output.
_INPUTS = {
    "no/such/place": "is missing",
    "other": "is something else",
    "page.md": "is a file",
    "nowhere://data": "is a URL of no store",
}
_OUTPUTS = {"other": "holds something else", "page.md": "is a file", "page.md/new": "is in a file"}
#: Damages that leave the input right.
_LEGAL = {
    ("predict", "run/calibration.json", "missing"),  # without a calibration it reads raw coordinates
    ("validate", "data/meta/ropes.json", "missing"),  # data sets of other programs have none
}


@dataclass(frozen=True)
class Case:
    """A wrong call.

    Attributes:
        name: what is wrong.
        words: of the command line.
        breaking: what is done to the folder before; None for nothing.
    """

    name: str
    words: tuple[str, ...]
    breaking: Breaking | None = None

    @property
    def command(self) -> str:
        """The command that is called."""
        return self.words[0] if self.words else "ropes"


def cases() -> Iterator[Case]:
    """All wrong inputs, in the same order at every call."""
    yield Case("unknown command", ("simulat",))
    yield Case("unknown option before a command", ("--versoin",))
    for name, call in CALLS.items():
        words = tuple(call.split())
        yield Case(f"{name}: unknown option", (*words, "--no-such-option"))
        yield Case(f"{name}: a word too many", (*words, "surplus", "words"))
        options = [at for at, word in enumerate(words) if word.startswith("--")]
        for at in options:
            if at + 1 < len(words) and not words[at + 1].startswith("--"):
                yield Case(f"{name}: {words[at]} without a value", (*words[: at + 1], *words[at + 2 :]))
            yield Case(f"{name}: {words[at]} mistyped", (*words[:at], words[at] + "x", *words[at + 1 :]))
        yield from _of_paths(name, words)
        for option in TAKES.get(name, ()):
            for value in (*WRONG[option], *MORE.get((name, option), ())):
                shown = value or "nothing"
                yield Case(f"{name}: {option} {shown}", (*_without(words, option), option, *(value.split() or [""])))
        yield from _of_files(name, words)


def _of_paths(name: str, words: tuple[str, ...]) -> Iterator[Case]:
    """Inputs that are not there, or something else; outputs that are taken."""
    for at, word in enumerate(words):
        if word in ("data", "run", "evaluation", "photos", "labels.csv", "pairs", "predictions.npz"):
            for other, what in _INPUTS.items():
                yield Case(f"{name}: {word} {what}", (*words[:at], other, *words[at + 1 :]))
        if at and words[at - 1] == "--out":
            for other, what in _OUTPUTS.items():
                if name != "package" or what != "holds something else":
                    yield Case(f"{name}: --out {what}", (*words[:at], other, *words[at + 1 :]))


def _of_files(name: str, words: tuple[str, ...]) -> Iterator[Case]:
    """Files of the input that are damaged, one at a time."""
    for file in _FILES.get(name, ()):
        for what, damage in DAMAGES.items():
            if (name, file, what) not in _LEGAL:
                yield Case(f"{name}: {file} {what}", words, _damaging(file, damage))
        if file.endswith(".json"):
            for what, content in OTHER_JSON.items():
                yield Case(f"{name}: {file} holds {what}", words, _replacing(file, json.dumps(content)))


def _damaging(file: str, damage: Callable[[bytes], bytes | None]) -> Breaking:
    def breaking(folder: Path) -> None:
        content = damage((folder / file).read_bytes())
        (folder / file).unlink()
        if content is not None:
            (folder / file).write_bytes(content)

    return breaking


def _replacing(file: str, text: str) -> Breaking:
    return _damaging(file, lambda _: text.encode())


def _without(words: tuple[str, ...], option: str) -> tuple[str, ...]:
    """The words without an option and its values."""
    if option not in words:
        return words
    at = words.index(option)
    end = next((k for k in range(at + 1, len(words)) if words[k].startswith("--")), len(words))
    return words[:at] + words[end:]


def tree(folder: Path) -> dict[str, str]:
    """Every file of a folder with its digest, and every empty folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
    }


def run_case(case: Case, prepared: Path, scratch: Path, seconds: float = 60) -> str | None:
    """Run a wrong call in a process of its own, in a copy of what is prepared; what is wrong with its end, or None."""
    folder = scratch / "case"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(prepared, folder, copy_function=os.link)  # nothing is ever written in place
    if case.breaking:
        case.breaking(folder)
    before = tree(folder)
    code, said = called(case.words, folder, scratch, seconds)
    if code != 2:
        return f"code {code}: {said.strip().splitlines()[-1] if said.strip() else 'nothing said'}"
    if "Traceback" in said:
        return "a traceback"
    if said.count("\n") != 1:
        return f"{said.count(chr(10))} lines: {said!r}"
    after = tree(folder)
    if changed := [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]:
        return f"left {', '.join(changed[:3])}"
    return None


def called(words: tuple[str, ...], folder: Path, scratch: Path, seconds: float) -> tuple[int, str]:
    """Exit code of a call in a fork of this process, and what it says on standard error.

    This process must have imported what is needed, and never have computed with torch: a fork of a process whose torch
    has started threads may wait for them for ever.
    """
    out, err = scratch / "out", scratch / "err"
    child = os.fork()
    if child == 0:
        _call(words, folder, out, err, seconds)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, err.read_text(encoding="utf-8", errors="replace")


def _call(words: tuple[str, ...], folder: Path, out: Path, err: Path, seconds: float) -> None:
    """In the child: run the command line with its output in files, and end the process with its code."""
    import signal
    import traceback

    code = 70
    try:
        for path, number in ((out, 1), (err, 2)):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, number)
        os.chdir(folder)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        from ropes.cli import entry as cli

        code = cli.main(list(words))
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
