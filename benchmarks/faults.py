"""Tests the commands with more than 200 wrong inputs, when they are killed, and where something around them is wrong.

    python -m benchmarks.faults [--only WORD] [--kills 100] [--no-conditions] [--seed 0] [--out FILE] [--page FILE]

Every wrong input is a correct call with one fault: an option, a path, or a byte of a file. It passes if the command
ends with code 2 and one line on standard error, without a traceback, changes no file and leaves no new file. Then
commands are killed at random moments and called again (see `kills.py`), and called on a full disk, twice at a time and
so on (see `conditions.py`). They pass if they end with the same bytes as undisturbed. Tables count everything, and
failures are listed below them; with a failure the script ends with code 1. Wrong inputs take one or two minutes, 100
kills and the conditions half an hour each; --kills 0 and --no-conditions skip them.
"""

import contextlib
import importlib
import pkgutil
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import ropes
from benchmarks.conditions import enter_namespace, try_all
from benchmarks.fault_commands import DIFFERS
from benchmarks.fault_inputs import Case, called, cases, run_case
from benchmarks.figures import described, options, store, table
from benchmarks.kills import kill_all
from ropes.common.progress import progress

#: Seconds that a call of the preparation may take.
_PATIENCE = 600.0
_PREDICTIONS = Path(__file__).parents[1] / "examples" / "benchmark" / "prior-mean-panda-2c-independent.npz"
#: Beginnings of the names of what is made of a run.
_OF_RUN = ("run", "evaluation", "photos", "labels", "results")


def prepare(folder: Path, scratch: Path, chosen: Sequence[Case]) -> None:
    """What the chosen calls read: a small data set, a page, and for calls that read a run what `_prepare_run` makes."""
    words = [word for case in chosen for word in case.words]
    reads_run = any(word.rpartition("=")[2].startswith(_OF_RUN) for word in words)
    poses = 1_500 if reads_run else 20  # an evaluation needs so many
    call = f"simulate --setting panda-2c-independent --anchors 16 --test-anchors {poses} --out data"
    _call_all([call], folder, scratch)
    for name in ("other", "pairs"):
        (folder / name).mkdir()
        (folder / name / "something.txt").write_text("else\n", encoding="utf-8")
    shutil.copyfile(_PREDICTIONS, folder / "predictions.npz")
    (folder / "page.md").write_text("<!-- table:demo-compact -->\n<!-- /table -->\n", encoding="utf-8")
    if reads_run:
        _prepare_run(folder, scratch)


def _call_all(calls: Iterable[str], folder: Path, scratch: Path) -> None:
    """Run right calls in a folder."""
    with contextlib.chdir(folder):
        for call in calls:
            code, said = called(tuple(call.split()), folder, scratch, _PATIENCE)
            if code:
                raise RuntimeError(f"ropes {call}: code {code}: {said[-500:]}")


