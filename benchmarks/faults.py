"""Tests the commands with more than 200 wrong inputs, and when they are killed.

    python -m benchmarks.faults [--only WORD] [--kills 60] [--seed 0] [--out FILE]

Every wrong input is a correct call with one fault: an option, a path, or a byte of a file. It passes if the command
ends with code 2 and one line on standard error, without a traceback, changes no file and leaves no new file. Then
commands are killed at random moments and called again (see `kills.py`). They pass if they end with the same bytes as
without a kill. Tables count both by command, and failures are listed below them; with a failure the script ends with
code 1. Wrong inputs take one or two minutes, and 60 kills half an hour; --kills 0 skips the kills.
"""

import contextlib
import importlib
import pkgutil
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import ropes
from benchmarks.fault_inputs import Case, called, cases, run_case
from benchmarks.figures import options
from benchmarks.kills import kill_all, print_kills
from ropes.common.files import write_json
from ropes.common.progress import progress

#: Seconds that a call of the preparation may take.
_PATIENCE = 600.0
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
    """Run wrong inputs and kills, and print the tables."""
    parser = options(__doc__)
    parser.add_argument("--only", default="", help="test only wrong inputs and commands whose name contains this word")
    parser.add_argument("--kills", type=int, default=60, help="smallest number of kills")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments of the kills")
    arguments = parser.parse_args()
    chosen = [case for case in cases() if arguments.only in case.name]
    began = time.monotonic()
    failed = run_cases(chosen)
    if chosen:
        print_cases(chosen, failed)
        print(f"\n{time.monotonic() - began:.0f} s")
    began = time.monotonic()
    trials = kill_all(arguments.kills, arguments.seed, arguments.only)
    if trials:
        print()
        print_kills(trials)
        print(f"\n{time.monotonic() - began:.0f} s")
    if not chosen and not trials:
        parser.error(f"--only {arguments.only} with --kills {arguments.kills}: nothing to do")
    otherwise = [f"{one.command}: {one.fault}" for one in trials if one.fault]
    if arguments.out:
        figures = {"cases": len(chosen), "failed": {case.name: fault for case, fault in failed}}
        killed = {"kills": sum(one.kills for one in trials), "ended_otherwise": otherwise}
        write_json(arguments.out, figures | killed)
    sys.exit(bool(failed or otherwise))


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


def print_cases(chosen: list[Case], failed: list[tuple[Case, str]]) -> None:
    """The table by command, and below it what failed."""
    print("| command | wrong inputs | failed |\n|---|---:|---:|")
    for command, count in Counter(case.command for case in chosen).items():
        print(f"| {command} | {count} | {sum(case.command == command for case, _ in failed)} |")
    print(f"| all | {len(chosen)} | {len(failed)} |")
    for case, fault in failed:
        print(f"\n{case.name}\n    ropes {' '.join(case.words)}\n    {fault}")


if __name__ == "__main__":
    main()
