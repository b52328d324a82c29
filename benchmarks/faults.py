"""What the commands do with wrong inputs: more than 200 of them, over all commands.

    python benchmarks/faults.py [--only WORD] [--out FILE]

Every case is a right call with one thing wrong: an option, a path, or a byte of a file.  It passes where the command
ends with code 2 and one line on standard error, without a traceback, and leaves every file as it was and nothing new.
The table counts them by command; those that fail are named below it, and the script ends with code 1.
"""

import contextlib
import io
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from fault_inputs import Case, cases, run_case

from figures import options
from ropes import cli
from ropes.files import write_json
from ropes.progress import progress


def prepare(folder: Path) -> None:
    """A small data set, a run of one step, its calibration and evaluation, photographs, labels and a table's page."""
    calls = (
        "simulate --setting panda-2c-independent --anchors 16 --test-anchors 1500 --out data",
        "fit --data data --out run --training.epochs 1 --training.at-least 0",
        "calibrate run --data data --samples 10",
        "evaluate run --data data --out evaluation --occlusions 0",
        "export data --split test-id --count 2 --out photos",
    )
    with contextlib.chdir(folder):
        for call in calls:
            with contextlib.redirect_stdout(io.StringIO()):
                code = cli.main(call.split())
            if code:
                raise RuntimeError(f"ropes {call}: code {code}")
        names = sorted(path.name for path in (folder / "photos" / "cam45").iterdir())
        for camera in ("cam45", "cam135"):
            (folder / "photos" / camera / names[0]).rename(folder / "photos" / camera / "a.png")
            (folder / "photos" / camera / names[1]).rename(folder / "photos" / camera / "b.png")
        joints = [f"panda_joint{k}" for k in range(1, 7)]
        lines = [",".join(["cam45", "cam135", *joints])]
        for k, name in enumerate("ab"):
            lines.append(",".join([f"photos/cam45/{name}.png", f"photos/cam135/{name}.png", *[str(0.1 * k)] * 6]))
        (folder / "labels.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "other").mkdir()
        (folder / "other" / "something.txt").write_text("else\n", encoding="utf-8")
        (folder / "pairs").mkdir()
        (folder / "pairs" / "something.txt").write_text("else\n", encoding="utf-8")
        (folder / "results").mkdir()
        shutil.copyfile(folder / "evaluation" / "results.json", folder / "results" / "demo-compact.json")
        (folder / "page.md").write_text("<!-- table:demo-compact -->\n<!-- /table -->\n", encoding="utf-8")


def main() -> None:
    """Run all cases and print the table."""
    parser = options(__doc__)
    parser.add_argument("--only", default="", help="cases whose name has this word")
    arguments = parser.parse_args()
    began, failed, counts = time.monotonic(), list[tuple[Case, str]](), Counter[str]()
    chosen = [case for case in cases() if arguments.only in case.name]
    with tempfile.TemporaryDirectory(prefix="ropes-faults-") as scratch:
        prepared = Path(scratch) / "prepared"
        prepared.mkdir()
        prepare(prepared)
        with progress("wrong inputs", len(chosen)) as update:
            for done, case in enumerate(chosen, start=1):
                counts[case.command] += 1
                if fault := run_case(case, prepared, Path(scratch)):
                    failed.append((case, fault))
                update(done, case.name)
    print("| command | wrong inputs | failed |\n|---|---:|---:|")
    for command, count in counts.items():
        print(f"| {command} | {count} | {sum(case.command == command for case, _ in failed)} |")
    print(f"| all | {len(chosen)} | {len(failed)} |\n\n{time.monotonic() - began:.0f} s")
    for case, fault in failed:
        print(f"\n{case.name}\n    ropes {' '.join(case.words)}\n    {fault}")
    if arguments.out:
        write_json(arguments.out, {"cases": len(chosen), "failed": {case.name: fault for case, fault in failed}})
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