def _prepare_run(folder: Path, scratch: Path) -> None:
    """A run of one step, its calibration and evaluation, photographs, labels and results."""
    calls = (
        "fit --data data --out run --training.epochs 1 --training.min-samples 0 --student.epochs 1 "
        "--student.min-samples 0",
        "calibrate run --data data --samples 10",
        "evaluate run --data data --out evaluation --occlusions 0",
        "export data --split test-id --count 2 --out photos",
    )
    _call_all(calls, folder, scratch)
    with contextlib.chdir(folder):
        names = sorted(path.name for path in (folder / "photos" / "cam45").iterdir())
        for camera in ("cam45", "cam135"):
            (folder / "photos" / camera / names[0]).rename(folder / "photos" / camera / "a.png")
            (folder / "photos" / camera / names[1]).rename(folder / "photos" / camera / "b.png")
        joints = [f"panda_joint{k}" for k in range(1, 7)]
        lines = [",".join(["cam45", "cam135", *joints])]
        for k, name in enumerate("ab"):
            lines.append(",".join([f"photos/cam45/{name}.png", f"photos/cam135/{name}.png", *[str(0.1 * k)] * 6]))
        (folder / "labels.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "results").mkdir()
        shutil.copyfile(folder / "evaluation" / "results.json", folder / "results" / "demo-compact.json")


def main() -> None:
    """Run wrong inputs, kills and conditions, and print the tables."""
    parser = options(__doc__)
    parser.add_argument("--only", default="", help="test only what has this word in its name")
    parser.add_argument("--kills", type=int, default=100, help="smallest number of kills")
    parser.add_argument("--no-conditions", action="store_true", help="leave out disks, caches and clocks")
    parser.add_argument("--seed", type=int, default=0, help="seed of moments and of damaged bytes")
    parser.add_argument("--page", type=Path, help="page between whose markers the tables are written")
    arguments = parser.parse_args()
    if not arguments.no_conditions:
        enter_namespace()
    began = time.monotonic()
    chosen = [case for case in cases() if arguments.only in case.name]
    counts = Counter(case.command for case in chosen)
    found: dict[str, Any] = {"inputs": dict(counts), "inputs_failed": [], "trials": [], "conditions": []}
    kept = partial(_keep, found, began, arguments.out, arguments.page)  # after each part: a stop loses one at most
    failed = run_cases(chosen)
    kept("inputs_failed", [{"command": case.command, "fault": _spoken(case, fault)} for case, fault in failed])
    trials = kill_all(arguments.kills, arguments.seed, arguments.only)
    kept("trials", [asdict(one) for one in trials])
    attempts = [] if arguments.no_conditions else try_all(arguments.seed, arguments.only)
    if not (chosen or trials or attempts):
        parser.error(f"--only {arguments.only}: nothing to do")
    kept("conditions", [asdict(one) for one in attempts])
    print(tables(found))
    faults = [*(one.fault for one in trials), *(one.fault for one in attempts)]
    sys.exit(any(faults) or bool(failed))


def _spoken(case: Case, fault: str) -> str:
    """What a wrong input did, in one line."""
    return f"{case.name}: ropes {' '.join(case.words)}: {fault}"


def _keep(
    found: dict[str, Any], began: float, out: Path | None, page: Path | None, part: str, entries: list[dict[str, Any]]
) -> None:
    """Write what is found so far, with one part more."""
    if not (entries or found["inputs"]):
        return
    found |= {part: entries, **described(began)}
    store(found, "faults", tables(found), out, page)


def run_cases(chosen: list[Case]) -> list[tuple[Case, str]]:
    """The wrong inputs that failed, each with what is wrong."""
    failed: list[tuple[Case, str]] = []
    if not chosen:
        return failed
    with tempfile.TemporaryDirectory(prefix="ropes-faults-") as scratch:
        prepared = Path(scratch) / "prepared"
        prepared.mkdir()
        for module in pkgutil.walk_packages(ropes.__path__, "ropes."):  # once, for all forks
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
        prepare(prepared, Path(scratch), chosen)
        with progress("wrong inputs", len(chosen)) as update:
            for done, case in enumerate(chosen, start=1):
                if fault := run_case(case, prepared, Path(scratch)):
                    failed.append((case, fault))
                update(done, case.name)
    return failed


def tables(found: Mapping[str, Any]) -> str:
    """Tables of what was tried, and below each what failed."""
    parts = []
    if found["inputs"]:
        failed = Counter(one["command"] for one in found["inputs_failed"])
        rows = [[command, str(count), str(failed[command])] for command, count in found["inputs"].items()]
        parts.append(table(["command", "wrong inputs", "failed"], [*rows, _sum("all", rows)]))
        parts.append(_listed(one["fault"] for one in found["inputs_failed"]))
    if found["trials"]:
        rows = _counted(found["trials"], "command", lambda one: int(one["kills"]))
        parts.append(table(["command", "kills", "ended otherwise"], [*rows, _sum("all", rows)]))
        reasons = "; ".join(f'"{key}": {why}' for key, why in DIFFERS.items())
        parts.append(f"Not compared are entries of JSON and YAML files: {reasons}.\n")
        parts.append(_listed(f"{one['command']}: {one['fault']}" for one in found["trials"] if one["fault"]))
    if found["conditions"]:
        rows = _counted(found["conditions"], "condition", lambda _: 1)
        parts.append(table(["condition", "calls", "failed"], [*rows, _sum("all", rows)]))
        of = [one for one in found["conditions"] if one["fault"]]
        parts.append(_listed(f"{one['condition']}, {one['command']}: {one['fault']}" for one in of))
    parts.append(f"{found['device']}, version {found['version']}, {found['seconds']} s.\n")
    return "\n" + "\n".join(part for part in parts if part) + "\n"


def _counted(
    entries: Sequence[Mapping[str, Any]], key: str, amount: Callable[[Mapping[str, Any]], int]
) -> list[list[str]]:
    """A row for each value of `key`: the sum of the amounts, and the number of faults."""
    tried, failed = Counter[str](), Counter[str]()
    for one in entries:
        tried[one[key]] += amount(one)
        failed[one[key]] += one["fault"] is not None
    return [[name, str(tried[name]), str(failed[name])] for name in tried]


def _sum(name: str, rows: Sequence[Sequence[str]]) -> list[str]:
    return [name, *(str(sum(int(row[at]) for row in rows)) for at in (1, 2))]


def _listed(faults: Iterable[str]) -> str:
    return "".join(f"- {fault}\n" for fault in faults)


if __name__ == "__main__":
    main()
