"""Measures how other work on the cores slows a training step, by how long waiting threads spin.

    python -m benchmarks.spinning [--seconds 10] [--rounds 2] [--out results/processors/spinning.json]

Steps are those of `ropes fit` with a compact preset, on all cores and on data simulated first. They are taken alone,
beside a process that computes on each core, and beside a second process that takes the same steps. A thread that waits
for the others of a parallel loop first spins. libgomp, torch's OpenMP, lets it look 300,000 times by default; commands
of ropes set GOMP_SPINCOUNT to a smaller number. Times are medians over all steps of all rounds; the rounds take turns.
`benchmarks.processors` writes the table to docs/processors.md.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.figures import described, keep, options, origin, simulate, table
from ropes.common.hardware import SPIN_COUNT, SPINS, training_precision, tune_process, usable_cores

METHODS = {"anchored": "--setting panda-2c-independent --anchors 100", "beta-vae": "--setting finger-cube --samples 64"}
COUNTS = {"libgomp's default": 300_000, "commands of ropes": SPINS}
CONDITIONS = ("alone", "beside a process on each core", "beside the same training")
_WARM = 2


def steps(method: str, data: Path, seconds: float) -> list[float]:
    """Seconds of each training step for that long; the child process calls it."""
    import torch

    from benchmarks.training import Training

    torch.set_num_threads(usable_cores())
    training = Training.of(method, data, training_precision())
    list(training.steps(_WARM))
    taken, begun = list[float](), time.perf_counter()
    while time.perf_counter() - begun < seconds:
        taken += [sum(parts) for parts in training.steps(1)]
    return taken


def _started(words: list[str], spins: int) -> "subprocess.Popen[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    environment[SPIN_COUNT] = str(spins)
    return subprocess.Popen([sys.executable, *words], env=environment, stdout=subprocess.PIPE, text=True)


@contextmanager
def _beside(condition: str, words: list[str], spins: int) -> Iterator[None]:
    """The other work of a condition, for as long as the body takes."""
    busy = ["-c", "while True: pass"]
    others = {"alone": [], CONDITIONS[1]: [busy] * usable_cores(), CONDITIONS[2]: [words]}[condition]
    started = [_started(other, spins) for other in others]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.communicate()


def measure(methods: list[str], seconds: float, rounds: int) -> list[dict[str, Any]]:
    """A row for each method and condition: median milliseconds of a step by what sets the spinning."""
    rows = list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as folder:
        for method in methods:
            data = Path(folder) / method
            simulate(f"{METHODS[method]} --test-anchors 8", data)
            for condition in CONDITIONS:
                taken = {name: list[float]() for name in COUNTS}
                for name, spins in [*COUNTS.items()] * rounds:
                    words = ["-m", "benchmarks.spinning", "--steps-of", method, str(data), "--seconds"]
                    with _beside(condition, [*words, "3600"], spins):
                        child = _started([*words, str(seconds)], spins)
                        taken[name] += json.loads(child.communicate()[0])
                medians = {name: 1e3 * statistics.median(each) for name, each in taken.items()}
                rows.append({"method": method, "beside": condition, **medians})
                print(rows[-1], file=sys.stderr)
    return rows


def written(found: Mapping[str, Any]) -> str:
    """The table of the page, and what it is of."""
    lines = [
        [f"{row['method']}, {row['beside']}", *(f"{row[name]:.0f}" for name in COUNTS), f"{_ratio(row):.2f}"]
        for row in found["rows"]
    ]
    heads = ["step of", *(f"{name} ({spins:,}), ms" for name, spins in COUNTS.items()), "ratio"]
    return f"{table(heads, lines)}\n{origin(found)}, {found['seconds']} s.\n"


def _ratio(row: Mapping[str, Any]) -> float:
    default, ours = (float(row[name]) for name in COUNTS)
    return default / ours


def main() -> None:
    """Measure in turn, and print the table."""
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of each measurement")
    parser.add_argument("--rounds", type=int, default=2, help="measurements of each cell of the table")
    parser.add_argument("--method", action="append", choices=METHODS, help="all if omitted")
    parser.add_argument("--steps-of", nargs=2, metavar=("METHOD", "DATA"), help="print the seconds of steps alone")
    given, began = parser.parse_args(), time.monotonic()
    if given.steps_of:
        tune_process()  # as `ropes fit` does
        print(json.dumps(steps(given.steps_of[0], Path(given.steps_of[1]), given.seconds)))
        return
    rows = measure(given.method or [*METHODS], given.seconds, given.rounds)
    found = {"rows": rows, **described(began)}
    keep(found, "spinning", written(found), given.out, page=None)


if __name__ == "__main__":
    main()
