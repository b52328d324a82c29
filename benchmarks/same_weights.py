"""Checks that a seed determines the weights: each method is fitted repeatedly for a few steps of its compact preset.

    python -m benchmarks.same_weights [--times 20] [--threads 1 --threads 2] [--precision 32-true] [--out FILE]
    ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 python -m benchmarks.same_weights

The training data are simulated first: an arm, finger and cube, pairs of actions. The script ends with code 1 if fits of
the same method, precision and number of threads end with different weights.
"""

import contextlib
import hashlib
import io
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.figures import described, options, simulate
from ropes.common.files import write_json
from ropes.common.hardware import Precision, capability, training_precision
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation, Recipe
from ropes.methods.registry import METHODS, methods_of, recipe_of

_DATA = {
    "arm": "--setting panda-1c-independent --anchors 24 --test-anchors 0",
    "finger": "--setting finger-cube --samples 48 --test-anchors 8",
    "actions": "--setting action-pairs --samples 64 --test-anchors 8",
}
_BATCH = 16


def data_of(method: str) -> str:
    """Which of the data sets a method learns from."""
    return "actions" if method in methods_of("actions") else "finger" if method in methods_of("factors") else "arm"


def shortened(recipe: Recipe) -> Recipe:
    """The recipe for one epoch of small batches, at its full widths."""
    changes: dict[str, Any] = {
        each.name: replace(found, batch=_BATCH, epochs=1, min_samples=0, learning_rate=1e-4)
        for each in fields(recipe)
        if isinstance(found := getattr(recipe, each.name), Optimisation)
    }
    return replace(recipe, **changes)


def digest(run: Path) -> str:
    """Of every file of weights, and of what to trust."""
    whole = hashlib.sha256()
    for path in sorted(run.rglob("*.safetensors")):
        whole.update(path.relative_to(run).as_posix().encode() + path.read_bytes())
    return whole.hexdigest()


def fitted(data: Path, method: str, precision: Precision, times: int) -> Iterator[str]:
    """The digest of each fit."""
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            recipe = shortened(recipe_of(method, "compact"))
            fit(data, Path(folder) / "run", recipe, 0, method=method, precision=precision, show=False)
            yield digest(Path(folder) / "run")


def main() -> None:
    """Fit, compare and print the table."""
    parser = options(__doc__)
    parser.add_argument("--times", type=int, default=20, help="fits of each method")
    parser.add_argument("--threads", type=int, action="append", help="1 and 2 if omitted")
    parser.add_argument(
        "--precision", action="append", choices=["bf16-mixed", "32-true"], help="that of the machine if omitted"
    )
    parser.add_argument("--method", action="append", choices=METHODS, help="all if omitted")
    arguments, whole = parser.parse_args(), time.monotonic()
    rows = []
    print(f"{capability()}, {arguments.times} fits each\n")
    print("| method | precision | threads | different weights | seconds a fit |\n|---|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        methods = arguments.method or METHODS
        for name in sorted(set(map(data_of, methods))):
            simulate(_DATA[name], Path(folder) / name)
        for method in methods:
            for precision in arguments.precision or [training_precision()]:
                for threads in arguments.threads or (1, 2):
                    torch.set_num_threads(threads)
                    began = time.monotonic()
                    found = set(fitted(Path(folder) / data_of(method), method, precision, arguments.times))
                    seconds = (time.monotonic() - began) / arguments.times
                    one = {"method": method, "precision": precision, "threads": threads, "digests": len(found)}
                    rows.append({**one, "found": sorted(found)})
                    print(f"| {method} | {precision} | {threads} | {len(found)} | {seconds:.2f} |", flush=True)
    if arguments.out:
        write_json(arguments.out, {**described(whole), "times": arguments.times, "rows": rows})
    sys.exit(any(row["digests"] > 1 for row in rows))


if __name__ == "__main__":
    main()
