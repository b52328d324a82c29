"""Measures the latency of an exported estimator: one pose on one core, by onnxruntime and by torch.

    python -m benchmarks.export_latency [RUN] [--seconds 5] [--out results/export-latency.json] [--page]

RUN is a run's folder or the name of a packaged estimator. Both runtimes read the same images in turn, so that other
work on the machine slows both. The time of ropes' estimator includes checking and letterboxing the images. With
--page, the table is written to docs/tutorial-first-run.md.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.figures import described, keep, options, origin, table
from ropes.data.views import by_camera, squares
from ropes.experiments.exporter import export, read_config
from ropes.inference.estimator import Estimator
from ropes.inference.formats import read
from ropes.inference.sample_images import made_up_images
from ropes.models.registry import find_run

PAGE = Path(__file__).parents[1] / "docs" / "tutorial-first-run.md"
POSES = 16


def measure(run: Path, seconds: float) -> dict[str, Any]:
    """Every figure by its name: milliseconds of a pose, medians over turns."""
    estimator = Estimator.load(run, precision="32-true")
    views = squares(made_up_images(estimator, POSES), estimator.networks[0].size)
    poses = [[np.ascontiguousarray(camera[k : k + 1]) for camera in by_camera(views)] for k in range(POSES)]
    taken: dict[str, list[float]] = {"torch": [], "onnx": []}
    with tempfile.TemporaryDirectory() as folder:
        made = export(run, kind="onnx", name="exported", out=Path(folder))
        config = read_config(made)
        onnx = read(made / config["file"], "onnx", [each["name"] for each in config["outputs"]], threads=1)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    readers = {"torch": lambda k: estimator.read(views[k : k + 1]), "onnx": lambda k: onnx(poses[k])}
    try:
        begun, turn = time.perf_counter(), 0
        while turn < 3 or time.perf_counter() - begun < seconds:
            for name, reader in readers.items():
                clock = time.perf_counter()
                reader(turn % POSES)
                taken[name].append(1e3 * (time.perf_counter() - clock))
            turn += 1
    finally:
        torch.set_num_threads(before)
    torch_ms, onnx_ms = (statistics.median(taken[name][2:] or taken[name]) for name in ("torch", "onnx"))
    return {
        "torch_ms": torch_ms,
        "onnx_ms": onnx_ms,
        "turns": turn,
        "difference": config["compared"]["difference"],
        "load": os.getloadavg()[0],
    }


def written(found: Mapping[str, Any]) -> str:
    """The table of the page, and what it is of."""
    lines = [[name, f"{found[key]:.1f} ms"] for name, key in (("torch", "torch_ms"), ("onnxruntime", "onnx_ms"))]
    of = f"Greatest difference of an angle: {found['difference']:.1g} rad. {origin(found)}, {found['turns']} turns."
    return f"{table(['one pose, one core, float32', 'median'], lines)}\n{of}\n"


def main() -> None:
    """Export, read in turn, and print the table."""
    parser = options(__doc__)
    parser.add_argument("run", nargs="?", default="panda-2c", help="folder of a run, or name of a packaged estimator")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of the measurement")
    parser.add_argument("--page", action="store_true", help="also write the table of docs/tutorial-first-run.md")
    given, began = parser.parse_args(), time.monotonic()
    found = {**measure(find_run(given.run), given.seconds), **described(began)}
    keep(found, "export-latency", written(found), given.out, PAGE if given.page else None)


if __name__ == "__main__":
    main()
